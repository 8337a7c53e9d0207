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

from collections.abc import Mapping
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


class Move(StrEnum):
    """A step from some states to one. A member says from which, and to which."""

    sources: tuple[Any, ...]
    target: Any

    def __new__(
        cls, value: str, sources: tuple[State, ...] = (), target: State | None = None
    ) -> Self:
        """Be the name of the step."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sources, member.target = sources, target
        return member


StateT = TypeVar("StateT", bound=State)
MoveT = TypeVar("MoveT", bound=Move)


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


def _lifecycle(noun: str, start: StateT, moves: type[MoveT]) -> Lifecycle[StateT, MoveT]:
    targets = MappingProxyType({move: move.target for move in moves})
    sources = MappingProxyType({move: move.sources for move in moves})
    return Lifecycle(noun, start, tuple(type(start)), targets, sources)


class RunState(State):
    """How a run stands."""

    RUNNING = "running", "something is owed, or a hold waits for its cure; advance ends it"
    FINISHED = "finished", "nothing is owed any more; retry, reject, regate and release reopen it"
    CANCELLED = "cancelled", "stopped on request, once nothing was under way; only retry reopens it"


class RunMove(Move):
    """What happens to a run."""

    FINISH = "finish", (RunState.RUNNING,), RunState.FINISHED
    CANCEL = "cancel", (RunState.RUNNING,), RunState.CANCELLED
    REOPEN = "reopen", (RunState.FINISHED, RunState.CANCELLED), RunState.RUNNING


RUN = _lifecycle("run", RunState.RUNNING, RunMove)


class StageState(State):
    """How a stage of a run stands."""

    WAITING = "waiting", "the stages it needs have not come far enough; begin lets it expand"
    EXPANDING = "expanding", "its tasks are being written, a slice at a time; expand seals it"
    OPEN = "open", "all of its tasks are known, and some are still owed; advance closes it"
    CLOSED = "closed", "none of its tasks is owed; advance, release and critics reopen it"


class StageMove(Move):
    """What happens to a stage."""

    EXPAND = "expand", (StageState.WAITING,), StageState.EXPANDING
    SEAL = "seal", (StageState.EXPANDING,), StageState.OPEN
    CLOSE = "close", (StageState.OPEN,), StageState.CLOSED
    REOPEN = "reopen", (StageState.CLOSED,), StageState.OPEN


STAGE = _lifecycle("stage", StageState.WAITING, StageMove)


class TaskState(State):
    """How a task stands."""

    WAITING = "waiting", "what it reads, or asks with another, is not done; release moves it on"
    READY = "ready", "it can be packed into a request; prepare packs it"
    PACKED = "packed", "a live request carries it; settle moves it on by its answer"
    BLOCKED = "blocked", "an input failed, so it cannot be asked; release resets it once none has"
    DONE = "done", "it has an accepted result; rerun, regate and decide open it again"
    FAILED = "failed", "its tries are used up, the last error is kept; retry and decide ask again"
    CANCELLED = "cancelled", "its run was cancelled, or its document purged; retry moves it on"
    PROPOSED = "proposed", "it has an answer; a critic or a person accepts it, or asks again"


TASK_UNDER_WAY = (TaskState.WAITING, TaskState.READY, TaskState.PACKED)
TASK_OWED = (*TASK_UNDER_WAY, TaskState.PROPOSED)  # something is still to come
TASK_OPEN = (*TASK_OWED, TaskState.BLOCKED)  # what is blocked goes on when its input does
TASK_ENDED = (TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED)
_ABANDONED = (TaskState.FAILED, TaskState.CANCELLED)  # and yet a late answer counts


class TaskMove(Move):
    """What happens to a task."""

    RELEASE = "release", (TaskState.WAITING,), TaskState.READY
    PACK = "pack", (TaskState.READY,), TaskState.PACKED
    RETURN = "return", (TaskState.PACKED,), TaskState.READY
    PROPOSE = (
        "propose",
        (*TASK_UNDER_WAY, TaskState.BLOCKED, TaskState.DONE, *_ABANDONED),
        TaskState.PROPOSED,
    )
    ACCEPT = (
        "accept",
        (*TASK_UNDER_WAY, TaskState.PROPOSED, TaskState.BLOCKED, *_ABANDONED),
        TaskState.DONE,
    )
    REOPEN = "reopen", (TaskState.PROPOSED, TaskState.DONE), TaskState.READY
    RETRY = "retry", _ABANDONED, TaskState.READY
    BLOCK = "block", (TaskState.WAITING,), TaskState.BLOCKED
    RESET = "reset", (TaskState.READY, TaskState.BLOCKED), TaskState.WAITING
    GIVE_UP = (
        "give_up",
        (TaskState.READY, TaskState.PACKED, TaskState.PROPOSED, TaskState.DONE),
        TaskState.FAILED,
    )
    CANCEL = (
        "cancel",
        (TaskState.WAITING, TaskState.READY, TaskState.PROPOSED, TaskState.BLOCKED),
        TaskState.CANCELLED,
    )


TASK = _lifecycle("task", TaskState.WAITING, TaskMove)


class RequestState(State):
    """How a request stands."""

    QUEUED = "queued", "it can be sent; claim, or a draft of a batch, takes it out"
    OUT = "out", "a worker or a batch carries it; settle closes it, record requeues it"
    CLOSED = "closed", "its answer has been settled, or none can ever come; the end"
    DROPPED = "dropped", "it was withdrawn; its tasks went elsewhere; the end"


class RequestMove(Move):
    """What happens to a request."""

    CLAIM = "claim", (RequestState.QUEUED,), RequestState.OUT
    CLOSE = "close", (RequestState.OUT,), RequestState.CLOSED
    REQUEUE = "requeue", (RequestState.OUT,), RequestState.QUEUED
    DROP = "drop", (RequestState.QUEUED, RequestState.OUT), RequestState.DROPPED


REQUEST = _lifecycle("request", RequestState.QUEUED, RequestMove)


class AttemptState(State):
    """How an attempt stands."""

    OPEN = "open", "sent, or about to be; a worker or a batch vouches for it; record ends it"
    UNKNOWN = "unknown", "nobody knows if the provider carried it out; rescue writes it off"
    WRITTEN_OFF = "written_off", "presumed paid at its reservation; only a late word moves it"
    REFUSED = "refused", "the provider did not carry it out, nor charge; a late answer counts"
    ANSWERED = "answered", "the raw response is stored, nothing has judged it yet; settle does"
    SETTLED = "settled", "judged, and its tasks moved on; the end"


_UNANSWERED = (AttemptState.OPEN, AttemptState.UNKNOWN, AttemptState.WRITTEN_OFF)


class AttemptMove(Move):
    """What happens to an attempt."""

    ANSWER = "answer", (*_UNANSWERED, AttemptState.REFUSED), AttemptState.ANSWERED
    SETTLE = "settle", (AttemptState.ANSWERED,), AttemptState.SETTLED
    LOSE = "lose", (AttemptState.OPEN,), AttemptState.UNKNOWN
    WRITE_OFF = "write_off", (AttemptState.UNKNOWN,), AttemptState.WRITTEN_OFF
    REFUSE = "refuse", _UNANSWERED, AttemptState.REFUSED


ATTEMPT = _lifecycle("attempt", AttemptState.OPEN, AttemptMove)


class BatchState(State):
    """How a batch stands."""

    DRAFT = "draft", "requests are gathered, nothing was sent; submit sends it, route abandons it"
    SUBMITTING = "submitting", "a submit is under way, or was cut short; reconcile finds out"
    UNKNOWN = "unknown", "nobody knows if the provider has it; reconcile looks before a resend"
    OPEN = "open", "the provider has it and works on it; the poller sees it end"
    ENDED = "ended", "the provider is through with it; collect fetches its answers"
    COLLECTED = "collected", "every answer it had is in the ledger; the end"
    ABANDONED = "abandoned", "given up; the end"


class BatchMove(Move):
    """What happens to a batch."""

    SUBMIT = "submit", (BatchState.DRAFT,), BatchState.SUBMITTING
    CONFIRM = "confirm", (BatchState.SUBMITTING, BatchState.UNKNOWN), BatchState.OPEN
    RETURN_TO_DRAFT = "return_to_draft", (BatchState.SUBMITTING,), BatchState.DRAFT
    LOSE = "lose", (BatchState.SUBMITTING,), BatchState.UNKNOWN
    ABSENT = "absent", (BatchState.UNKNOWN,), BatchState.DRAFT
    END = "end", (BatchState.OPEN,), BatchState.ENDED
    COLLECT = "collect", (BatchState.ENDED,), BatchState.COLLECTED
    ABANDON = (
        "abandon",
        (BatchState.DRAFT, BatchState.UNKNOWN, BatchState.OPEN, BatchState.ENDED),
        BatchState.ABANDONED,
    )


BATCH = _lifecycle("batch", BatchState.DRAFT, BatchMove)


class ReviewState(State):
    """What a person said about a result."""

    UNREVIEWED = "unreviewed", "no person has decided about it; decide approves, edits, rejects"
    APPROVED = "approved", "confirmed as it is; only a person replaces it, or takes it back"
    EDITED = "edited", "confirmed with changes; only a person replaces it"
    REJECTED = "rejected", "refused; the task is asked again, unless a person takes it back"


class ReviewMove(Move):
    """What a person does with a result."""

    APPROVE = "approve", (ReviewState.UNREVIEWED,), ReviewState.APPROVED
    EDIT = "edit", (ReviewState.UNREVIEWED, ReviewState.APPROVED), ReviewState.EDITED
    REJECT = (
        "reject",
        (ReviewState.UNREVIEWED, ReviewState.APPROVED, ReviewState.EDITED),
        ReviewState.REJECTED,
    )
    UNDO = (
        "undo",
        (ReviewState.APPROVED, ReviewState.REJECTED),  # an edit is undone by what stood before it
        ReviewState.UNREVIEWED,
    )


REVIEW = _lifecycle("review", ReviewState.UNREVIEWED, ReviewMove)


class CredentialState(State):
    """Whether calls may go out with a key."""

    VALID = "valid", "calls may go out with it; a provider's refusal marks it"
    INVALID = "invalid", "the provider did not accept the key; resume or `quire keys` clears it"
    SPENT = "spent", "its account has no credit left, or met a cap; cleared as `invalid` is"


class CredentialMove(Move):
    """What happens to a key."""

    REJECT = "reject", (CredentialState.VALID,), CredentialState.INVALID
    EXHAUST = "exhaust", (CredentialState.VALID,), CredentialState.SPENT
    CLEAR = "clear", (CredentialState.INVALID, CredentialState.SPENT), CredentialState.VALID


CREDENTIAL = _lifecycle("credential", CredentialState.VALID, CredentialMove)

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
