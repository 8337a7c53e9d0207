"""Requests, attempts and responses: one call, one sending of it, and what came back."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from quire.domain.accounts import Account
from quire.domain.data import JsonObject
from quire.domain.errors import OddBody, ProviderError
from quire.domain.fallbacks import NO_FALLBACKS, Fallbacks
from quire.domain.ids import (
    AttemptId,
    LaneId,
    RequestId,
    RunId,
    SliceId,
    StageId,
    TaskId,
    WorkerId,
)
from quire.domain.models import PLAIN_WIRE, Params, Usage, Wire
from quire.domain.states import AttemptState, RequestState


class RequestKind(StrEnum):
    """Why a request exists."""

    ANSWER = "answer"
    REPAIR = "repair"  # carries the gate's complaint and the previous answer
    CONTINUATION = "continuation"
    PRIMER = "primer"
    EMBED = "embed"


class Stop(StrEnum):
    """Why the model stopped writing."""

    END = "end"
    LENGTH = "length"  # cut off by the output limit
    REFUSAL = "refusal"  # the model or a filter declined the whole call


class Role(StrEnum):
    """Who speaks in a turn."""

    USER = "user"
    ASSISTANT = "assistant"


class Turn(NamedTuple):
    """Something said before: by us, or by the model."""

    role: Role
    text: str


CONTINUE = "Continue"  # how every message begins that asks to go on with an answer


class CallText(NamedTuple):
    """What one request says beyond the prefix of its stage."""

    user: str
    turns: tuple[Turn, ...] = ()
    bound: bool = True  # the answer has the form of its stage; not where it goes on in the middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Exactly what a provider is asked, in no vendor's words yet."""

    attempt_id: AttemptId  # the fencing token; also what a fault script draws from
    model: str
    system: str  # the cacheable prefix: instructions, framing, schema
    user: str
    output_schema: JsonObject | None  # the wire form of the answer; None asks for plain text
    params: Params
    turns: tuple[Turn, ...] = ()  # between the system text and the user's; two of a role may follow
    stable_turns: int = 0  # the first of them, which other calls of the stage begin with too
    wire: Wire = PLAIN_WIRE
    caching: bool = False  # mark the end of the system text as worth keeping
    system_role: str = ""  # whose words the system text is said to be, if not as usual there
    limit_name: str = ""  # what the longest answer is called, if not as usual there
    stream: str = ""  # the kind of stream to answer with; "" = whole
    long_lived: bool = False  # for an hour and longer, where the provider has such a form
    passages: tuple[str, ...] = ()  # to embed; then nothing else is asked
    dimensions: int = 0  # numbers of a vector that are asked for; 0 = as many as there are


class Reply(NamedTuple):
    """A provider's response, decoded into our words."""

    text: str
    stop: Stop
    usage: Usage
    reasoning: str = ""


class RequestGroup(NamedTuple):
    """What all requests that are queued together have in common."""

    lane_id: LaneId
    prefix_hash: bytes
    render_version: int


class NewRequest(NamedTuple):
    """A packed and rendered request about to be queued."""

    id: RequestId
    kind: str
    payload_hash: bytes
    tasks: int
    content_bytes: int
    max_output: int
    reserve: int
    body: str  # only with full bodies
    parent: AttemptId = AttemptId(0)  # whose answer it goes on with; 0: nobody's
    most_input: int = 0  # tokens, at any way that it may go; 0: of embeddings


# A task's place in a new request: request, ordinal, task, wire id, version. Plain, for there are
# millions of them, and nobody but the ledger looks inside.
Membership: TypeAlias = tuple[RequestId, int, TaskId, str, int]


class QueuedRequest(NamedTuple):
    """A request as a claim takes it."""

    id: RequestId
    lane_id: LaneId
    payload_hash: bytes
    render_version: int
    tasks: int
    content_bytes: int
    max_output: int
    reserve: int
    sent: int  # attempts before this one
    lost: int  # sendings nobody knows the end of
    body: str | None
    parent: AttemptId | None = None  # whose answer it goes on with
    most_input: int = 0  # tokens, at any way that it may go; 0: of embeddings


class AttemptGroup(NamedTuple):
    """What all attempts that are made together have in common."""

    worker_id: WorkerId
    provider: str
    model: str
    credential_id: int | None
    sent_at: int
    slice_id: SliceId | None = None  # that they are reserved from


# One sending about to happen: attempt, request, its number, params, what it may cost at most.
NewAttempt: TypeAlias = tuple[AttemptId, RequestId, int, str, int]


class Answer(NamedTuple):
    """What came back for one attempt, on its way into the ledger."""

    attempt_id: AttemptId
    run_id: RunId
    stage_id: StageId
    raw: bytes
    reply: Reply | None  # None where the decoder could not read it
    decoder_version: int
    cost: int  # picodollars; the reservation where the usage could not be read
    problem: str = ""  # why the decoder could not read it
    odd: OddBody | None = None  # it has no vendor's form, and is asked for again


class CallFailure(NamedTuple):
    """A call that brought no answer."""

    attempt_id: AttemptId
    error: ProviderError
    jitter: float  # drawn from [0, 1) by the caller
    account: Account  # whose key it went out with
    fallbacks: Fallbacks = NO_FALLBACKS  # that it was sent with


class AttemptRow(NamedTuple):
    """An attempt with where it belongs."""

    id: AttemptId
    request_id: RequestId
    no: int
    state: AttemptState
    reserved: int
    lane_id: LaneId
    run_id: RunId
    stage_id: StageId
    request_state: RequestState
    tasks: int
    sent: int
    slice_id: SliceId | None = None  # that it was reserved from; None: nothing bounds its run


class MovedAttempt(NamedTuple):
    """An attempt that has just moved, and what had been counted for it."""

    source: AttemptState  # where it was
    reserved: int
    slice_id: SliceId | None


class AnsweredAttempt(NamedTuple):
    """An answered attempt, ready to be judged."""

    attempt_id: AttemptId
    request_id: RequestId
    no: int
    run_id: RunId
    stage_id: StageId
    lane_id: LaneId
    request_state: RequestState
    sent: int
    tasks: int
    max_output: int
    late: int  # 1: past the deadline; its tasks are owed again, and may be out elsewhere
    parent: AttemptId | None  # whose answer it goes on with
    next_input: int  # tokens that a call would take in which goes on with it, without new words
    text: str
    stop: Stop
    reasoning: str = ""  # read only where the text is next to nothing


class OutputSample(NamedTuple):
    """What an answered request taught about sizes."""

    input_tokens: int
    output_tokens: int  # of the answer, without reasoning
    tasks: int
    content_bytes: int  # of all its tasks, as JSON strings
    refused: int = 0  # of its tasks, whose answers were not acceptable
