"""Anthropic's Message Batches as its server speaks of them: one order, one stream of results."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Any

import orjson

from quire.domain.batches import End, RowEnd
from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.rehearsal.asked import Asked, Problem, Said, Trouble
from quire.rehearsal.batches.files import Stored, array_to_lines, lines_of
from quire.rehearsal.batches.job import Job, Order, Phase
from quire.rehearsal.batches.row import HOUR, Row, RowCall, Written
from quire.rehearsal.dialects.anthropic import Anthropic, version_of, worded
from quire.rehearsal.dialects.dialect import Incoming
from quire.rehearsal.dialects.forms import OBJECT, TEXT, Body, closed
from quire.rehearsal.dialects.messages import Messages
from quire.rehearsal.endpoints.replying import created, fetched, page_after, whole_number
from quire.rehearsal.exchange import Decision, Exchange
from quire.rehearsal.models import Models

MOST_BYTES = 256 * 1024 * 1024
MOST_ROWS = 100_000

_RESULTS = "results"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LINE = Body(closed({"custom_id": TEXT, "params": OBJECT}, ["custom_id", "params"]))
_COUNTS = {
    "succeeded": RowEnd.ANSWERED,
    "errored": RowEnd.ERRORED,
    "canceled": RowEnd.CANCELLED,
    "expired": RowEnd.EXPIRED,
}
_NEVER_RAN = {RowEnd.CANCELLED: "canceled", RowEnd.EXPIRED: "expired"}


class BatchedMessages(Messages):
    """A message inside a batch: some of what a direct call may ask is not for it."""

    def read(self, body: Json, incoming: Incoming) -> Asked:
        """Understand a row."""
        asked: Any = body
        for name in ("stream", "speed"):
            if asked.get(name):
                raise Problem(Trouble.INVALID, f"{name}: is not supported in batches")
        if asked.get("max_tokens") == 0:
            message = "max_tokens: must be greater than or equal to 1"
            raise Problem(Trouble.INVALID, message)
        return super().read(body, incoming)

    def write(self, said: Said) -> tuple[JsonObject, Usage]:
        """Write an answer, at the price of a batch."""
        written, usage = super().write(said)
        told: Any = written["usage"]
        return {**written, "usage": {**told, "service_tier": "batch"}}, usage


class MessageBatches(Anthropic):
    """POST /v1/messages/batches, and what follows from it."""

    window = 24 * HOUR
    refuses = True  # too much in the queue is a limit like any other
    purpose = "batch_output"

    def __init__(self) -> None:
        """Answer rows as messages are."""
        self._messages = BatchedMessages()

    def create(self, exchange: Exchange, raw: bytes) -> Decision:
        """Make a batch of the calls that the body holds."""
        key, memory = exchange.admit(), exchange.memory
        version = version_of(exchange.incoming)
        lines, now = memory.shelf.fresh(), memory.clock.now()
        try:
            rows = _unpacked(exchange, lines)
            about: JsonObject = {"version": version}
            order = Order(
                manner=self,
                owner=key,
                source=lines,
                rows=rows,
                tag=_tag(lines),
                about=about,
                prefix="msgbatch_",
            )
            job = memory.jobs.create(order, now)
        finally:
            lines.unlink(missing_ok=True)
        return created(exchange, job, self.shown(job, exchange))

    def one(self, exchange: Exchange, raw: bytes) -> Decision:
        """Say how a batch stands."""
        return exchange.plain(self.shown(self._found(exchange), exchange))

    def every(self, exchange: Exchange, raw: bytes) -> Decision:
        """List the key's batches, the newest first."""
        query = exchange.incoming.query
        found = exchange.memory.jobs.listed(exchange.admit(), self)
        most = whole_number(exchange, "limit", 20, 1_000)
        if before := query.get("before_id", ""):
            behind = next((at for at, each in enumerate(found) if each.id == before), 0)
            found = found[max(0, behind - most) : behind]
        items, more = page_after(found, query.get("after_id", ""), most)
        shown = [self.shown(job, exchange) for job in items]
        ends = (shown[0]["id"], shown[-1]["id"]) if shown else (None, None)
        told: JsonObject = {"first_id": ends[0], "last_id": ends[1], "has_more": more}
        return exchange.plain({"data": shown, **told})

    def cancel(self, exchange: Exchange, raw: bytes) -> Decision:
        """End a batch early."""
        job = self._found(exchange)
        if job.end is not None:
            raise Problem(Trouble.INVALID, f"Batch {job.id} has ended, and cannot be canceled.")
        exchange.memory.jobs.cancel(job, exchange.memory.clock.now())
        return exchange.plain(self.shown(job, exchange))

    def delete(self, exchange: Exchange, raw: bytes) -> Decision:
        """Forget a batch that has ended."""
        job = self._found(exchange)
        if job.end is None:
            raise Problem(Trouble.INVALID, f"Batch {job.id} is still processing.")
        exchange.memory.jobs.delete(job)
        return exchange.plain({"id": job.id, "type": "message_batch_deleted"})

    def results(self, exchange: Exchange, raw: bytes) -> Decision:
        """Hand the results out, once all of a batch has ended."""
        job = self._found(exchange)
        stored: Stored | None = job.results.get(_RESULTS)
        if job.end is None or stored is None:
            raise Problem(Trouble.NO_THING, f"Results of batch {job.id} are not available.")
        return fetched(exchange, stored, "application/x-jsonl")

    def _found(self, exchange: Exchange) -> Job:
        key = exchange.admit()
        version_of(exchange.incoming)
        job = exchange.memory.jobs.find(key, self, exchange.incoming.named["batch"])
        exchange.entry.batch, exchange.entry.tag = job.id, job.tag
        return job

    def checker(self, job: Job, models: Models) -> Callable[[int, bytes], None]:
        """Check nothing more: whatever is wrong with a row is its own affair."""
        return lambda line, text: None

    def call(self, job: Job, line: bytes) -> RowCall:
        """Understand a row."""
        read: Any = orjson.loads(line)
        headers = {"anthropic-version": str(job.order.about["version"])}
        incoming = Incoming("POST", "/v1/messages", {}, {}, headers)
        return RowCall(read["custom_id"], self._messages, incoming, orjson.dumps(read["params"]))

    def written(self, job: Job, row: Row) -> Written:
        """Write a row of the results."""
        body: Any = row.body
        result: JsonObject = {"type": "errored", "error": body}
        if row.end is RowEnd.ANSWERED:
            result = {"type": "succeeded", "message": body}
        elif row.end in _NEVER_RAN:
            result = {"type": _NEVER_RAN[row.end]}
        return Written(_RESULTS, {"custom_id": row.custom_id, "result": result})

    def shown(self, job: Job, exchange: Exchange) -> JsonObject:
        """A batch as its owner sees it."""
        now, ended = exchange.memory.clock.now(), job.end is not None
        cancelled = min(job.cancelled_at, job.ended_at if job.end is End.CANCELLED else inf)
        status = "canceling" if job.cancelled_at < inf else "in_progress"
        host = exchange.incoming.headers.get("host", "localhost")
        return {
            "id": job.id,
            "type": "message_batch",
            "processing_status": "ended" if job.phase(now) is Phase.ENDED else status,
            "request_counts": _counts(job),
            "created_at": _time(job.created_at),
            "expires_at": _time(job.expires_at),
            "ended_at": _time(job.ended_at),
            "cancel_initiated_at": _time(cancelled),
            "archived_at": None,
            "results_url": f"http://{host}/v1/messages/batches/{job.id}/results" if ended else None,
        }


def _unpacked(exchange: Exchange, lines: Path) -> int:
    """Write the calls of a body to a file, a line each, once they may be made a batch of."""
    upload = exchange.upload
    if upload is None:
        raise Problem(Trouble.NOT_JSON, "the body is missing")
    rows = array_to_lines(upload.path, "requests", lines)
    if not rows:
        raise Problem(Trouble.INVALID, "requests: List should have at least 1 item")
    if rows > MOST_ROWS:
        raise Problem(Trouble.INVALID, f"requests: List should have at most {MOST_ROWS} items")
    names: set[bytes] = set()
    for place, line in enumerate(lines_of(lines)):
        name = _name(place, line)
        digest = blake2b(name.encode(), digest_size=16).digest()
        if digest in names:
            message = f"requests.{place}.custom_id: `{name}` is not unique in this batch"
            raise Problem(Trouble.INVALID, message)
        names.add(digest)
    return rows


def _name(place: int, line: bytes) -> str:
    """The name of one call, if that is one, and if there is a call."""
    try:
        read: Any = orjson.loads(line)
    except ValueError:
        raise Problem(Trouble.NOT_JSON, "the body is not JSON") from None
    mistake = _LINE.mistake(read)
    if mistake:
        raise worded(mistake._replace(place=("requests", place, *mistake.place)))
    name = str(read["custom_id"])
    if not _NAME.fullmatch(name):
        form = "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
        raise Problem(Trouble.INVALID, f"requests.{place}.custom_id: {form}")
    return name


def _tag(lines: Path) -> str:
    """What our own side calls the batch: nothing on it says so, but the names of its calls."""
    first: Any = orjson.loads(next(lines_of(lines)))
    return str(first["custom_id"]).rpartition("-")[0]


def _counts(job: Job) -> JsonObject:
    """All calls are processing until the batch as a whole has ended; the sum is always all."""
    if job.end is None:
        return {"processing": job.rows, **dict.fromkeys(_COUNTS, 0)}
    counts = {name: job.counts[end] for name, end in _COUNTS.items()}
    missing = job.rows - sum(counts.values())
    counts["errored" if job.end is End.FAILED else "succeeded"] += missing
    return {"processing": 0, **counts}


def _time(at: float) -> str | None:
    if at == inf:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
