"""Tasks: one answer owed about one subject, as the verbs read and move them."""

from typing import NamedTuple

from quire.domain.ids import BlockId, RequestId, StageId, TaskId


class Subject(NamedTuple):
    """A block that a stage is about, on its way to becoming a task."""

    document_ordinal: int
    block_index: int
    block_id: BlockId


class ReadyTask(NamedTuple):
    """A task that may be packed, with all that rendering needs."""

    id: TaskId
    version: int
    calls: int
    pack_cap: int
    output_floor: int
    json_bytes: int
    block_index: int
    block_type: str
    content: str


class Member(NamedTuple):
    """A task inside one request, as it stands now."""

    request_id: RequestId
    ordinal: int
    wire_id: str
    sent_version: int  # the version this request asks for
    task_id: TaskId
    stage_id: StageId
    state: str
    version: int  # the version owed now
    tries: int
    calls: int
    pack_cap: int

    @property
    def current(self) -> bool:
        """Whether an answer to this request still counts for the task."""
        return self.sent_version == self.version


class MemberContent(NamedTuple):
    """A member with what is said about it on the wire; content is None once purged."""

    request_id: RequestId
    wire_id: str
    task_id: TaskId
    state: str
    current: bool
    calls: int
    block_index: int
    block_type: str
    content: str | None


class Failure(NamedTuple):
    """A failed task, for people."""

    task_id: TaskId
    block_uid: str
    title: str
    tries: int
    error: str
    model_no: int = 0  # who was asked, of the run's models
    sample: int = 0
    reads: TaskId | None = None  # the first task whose result it reads


class TaskView(NamedTuple):
    """One task for a person: what it is about, how it stands, what it last travelled in."""

    id: TaskId
    run_id: int
    stage_id: StageId
    block_uid: str
    state: str
    tries: int
    calls: int
    error: str | None
    request_id: RequestId | None
    title: str = ""
    model_no: int = 0  # who is asked, of the run's models
    sample: int = 0
    reads: TaskId | None = None  # the first task whose result it reads
