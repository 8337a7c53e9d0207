"""What OpenAI finds wrong with a batch's lines before any of them runs."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import orjson

from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.job import Job
from quire.rehearsal.batches.row import Flaw
from quire.rehearsal.dialects.forms import OBJECT, TEXT, Body, closed
from quire.rehearsal.models import Models

_LINE = Body(
    closed(
        {"custom_id": TEXT, "method": TEXT, "url": TEXT, "body": OBJECT},
        ["custom_id", "method", "url", "body"],
    )
)


def checker_of(
    job: Job, models: Models, providers: Sequence[str], most: int
) -> Callable[[int, bytes], None]:
    """Make the check for one batch: it remembers the names and the model that it has seen."""
    endpoint = job.order.about["endpoint"]
    names: set[bytes] = set()

    def check(line: int, text: bytes) -> None:
        if line > most:
            raise Flaw("invalid_request", f"The batch has more than {most} requests.", line=line)
        read = _read(line, text)
        _refuse_form(line, read, endpoint)
        name = blake2b(read["custom_id"].encode("utf-8", "replace"), digest_size=16).digest()
        if name in names:
            message = f"The custom_id '{read['custom_id'][:100]}' was already used in this batch."
            raise Flaw("duplicate_custom_id", message, param="custom_id", line=line)
        names.add(name)
        _refuse_body(line, read["body"], job)
        if line == 1:
            _refuse_model(job.model, models, providers)

    return check


def _read(line: int, text: bytes) -> Any:
    try:
        read = orjson.loads(text)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise Flaw("invalid_json_line", "This line is not parseable as valid JSON.", line=line)
    return read


def _refuse_form(line: int, read: Any, endpoint: object) -> None:
    mistake = _LINE.mistake(read)
    if mistake:
        place = ".".join(map(str, mistake.place)) or None
        if mistake.trouble is Trouble.MISSING_FIELD:
            message = f"Missing required parameter: '{place}'."
            raise Flaw("missing_required_parameter", message, param=place, line=line)
        raise Flaw("invalid_request", f"Invalid parameter: '{place}'.", param=place, line=line)
    if read["method"] != "POST":
        raise Flaw("invalid_request", "The method must be POST.", param="method", line=line)
    if read["url"] != endpoint:
        message = f"The URL provided for this request does not match the batch's ({endpoint})."
        raise Flaw("invalid_url", message, param="url", line=line)


def _refuse_model(name: str, models: Models, providers: Sequence[str]) -> None:
    try:
        models.find(name, providers)
    except Problem:
        message = f"The provided model '{name}' is not supported by the Batch API."
        raise Flaw("model_not_found", message, param="body.model", line=1) from None


def _refuse_body(line: int, body: Any, job: Job) -> None:
    model = body.get("model")
    if not isinstance(model, str) or not model:
        message = "Missing required parameter: 'body.model'."
        raise Flaw("missing_required_parameter", message, param="body.model", line=line)
    if job.model and model != job.model:
        message = f"The model '{model[:100]}' differs from that of the other lines: {job.model}."
        raise Flaw("mismatched_model", message, param="body.model", line=line)
    job.model = model[:200]
    if body.get("stream"):
        message = "Streaming is not supported in batches."
        raise Flaw("streaming_unsupported", message, param="body.stream", line=line)
