"""Gemini's files and batches as Google's servers have them: uploads and operations."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

import orjson

from quire.domain.accounts import Secret
from quire.domain.batches import BatchEnd, RowEnd
from quire.domain.data import Json, JsonObject
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
from quire.rehearsal.file_store import StoredFile, count_lines, lines_of
from quire.rehearsal.vendor_apis.body_forms import OBJECT, TEXT, BodyForm, Form, list_of, record
from quire.rehearsal.vendor_apis.gemini import GeminiEndpoint, GenerateEndpoint, body_problem
from quire.rehearsal.vendor_apis.replies import (
    confirm_batch,
    find_file,
    find_job,
    page_of,
    send_file,
)
from quire.rehearsal.vendor_protocol import IncomingRequest, KnownModels, invalid

MOST_BYTES = 2 * 1024**3
PURPOSE = "gemini"  # of every file here, so that others' are not seen

_LIFETIME = 48 * HOUR
_COMMANDS = ("upload", "upload, finalize", "finalize")


@dataclass(slots=True)
class _Session:
    """A file on its way here."""

    owner: str
    name: str
    path: Path
    size: int = 0


class GeminiFileEndpoint(GeminiEndpoint):
    """POST /upload/…/files, and what follows from it."""

    def __init__(self, *providers: str) -> None:
        """Begin without a file on its way."""
        super().__init__(*providers)
        self._sessions: dict[str, _Session] = {}

    def upload(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Open a session, or take a piece of its file."""
        command = exchange.incoming.headers.get("x-goog-upload-command", "")
        if command == "start":
            return self._start(exchange)
        session = self._sessions.get(exchange.incoming.query.get("upload_id", ""))
        if session is None or command not in _COMMANDS:
            raise invalid("Upload has already been terminated.")
        exchange.entry.key = Secret(session.owner).tail  # the session stands for it
        _append(exchange, session)
        if "finalize" not in command:
            return _with_headers(exchange.reply_json(None), status="active")
        del self._sessions[exchange.incoming.query["upload_id"]]
        stored = _keep_file(exchange, session)
        body = {"file": _describe_file(exchange, stored)}
        return _with_headers(exchange.reply_json(body), status="final")

    def retrieve(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Describe a file."""
        return exchange.reply_json(_describe_file(exchange, find_file(exchange)))

    def content(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Hand a file out, if a batch wrote it: what was uploaded stays here."""
        stored = find_file(exchange)
        if not stored.batch:
            raise invalid("Only generated files can be downloaded.")
        return send_file(exchange, stored, "application/octet-stream")

    def list_all(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """List the key's files, the newest first."""
        owned = exchange.state.files.list_owned(exchange.admit())
        found = [file for file in owned if file.purpose == PURPOSE]
        items, more = page_of(exchange, found, ("pageSize", 10, 100), "pageToken")
        body: dict[str, Json] = {"files": [_describe_file(exchange, item) for item in items]}
        return exchange.reply_json({**body, **({"nextPageToken": items[-1].id} if more else {})})

    def delete(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Forget a file."""
        exchange.state.files.delete(find_file(exchange))
        return exchange.reply_json({})

    def _start(self, exchange: Exchange) -> ResponsePlan:
        key, files = exchange.admit(), exchange.state.files
        info = _parse_file_info(exchange)
        session = _Session(key, str(info.get("displayName") or "")[:200], files.new_path())
        session.path.touch()
        name = files.new_id("up")
        self._sessions[name] = session
        url = f"{_origin(exchange)}{exchange.incoming.path}?upload_id={name}"
        return _with_headers(exchange.reply_json({}), url=url, status="active")


def time_of(at: float) -> str:
    """A time as Google writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def _parse_file_info(exchange: Exchange) -> dict[str, Any]:
    """What is said of a file before it comes, in names of either style."""
    upload = exchange.upload
    body = parse_json(upload.path.read_bytes() or b"{}") if upload else {}
    about = body.get("file") if isinstance(body, dict) else None
    if not isinstance(about, dict):
        return {}
    return {"displayName": about.get("displayName") or about.get("display_name")}


def _append(exchange: Exchange, session: _Session) -> None:
    offset = exchange.incoming.headers.get("x-goog-upload-offset", "")
    if offset != str(session.size):
        raise invalid(f"The offset is {offset[:20]}, but {session.size} bytes have come.")
    upload = exchange.upload
    if upload is not None:
        with upload.path.open("rb") as read, session.path.open("ab") as write:
            shutil.copyfileobj(read, write, 1 << 18)
        session.size += upload.size


def _keep_file(exchange: Exchange, session: _Session) -> StoredFile:
    files, now = exchange.state.files, exchange.state.clock.now()
    stored = StoredFile(
        id=files.new_id("file-"),
        owner=session.owner,
        name=session.name,
        purpose=PURPOSE,
        path=session.path,
        size=session.size,
        created_at=now,
        expires_at=now + _LIFETIME,
        lines=count_lines(session.path),
    )
    exchange.entry.rows = stored.lines
    return files.add(stored)


def _describe_file(exchange: Exchange, stored: StoredFile) -> JsonObject:
    url = f"{_origin(exchange)}/v1beta/files/{stored.id}"
    body: dict[str, Json] = {
        "name": f"files/{stored.id}",
        "mimeType": "application/jsonl",
        "sizeBytes": str(stored.size),
        "createTime": time_of(stored.created_at),
        "updateTime": time_of(stored.created_at),
        "sha256Hash": sha256(stored.id.encode()).hexdigest(),
        "uri": url,
        "state": "ACTIVE",
        "source": "GENERATED" if stored.batch else "UPLOADED",
    }
    if stored.batch:
        return {**body, "downloadUri": f"{url}:download?alt=media"}
    body["expirationTime"] = time_of(stored.expires_at)
    return {**body, **({"displayName": stored.name} if stored.name else {})}


def _origin(exchange: Exchange) -> str:
    return f"http://{exchange.incoming.headers.get('host', 'localhost')}"


def _with_headers(plan: ResponsePlan, **fields: str) -> ResponsePlan:
    """An answer with what goes on besides its body."""
    headers = {f"x-goog-upload-{name}": value for name, value in fields.items()}
    return replace(plan, headers={**plan.headers, **headers})


_RESULTS, _PREFIX = "results", "batches/"
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
_STATES = {
    BatchEnd.COMPLETED: "SUCCEEDED",
    BatchEnd.FAILED: "FAILED",
    BatchEnd.CANCELLED: "CANCELLED",
    BatchEnd.EXPIRED: "EXPIRED",
}
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14}
_NEVER_RAN = {RowEnd.CANCELLED: (1, "The batch was cancelled."), RowEnd.EXPIRED: (4, "Expired.")}
_METADATA: Form = {"type": "object", "additionalProperties": TEXT}
_INSIDE = record("request", request=OBJECT, metadata=_METADATA)
_ORDER = BodyForm(
    record(
        "batch",
        batch=record(
            "inputConfig",
            displayName=TEXT,
            model=TEXT,
            priority=TEXT,
            inputConfig=record(
                fileName=TEXT, requests=record("requests", requests=list_of(_INSIDE, 1))
            ),
        ),
    )
)
_LINE = BodyForm(record("request", key=TEXT, request=OBJECT))


class GeminiBatchEndpoint(GeminiEndpoint):
    """POST …/models/{model}:batchGenerateContent, and what follows from it."""

    window = 48 * HOUR
    refuses_when_full = True  # too much in the queue is a quota like any other
    purpose = PURPOSE

    def __init__(self, *providers: str) -> None:
        """Answer for the models of these providers."""
        super().__init__(*providers)
        self._generate = GenerateEndpoint(*providers)

    def create(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Make a batch of a file, or of the calls in the body."""
        key, state = exchange.admit(), exchange.state
        model = exchange.incoming.path_params["model"]
        state.models.find(model, self.providers)
        batch = _ORDER.check(parse_json(raw), body_problem)["batch"]
        source, now = batch["inputConfig"], state.clock.now()
        about: JsonObject = {"inline": "requests" in source}
        if "requests" in source:
            calls: list[Any] = source["requests"]["requests"]
            lines, rows = self._write_calls(exchange, calls, model), len(calls)
        else:
            name = str(source.get("fileName", "")).removeprefix("files/")
            stored = state.files.find(key, name, now)
            lines, rows = stored.path, stored.lines
        order = BatchOrder(
            endpoint=self,
            owner=key,
            source=lines,
            rows=rows,
            tag=str(batch.get("displayName", "")),
            model=model,
            details=about,
            prefix=_PREFIX,
        )
        try:
            job = state.jobs.create(order, now)
        finally:
            if about["inline"]:
                lines.unlink(missing_ok=True)
        return confirm_batch(exchange, job, self.describe_job(job, now))

    def retrieve(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Say how a batch stands."""
        job = find_job(exchange, self, _PREFIX)
        return exchange.reply_json(self.describe_job(job, exchange.state.clock.now()))

    def list_all(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """List the key's batches, the newest first; an empty list is left out."""
        found = exchange.state.jobs.list_owned(exchange.admit(), self)
        items, more = page_of(exchange, found, ("pageSize", 50, 1_000), "pageToken", _PREFIX)
        now = exchange.state.clock.now()
        body: dict[str, Json] = {}
        if items:
            body["operations"] = [self.describe_job(job, now) for job in items]
        if more:
            body["nextPageToken"] = items[-1].id.removeprefix(_PREFIX)
        return exchange.reply_json(body)

    def cancel(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """End a batch early; one that has ended already stays as it is."""
        exchange.state.jobs.cancel(find_job(exchange, self, _PREFIX), exchange.state.clock.now())
        return exchange.reply_json({})

    def delete(self, exchange: Exchange, raw: bytes) -> ResponsePlan:
        """Forget a batch, without ending it."""
        exchange.state.jobs.delete(find_job(exchange, self, _PREFIX))
        return exchange.reply_json({})

    def _write_calls(self, exchange: Exchange, calls: Iterable[Any], model: str) -> Path:
        """Write the calls of a body to a file; what is wrong with one refuses them all."""
        incoming = _generate_request(model)
        path = exchange.state.files.new_path()
        with path.open("wb") as file:
            for call in calls:
                self._generate.read(call["request"], incoming)
                file.write(orjson.dumps(call) + b"\n")
        return path

    def checker(self, job: BatchJob, models: KnownModels) -> Callable[[int, bytes], None]:
        """Check that every line holds a call."""

        def check(line: int, text: bytes) -> None:
            try:
                mistake = None if job.order.details["inline"] else _LINE.mistake(orjson.loads(text))
            except ValueError:
                raise BatchFailure("INVALID_ARGUMENT", f"Line {line} is not JSON.") from None
            if mistake:
                raise BatchFailure("INVALID_ARGUMENT", f"Line {line}: {body_problem(mistake)}")

        return check

    def parse_row(self, job: BatchJob, line: bytes) -> RowCall:
        """Understand a row; of one that came in the body all that it was called is its name."""
        read: Any = orjson.loads(line)
        name = read.get("key", "")
        if job.order.details["inline"]:
            name = orjson.dumps(read.get("metadata", {})).decode()
        body = orjson.dumps(read["request"])
        return RowCall(name, self._generate, _generate_request(job.order.model), body)

    def result_line(self, job: BatchJob, row: JobRow) -> ResultLine:
        """Write a row of the results."""
        body: Any = row.body
        result: dict[str, Any] = {"key": row.custom_id}
        if job.order.details["inline"]:
            result = {"metadata": orjson.Fragment(row.custom_id)}
        if row.end is RowEnd.ANSWERED:
            return ResultLine(_RESULTS, {"response": body, **result})
        code, message = _NEVER_RAN.get(row.end, (_CODES.get(row.status, 2), ""))
        if not message:
            message = str(orjson.loads(orjson.dumps(body))["error"]["message"])
        return ResultLine(_RESULTS, {"error": {"code": code, "message": message}, **result})

    def describe_job(self, job: BatchJob, now: float) -> JsonObject:
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
        body: dict[str, Json] = {"name": job.id, "metadata": about}
        if job.ended_at < inf:
            about["endTime"] = time_of(job.ended_at)
        if job.end is not None:
            body["done"] = True
        if job.failure is not None:
            body["error"] = {"code": 3, "message": job.failure.message}
        elif output:
            about["output"] = output
            body["response"] = {"@type": f"{_TYPE}Output", **output}
        return body


def _generate_request(model: str) -> IncomingRequest:
    path = f"/v1beta/models/{model}:generateContent"
    return IncomingRequest("POST", path, {"model": model}, {}, {})


def _output(job: BatchJob) -> JsonObject:
    """Where the results are; what has outlasted its time has none, whatever was done."""
    stored = job.results.get(_RESULTS)
    if stored is None or job.end in (None, BatchEnd.EXPIRED):
        return {}
    if not job.order.details["inline"]:
        return {"responsesFile": f"files/{stored.id}"}
    rows: Any = orjson.Fragment(b"[" + b",".join(lines_of(stored.path)) + b"]")
    return {"inlinedResponses": {"inlinedResponses": rows}}


def _stats(job: BatchJob, now: float) -> JsonObject:
    """Numbers, as strings; those that are nought are left out."""
    done = job.counts[RowEnd.ANSWERED] if job.end else int(job.rows * job.share_done(now))
    counts = {
        "requestCount": job.rows,
        "successfulRequestCount": done,
        "failedRequestCount": job.counts[RowEnd.ERRORED],
        "pendingRequestCount": 0 if job.end else job.rows - done,
    }
    return {name: str(count) for name, count in counts.items() if count}
