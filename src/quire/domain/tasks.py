"""Tasks: one answer owed about one subject, what it comes from, and what it is rendered from."""

from typing import NamedTuple

from quire.domain.ids import AttemptId, BlockId, DocumentId, RequestId, ResultId, StageId, TaskId
from quire.domain.reasons import TaskError
from quire.domain.states import TaskState


class BlockSubject(NamedTuple):
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
    content_key: int = 0  # what it asks about, as a number; 0 until its words are looked at


class MemberVerdict(NamedTuple):
    """What was said of the answer about one task of a request."""

    request_id: RequestId
    ordinal: int
    verdict: str
    reasons: str | None = None
    gate_version: str | None = None  # what refused it; of an accepted one its result says it


class Member(NamedTuple):
    """A task inside one request, as it stands now."""

    request_id: RequestId
    ordinal: int
    wire_id: str
    sent_version: int  # the version this request asks for
    task_id: TaskId
    stage_id: StageId
    state: TaskState
    version: int  # the version owed now
    tries: int
    calls: int
    pack_cap: int
    output_floor: int  # not 0 once its answer was cut off

    @property
    def current(self) -> bool:
        """Whether an answer to this request still counts for the task."""
        return self.sent_version == self.version


class MemberContent(NamedTuple):
    """A member with what is said about it on the wire; content is None once purged."""

    request_id: RequestId
    wire_id: str
    task_id: TaskId
    state: TaskState
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
    error_kind: str | None = None  # a TaskErrorKind; None: an older version wrote the error
    error_stage: str | None = None  # the critic, or the stage of what blocks it
    error_task: TaskId | None = None  # what blocks it
    source: str = ""  # the file it comes from
    block_index: int | None = None  # its place in there; None: it is about more than a block
    part: str | None = None  # JSON: what its grouping said of it


class TaskView(NamedTuple):
    """One task for a person: what it is about, how it stands, what it last travelled in."""

    id: TaskId
    run_id: int
    stage_id: StageId
    block_uid: str
    state: TaskState
    tries: int
    calls: int
    error: str | None
    request_id: RequestId | None
    title: str = ""
    model_no: int = 0  # who is asked, of the run's models
    sample: int = 0
    reads: TaskId | None = None  # the first task whose result it reads
    error_kind: str | None = None  # a TaskErrorKind; None: an older version wrote the error
    error_stage: str | None = None  # the critic, or the stage of what blocks it
    error_task: TaskId | None = None  # what blocks it
    part: str | None = None  # JSON: what its grouping said of it


class DriverTask(NamedTuple):
    """A task that another stage is expanded over."""

    id: TaskId
    state: TaskState
    model_no: int
    sample: int
    part: str | None  # JSON
    document_id: DocumentId | None
    block_id: BlockId | None
    subject_hash: bytes
    origin_id: TaskId | None

    @property
    def lineage(self) -> TaskId:
        """The task that its lineage began at: itself, if it comes from no other."""
        return self.id if self.origin_id is None else self.origin_id


class RelatedTask(NamedTuple):
    """A task that another one reads."""

    id: TaskId
    state: TaskState
    model_no: int


class LeavingOut(NamedTuple):
    """How a stage goes on without what came to nothing."""

    about: StageId | None  # of whose results one must be there; None: of any that it reads


class TaskGroup(NamedTuple):
    """The task that others come from or are about, and how many those are."""

    id: TaskId
    members: int


class Ancestor(NamedTuple):
    """A task that another one comes from, at any distance."""

    task_id: TaskId  # the one that comes from it
    stage_id: StageId
    id: TaskId
    state: TaskState
    model_no: int


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
    state: TaskState
    origin_id: TaskId | None = None
    group_id: TaskId | None = None
    error: TaskError | None = None


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
    compression: int = 0  # how often its prompt was compressed
    question_hash: bytes = b""  # what it was last asked; empty: it was not put into words yet
    content_id: int | None = None  # of its block's content, as a number


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
    state: TaskState
    input_task_id: TaskId


class JudgedRow(NamedTuple):
    """What a critic's task judges."""

    critic_id: TaskId
    task_id: TaskId
    result_id: ResultId
    data: str | None  # JSON
    used: str | None  # JSON: the results that the judged answer was rendered from
    attempt_id: AttemptId | None
    answer: str


class MemberRow(NamedTuple):
    """A task inside one request, with the results that it was rendered from."""

    request_id: RequestId
    wire_id: str
    task_id: TaskId
    used: str | None  # JSON
