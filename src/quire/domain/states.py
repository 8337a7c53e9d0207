"""Lifecycles: every state, every move, and where it leads. Nothing else decides that.

The idea. A run, a stage, a task, a request, an attempt, a batch, a review and a credential each
stand in one state, and change it only by a move. A table says from which states a move may start
and to which one state it leads. The ledger carries a move out as one compare-and-set statement: set
the target where the state is one of the sources, and say who moved.

What could go wrong. Many workers, commands and restarts look at the same rows at once, any of them
may die between two statements, and an answer may come hours after everybody gave it up. Code that
reads a state, decides, and writes whatever it likes loses an update, counts a task twice, or brings
back what was cancelled; and one more string in one more `if` is a state that nobody drew.

Why this way. Whoever comes second simply does not move, so that every verb may be run again, and
two of them may race. As a move leads to one state only, its tally can be written beside it without
reading the row. What we cannot know has a state of its own (`unknown`: sent, and no word came
back), so that the doubt is stored, and looked into, rather than guessed away. A wish (cancel this
run, stop after that stage) is a column beside the state: it may be taken back, and is not yet true.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar


class State(StrEnum):
    """Where a thing stands. A member says what that means, and who moves it on."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        """Be the text that the ledger stores."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


StateT = TypeVar("StateT", bound=State)
MoveT = TypeVar("MoveT", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Lifecycle(Generic[StateT, MoveT]):
    """One noun's states and moves; a move always leads to the same state."""

    noun: str
    start: StateT
    states: tuple[StateT, ...]
    targets: Mapping[MoveT, StateT]  # move -> state it leads to
    sources: Mapping[MoveT, tuple[StateT, ...]]  # move -> states it may start from

    def allows(self, state: StateT, move: MoveT) -> bool:
        """Say whether a row in this state may make this move."""
        return state in self.sources.get(move, ())


def _lifecycle(
    noun: str, start: StateT, moves: Iterable[tuple[tuple[StateT, ...], MoveT, StateT]]
) -> Lifecycle[StateT, MoveT]:
    states: dict[StateT, None] = {start: None}
    targets: dict[MoveT, StateT] = {}
    sources: dict[MoveT, tuple[StateT, ...]] = {}
    for froms, move, target in moves:
        if targets.setdefault(move, target) != target:
            raise ValueError(f"{noun}: {move} leads to both {targets[move]} and {target}")
        states.update(dict.fromkeys((*froms, target)))
        sources[move] = sources.get(move, ()) + froms
    return Lifecycle(
        noun, start, tuple(states), MappingProxyType(targets), MappingProxyType(sources)
    )


class RunState(State):
    """How a run stands."""

    RUNNING = (
        "running",
        "something is still owed, or a hold waits for its cure; advance finishes or cancels it",
    )
    FINISHED = "finished", "nothing is owed any more; retry, reject, regate and release reopen it"
    CANCELLED = "cancelled", "stopped on request, once nothing was under way; only retry reopens it"


class RunMove(StrEnum):
    """What happens to a run."""

    FINISH = "finish"
    CANCEL = "cancel"
    REOPEN = "reopen"


RUN = _lifecycle(
    "run",
    RunState.RUNNING,
    [
        ((RunState.RUNNING,), RunMove.FINISH, RunState.FINISHED),
        ((RunState.RUNNING,), RunMove.CANCEL, RunState.CANCELLED),
        ((RunState.FINISHED, RunState.CANCELLED), RunMove.REOPEN, RunState.RUNNING),
    ],
)


class StageState(State):
    """How a stage of a run stands."""

    WAITING = "waiting", "the stages it needs have not come far enough; begin lets it expand"
    EXPANDING = "expanding", "its tasks are being written, a slice at a time; expand seals it"
    OPEN = "open", "all of its tasks are known, and some are still owed; advance closes it"
    CLOSED = "closed", "none of its tasks is owed; advance, release and critics reopen it"


class StageMove(StrEnum):
    """What happens to a stage."""

    EXPAND = "expand"
    SEAL = "seal"
    CLOSE = "close"
    REOPEN = "reopen"


STAGE = _lifecycle(
    "stage",
    StageState.WAITING,
    [
        ((StageState.WAITING,), StageMove.EXPAND, StageState.EXPANDING),
        ((StageState.EXPANDING,), StageMove.SEAL, StageState.OPEN),
        ((StageState.OPEN,), StageMove.CLOSE, StageState.CLOSED),
        ((StageState.CLOSED,), StageMove.REOPEN, StageState.OPEN),
    ],
)


class TaskState(State):
    """How a task stands."""

    WAITING = "waiting", "its inputs are not done; release unblocks it, or blocks it"
    READY = "ready", "it can be packed into a request; prepare packs it"
    PACKED = (
        "packed",
        "a live request carries it; settle accepts or proposes its answer, or gives it up",
    )
    PROPOSED = (
        "proposed",
        "it has an answer; a critic or a person must still accept it, or ask again",
    )
    BLOCKED = "blocked", "an input failed, so it cannot be asked; release resets it once none has"
    DONE = "done", "it has an accepted result; rerun, regate and decide open it again"
    FAILED = "failed", "its tries are used up, the last error is kept; retry and decide ask again"
    CANCELLED = (
        "cancelled",
        "its run was cancelled, or its document purged; only retry and a late answer move it",
    )


class TaskMove(StrEnum):
    """What happens to a task."""

    UNBLOCK = "unblock"
    PACK = "pack"
    RETURN = "return"
    PROPOSE = "propose"
    ACCEPT = "accept"
    REOPEN = "reopen"
    RETRY = "retry"
    BLOCK = "block"
    RESET = "reset"
    GIVE_UP = "give_up"
    CANCEL = "cancel"


TASK_UNDER_WAY = (TaskState.WAITING, TaskState.READY, TaskState.PACKED)
TASK_OWED = (*TASK_UNDER_WAY, TaskState.PROPOSED)  # something is still to come
TASK_OPEN = (*TASK_OWED, TaskState.BLOCKED)  # what is blocked goes on when its input does
TASK_ENDED = (TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)

_ABANDONED = (TaskState.FAILED, TaskState.CANCELLED)  # and yet a late answer counts

TASK = _lifecycle(
    "task",
    TaskState.WAITING,
    [
        ((TaskState.WAITING,), TaskMove.UNBLOCK, TaskState.READY),
        ((TaskState.READY,), TaskMove.PACK, TaskState.PACKED),
        ((TaskState.PACKED,), TaskMove.RETURN, TaskState.READY),
        (
            (*TASK_UNDER_WAY, TaskState.BLOCKED, TaskState.DONE, *_ABANDONED),
            TaskMove.PROPOSE,
            TaskState.PROPOSED,
        ),
        (
            (*TASK_UNDER_WAY, TaskState.PROPOSED, TaskState.BLOCKED, *_ABANDONED),
            TaskMove.ACCEPT,
            TaskState.DONE,
        ),
        ((TaskState.PROPOSED, TaskState.DONE), TaskMove.REOPEN, TaskState.READY),
        (_ABANDONED, TaskMove.RETRY, TaskState.READY),
        ((TaskState.WAITING,), TaskMove.BLOCK, TaskState.BLOCKED),
        ((TaskState.READY, TaskState.BLOCKED), TaskMove.RESET, TaskState.WAITING),
        (
            (TaskState.READY, TaskState.PACKED, TaskState.PROPOSED, TaskState.DONE),
            TaskMove.GIVE_UP,
            TaskState.FAILED,
        ),
        (
            (TaskState.WAITING, TaskState.READY, TaskState.PROPOSED, TaskState.BLOCKED),
            TaskMove.CANCEL,
            TaskState.CANCELLED,
        ),
    ],
)


class RequestState(State):
    """How a request stands."""

    QUEUED = "queued", "it can be sent; claim, or a draft of a batch, takes it out"
    OUT = "out", "a worker or a batch carries it; settle closes it, record lets it go again"
    CLOSED = "closed", "its answer has been settled, or none can ever come; the end"
    DROPPED = "dropped", "it was withdrawn; its tasks went elsewhere; the end"


class RequestMove(StrEnum):
    """What happens to a request."""

    CLAIM = "claim"
    CLOSE = "close"
    RELEASE = "release"
    DROP = "drop"


REQUEST = _lifecycle(
    "request",
    RequestState.QUEUED,
    [
        ((RequestState.QUEUED,), RequestMove.CLAIM, RequestState.OUT),
        ((RequestState.OUT,), RequestMove.CLOSE, RequestState.CLOSED),
        ((RequestState.OUT,), RequestMove.RELEASE, RequestState.QUEUED),
        ((RequestState.QUEUED, RequestState.OUT), RequestMove.DROP, RequestState.DROPPED),
    ],
)


class AttemptState(State):
    """How an attempt stands."""

    OPEN = (
        "open",
        "sent, or about to be; a worker or a batch vouches for it, and record notes how it ended",
    )
    ANSWERED = "answered", "the raw response is stored, nothing has judged it yet; settle does"
    SETTLED = "settled", "judged, and its tasks moved on; the end"
    UNKNOWN = (
        "unknown",
        "nobody knows whether the provider carried it out; record writes it off in the end",
    )
    WRITTEN_OFF = (
        "written_off",
        "presumed paid at its reservation; only a late answer or refusal moves it",
    )
    REFUSED = (
        "refused",
        "the provider did not carry it out, and charged nothing; only a late answer moves it",
    )


class AttemptMove(StrEnum):
    """What happens to an attempt."""

    ANSWER = "answer"
    SETTLE = "settle"
    LOSE = "lose"
    WRITE_OFF = "write_off"
    REFUSE = "refuse"


_UNANSWERED = (AttemptState.OPEN, AttemptState.UNKNOWN, AttemptState.WRITTEN_OFF)

ATTEMPT = _lifecycle(
    "attempt",
    AttemptState.OPEN,
    [
        ((*_UNANSWERED, AttemptState.REFUSED), AttemptMove.ANSWER, AttemptState.ANSWERED),
        ((AttemptState.ANSWERED,), AttemptMove.SETTLE, AttemptState.SETTLED),
        ((AttemptState.OPEN,), AttemptMove.LOSE, AttemptState.UNKNOWN),
        ((AttemptState.UNKNOWN,), AttemptMove.WRITE_OFF, AttemptState.WRITTEN_OFF),
        (_UNANSWERED, AttemptMove.REFUSE, AttemptState.REFUSED),
    ],
)


class BatchState(State):
    """How a batch stands."""

    DRAFT = "draft", "requests are gathered, nothing was sent; submit sends it, route abandons it"
    SUBMITTING = (
        "submitting",
        "a submit is under way, and a crash leaves its outcome open; submit confirms or loses it",
    )
    UNKNOWN = (
        "unknown",
        "nobody knows whether the provider has it; the poller looks for it before any resend",
    )
    OPEN = "open", "the provider has it and works on it; the poller sees it end"
    ENDED = "ended", "the provider is through with it; collect fetches its answers"
    COLLECTED = "collected", "every answer it had is in the ledger; the end"
    ABANDONED = "abandoned", "given up; the end"


class BatchMove(StrEnum):
    """What happens to a batch."""

    SUBMIT = "submit"
    CONFIRM = "confirm"
    REFUSE = "refuse"
    LOSE = "lose"
    ABSENT = "absent"
    END = "end"
    COLLECT = "collect"
    ABANDON = "abandon"


BATCH = _lifecycle(
    "batch",
    BatchState.DRAFT,
    [
        ((BatchState.DRAFT,), BatchMove.SUBMIT, BatchState.SUBMITTING),
        ((BatchState.SUBMITTING, BatchState.UNKNOWN), BatchMove.CONFIRM, BatchState.OPEN),
        ((BatchState.SUBMITTING,), BatchMove.REFUSE, BatchState.DRAFT),
        ((BatchState.SUBMITTING,), BatchMove.LOSE, BatchState.UNKNOWN),
        ((BatchState.UNKNOWN,), BatchMove.ABSENT, BatchState.DRAFT),
        ((BatchState.OPEN,), BatchMove.END, BatchState.ENDED),
        ((BatchState.ENDED,), BatchMove.COLLECT, BatchState.COLLECTED),
        (
            (BatchState.DRAFT, BatchState.UNKNOWN, BatchState.OPEN, BatchState.ENDED),
            BatchMove.ABANDON,
            BatchState.ABANDONED,
        ),
    ],
)


class ReviewState(State):
    """What a person said about a result."""

    UNREVIEWED = "unreviewed", "no person has looked at the result; decide approves, edits, rejects"
    APPROVED = "approved", "confirmed as it is; stays so"
    EDITED = "edited", "confirmed with changes; stays so"
    REJECTED = "rejected", "refused; the task is asked again, and the result stays so"


class ReviewMove(StrEnum):
    """What a person does with a result."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    UNDO = "undo"


REVIEW = _lifecycle(
    "review",
    ReviewState.UNREVIEWED,
    [
        ((ReviewState.UNREVIEWED,), ReviewMove.APPROVE, ReviewState.APPROVED),
        ((ReviewState.UNREVIEWED,), ReviewMove.EDIT, ReviewState.EDITED),
        ((ReviewState.UNREVIEWED,), ReviewMove.REJECT, ReviewState.REJECTED),
        (
            (ReviewState.APPROVED, ReviewState.EDITED, ReviewState.REJECTED),
            ReviewMove.UNDO,
            ReviewState.UNREVIEWED,
        ),
    ],
)


class CredentialState(State):
    """Whether calls may go out with a key."""

    VALID = "valid", "calls may go out with it; a provider's refusal marks it"
    INVALID = (
        "invalid",
        "the provider did not accept the key, so another takes over; resume or `quire keys` clears",
    )
    SPENT = (
        "spent",
        "its account has no credit left, or has reached a cap; resume or `quire keys` clears",
    )


class CredentialMove(StrEnum):
    """What happens to a key."""

    REJECT = "reject"
    EXHAUST = "exhaust"
    CLEAR = "clear"


CREDENTIAL = _lifecycle(
    "credential",
    CredentialState.VALID,
    [
        ((CredentialState.VALID,), CredentialMove.REJECT, CredentialState.INVALID),
        ((CredentialState.VALID,), CredentialMove.EXHAUST, CredentialState.SPENT),
        (
            (CredentialState.INVALID, CredentialState.SPENT),
            CredentialMove.CLEAR,
            CredentialState.VALID,
        ),
    ],
)

LIFECYCLES: tuple[Lifecycle[Any, Any], ...] = (
    RUN,
    STAGE,
    TASK,
    REQUEST,
    ATTEMPT,
    BATCH,
    REVIEW,
    CREDENTIAL,
)
