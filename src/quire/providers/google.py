"""What Gemini and Vertex AI share: the generateContent wire format, and their batch jobs."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import orjson

from quire.domain.accounts import Account, Rates
from quire.domain.batches import BatchEnd, BatchRow, BatchStatus, RowEnd
from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.models import StructuredOutput, Usage
from quire.domain.requests import Call, Reply, Role, Stop
from quire.providers import error_codes, wire
from quire.providers.batch_requests import (
    BatchSearch,
    answered_row,
    dump_json,
    read_counts,
    row_error,
    unreadable_row,
    unusable_row,
)
from quire.providers.embedding_formats import read_embeddings
from quire.providers.event_streams import load_answer
from quire.providers.http import one_line
from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.protocol import Classify, HttpResponse
from quire.providers.rate_headers import duration

# How the schema of an answer is written.
SchemaWriter: TypeAlias = Callable[[wire.IdentityKey], orjson.Fragment | None]

_VERSIONED = re.compile(r"/v\d\w*/?$")
_ROLES = {Role.USER: "user", Role.ASSISTANT: "model"}
_STOPS = {
    "STOP": Stop.END,
    "MALFORMED_FUNCTION_CALL": Stop.END,  # the model's own mistake, which the gates judge
    "MALFORMED_RESPONSE": Stop.END,
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
            *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER"),
            *("NO_IMAGE", "OTHER"),
        ),
        Stop.REFUSAL,
    ),
}  # any other reason, known or new, leaves an answer that may not be whole
_PRECONDITION = error_codes.Meaning(Remedy.FIX_ACCOUNT, "see what the account or its project lacks")
_QUOTA = error_codes.Meaning(
    Remedy.FIX_ACCOUNT, "the quota of a day is used up: wait, or have it raised", spent=True
)
_BY_REASON = {
    **dict.fromkeys(
        ("API_KEY_INVALID", "API_KEY_EXPIRED", "API_KEY_SERVICE_BLOCKED"), error_codes.KEY
    ),
    **dict.fromkeys(("ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING"), error_codes.KEY),
    "BILLING_DISABLED": error_codes.MONEY,
}
_BAD_KEY = re.compile(r"API key (?:not valid|expired|not found)", re.IGNORECASE)
_LONG = re.compile(r"token count.{0,40}exceeds|payload size exceeds|too many tokens", re.IGNORECASE)
_SPENT = re.compile(r"spend|billing details|prepayment|credits", re.IGNORECASE)


class GoogleFormat:
    """What Gemini and Vertex AI read alike."""

    name: str
    decoder_version = 2

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read the first candidate."""
        read = load_answer(raw, body)
        return read_embeddings(read) or read_content(self.name, read)

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about an error."""
        return classify_google(self.name, response)

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Learn nothing: Google's headers do not speak of limits."""
        return None

    def error_in_success(self, raw: bytes) -> HttpResponse | None:
        """None: it sends no errors with a 200."""
        return None


@lru_cache(maxsize=256)
def versioned_url(vendor: str, base: str, version: str, end: str) -> str:
    """Where calls go: below the base URL's own version, or the usual one."""
    base = base if _VERSIONED.search(base) else f"{base.rstrip('/')}/{version}"
    return wire.endpoint_url(vendor, base, "", end)


def encode_content(call: Call, write_schema: SchemaWriter | None = None) -> bytes:
    """Write a call's body; equal prefixes are found by the vendor itself, so none is marked.

    `write_schema` writes the schema of the answer, where that takes more than what is usual.
    """
    body: dict[str, object] = {
        "contents": [
            {"role": _ROLES[message.role], "parts": [{"text": message.text}]}
            for message in wire.messages_of(call)
        ]
    }
    if call.system:
        body["systemInstruction"] = _system(call.system)
    config = _config(call)
    if call.output_schema is not None and call.wire.structured is not StructuredOutput.TEXT:
        config["responseMimeType"] = "application/json"
        if call.wire.structured is not StructuredOutput.JSON:
            schema = (write_schema or _schema)(wire.IdentityKey(call.output_schema))
            config |= {"responseJsonSchema": schema} if schema is not None else {}
    if config:
        body["generationConfig"] = config
    return orjson.dumps(body)


def read_content(vendor: str, body: JsonObject) -> Reply:
    """Read a response; a prompt that was blocked has no candidates, and is a refusal."""
    if "error" in body or not ({"candidates", "promptFeedback", "usageMetadata"} & body.keys()):
        raise Undecodable(f"the response of {vendor} is not a generated answer")
    blocked = bool(wire.mapping(body.get("promptFeedback")).get("blockReason"))
    usage = _usage(wire.mapping(body.get("usageMetadata")), blocked)
    candidates = wire.items(body.get("candidates"))
    if blocked or not candidates:
        return Reply(text="", stop=Stop.REFUSAL if blocked else Stop.LENGTH, usage=usage)
    parts = wire.items(wire.mapping(candidates[0].get("content")).get("parts"))
    reason = candidates[0].get("finishReason")
    return Reply(
        text=_join_parts(parts, thoughts=False),
        stop=_STOPS.get(reason, Stop.LENGTH) if isinstance(reason, str) else Stop.LENGTH,
        usage=usage,
        reasoning=_join_parts(parts, thoughts=True),
    )


def classify_google(vendor: str, response: HttpResponse) -> ProviderError:
    """Say what can be done about an error, by its details and its status."""
    found = wire.parse(response.body)
    whole = wire.mapping(found[0]) if isinstance(found, list) and found else wire.mapping(found)
    error = wire.mapping(whole.get("error"))
    error_body = error_codes.ErrorBody(
        tuple(word for word in (error.get("status"),) if isinstance(word, str)),
        wire.text(error.get("message"))
        or wire.text(whole.get("error_description"))
        or error_codes.plain_text(response.body),
    )
    details = wire.items(error.get("details"))
    meaning = _meaning(response.status, error_body, details)
    return error_codes.name_error(vendor, response, error_body, meaning, _retry_delay(details))


@lru_cache(maxsize=256)
def _system(system: str) -> orjson.Fragment:
    return wire.fragment({"role": "user", "parts": [{"text": system}]})


@lru_cache(maxsize=256)
def _schema(schema: wire.IdentityKey) -> orjson.Fragment:
    return wire.fragment(portable_schema(schema.value, SchemaDialect.GEMINI))


def _config(call: Call) -> dict[str, object]:
    params = call.params
    asked = {
        "maxOutputTokens": params.max_tokens,
        "temperature": params.temperature if call.wire.sampling else None,
        "topP": params.top_p if call.wire.sampling else None,
        "seed": params.seed,
        "stopSequences": params.stop or None,
        "thinkingConfig": _thinking(params.effort) if params.effort else None,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _thinking(effort: str) -> dict[str, object]:
    """A level for models of the third generation on, a number of tokens for those before."""
    if effort.removeprefix("-").isdecimal():
        return {"thinkingBudget": int(effort)}
    return {"thinkingBudget": 0} if effort == "none" else {"thinkingLevel": effort.upper()}


def _join_parts(parts: Sequence[JsonObject], *, thoughts: bool) -> str:
    chosen = (part for part in parts if (part.get("thought") is True) is thoughts)
    return "".join(wire.text(part.get("text")) for part in chosen)


def _usage(usage: JsonObject, blocked: bool) -> Usage:
    """Counts that are nought are left out; only a blocked prompt may have cost nothing at all."""
    counts = wire.TokenCounts(usage)
    prompt = 0 if blocked and not usage else counts.require("promptTokenCount")
    tools, cached = counts.read("toolUsePromptTokenCount"), counts.read("cachedContentTokenCount")
    thoughts = counts.read("thoughtsTokenCount")
    output = counts.read("candidatesTokenCount") + thoughts
    return Usage(
        input=counts.uncached_input(prompt + tools, cached),
        output=counts.complete(output, prompt + tools, "totalTokenCount"),
        cached=cached,
        reasoning=thoughts,
        exact=counts.exact,
    )


def _meaning(
    status: int, error_body: error_codes.ErrorBody, details: Sequence[JsonObject]
) -> error_codes.Meaning:
    for detail in details:
        reason = detail.get("reason")
        if isinstance(reason, str) and reason in _BY_REASON:
            return _BY_REASON[reason]
    if status == 429:
        return _meaning_of_quota(error_body, details)
    if status in (400, 422):
        return _meaning_of_refusal(error_body, details)
    return error_codes.meaning_of_status(status)


def _meaning_of_refusal(
    error_body: error_codes.ErrorBody, details: Sequence[JsonObject]
) -> error_codes.Meaning:
    if _BAD_KEY.search(error_body.message):
        return error_codes.KEY
    if _LONG.search(error_body.message):
        return error_codes.TOO_LARGE
    wrong = [item for detail in details for item in wire.items(detail.get("fieldViolations"))]
    places = tuple(wire.text(violation.get("field")) for violation in wrong)
    if form := error_codes.meaning_of_form(error_body._replace(places=places)):
        return form
    return _PRECONDITION if "FAILED_PRECONDITION" in error_body.codes else error_codes.UNEXPLAINED


def _meaning_of_quota(
    error_body: error_codes.ErrorBody, details: Sequence[JsonObject]
) -> error_codes.Meaning:
    """Tell the limits of a minute from those that only a day or money lifts."""
    violations = [item for detail in details for item in wire.items(detail.get("violations"))]
    names = " ".join(
        f"{wire.text(violation.get('quotaId'))} {wire.text(violation.get('quotaMetric'))}"
        for violation in violations
    )
    if re.search(r"per_?day|daily", names, re.IGNORECASE):
        return _QUOTA
    if re.search("spend", names, re.IGNORECASE):
        return error_codes.MONEY
    if not violations and _retry_delay(details) is None and _SPENT.search(error_body.message):
        return error_codes.MONEY
    return error_codes.WAIT


def _retry_delay(details: Sequence[JsonObject]) -> float | None:
    delays: list[Json] = [detail.get("retryDelay") for detail in details]
    return next((duration(item) for item in delays if isinstance(item, str)), None)


_PAGE_ENVELOPE = {"nextPageToken", "unreachable"}  # what a page may hold besides a list
JobMetadata = Callable[[JsonObject], JsonObject]  # where a job says what it is

_ENDS = {
    "SUCCEEDED": BatchEnd.COMPLETED,
    "PARTIALLY_SUCCEEDED": BatchEnd.COMPLETED,
    "FAILED": BatchEnd.FAILED,
    "CANCELLED": BatchEnd.CANCELLED,
    "EXPIRED": BatchEnd.EXPIRED,
}
_EXHAUSTED_CODES = (8, 429)
_STATUSES = {  # of HTTP, for the codes that Google's services use among themselves
    **dict.fromkeys((3, 9, 11), 400),
    **dict.fromkeys((6, 10), 409),
    1: 499,
    4: 504,
    5: 404,
    7: 403,
    8: 429,
    12: 501,
    14: 503,
    16: 401,
}


def last_part(ref: str) -> str:
    """The part of a name that is after its kind."""
    return ref.rpartition("/")[2]


def state_of(value: Json) -> str:
    """A state without the words that go before it."""
    return wire.text(value).removeprefix("JOB_STATE_").removeprefix("BATCH_STATE_")


def end_of(state: str, error: JsonObject, answered: int = 0) -> BatchEnd | None:
    """How a job ended; one that failed after it had answers may be billed for them."""
    end = _ENDS.get(state)
    if end is not BatchEnd.FAILED:
        return end
    if answered > 0:
        return BatchEnd.COMPLETED
    full = error.get("code") in _EXHAUSTED_CODES or error.get("status") == "RESOURCE_EXHAUSTED"
    return BatchEnd.QUEUE_FULL if full else BatchEnd.FAILED


def job_status(
    about: JsonObject, error: JsonObject, counts: tuple[str, str], place: str
) -> BatchStatus:
    """How a job stands, by what is said about it; `counts` names its counts, and its answers."""
    found, state = read_job_counts(wire.mapping(about.get(counts[0]))), state_of(about.get("state"))
    answers = found.get(counts[1], 0)
    return BatchStatus(
        end=end_of(state, error, answers),
        cancelling=state == "CANCELLING",
        counts=found,
        answers=answers,
        results=(place,) if place else (),
        problem=one_line(wire.text(error.get("message")) or wire.text(error.get("status"))),
    )


def read_job_counts(found: JsonObject) -> dict[str, int]:
    """Numbers that are written as strings; those that are not known yet are left out."""
    read: Mapping[str, Json] = {
        name: int(value)
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16
        else value
        for name, value in found.items()
    }
    return {name: value for name, value in read_counts(read).items() if value >= 0}


def search_jobs(body: JsonObject, kind: str, metadata_of: JobMetadata, search: BatchSearch) -> str:
    """Look at the jobs of a page, and return what leads to the next; doubt what is no such page.

    An empty list is left out, and so is an empty name; so that a page may be an empty object.
    """
    found, after = body.get(kind, []), body.get("nextPageToken")
    jobs = wire.items(found)
    known = kind in body or body.keys() <= _PAGE_ENVELOPE
    whole = isinstance(found, list) and len(jobs) == len(found) and not body.get("unreachable")
    if not known or not whole or not isinstance(after, str | None):
        search.mark_unreadable()
    for job in jobs:
        metadata = metadata_of(job)
        tag = metadata.get("displayName", "")
        if not metadata or not isinstance(tag, str) or not isinstance(job.get("name"), str):
            search.mark_unreadable()
        search.consider(tag, job.get("name"))
    return wire.text(after)


def google_classifier(vendor: str) -> Classify:
    """How a vendor of Google's names its errors."""
    return lambda response: classify_google(vendor, response)


def read_job_row(
    vendor: str, account: Account, name: str, row: JsonObject, line: bytes
) -> BatchRow:
    """A row with a response or an error; a response may be nothing but an error, too."""
    if not name:
        return unreadable_row(line)
    response = wire.mapping(row.get("response"))
    error = wire.mapping(row.get("error")) or wire.mapping(response.get("error"))
    if error:
        return failed_row(vendor, account, name, error, line)
    if not response:
        return unusable_row(vendor, name, row, line)
    return answered_row(name, dump_json(response), response, line)


def failed_row(
    vendor: str, account: Account, name: str, error: JsonObject, line: bytes
) -> BatchRow:
    """A row of one call's failure, told as that of a direct one."""
    said = dump_json({"error": error})
    if not said:
        return BatchRow(name, RowEnd.UNREADABLE, line)
    code = error.get("code")
    status = 500
    if isinstance(code, int):
        status = code if 400 <= code < 600 else _STATUSES.get(code, 500)
    why = row_error(google_classifier(vendor), account, status, said)
    return BatchRow(name, RowEnd.ERRORED, error=why)
