"""One batch: what its vendor's are like, who asked for it, when it ends, with how much done."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import NamedTuple, Protocol

from quire.domain.accounts import Secret
from quire.domain.batches import End
from quire.domain.data import Json, JsonObject
from quire.rehearsal.batches.files import Stored
from quire.rehearsal.batches.row import Flaw, Row, RowCall, Written
from quire.rehearsal.models import Models

_HALF = 0.5


class Phase(StrEnum):
    """How far a batch is."""

    CHECKING = "checking"  # its lines are read, or it waits to begin
    RUNNING = "running"
    CANCELLING = "cancelling"
    WRITING = "writing"  # its time has come, and its results are being written
    ENDED = "ended"


class Outlook(NamedTuple):
    """How a batch will end, if nothing else happens to it."""

    end: End
    at: float
    share: float  # of its rows that get an answer


class Manner(Protocol):
    """What all batches of one vendor, under one prefix, have in common."""

    name: str
    window: float  # seconds until a batch expires; 0: never
    refuses: bool  # a full queue refuses the create with 429; otherwise the batch itself fails
    purpose: str  # of the files that results are

    def checker(self, job: "Job", models: Models) -> Callable[[int, bytes], None]:
        """Make the check that every line passes before a batch runs; it raises Flaw."""
        ...

    def call(self, job: "Job", line: bytes) -> RowCall:
        """Understand a row."""
        ...

    def written(self, job: "Job", row: Row) -> Written:
        """Write a row of the results."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A batch that somebody asks for."""

    manner: Manner
    owner: str  # the key
    source: Path  # a row a line; linked, so that whoever owns it may delete it
    rows: int  # as far as is known
    tag: str = ""  # by which its maker knows it
    model: str = ""
    about: JsonObject = field(default_factory=dict)  # whatever the vendor repeats of it
    prefix: str = "batch_"  # of its id
    window: float | None = None  # seconds, where it is not the vendor's usual one; 0: never expires
    always: tuple[str, ...] = ()  # results that are there although nothing is in them


@dataclass(slots=True, kw_only=True)
class Job:
    """One batch."""

    number: int  # of all that were ever asked for, from 1
    id: str
    order: Order
    source: Path
    created_at: float
    started_at: float
    due_at: float  # inf: it is stuck
    expires_at: float  # inf: never
    faults: frozenset[str]
    rows: int
    model: str = ""
    checked: bool = False  # its lines have been read
    cancelled_at: float = inf  # when its owner asked for its end
    ended_at: float = inf
    end: End | None = None  # None: it has not ended, or its results are not written yet
    flaw: Flaw | None = None  # why it failed
    counts: Counter[str] = field(default_factory=Counter)  # rows by RowEnd
    usage: Counter[str] = field(default_factory=Counter)
    results: dict[str, Stored] = field(default_factory=dict)  # by name; none is empty
    digest: str = ""  # of all bodies, in their order: equal where the same was asked for again
    deleted: bool = False

    @property
    def tag(self) -> str:
        """By which its maker knows it."""
        return self.order.tag

    @property
    def key_tail(self) -> str:
        """The last characters of its maker's key."""
        return Secret(self.order.owner).tail

    @property
    def setup(self) -> float:
        """Seconds that it takes to begin, and to be cancelled."""
        return self.started_at - self.created_at

    def outlook(self) -> Outlook:
        """How it will end."""
        if self.cancelled_at < min(self.due_at, self.expires_at):
            at = min(self.cancelled_at + self.setup, self.expires_at)
            return Outlook(End.CANCELLED, at, self.share(self.cancelled_at))
        if self.due_at > self.expires_at:
            return Outlook(End.EXPIRED, self.expires_at, self.share(self.expires_at))
        if "batch_expire" in self.faults:
            return Outlook(End.EXPIRED, self.due_at, _HALF)
        if "batch_cancel" in self.faults:
            return Outlook(End.CANCELLED, self.due_at, _HALF)
        return Outlook(End.COMPLETED, self.due_at, 1.0)

    def share(self, now: float) -> float:
        """How much of it is done at a time; its rows are answered evenly."""
        if now >= self.due_at:
            return 1.0
        if self.due_at == inf or now <= self.started_at:
            return 0.0
        return (now - self.started_at) / (self.due_at - self.started_at)

    def row_at(self, ordinal: int) -> float:
        """When a row is answered."""
        if self.due_at == inf:
            return self.started_at
        spent = (ordinal + 1) / max(1, self.rows)
        return self.started_at + spent * (self.due_at - self.started_at)

    def phase(self, now: float) -> Phase:
        """How far it is."""
        if self.end is not None:
            return Phase.ENDED
        if self.checked and now >= self.outlook().at:
            return Phase.WRITING
        if self.cancelled_at < inf:
            return Phase.CANCELLING
        return Phase.RUNNING if self.checked and now >= self.started_at else Phase.CHECKING

    def as_json(self, now: float) -> dict[str, Json]:
        """All that a test may ask about it."""
        return {
            "id": self.id,
            "vendor": self.order.manner.name,
            "key": self.key_tail,
            "tag": self.tag,
            "model": self.model,
            "rows": self.rows,
            "digest": self.digest,
            "phase": self.phase(now),
            "end": self.end,
            "problem": self.flaw.code if self.flaw else "",
            "faults": sorted(self.faults),
            "counts": dict(self.counts),
            "usage": dict(self.usage),
            "created_at": self.created_at,
            "ended_at": None if self.ended_at == inf else self.ended_at,
        }
