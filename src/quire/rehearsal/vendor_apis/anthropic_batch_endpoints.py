"""Anthropic's Message Batches as its server speaks of them: one order, one stream of results."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Any

import orjson

from quire.domain.batches import BatchEnd, RowEnd
from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.rehearsal.batch_jobs import (
    HOUR,
    BatchJob,
    BatchOrder,
    JobRow,
    Phase,
    ResultLine,
    RowCall,
)
from quire.rehearsal.exchange import Exchange, ResponsePlan, parse_json
from quire.rehearsal.file_store import StoredFile, array_to_lines, lines_of
from quire.rehearsal.vendor_apis.anthropic import (
    AnthropicEndpoint,
    MessagesEndpoint,
    body_problem,
    version_of,
)
from quire.rehearsal.vendor_apis.body_forms import OBJECT, TEXT, BodyForm, record
from quire.rehearsal.vendor_apis.replies import (
    confirm_batch,
    find_job,
    list_page,
    page_of,
    send_file,
    whole_number,
)
from quire.rehearsal.vendor_protocol import (
    ApiProblem,
    IncomingRequest,
    KnownModels,
    ModelAnswer,
    ParsedCall,
    ProblemKind,
    invalid,
)

MOST_BYTES = 256 * 1024 * 1024
MOST_ROWS = 100_000

_RESULTS = "results"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LINE = BodyForm(record("custom_id params", custom_id=TEXT, params=OBJECT))
_COUNTS = {
    "succeeded": RowEnd.ANSWERED,
    "errored": RowEnd.ERRORED,
    "canceled": RowEnd.CANCELLED,
    "expired": RowEnd.EXPIRED,
}
_NEVER_RAN = {RowEnd.CANCELLED: "canceled", RowEnd.EXPIRED: "expired"}


class BatchedMessagesEndpoint(MessagesEndpoint):
    """A message inside a batch: some of what a direct call may ask is not for it."""

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a row."""
        call: Any = body
        for name in ("stream", "speed"):
            if call.get(name):
                raise invalid(f"{name}: is not supported in batches")
        if call.get("max_tokens") == 0:
            raise invalid("max_tokens: must be greater than or equal to 1")
        return super().read(body, incoming)

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write an answer, at the price of a batch."""
        written, usage = super().write(answer)
        usage_fields: Any = written["usage"]
        return {**written, "usage": {**usage_fields, "service_tier": "batch"}}, usage


class AnthropicBatchEndpoint(AnthropicEndpoint):
    """POST /v1/messages/batches, and what follows from it."""

    window = 24 * HOUR
    refuses_when_full = True  # too much in the queue is a limit like any other
    purpose = "batch_output"

    def __init__(self) -> None:
        """Answer rows as messages are."""
        self._messages = BatchedMessagesEndpoint()

    def create(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Make a batch of the calls that the body holds."""
        key, state = exchange.admit(), exchange.state
        about: JsonObject = {"version": version_of(exchange.incoming)}
        lines, now = state.files.new_path(), state.clock.now()
        try:
            rows = _unpack_calls(exchange, lines)
            order = BatchOrder(
                endpoint=self,
                owner=key,
                source=lines,
                rows=rows,
                tag=_tag(lines),
                details=about,
                prefix="msgbatch_",
            )
            job = state.jobs.create(order, now)
        finally:
            lines.unlink(missing_ok=True)
        return confirm_batch(exchange, job, self.describe_job(job, exchange))

    def retrieve(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Say how a batch stands."""
        return exchange.reply_json(self.describe_job(self._find_job(exchange), exchange))

    def list_all(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """List the key's batches, the newest first."""
        found, size = exchange.state.jobs.list_owned(exchange.admit(), self), ("limit", 20, 1_000)
        if before := exchange.incoming.query.get("before_id", ""):
            behind = next((at for at, job in enumerate(found) if job.id == before), 0)
            found = found[max(0, behind - whole_number(exchange, *size)) : behind]
        items, more = page_of(exchange, found, size, "after_id")
        listed = [self.describe_job(job, exchange) for job in items]
        return exchange.reply_json(list_page(listed, more))

    def cancel(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """End a batch early."""
        job = self._find_job(exchange)
        if job.end is not None:
            raise invalid(f"Batch {job.id} has ended, and cannot be canceled.")
        exchange.state.jobs.cancel(job, exchange.state.clock.now())
        return exchange.reply_json(self.describe_job(job, exchange))

    def delete(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Forget a batch that has ended."""
        job = self._find_job(exchange)
        if job.end is None:
            raise invalid(f"Batch {job.id} is still processing.")
        exchange.state.jobs.delete(job)
        return exchange.reply_json({"id": job.id, "type": "message_batch_deleted"})

    def results(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Hand the results out, once all of a batch has ended."""
        job = self._find_job(exchange)
        stored: StoredFile | None = job.results.get(_RESULTS)
        if job.end is None or stored is None:
            raise ApiProblem(ProblemKind.NO_THING, f"Results of batch {job.id} are not available.")
        return send_file(exchange, stored, "application/x-jsonl")

    def _find_job(self, exchange: Exchange) -> BatchJob:
        exchange.admit()
        version_of(exchange.incoming)
        return find_job(exchange, self)

    def checker(self, job: BatchJob, models: KnownModels) -> Callable[[int, bytes], None]:
        """Check nothing more: whatever is wrong with a row is its own affair."""
        return lambda line, text: None

    def parse_row(self, job: BatchJob, line: bytes) -> RowCall:
        """Understand a row."""
        read: Any = orjson.loads(line)
        headers = {"anthropic-version": str(job.order.details["version"])}
        incoming = IncomingRequest("POST", "/v1/messages", {}, {}, headers)
        return RowCall(read["custom_id"], self._messages, incoming, orjson.dumps(read["params"]))

    def result_line(self, job: BatchJob, row: JobRow) -> ResultLine:
        """Write a row of the results."""
        body: Any = row.body
        result: JsonObject = {"type": "errored", "error": body}
        if row.end is RowEnd.ANSWERED:
            result = {"type": "succeeded", "message": body}
        elif row.end in _NEVER_RAN:
            result = {"type": _NEVER_RAN[row.end]}
        return ResultLine(_RESULTS, {"custom_id": row.custom_id, "result": result})

    def describe_job(self, job: BatchJob, exchange: Exchange) -> JsonObject:
        """A batch as its owner sees it."""
        now, ended = exchange.state.clock.now(), job.end is not None
        cancelled = min(job.cancelled_at, job.ended_at if job.end is BatchEnd.CANCELLED else inf)
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


def _unpack_calls(exchange: Exchange, lines: Path) -> int:
    """Write the calls of a body to a file, a line each, once they may be made a batch of."""
    upload = exchange.upload
    if upload is None:
        raise ApiProblem(ProblemKind.NOT_JSON, "the body is missing")
    rows = array_to_lines(upload.path, "requests", lines)
    if not rows:
        raise invalid("requests: List should have at least 1 item")
    if rows > MOST_ROWS:
        raise invalid(f"requests: List should have at most {MOST_ROWS} items")
    names: set[bytes] = set()
    for place, line in enumerate(lines_of(lines)):
        name = _name(place, line)
        digest = blake2b(name.encode(), digest_size=16).digest()
        if digest in names:
            raise invalid(f"requests.{place}.custom_id: `{name}` is not unique in this batch")
        names.add(digest)
    return rows


def _name(place: int, line: bytes) -> str:
    """The name of one call, if that is one, and if there is a call."""
    read: Any = parse_json(line)
    mistake = _LINE.mistake(read)
    if mistake:
        raise body_problem(mistake._replace(place=("requests", place, *mistake.place)))
    name = str(read["custom_id"])
    if not _NAME.fullmatch(name):
        form = "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
        raise invalid(f"requests.{place}.custom_id: {form}")
    return name


def _tag(lines: Path) -> str:
    """What our own side calls the batch: nothing on it says so, but the names of its calls."""
    return str(orjson.loads(next(lines_of(lines)))["custom_id"]).rpartition("-")[0]


def _counts(job: BatchJob) -> JsonObject:
    """All calls are processing until the batch as a whole has ended; the sum is always all."""
    if job.end is None:
        return {"processing": job.rows, **dict.fromkeys(_COUNTS, 0)}
    counts = {name: job.counts[end] for name, end in _COUNTS.items()}
    missing = job.rows - sum(counts.values())
    counts["errored" if job.end is BatchEnd.FAILED else "succeeded"] += missing
    return {"processing": 0, **counts}


def _time(at: float) -> str | None:
    if at == inf:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
