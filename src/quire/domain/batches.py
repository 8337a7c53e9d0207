"""Batches: many calls handed to a provider at once, answered within hours, for about half."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from quire.domain.accounts import CredentialId
from quire.domain.data import JsonObject
from quire.domain.errors import ProviderError
from quire.domain.ids import AttemptId, BatchId, LaneId, RunId, SliceId, StageId
from quire.domain.models import PLAIN_WIRE, Wire
from quire.domain.requests import QueuedRequest
from quire.domain.states import BatchState


class BatchLookup(StrEnum):
    """How a batch is found again when nobody knows whether it was made."""

    TAG = "tag"  # it carries our nonce, and listing shows it
    ROWS = "rows"  # nothing on it is ours but its size, and its rows once it has ended
    NONE = "none"  # there is no way: a person must look


class BatchEnd(StrEnum):
    """How a batch ended; whatever the end, what it answered is collected."""

    COMPLETED = "completed"
    FAILED = "failed"  # the provider took none of it
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    QUEUE_FULL = "queue_full"  # the provider took none of it, and may later


class RowEnd(StrEnum):
    """What became of one call of a batch; one that is nowhere is missing."""

    ANSWERED = "answered"
    ERRORED = "errored"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNREADABLE = "unreadable"  # it may be an answer, and nobody can tell


class PollCadence(NamedTuple):
    """How often to ask how a batch stands, in seconds."""

    first: float
    later: float
    after: float  # seconds since it was made, from which on `later` holds


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRules:
    """What a vendor allows a batch to be, and how it is handled there."""

    calls: int  # the most in one batch
    size: int  # the most bytes of all its calls together
    lookup: BatchLookup
    cadence: PollCadence
    window: float = 24 * 3600.0  # seconds after which the vendor ends it; 0 = never
    lag: float = 120.0  # seconds until every listing shows what was made
    separator: bytes = b"\n"  # between two calls
    cancels: bool = True
    caches: bool = True  # a prefix marked for caching is worth it inside a batch, price allowing


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A batch about to be made: its calls are in a file, as the vendor's `line` wrote them."""

    nonce: str  # ours, new for every submission; every custom id begins with it
    model: str
    rows: int
    path: str  # the file; lines are parted by the vendor's separator, with none at the end
    wire: Wire = PLAIN_WIRE


class BatchQuery(NamedTuple):
    """A batch that may or may not have been made."""

    nonce: str
    rows: int
    input_ref: str  # "" where the calls travelled with the order
    since: datetime  # it was not made before this
    known: frozenset[str] = frozenset()  # references of batches that are others for sure
    retired: frozenset[str] = frozenset()  # names of earlier submissions, said not to be there
    asked_at: datetime | None = None  # by the clock that `since` is of


class BatchMatch(NamedTuple):
    """What looking for a batch showed: where it is; or why that is not certain; or nothing."""

    ref: str = ""
    unsure: str = ""
    earlier: tuple[str, ...] = ()  # made of earlier submissions after all


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """How a batch stands at the provider."""

    end: BatchEnd | None = None  # None: it is still under way
    cancelling: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)  # the provider's, for display only
    answers: int = 0  # that the provider says it has; 0 where it does not say
    results: tuple[str, ...] = ()  # where its rows are, for `fetch`
    problem: str = ""  # what the provider said went wrong


class BatchRow(NamedTuple):
    """One row of a batch's results."""

    custom_id: str  # "" where no name can be read
    end: RowEnd
    raw: bytes = b""  # of an answer: the body, as a direct call's decoder reads it; else the line
    error: ProviderError | None = None  # of an error: classified as that of a direct call
    body: JsonObject | None = None  # of an answer: the same as `raw`, parsed


def custom_id(nonce: str, attempt: int) -> str:
    """Name a call inside its batch, within the strictest vendor's rule."""
    return f"{nonce}-{attempt}"


def attempt_in_line(line: bytes, nonces: Iterable[str]) -> int | None:
    """The one attempt whose custom id stands whole in a line that nobody can read, if any does."""
    found = {
        int(number)
        for nonce in nonces
        for number in re.findall(rb"[\"']%s-([0-9]{1,18})[\\\"']" % nonce.encode(), line)
    }
    return found.pop() if len(found) == 1 else None


def parse_custom_id(name: str) -> tuple[str, int] | None:
    """The nonce and the attempt of a custom id; None for one that is not ours."""
    nonce, dash, number = name.rpartition("-")
    if not dash or not nonce or not number.isascii() or not number.isdecimal() or len(number) > 18:
        return None
    return nonce, int(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch as the ledger keeps it."""

    id: BatchId
    nonce: str
    state: BatchState
    lane_id: LaneId
    run_id: RunId
    stage_id: StageId
    model: str
    credential_id: CredentialId | None
    calls: int
    tokens: int
    size: int  # bytes
    input_ref: str
    ref: str
    end_reason: BatchEnd | None
    failures: int  # in a row, of asking the provider
    created_at: datetime
    creating_at: datetime | None  # from then on the provider may have it
    submitted_at: datetime | None  # since then it is known to have it
    cancel_asked_at: datetime | None
    cancel_sent_at: datetime | None
    next_at: datetime  # when the next thing is to be done about it
    lease_until: datetime  # somebody does it now
    absent_at: datetime | None = None  # it was taken for never made, and submitted again
    duplicate_found_at: datetime | None = None  # it had been made more than once after all


class DraftedCall(NamedTuple):
    """A call that a batch carries."""

    attempt_id: AttemptId
    request: QueuedRequest


class NewBatchAttempt(NamedTuple):
    """A call about to join a batch."""

    id: AttemptId
    request_id: int
    no: int
    batch_id: BatchId
    provider: str
    model: str
    params: str
    sent_at: int
    reserved: int
    slice_id: SliceId | None  # that it is reserved from; None: nothing bounds its run


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchView:
    """A batch as people look at it."""

    id: BatchId
    run_id: RunId
    model: str
    state: BatchState
    end_reason: str | None
    ref: str
    credential: str  # by its name
    rows: int  # calls in it
    tasks: int
    tokens: int  # the most that it may send
    counts: Mapping[str, int]  # the provider's
    attempts: Mapping[str, int]  # ours, by how they stand
    answered: int  # calls whose answer is here
    cost_pico: int  # picodollars
    duplicates: int
    strangers: int
    missing: int
    unread: int = 0  # lines of its results that nobody could read
    kept: int = 0  # of them, those kept with the batch; the others are with their calls
    created_at: datetime
    submitted_at: datetime | None
    next_at: datetime | None  # when it is looked at next
    ended_at: datetime | None
    problem: str
    cancelling: bool
    tag: str  # our name for it at the provider
