"""OpenAI's batches as its server, and those of Azure and Groq, speak of them."""

from collections.abc import Callable
from math import inf
from typing import Any

import orjson

from quire.domain.batches import End, RowEnd
from quire.domain.data import Json, JsonObject
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.job import Job, Order, Phase
from quire.rehearsal.batches.row import HOUR, Flaw, Row, RowCall, Written
from quire.rehearsal.dialects.chat import Chat
from quire.rehearsal.dialects.dialect import Dialect, Incoming
from quire.rehearsal.dialects.openai import OpenAI, worded
from quire.rehearsal.dialects.openai_forms import BATCH
from quire.rehearsal.dialects.responses import Responses
from quire.rehearsal.endpoints.openai_lines import checker_of
from quire.rehearsal.endpoints.replying import created, page_after, whole_number
from quire.rehearsal.exchange import Decision, Exchange
from quire.rehearsal.models import Models

_OUTPUT, _ERROR = "output", "error"
_STATUSES = {
    Phase.CHECKING: "validating",
    Phase.RUNNING: "in_progress",
    Phase.CANCELLING: "cancelling",
    Phase.WRITING: "finalizing",
}
_NEVER_RAN = {
    RowEnd.EXPIRED: (
        "batch_expired",
        "This request could not be executed before the batch expired.",
    ),
    RowEnd.CANCELLED: ("batch_cancelled", "This request was cancelled before it was executed."),
}


class Batches(OpenAI):
    """POST /batches, and what follows from it."""

    purpose = "batch_output"
    refuses = False  # a batch that finds the queue full fails
    window = 24 * HOUR

    def __init__(self, *providers: str, most_rows: int, longest: float = window) -> None:
        """Answer for the models of these providers; a window may be so many seconds long."""
        super().__init__(*providers)
        self.most_rows = most_rows
        self.longest = longest
        self.endpoints: dict[str, Dialect] = {
            "/v1/responses": Responses(*providers),
            "/v1/chat/completions": Chat(*providers),
        }

    def create(self, exchange: Exchange, raw: bytes) -> Decision:
        """Make a batch of a file."""
        key, memory = exchange.admit(), exchange.memory
        told, now = _read(raw), memory.clock.now()
        try:
            source = memory.shelf.find(key, told["input_file_id"], now)
        except Problem as problem:
            raise Problem(Trouble.INVALID, problem.message, place="input_file_id") from None
        if source.purpose != "batch":
            message = f"Invalid purpose of file '{source.id}': expected 'batch'."
            raise Problem(Trouble.INVALID, message, place="input_file_id")
        metadata = told.get("metadata") or {}
        about: JsonObject = {
            "endpoint": told["endpoint"],
            "input_file_id": source.id,
            "completion_window": told["completion_window"],
            "metadata": metadata or None,
        }
        tag = next(iter(metadata.values()), source.name.removesuffix(".jsonl"))
        azure = "api-key" in exchange.incoming.headers
        order = Order(
            manner=self,
            owner=key,
            source=source.path,
            rows=source.lines,
            tag=tag,
            about=about,
            # There the 24 hours are only aimed at, and the error file is there without errors.
            window=0 if azure else _window(told["completion_window"], self.longest),
            always=(_ERROR,) if azure else (),
        )
        job = memory.jobs.create(order, now)
        return created(exchange, job, self.shown(job, now))

    def one(self, exchange: Exchange, raw: bytes) -> Decision:
        """Say how a batch stands."""
        job = self._found(exchange)
        return exchange.plain(self.shown(job, exchange.memory.clock.now()))

    def every(self, exchange: Exchange, raw: bytes) -> Decision:
        """List the key's batches, the newest first."""
        found = exchange.memory.jobs.listed(exchange.admit(), self)
        most = whole_number(exchange, "limit", 20, 100)
        items, more = page_after(found, exchange.incoming.query.get("after", ""), most)
        now = exchange.memory.clock.now()
        return exchange.plain(listed([self.shown(job, now) for job in items], more))

    def cancel(self, exchange: Exchange, raw: bytes) -> Decision:
        """End a batch early."""
        job, now = self._found(exchange), exchange.memory.clock.now()
        if job.end is not None:
            message = f"Cannot cancel a batch with status '{job.end}'."
            raise Problem(Trouble.CONFLICT, message)
        exchange.memory.jobs.cancel(job, now)
        return exchange.plain(self.shown(job, now))

    def _found(self, exchange: Exchange) -> Job:
        key = exchange.admit()
        job = exchange.memory.jobs.find(key, self, exchange.incoming.named["batch"])
        exchange.entry.batch, exchange.entry.tag = job.id, job.tag
        return job

    def checker(self, job: Job, models: Models) -> Callable[[int, bytes], None]:
        """Check every line, as the provider does before a batch begins."""
        return checker_of(job, models, self.providers, self.most_rows)

    def call(self, job: Job, line: bytes) -> RowCall:
        """Understand a row."""
        read: Any = orjson.loads(line)
        path = str(job.order.about["endpoint"])
        incoming = Incoming("POST", path, {}, {}, {})
        return RowCall(
            read["custom_id"], self.endpoints[path], incoming, orjson.dumps(read["body"])
        )

    def written(self, job: Job, row: Row) -> Written:
        """Write a row of the output file, or of the error file."""
        response: JsonObject | None = None
        error: JsonObject | None = None
        if row.end in _NEVER_RAN:
            code, message = _NEVER_RAN[row.end]
            error = {"code": code, "message": message}
        else:
            body: Any = row.body
            request_id = f"req_{row.number:032x}"
            response = {"status_code": row.status, "request_id": request_id, "body": body}
        line: JsonObject = {
            "id": f"batch_req_{row.number:032x}",
            "custom_id": row.custom_id,
            "response": response,
            "error": error,
        }
        return Written(_OUTPUT if row.end is RowEnd.ANSWERED else _ERROR, line)

    def shown(self, job: Job, now: float) -> JsonObject:
        """A batch as its owner sees it."""
        results = job.results
        shown: dict[str, Json] = {
            "id": job.id,
            "object": "batch",
            **job.order.about,
            "model": job.model or None,
            "status": str(job.end) if job.end else _STATUSES[job.phase(now)],
            "output_file_id": results[_OUTPUT].id if _OUTPUT in results else None,
            "error_file_id": results[_ERROR].id if _ERROR in results else None,
            "errors": _errors(job.flaw),
            "request_counts": _counts(job, now),
            "created_at": int(job.created_at),
            "expires_at": None if job.expires_at == inf else int(job.expires_at),
            **_times(job, now),
        }
        if job.end not in (None, End.FAILED):
            shown["usage"] = _usage(job)
        return shown


def listed(items: list[JsonObject], more: bool) -> JsonObject:
    """A part of a list, as OpenAI pages it."""
    return {
        "object": "list",
        "data": items,
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": more,
    }


def _read(raw: bytes) -> Any:
    try:
        told = orjson.loads(raw)
    except ValueError:
        raise Problem(Trouble.NOT_JSON, "the body is not JSON") from None
    mistake = BATCH.mistake(told)
    if mistake:
        raise worded(mistake)
    return told


def _window(told: str, longest: float) -> float:
    """The seconds that a client allows a batch: 24h, and more where the vendor offers it."""
    number, unit = told[:-1], {"h": HOUR, "d": 24 * HOUR}.get(told[-1:], 0.0)
    seconds = int(number) * unit if number.isascii() and number.isdecimal() else 0.0
    if not 24 * HOUR <= seconds <= longest:
        message = f"Invalid value: '{told[:50]}'. Value must be '24h'."
        raise Problem(Trouble.INVALID, message, place="completion_window")
    return seconds


def _times(job: Job, now: float) -> dict[str, Json]:
    """When a batch passed which state; None for those that it did not."""
    ended = job.end is not None
    ran = job.checked and job.flaw is None and now >= job.started_at
    outlook = job.outlook()
    times: dict[str, float | None] = {
        "in_progress_at": job.started_at if ran else None,
        "finalizing_at": outlook.at if ran and now >= outlook.at else None,
        "cancelling_at": job.cancelled_at if job.cancelled_at < inf else None,
        "completed_at": None,
        "failed_at": None,
        "expired_at": None,
        "cancelled_at": None,
    }
    if ended:
        times[f"{job.end}_at"] = job.ended_at
    return {name: None if at is None else int(at) for name, at in times.items()}


def _counts(job: Job, now: float) -> JsonObject:
    total = job.rows if job.checked else 0
    if job.end is None:
        return {"total": total, "completed": int(total * job.share(now)), "failed": 0}
    answered = job.counts[RowEnd.ANSWERED]
    return {
        "total": total,
        "completed": answered,
        "failed": 0 if job.flaw else job.counts[RowEnd.ERRORED],
    }


def _errors(flaw: Flaw | None) -> JsonObject | None:
    if flaw is None:
        return None
    line = flaw.line or None
    error: JsonObject = {
        "code": flaw.code,
        "message": flaw.message,
        "param": flaw.param,
        "line": line,
    }
    return {"object": "list", "data": [error]}


def _usage(job: Job) -> JsonObject:
    used = job.usage
    taken = used["input"] + used["cached"] + used["written_short"] + used["written_long"]
    return {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": used["cached"]},
        "output_tokens": used["output"],
        "output_tokens_details": {"reasoning_tokens": used["reasoning"]},
        "total_tokens": taken + used["output"],
    }
