"""Batches of every vendor: their rows, whose they are, when and how each one ends."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import orjson

from quire.domain.accounts import Secret
from quire.domain.batches import BatchEnd, RowEnd
from quire.domain.data import Json, JsonObject
from quire.rehearsal.fault_script import BatchScript
from quire.rehearsal.file_store import FileStore, StoredFile
from quire.rehearsal.timing import Latency
from quire.rehearsal.vendor_protocol import (
    ApiProblem,
    CallEndpoint,
    IncomingRequest,
    KnownModels,
    ProblemKind,
)

HOUR = 3_600.0


class BatchFailure(Exception):
    """Why a batch fails as a whole, and nothing of it runs."""

    line = 0  # in which it is found; 0: in none of them

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        """Say what is wrong, and with which parameter."""
        super().__init__(message)
        self.code, self.message, self.param = code, message, param


class RowCall(NamedTuple):
    """One row, understood as the call that it stands for."""

    custom_id: str
    dialect: CallEndpoint  # of the endpoint that would answer it
    incoming: IncomingRequest  # as that endpoint would get it
    body: bytes


class JobRow(NamedTuple):
    """What became of one row."""

    ordinal: int
    custom_id: str
    end: RowEnd
    number: int  # unlike any other on this server, for ids
    status: int = 0  # of the answer or of the error; 0 where the row never ran
    body: orjson.Fragment | str = ""  # a Fragment is JSON; a string is what no reader of JSON takes


class ResultLine(NamedTuple):
    """A line of results, and the name of the result that it belongs to."""

    result: str
    line: Json


_HALF = 0.5


class Phase(StrEnum):
    """How far a batch is."""

    CHECKING = "checking"  # its lines are read, or it waits to begin
    RUNNING = "running"
    CANCELLING = "cancelling"
    WRITING = "writing"  # its time has come, and its results are being written
    ENDED = "ended"


class ExpectedEnd(NamedTuple):
    """How a batch will end, if nothing else happens to it."""

    end: BatchEnd
    at: float
    share: float  # of its rows that get an answer


class BatchEndpoint(Protocol):
    """What all batches of one vendor, under one prefix, have in common."""

    name: str
    window: float  # seconds until a batch expires; 0: never
    refuses_when_full: (
        bool  # a full queue refuses the create with 429; otherwise the batch itself fails
    )
    purpose: str  # of the files that results are

    def checker(self, job: "BatchJob", models: KnownModels) -> Callable[[int, bytes], None]:
        """Make the check that every line passes before a batch runs; it raises Flaw."""

    def parse_row(self, job: "BatchJob", line: bytes) -> RowCall:
        """Understand a row."""

    def result_line(self, job: "BatchJob", row: JobRow) -> ResultLine:
        """Write a row of the results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOrder:
    """A batch that somebody asks for."""

    endpoint: BatchEndpoint
    owner: str  # the key
    source: Path  # a row a line; linked, so that whoever owns it may delete it
    rows: int  # as far as is known
    tag: str = ""  # by which its maker knows it
    model: str = ""
    details: JsonObject = field(default_factory=dict)  # whatever the vendor repeats of it
    prefix: str = "batch_"  # of its id
    window: float | None = None  # seconds, where it is not the vendor's usual one; 0: never expires
    always: tuple[str, ...] = ()  # results that are there although nothing is in them


@dataclass(slots=True, kw_only=True)
class BatchJob:
    """One batch."""

    number: int  # of all that were ever asked for, from 1
    id: str
    order: BatchOrder
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
    end: BatchEnd | None = None  # None: it has not ended, or its results are not written yet
    failure: BatchFailure | None = None  # why it failed
    counts: Counter[str] = field(default_factory=Counter)  # rows by RowEnd
    usage: Counter[str] = field(default_factory=Counter)
    results: dict[str, StoredFile] = field(default_factory=dict)  # by name; none is empty
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
    def setup_time(self) -> float:
        """Seconds that it takes to begin, and to be cancelled."""
        return self.started_at - self.created_at

    def expected_end(self) -> ExpectedEnd:
        """How it will end."""
        if self.cancelled_at < min(self.due_at, self.expires_at):
            at = min(self.cancelled_at + self.setup_time, self.expires_at)
            return ExpectedEnd(BatchEnd.CANCELLED, at, self.share_done(self.cancelled_at))
        if self.due_at > self.expires_at:
            return ExpectedEnd(BatchEnd.EXPIRED, self.expires_at, self.share_done(self.expires_at))
        if "batch_expire" in self.faults:
            return ExpectedEnd(BatchEnd.EXPIRED, self.due_at, _HALF)
        if "batch_cancel" in self.faults:
            return ExpectedEnd(BatchEnd.CANCELLED, self.due_at, _HALF)
        return ExpectedEnd(BatchEnd.COMPLETED, self.due_at, 1.0)

    def share_done(self, now: float) -> float:
        """How much of it is done at a time; its rows are answered evenly."""
        if now >= self.due_at:
            return 1.0
        if self.due_at == inf or now <= self.started_at:
            return 0.0
        return (now - self.started_at) / (self.due_at - self.started_at)

    def row_time(self, ordinal: int) -> float:
        """When a row is answered."""
        if self.due_at == inf:
            return self.started_at
        spent = (ordinal + 1) / max(1, self.rows)
        return self.started_at + spent * (self.due_at - self.started_at)

    def phase(self, now: float) -> Phase:
        """How far it is."""
        if self.end is not None:
            return Phase.ENDED
        if self.checked and now >= self.expected_end().at:
            return Phase.WRITING
        if self.cancelled_at < inf:
            return Phase.CANCELLING
        return Phase.RUNNING if self.checked and now >= self.started_at else Phase.CHECKING

    def as_json(self, now: float) -> dict[str, Json]:
        """All that a test may ask about it."""
        return {
            "id": self.id,
            "vendor": self.order.endpoint.name,
            "key": self.key_tail,
            "tag": self.tag,
            "model": self.model,
            "rows": self.rows,
            "digest": self.digest,
            "phase": self.phase(now),
            "end": self.end,
            "problem": self.failure.code if self.failure else "",
            "faults": sorted(self.faults),
            "counts": dict(self.counts),
            "usage": dict(self.usage),
            "created_at": self.created_at,
            "ended_at": None if self.ended_at == inf else self.ended_at,
        }


QUEUE_FULL = "token_limit_exceeded"
_SETUP = 0.1  # of a batch's time goes by before its first row, and after a cancel
_MOST_SETUP = 60.0  # seconds


class BatchJobs:
    """All batches of one server."""

    def __init__(self, files: FileStore, latency: Latency, seed: int) -> None:
        """Begin with none."""
        self.script = BatchScript()
        self.jobs: dict[str, BatchJob] = {}
        self.open: list[BatchJob] = []  # those that have not ended
        self._files = files
        self._latency = latency
        self._seed = seed
        self._asked = 0
        self._refused = 0

    def create(self, order: BatchOrder, now: float) -> BatchJob:
        """Make a batch, or raise Problem where the queue is full and the vendor says so at once."""
        self._asked += 1
        number = self._asked
        faults = self.script.draw(number)
        if "batch_full" in faults and order.endpoint.refuses_when_full:
            self._refused += 1
            message = "Enqueued token limit reached, by the fault script."
            raise ApiProblem(ProblemKind.RATE, message, retry_after=1.0, of_tokens=True)
        source = self._files.new_path()
        os.link(order.source, source)
        chance = Random(f"{self._seed}:{number}")  # noqa: S311 - a rehearsal is no secret
        body = self._latency.draw(chance)
        window = order.endpoint.window if order.window is None else order.window
        job = BatchJob(
            number=number,
            id=self._files.new_id(order.prefix),
            order=order,
            source=source,
            created_at=now,
            started_at=now + min(_MOST_SETUP, body * _SETUP),
            due_at=inf if "batch_stuck" in faults else now + body,
            expires_at=now + window if window else inf,
            faults=faults,
            rows=order.rows,
            model=order.model,
        )
        self.jobs[job.id] = job
        self.open.append(job)
        if "batch_full" in faults:
            reason = f"Enqueued token limit reached for {job.model or 'this model'}, by the script."
            self.fail(job, BatchFailure(QUEUE_FULL, reason), now)
        return job

    def find(self, owner: str, endpoint: BatchEndpoint, job_id: str) -> BatchJob:
        """Look a batch up; with another key than the one that made it there is none."""
        found = self.jobs.get(job_id)
        if found is None or not _belongs_to(found, owner, endpoint):
            raise ApiProblem(ProblemKind.NO_THING, f"No batch found with id '{job_id[:100]}'.")
        return found

    def list_owned(self, owner: str, endpoint: BatchEndpoint) -> list[BatchJob]:
        """Somebody's batches, the newest first."""
        return [job for job in reversed(self.jobs.values()) if _belongs_to(job, owner, endpoint)]

    def cancel(self, job: BatchJob, now: float) -> None:
        """Ask for a batch's end; what has ended already stays as it is."""
        if job.phase(now) in (Phase.CHECKING, Phase.RUNNING):
            job.cancelled_at = now

    def delete(self, job: BatchJob) -> None:
        """Forget a batch, and what it wrote; it stays on record for whoever watches."""
        job.deleted = True
        for stored in job.results.values():
            stored.path.unlink(missing_ok=True)

    def fail(self, job: BatchJob, failure: BatchFailure, now: float) -> None:
        """End a batch of which nothing runs."""
        job.failure = failure
        self.finish(job, BatchEnd.FAILED, now)

    def finish(self, job: BatchJob, end: BatchEnd, at: float) -> None:
        """End a batch; its results are there."""
        job.end, job.ended_at = end, at
        self.open.remove(job)
        job.source.unlink(missing_ok=True)

    def as_json(self) -> Mapping[str, Json]:
        """What batches add up to."""
        ends = Counter(str(job.end or "open") for job in self.jobs.values())
        return {
            "created": len(self.jobs),
            "refused": self._refused,
            "rows": sum(job.rows for job in self.jobs.values()),
            "ends": dict(ends),
            "faults": dict(Counter(name for job in self.jobs.values() for name in job.faults)),
        }


def _belongs_to(job: BatchJob, owner: str, endpoint: BatchEndpoint) -> bool:
    return not job.deleted and job.order.owner == owner and job.order.endpoint is endpoint
