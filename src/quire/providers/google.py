"""The generateContent wire format, which Gemini and Vertex AI share."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import orjson

from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.models import Structured, Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers.failing import (
    CULPRIT,
    FORM,
    KEY,
    MONEY,
    TOO_LARGE,
    WAIT,
    Complaint,
    Meaning,
    by_status,
    sentence,
)
from quire.providers.parameters import about_parameters
from quire.providers.portable import Dialect, portable
from quire.providers.protocol import HttpResponse
from quire.providers.rates import duration, retry_after
from quire.providers.reading import count, items, mapping, needed, parse, text
from quire.providers.writing import Same, address, fragment

Form: TypeAlias = Callable[[Same], orjson.Fragment | None]  # how the schema of an answer is written

_VERSIONED = re.compile(r"/v\d\w*/?$")
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
_PLACE = Meaning(Remedy.FIX_ACCOUNT, "see what the account or its project lacks")
_QUOTA = Meaning(
    Remedy.FIX_ACCOUNT, "the quota of a day is used up: wait, or have it raised", spent=True
)
_BY_REASON = {
    **dict.fromkeys(("API_KEY_INVALID", "API_KEY_EXPIRED", "API_KEY_SERVICE_BLOCKED"), KEY),
    **dict.fromkeys(("ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING"), KEY),
    "BILLING_DISABLED": MONEY,
}
_BAD_KEY = re.compile(r"API key (?:not valid|expired|not found)", re.IGNORECASE)
_LONG = re.compile(r"token count.{0,40}exceeds|payload size exceeds|too many tokens", re.IGNORECASE)
_SPENT = re.compile(r"spend|billing details|prepayment|credits", re.IGNORECASE)


@lru_cache(maxsize=256)
def place(vendor: str, base: str, version: str, end: str) -> str:
    """Where calls go: below the base URL's own version, or the usual one."""
    base = base if _VERSIONED.search(base) else f"{base.rstrip('/')}/{version}"
    return address(vendor, base, "", end)


def encode_content(call: Call, form: Form | None = None) -> bytes:
    """Write a call's body; equal prefixes are found by the vendor itself, so none is marked.

    `form` writes the schema of the answer, where that takes more than what is usual.
    """
    body: dict[str, object] = {"contents": [{"role": "user", "parts": [{"text": call.user}]}]}
    if call.system:
        body["systemInstruction"] = _system(call.system)
    config = _config(call)
    if call.output_schema is not None and call.wire.structured is not Structured.TEXT:
        config["responseMimeType"] = "application/json"
        if call.wire.structured is not Structured.JSON:
            schema = (form or _schema)(Same(call.output_schema))
            config |= {"responseJsonSchema": schema} if schema is not None else {}
    if config:
        body["generationConfig"] = config
    return orjson.dumps(body)


def read_content(vendor: str, body: JsonObject) -> Reply:
    """Read a response; a prompt that was blocked has no candidates, and is a refusal."""
    if "error" in body or not ({"candidates", "promptFeedback", "usageMetadata"} & body.keys()):
        raise Undecodable(f"the response of {vendor} is not a generated answer")
    blocked = bool(mapping(body.get("promptFeedback")).get("blockReason"))
    usage = _usage(mapping(body.get("usageMetadata")), blocked)
    candidates = items(body.get("candidates"))
    if blocked or not candidates:
        return Reply(text="", stop=Stop.REFUSAL if blocked else Stop.LENGTH, usage=usage)
    parts = items(mapping(candidates[0].get("content")).get("parts"))
    reason = candidates[0].get("finishReason")
    return Reply(
        text=_joined(parts, thoughts=False),
        stop=_STOPS.get(reason, Stop.LENGTH) if isinstance(reason, str) else Stop.LENGTH,
        usage=usage,
        reasoning=_joined(parts, thoughts=True),
    )


def classify_google(vendor: str, response: HttpResponse) -> ProviderError:
    """Say what can be done about an error, by its details and its status."""
    found = parse(response.body)
    whole = mapping(found[0]) if isinstance(found, list) and found else mapping(found)
    error = mapping(whole.get("error"))
    told = Complaint(
        tuple(word for word in (error.get("status"),) if isinstance(word, str)),
        text(error.get("message")) or text(whole.get("error_description")),
    )
    details = items(error.get("details"))
    meaning = _meaning(response.status, told, details)
    wait: float | None = None
    if meaning.remedy in (Remedy.WAIT, Remedy.RETRY):
        wait = _retry_delay(details)
        wait = retry_after(response.headers) if wait is None else wait
    return ProviderError(
        sentence(vendor, response.status, told, meaning.hint),
        remedy=meaning.remedy,
        retry_after=wait,
        bad_key=meaning.bad_key,
        spent=meaning.spent,
    )


@lru_cache(maxsize=256)
def _system(system: str) -> orjson.Fragment:
    return fragment({"role": "user", "parts": [{"text": system}]})


@lru_cache(maxsize=256)
def _schema(schema: Same) -> orjson.Fragment:
    return fragment(portable(schema.value, Dialect.GEMINI))


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


def _joined(parts: Sequence[JsonObject], *, thoughts: bool) -> str:
    return "".join(
        text(part.get("text")) for part in parts if (part.get("thought") is True) is thoughts
    )


def _usage(usage: JsonObject, blocked: bool) -> Usage:
    """Counts that are nought are left out; only a blocked prompt may have cost nothing at all."""
    prompt = 0 if blocked and not usage else needed(usage, "promptTokenCount")
    tools = count(usage, "toolUsePromptTokenCount")
    cached = count(usage, "cachedContentTokenCount")
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        input=max(0, prompt + tools - cached),
        output=count(usage, "candidatesTokenCount") + thoughts,
        cached=cached,
        reasoning=thoughts,
    )


def _meaning(status: int, told: Complaint, details: Sequence[JsonObject]) -> Meaning:
    for detail in details:
        reason = detail.get("reason")
        if isinstance(reason, str) and reason in _BY_REASON:
            return _BY_REASON[reason]
    if status == 429:
        return _exhausted(told, details)
    if status in (400, 422):
        return _refused(told, details)
    return by_status(status)


def _refused(told: Complaint, details: Sequence[JsonObject]) -> Meaning:
    if _BAD_KEY.search(told.message):
        return KEY
    if _LONG.search(told.message):
        return TOO_LARGE
    wrong = [each for detail in details for each in items(detail.get("fieldViolations"))]
    if about_parameters(told.message, [text(each.get("field")) for each in wrong]):
        return FORM
    return _PLACE if "FAILED_PRECONDITION" in told.words else CULPRIT


def _exhausted(told: Complaint, details: Sequence[JsonObject]) -> Meaning:
    """Tell the limits of a minute from those that only a day or money lifts."""
    violations = [each for detail in details for each in items(detail.get("violations"))]
    names = " ".join(
        f"{text(each.get('quotaId'))} {text(each.get('quotaMetric'))}" for each in violations
    )
    if re.search(r"per_?day|daily", names, re.IGNORECASE):
        return _QUOTA
    if re.search("spend", names, re.IGNORECASE):
        return MONEY
    unexplained = not violations and _retry_delay(details) is None
    return MONEY if unexplained and _SPENT.search(told.message) else WAIT


def _retry_delay(details: Sequence[JsonObject]) -> float | None:
    told: list[Json] = [detail.get("retryDelay") for detail in details]
    return next((duration(each) for each in told if isinstance(each, str)), None)
