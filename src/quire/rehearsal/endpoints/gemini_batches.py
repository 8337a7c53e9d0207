"""Gemini's batches as Google's servers speak of them: operations, of a file or of few calls."""

from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path
from typing import Any

import orjson

from quire.domain.batches import End, RowEnd
from quire.domain.data import Json, JsonObject
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.files import lines_of
from quire.rehearsal.batches.job import Job, Order, Phase
from quire.rehearsal.batches.row import HOUR, Flaw, Row, RowCall, Written
from quire.rehearsal.dialects.dialect import Incoming
from quire.rehearsal.dialects.forms import OBJECT, TEXT, Body, Form, closed, several
from quire.rehearsal.dialects.gemini import Gemini, worded
from quire.rehearsal.dialects.generate import Generate
from quire.rehearsal.endpoints.gemini_files import PURPOSE, time_of
from quire.rehearsal.endpoints.replying import created, page_after, whole_number
from quire.rehearsal.exchange import Decision, Exchange
from quire.rehearsal.models import Models

_RESULTS, _PREFIX = "results", "batches/"
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
_STATES = {
    End.COMPLETED: "SUCCEEDED",
    End.FAILED: "FAILED",
    End.CANCELLED: "CANCELLED",
    End.EXPIRED: "EXPIRED",
}
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14}
_NEVER_RAN = {RowEnd.CANCELLED: (1, "The batch was cancelled."), RowEnd.EXPIRED: (4, "Expired.")}
_METADATA: Form = {"type": "object", "additionalProperties": TEXT}
_INSIDE = closed({"request": OBJECT, "metadata": _METADATA}, ["request"])
_ORDER = Body(
    closed(
        {
            "batch": closed(
                {
                    "displayName": TEXT,
                    "model": TEXT,
                    "priority": TEXT,
                    "inputConfig": closed(
                        {
                            "fileName": TEXT,
                            "requests": closed({"requests": several(_INSIDE, 1)}, ["requests"]),
                        }
                    ),
                },
                ["inputConfig"],
            )
        },
        ["batch"],
    )
)
_LINE = Body(closed({"key": TEXT, "request": OBJECT}, ["request"]))


class GeminiBatches(Gemini):
    """POST …/models/{model}:batchGenerateContent, and what follows from it."""

    window = 48 * HOUR
    refuses = True  # too much in the queue is a quota like any other
    purpose = PURPOSE

    def __init__(self, *providers: str) -> None:
        """Answer for the models of these providers."""
        super().__init__(*providers)
        self._generate = Generate(*providers)

    def create(self, exchange: Exchange, raw: bytes) -> Decision:
        """Make a batch of a file, or of the calls in the body."""
        key, memory = exchange.admit(), exchange.memory
        model = exchange.incoming.named["model"]
        memory.models.find(model, self.providers)
        told = _read(raw)
        source, now = told["inputConfig"], memory.clock.now()
        about: JsonObject = {"inline": "requests" in source}
        if "requests" in source:
            calls: list[Any] = source["requests"]["requests"]
            lines, rows = self._written_out(exchange, calls, model), len(calls)
        else:
            name = str(source.get("fileName", "")).removeprefix("files/")
            stored = memory.shelf.find(key, name, now)
            lines, rows = stored.path, stored.lines
        order = Order(
            manner=self,
            owner=key,
            source=lines,
            rows=rows,
            tag=str(told.get("displayName", "")),
            model=model,
            about=about,
            prefix=_PREFIX,
        )
        try:
            job = memory.jobs.create(order, now)
        finally:
            if about["inline"]:
                lines.unlink(missing_ok=True)
        return created(exchange, job, self.shown(job, now))

    def one(self, exchange: Exchange, raw: bytes) -> Decision:
        """Say how a batch stands."""
        job = self._found(exchange)
        return exchange.plain(self.shown(job, exchange.memory.clock.now()))

    def every(self, exchange: Exchange, raw: bytes) -> Decision:
        """List the key's batches, the newest first; an empty list is left out."""
        found = exchange.memory.jobs.listed(exchange.admit(), self)
        most = whole_number(exchange, "pageSize", 50, 1_000)
        token = exchange.incoming.query.get("pageToken", "")
        items, more = page_after(found, f"{_PREFIX}{token}" if token else "", most)
        now = exchange.memory.clock.now()
        body: dict[str, Json] = {}
        if items:
            body["operations"] = [self.shown(job, now) for job in items]
        if more:
            body["nextPageToken"] = items[-1].id.removeprefix(_PREFIX)
        return exchange.plain(body)

    def cancel(self, exchange: Exchange, raw: bytes) -> Decision:
        """End a batch early; one that has ended already stays as it is."""
        exchange.memory.jobs.cancel(self._found(exchange), exchange.memory.clock.now())
        return exchange.plain({})

    def delete(self, exchange: Exchange, raw: bytes) -> Decision:
        """Forget a batch, without ending it."""
        exchange.memory.jobs.delete(self._found(exchange))
        return exchange.plain({})

    def _found(self, exchange: Exchange) -> Job:
        key, name = exchange.admit(), f"{_PREFIX}{exchange.incoming.named['batch']}"
        job = exchange.memory.jobs.find(key, self, name)
        exchange.entry.batch, exchange.entry.tag = job.id, job.tag
        return job

    def _written_out(self, exchange: Exchange, calls: Iterable[Any], model: str) -> Path:
        """Write the calls of a body to a file; what is wrong with one refuses them all."""
        incoming = _asked_of(model)
        path = exchange.memory.shelf.fresh()
        with path.open("wb") as file:
            for call in calls:
                self._generate.read(call["request"], incoming)
                file.write(orjson.dumps(call) + b"\n")
        return path

    def checker(self, job: Job, models: Models) -> Callable[[int, bytes], None]:
        """Check that every line holds a call."""

        def check(line: int, text: bytes) -> None:
            try:
                mistake = None if job.order.about["inline"] else _LINE.mistake(orjson.loads(text))
            except ValueError:
                raise Flaw("INVALID_ARGUMENT", f"Line {line} is not JSON.", line=line) from None
            if mistake:
                raise Flaw("INVALID_ARGUMENT", f"Line {line}: {worded(mistake)}", line=line)

        return check

    def call(self, job: Job, line: bytes) -> RowCall:
        """Understand a row; of one that came in the body all that it was called is its name."""
        read: Any = orjson.loads(line)
        name = read.get("key", "")
        if job.order.about["inline"]:
            name = orjson.dumps(read.get("metadata", {})).decode()
        body = orjson.dumps(read["request"])
        return RowCall(name, self._generate, _asked_of(job.order.model), body)

    def written(self, job: Job, row: Row) -> Written:
        """Write a row of the results."""
        body: Any = row.body
        result: dict[str, Any] = {"key": row.custom_id}
        if job.order.about["inline"]:
            result = {"metadata": orjson.Fragment(row.custom_id)}
        if row.end is RowEnd.ANSWERED:
            return Written(_RESULTS, {"response": body, **result})
        code, message = _NEVER_RAN.get(row.end, (_CODES.get(row.status, 2), ""))
        if not message:
            message = str(orjson.loads(orjson.dumps(body))["error"]["message"])
        return Written(_RESULTS, {"error": {"code": code, "message": message}, **result})

    def shown(self, job: Job, now: float) -> JsonObject:
        """A batch as its owner sees it: an operation, with everything of interest beside it."""
        phase, output = job.phase(now), _output(job)
        state = "PENDING" if phase is Phase.CHECKING else "RUNNING"
        about: dict[str, Json] = {
            "@type": _TYPE,
            "name": job.id,
            "model": f"models/{job.order.model}",
            "displayName": job.tag,
            "createTime": time_of(job.created_at),
            "updateTime": time_of(min(now, job.ended_at)),
            "batchStats": _stats(job, now),
            "state": f"BATCH_STATE_{_STATES[job.end] if job.end else state}",
        }
        shown: dict[str, Json] = {"name": job.id, "metadata": about}
        if job.ended_at < inf:
            about["endTime"] = time_of(job.ended_at)
        if job.end is not None:
            shown["done"] = True
        if job.flaw is not None:
            shown["error"] = {"code": 3, "message": job.flaw.message}
        elif output:
            about["output"] = output
            shown["response"] = {"@type": f"{_TYPE}Output", **output}
        return shown


def _asked_of(model: str) -> Incoming:
    path = f"/v1beta/models/{model}:generateContent"
    return Incoming("POST", path, {"model": model}, {}, {})


def _read(raw: bytes) -> Any:
    try:
        told = orjson.loads(raw)
    except ValueError:
        raise Problem(Trouble.NOT_JSON, "the body is not JSON") from None
    mistake = _ORDER.mistake(told)
    if mistake:
        raise worded(mistake)
    return told["batch"]


def _output(job: Job) -> JsonObject:
    """Where the results are; what has outlasted its time has none, whatever was done."""
    stored = job.results.get(_RESULTS)
    if stored is None or job.end in (None, End.EXPIRED):
        return {}
    if not job.order.about["inline"]:
        return {"responsesFile": f"files/{stored.id}"}
    rows: Any = orjson.Fragment(b"[" + b",".join(lines_of(stored.path)) + b"]")
    return {"inlinedResponses": {"inlinedResponses": rows}}


def _stats(job: Job, now: float) -> JsonObject:
    """Numbers, as strings; those that are nought are left out."""
    done = job.counts[RowEnd.ANSWERED] if job.end else int(job.rows * job.share(now))
    failed = job.counts[RowEnd.ERRORED]
    pending = 0 if job.end else job.rows - done
    counts = {
        "requestCount": job.rows,
        "successfulRequestCount": done,
        "failedRequestCount": failed,
        "pendingRequestCount": pending,
    }
    return {name: str(count) for name, count in counts.items() if count}
