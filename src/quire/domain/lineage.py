"""Lineage: what tasks come from, and what they are rendered from."""

from typing import NamedTuple

from quire.domain.ids import BlockId, DocumentId, ResultId, StageId, TaskId


class DriverTask(NamedTuple):
    """A task that another stage is expanded over."""

    id: TaskId
    state: str
    model_no: int
    sample: int
    part: str | None  # JSON
    document_id: DocumentId | None
    block_id: BlockId | None
    subject_hash: bytes


class Related(NamedTuple):
    """A task that another one reads."""

    id: TaskId
    state: str


class Ancestor(NamedTuple):
    """A task that another one comes from, at any distance."""

    task_id: TaskId  # the one that comes from it
    stage_id: StageId
    id: TaskId
    state: str


class NewPart(NamedTuple):
    """A task about to be owed, with all that its grouping said of it."""

    block_id: BlockId | None
    document_id: DocumentId | None
    model_no: int
    sample: int
    part: str | None  # JSON
    judged_result_id: ResultId | None
    subject_hash: bytes
    question_hash: bytes
    state: str
    error: str | None = None


class SubjectRow(NamedTuple):
    """A task with all that is said of it alone."""

    id: TaskId
    version: int
    calls: int
    pack_cap: int
    output_floor: int
    next_kind: str
    error: str | None
    model_no: int
    sample: int
    part: str | None  # JSON
    block_index: int
    block_type: str | None  # None: it is about no block
    content: str | None
    document_id: DocumentId | None
    judged_result_id: ResultId | None


class InputRow(NamedTuple):
    """One thing that a task reads, with its current result if there is one."""

    task_id: TaskId
    ordinal: int
    stage: str
    result_id: ResultId | None
    data: str | None  # JSON
    document_id: DocumentId | None
    model_no: int
    sample: int
    state: str


class JudgedRow(NamedTuple):
    """What a critic's task judges."""

    critic_id: TaskId
    task_id: TaskId
    result_id: ResultId
    data: str | None  # JSON
    used: str | None  # JSON: the results that the judged answer was rendered from
    answer: str


class MemberRow(NamedTuple):
    """A task inside one request, with the results that it was rendered from."""

    request_id: int
    wire_id: str
    task_id: TaskId
    used: str | None  # JSON
