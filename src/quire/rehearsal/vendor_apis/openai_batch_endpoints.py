"""OpenAI's files and batches as its server, and those of Azure and Groq, speak of them."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from math import inf
from typing import Any

import orjson

from quire.domain.batches import BatchEnd, RowEnd
from quire.domain.data import Json, JsonObject, json_object
from quire.rehearsal.batch_jobs import (
    HOUR,
    BatchFailure,
    BatchJob,
    BatchOrder,
    JobRow,
    Phase,
    ResultLine,
    RowCall,
)
from quire.rehearsal.exchange import Exchange, ResponsePlan, parse_json
from quire.rehearsal.file_store import StoredFile, count_lines
from quire.rehearsal.vendor_apis.body_forms import OBJECT, TEXT, BodyForm, record
from quire.rehearsal.vendor_apis.openai import OpenAIEndpoint, body_problem
from quire.rehearsal.vendor_apis.openai_call_endpoints import ChatEndpoint, ResponsesEndpoint
from quire.rehearsal.vendor_apis.openai_forms import BATCH
from quire.rehearsal.vendor_apis.replies import (
    confirm_batch,
    find_file,
    find_job,
    list_page,
    page_of,
    send_file,
)
from quire.rehearsal.vendor_protocol import (
    ApiProblem,
    CallEndpoint,
    IncomingRequest,
    KnownModels,
    ProblemKind,
    invalid,
)

_FIELDS = {"custom_id": TEXT, "method": TEXT, "url": TEXT, "body": OBJECT}
_LINE = BodyForm(record(" ".join(_FIELDS), **_FIELDS))


def make_line_check(
    job: BatchJob, models: KnownModels, providers: Sequence[str], most: int
) -> Callable[[int, bytes], None]:
    """Make the check for one batch: it remembers the names and the model that it has seen."""
    endpoint = job.order.details["endpoint"]
    names: set[bytes] = set()

    def check(line: int, text: bytes) -> None:
        if line > most:
            raise BatchFailure("invalid_request", f"The batch has more than {most} requests.")
        read: Any = json_object(text)
        if read is None:
            raise BatchFailure("invalid_json_line", "This line is not parseable as valid JSON.")
        _refuse_form(read, endpoint)
        name = blake2b(read["custom_id"].encode("utf-8", "replace"), digest_size=16).digest()
        if name in names:
            message = f"The custom_id '{read['custom_id'][:100]}' was already used in this batch."
            raise BatchFailure("duplicate_custom_id", message, "custom_id")
        names.add(name)
        _refuse_body(read["body"], job)
        if line == 1:
            _refuse_model(job.model, models, providers)

    return check


def _refuse_form(read: Any, endpoint: object) -> None:
    mistake = _LINE.mistake(read)
    if mistake:
        place = ".".join(map(str, mistake.place)) or None
        if mistake.kind is ProblemKind.MISSING_FIELD:
            message = f"Missing required parameter: '{place}'."
            raise BatchFailure("missing_required_parameter", message, place)
        raise BatchFailure("invalid_request", f"Invalid parameter: '{place}'.", place)
    if read["method"] != "POST":
        raise BatchFailure("invalid_request", "The method must be POST.", "method")
    if read["url"] != endpoint:
        message = f"The URL provided for this request does not match the batch's ({endpoint})."
        raise BatchFailure("invalid_url", message, "url")


def _refuse_model(name: str, models: KnownModels, providers: Sequence[str]) -> None:
    try:
        models.find(name, providers)
    except ApiProblem:
        message = f"The provided model '{name}' is not supported by the Batch API."
        raise BatchFailure("model_not_found", message, "body.model") from None


def _refuse_body(body: Any, job: BatchJob) -> None:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        message = "Missing required parameter: 'body.model'."
        raise BatchFailure("missing_required_parameter", message, "body.model")
    if job.model and model != job.model:
        message = f"The model '{model[:100]}' differs from that of the other lines: {job.model}."
        raise BatchFailure("mismatched_model", message, "body.model")
    job.model = model[:200]
    if body.get("stream"):
        message = "Streaming is not supported in batches."
        raise BatchFailure("streaming_unsupported", message, "body.stream")


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


class OpenAIBatchEndpoint(OpenAIEndpoint):
    """POST /batches, and what follows from it."""

    purpose = "batch_output"
    refuses_when_full = False  # a batch that finds the queue full fails
    window = 24 * HOUR

    def __init__(self, *providers: str, most_rows: int, longest: float = window) -> None:
        """Answer for the models of these providers; a window may be so many seconds long."""
        super().__init__(*providers)
        self.most_rows = most_rows
        self.longest = longest
        self.endpoints: dict[str, CallEndpoint] = {
            "/v1/responses": ResponsesEndpoint(*providers),
            "/v1/chat/completions": ChatEndpoint(*providers),
        }

    def create(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Make a batch of a file."""
        key, state = exchange.admit(), exchange.state
        body, now = BATCH.check(parse_json(raw), body_problem), state.clock.now()
        try:
            source = state.files.find(key, body["input_file_id"], now)
        except ApiProblem as problem:
            raise invalid(problem.message, place="input_file_id") from None
        if source.purpose != "batch":
            message = f"Invalid purpose of file '{source.id}': expected 'batch'."
            raise invalid(message, place="input_file_id")
        metadata = body.get("metadata") or {}
        said = {name: body[name] for name in ("endpoint", "input_file_id", "completion_window")}
        tag = next(iter(metadata.values()), source.name.removesuffix(".jsonl"))
        azure = "api-key" in exchange.incoming.headers
        order = BatchOrder(
            endpoint=self,
            owner=key,
            source=source.path,
            rows=source.lines,
            tag=tag,
            details={**said, "metadata": metadata or None},
            # There the 24 hours are only aimed at, and the error file is there without errors.
            window=0 if azure else _window(body["completion_window"], self.longest),
            always=(_ERROR,) if azure else (),
        )
        job = state.jobs.create(order, now)
        return confirm_batch(exchange, job, self.describe_job(job, now))

    def retrieve(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Say how a batch stands."""
        job = find_job(exchange, self)
        return exchange.reply_json(self.describe_job(job, exchange.state.clock.now()))

    def list_all(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """List the key's batches, the newest first."""
        found = exchange.state.jobs.list_owned(exchange.admit(), self)
        items, more = page_of(exchange, found, ("limit", 20, 100), "after")
        now = exchange.state.clock.now()
        listed = list_page([self.describe_job(job, now) for job in items], more)
        return exchange.reply_json({"object": "list", **listed})

    def cancel(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """End a batch early."""
        job, now = find_job(exchange, self), exchange.state.clock.now()
        if job.end is not None:
            message = f"Cannot cancel a batch with status '{job.end}'."
            raise ApiProblem(ProblemKind.CONFLICT, message)
        exchange.state.jobs.cancel(job, now)
        return exchange.reply_json(self.describe_job(job, now))

    def checker(self, job: BatchJob, models: KnownModels) -> Callable[[int, bytes], None]:
        """Check every line, as the provider does before a batch begins."""
        return make_line_check(job, models, self.providers, self.most_rows)

    def parse_row(self, job: BatchJob, line: bytes) -> RowCall:
        """Understand a row."""
        read: Any = orjson.loads(line)
        path = str(job.order.details["endpoint"])
        incoming = IncomingRequest("POST", path, {}, {}, {})
        name, body = read["custom_id"], orjson.dumps(read["body"])
        return RowCall(name, self.endpoints[path], incoming, body)

    def result_line(self, job: BatchJob, row: JobRow) -> ResultLine:
        """Write a row of the output file, or of the error file."""
        line: dict[str, Any] = {"id": f"batch_req_{row.number:032x}", "custom_id": row.custom_id}
        request_id = f"req_{row.number:032x}"
        line["response"] = {"status_code": row.status, "request_id": request_id, "body": row.body}
        line["error"] = None
        if row.end in _NEVER_RAN:
            code, message = _NEVER_RAN[row.end]
            line |= {"response": None, "error": {"code": code, "message": message}}
        return ResultLine(_OUTPUT if row.end is RowEnd.ANSWERED else _ERROR, line)

    def describe_job(self, job: BatchJob, now: float) -> JsonObject:
        """A batch as its owner sees it."""
        files = {name: job.results[name].id for name in job.results}
        body: dict[str, Json] = {
            "id": job.id,
            "object": "batch",
            **job.order.details,
            "model": job.model or None,
            "status": str(job.end) if job.end else _STATUSES[job.phase(now)],
            "output_file_id": files.get(_OUTPUT),
            "error_file_id": files.get(_ERROR),
            "errors": _errors(job.failure),
            "request_counts": _counts(job, now),
            "created_at": int(job.created_at),
            "expires_at": None if job.expires_at == inf else int(job.expires_at),
            **_times(job, now),
        }
        if job.end not in (None, BatchEnd.FAILED):
            body["usage"] = _usage(job)
        return body


def _window(text: str, longest: float) -> float:
    """The seconds that a client allows a batch: 24h, and more where the vendor offers it."""
    number, unit = text[:-1], {"h": HOUR, "d": 24 * HOUR}.get(text[-1:], 0.0)
    seconds = int(number) * unit if number.isascii() and number.isdecimal() else 0.0
    if not 24 * HOUR <= seconds <= longest:
        message = f"Invalid value: '{text[:50]}'. Value must be '24h'."
        raise invalid(message, place="completion_window")
    return seconds


def _times(job: BatchJob, now: float) -> dict[str, Json]:
    """When a batch passed which state; None for those that it did not."""
    ran = job.checked and job.failure is None and now >= job.started_at
    expected = job.expected_end()
    times: dict[str, float | None] = {
        "in_progress_at": job.started_at if ran else None,
        "finalizing_at": expected.at if ran and now >= expected.at else None,
        "cancelling_at": job.cancelled_at if job.cancelled_at < inf else None,
        **dict.fromkeys(f"{end}_at" for end in ("completed", "failed", "expired", "cancelled")),
    }
    if job.end is not None:
        times[f"{job.end}_at"] = job.ended_at
    return {name: None if at is None else int(at) for name, at in times.items()}


def _counts(job: BatchJob, now: float) -> JsonObject:
    total = job.rows if job.checked else 0
    if job.end is None:
        return {"total": total, "completed": int(total * job.share_done(now)), "failed": 0}
    failed = 0 if job.failure else job.counts[RowEnd.ERRORED]
    return {"total": total, "completed": job.counts[RowEnd.ANSWERED], "failed": failed}


def _errors(failure: BatchFailure | None) -> JsonObject | None:
    if failure is None:
        return None
    about = {name: getattr(failure, name) for name in ("code", "message", "param")}
    return {"object": "list", "data": [{**about, "line": failure.line or None}]}


def _usage(job: BatchJob) -> JsonObject:
    used = job.usage
    body = used["input"] + used["cached"] + used["written_short"] + used["written_long"]
    return {
        "input_tokens": body,
        "input_tokens_details": {"cached_tokens": used["cached"]},
        "output_tokens": used["output"],
        "output_tokens_details": {"reasoning_tokens": used["reasoning"]},
        "total_tokens": body + used["output"],
    }


MOST_BYTES = 200 * 1024 * 1024
_LIFETIME = 30 * 24 * 3_600
_EXPIRES = "expires_after[seconds]"
_LEAST_LIFETIME = 3_600
_PURPOSES = ("batch", "assistants", "fine-tune", "vision", "user_data", "evals")


class OpenAIFileEndpoint(OpenAIEndpoint):
    """POST /files, and what follows from it."""

    def create(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Keep a file that was uploaded."""
        key, files = exchange.admit(), exchange.state.files
        upload = exchange.upload
        if upload is None or not upload.name:
            message = "'file' is a required property"
            raise ApiProblem(ProblemKind.MISSING_FIELD, message, place="file")
        purpose = upload.fields.get("purpose", "")
        if purpose not in _PURPOSES:
            message = f"'{purpose[:100]}' is not one of {list(_PURPOSES)} - 'purpose'"
            raise invalid(message, place="purpose")
        lifetime = _lifetime(upload.fields.get(_EXPIRES, str(_LIFETIME)))
        now = exchange.state.clock.now()
        stored = StoredFile(
            id=files.new_id("file-"),
            owner=key,
            name=upload.name[:200],
            purpose=purpose,
            path=files.keep_upload(upload),
            size=upload.size,
            created_at=now,
            expires_at=now + lifetime,
        )
        stored.lines = count_lines(stored.path)
        files.add(stored)
        return exchange.reply_json(_describe_file(stored))

    def retrieve(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Describe a file."""
        return exchange.reply_json(_describe_file(find_file(exchange)))

    def content(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Hand a file out."""
        return send_file(exchange, find_file(exchange), "application/octet-stream")

    def delete(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Forget a file."""
        stored = find_file(exchange)
        exchange.state.files.delete(stored)
        return exchange.reply_json({"id": stored.id, "object": "file", "deleted": True})

    def list_all(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """List the key's files, the newest first unless told otherwise."""
        query = exchange.incoming.query
        found = exchange.state.files.list_owned(exchange.admit())
        if "purpose" in query:
            found = [file for file in found if file.purpose == query["purpose"]]
        if query.get("order") == "asc":
            found.reverse()
        items, more = page_of(exchange, found, ("limit", 10_000, 10_000), "after")
        listed = list_page([_describe_file(item) for item in items], more)
        return exchange.reply_json({"object": "list", **listed})


def _describe_file(stored: StoredFile) -> JsonObject:
    return {
        "id": stored.id,
        "object": "file",
        "bytes": stored.size,
        "created_at": int(stored.created_at),
        "expires_at": int(stored.expires_at),
        "filename": stored.name,
        "purpose": stored.purpose,
        "status": "processed",
        "status_details": None,
    }


def _lifetime(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise invalid("Invalid 'expires_after.seconds'.", place="expires_after")
    if not _LEAST_LIFETIME <= int(text) <= _LIFETIME:
        message = f"'expires_after.seconds' must be from {_LEAST_LIFETIME} to {_LIFETIME}."
        raise invalid(message, place="expires_after")
    return int(text)
