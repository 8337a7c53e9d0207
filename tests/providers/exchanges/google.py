"""What Gemini and Vertex AI send: answers with what they mean, errors with what can be done."""

from typing import Any, NamedTuple

from quire.domain.errors import Remedy
from quire.domain.models import Usage
from quire.domain.requests import Reply, Stop

ANSWER = '{"results":[{"block_uid":"1x","words":2}]}'


class Refusal(NamedTuple):
    """An error's status and body, what it means, and how long to wait."""

    status: int
    body: Any
    remedy: Remedy
    bad_key: bool = False
    retry_after: float | None = None


def generation(
    *parts: dict[str, Any], reason: str | None = "STOP", **counts: int
) -> dict[str, Any]:
    """A response as it comes."""
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 10, **counts},
        "modelVersion": "gemini-3.8-flash",
        "responseId": "x9YXaYqWJ8yCxN8P",
    }


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    """The same body, less these."""
    return {name: value for name, value in body.items() if name not in names}


PLAIN = Usage(input=20, output=10)
THOUGHT = {"text": "Two words.", "thought": True}
COUNTS = {"thoughtsTokenCount": 300, "cachedContentTokenCount": 4096, "promptTokenCount": 5000}
PROMPT_ONLY = {"usageMetadata": {"promptTokenCount": 20}}

ANSWERS: dict[str, tuple[dict[str, Any], Reply]] = {
    "text": (generation({"text": ANSWER}), Reply(text=ANSWER, stop=Stop.END, usage=PLAIN)),
    "parts": (
        generation({"text": ANSWER[:9]}, {"text": ANSWER[9:], "thoughtSignature": "c2ln"}),
        Reply(text=ANSWER, stop=Stop.END, usage=PLAIN),
    ),
    "thoughts, and a prefix that was read": (
        generation(THOUGHT, {"text": ANSWER}, reason="STOP", **COUNTS),
        Reply(
            text=ANSWER,
            stop=Stop.END,
            usage=Usage(input=904, output=310, cached=4096, reasoning=300),
            reasoning="Two words.",
        ),
    ),
    "the results of tools": (
        generation({"text": ANSWER}, toolUsePromptTokenCount=7),
        Reply(text=ANSWER, stop=Stop.END, usage=Usage(input=27, output=10)),
    ),
    "cut off": (
        generation({"text": ANSWER[:20]}, reason="MAX_TOKENS"),
        Reply(text=ANSWER[:20], stop=Stop.LENGTH, usage=PLAIN),
    ),
    "cut off while thinking": (
        {
            "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}],
            "usageMetadata": {"promptTokenCount": 20, "thoughtsTokenCount": 500},
        },
        Reply(text="", stop=Stop.LENGTH, usage=Usage(input=20, output=500, reasoning=500)),
    ),
    "to be continued": (
        generation({"text": ANSWER[:20]}, reason="CONTINUATION"),
        Reply(text=ANSWER[:20], stop=Stop.LENGTH, usage=PLAIN),
    ),
    "not finished": (
        generation({"text": ANSWER[:20]}, reason=None),
        Reply(text=ANSWER[:20], stop=Stop.LENGTH, usage=PLAIN),
    ),
    "unsafe": (
        {**PROMPT_ONLY, "candidates": [{"finishReason": "SAFETY", "index": 0}]},
        Reply(text="", stop=Stop.REFUSAL, usage=Usage(input=20)),
    ),
    "recited": (
        generation({"text": ANSWER[:20]}, reason="RECITATION"),
        Reply(text=ANSWER[:20], stop=Stop.REFUSAL, usage=PLAIN),
    ),
    "malformed": (
        generation({"text": "{"}, reason="MALFORMED_RESPONSE"),
        Reply(text="{", stop=Stop.END, usage=PLAIN),
    ),
    "a blocked prompt": (
        {**PROMPT_ONLY, "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
        Reply(text="", stop=Stop.REFUSAL, usage=Usage(input=20)),
    ),
    "a blocked prompt that cost nothing": (
        {"promptFeedback": {"blockReason": "SAFETY"}},
        Reply(text="", stop=Stop.REFUSAL, usage=Usage()),
    ),
    "no candidate at all": (PROMPT_ONLY, Reply(text="", stop=Stop.LENGTH, usage=Usage(input=20))),
}


def error(code: int, status: str, detail: str = "Something.", *details: Any) -> dict[str, Any]:
    """An error as it comes."""
    inner = {"code": code, "message": detail, "status": status}
    return {"error": {**inner, **({"details": list(details)} if details else {})}}


def reason(word: str) -> dict[str, Any]:
    """The detail that gives a reason."""
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    return {"@type": kind, "reason": word, "domain": "googleapis.com"}


def quota(*names: str) -> dict[str, Any]:
    """The detail that says which limits were passed."""
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaId": name} for name in names]}


def violation(*fields: str) -> dict[str, Any]:
    """The detail that says which parts of a call are wrong."""
    kind = "type.googleapis.com/google.rpc.BadRequest"
    return {"@type": kind, "fieldViolations": [{"field": field} for field in fields]}


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}
EXHAUSTED = "RESOURCE_EXHAUSTED"
QUOTA = "You exceeded your current quota, please check your plan and billing details."
LONG = "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."
MINUTE = "GenerateRequestsPerMinutePerProjectPerModel"
DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
INVALID = "INVALID_ARGUMENT"
BAD_KEY = "API key not valid. Please pass a valid API key."

ERRORS: dict[str, Refusal] = {
    "the key": Refusal(
        400, error(400, INVALID, "No.", reason("API_KEY_INVALID")), Remedy.FIX_ACCOUNT, True
    ),
    "the key, in words": Refusal(400, error(400, INVALID, BAD_KEY), Remedy.FIX_ACCOUNT, True),
    "the token": Refusal(401, error(401, "UNAUTHENTICATED"), Remedy.FIX_ACCOUNT, True),
    "its rights": Refusal(403, error(403, "PERMISSION_DENIED"), Remedy.FIX_ACCOUNT, True),
    "no bill": Refusal(
        403, error(403, "PERMISSION_DENIED", "No.", reason("BILLING_DISABLED")), Remedy.FIX_ACCOUNT
    ),
    "place": Refusal(
        400,
        error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
        Remedy.FIX_ACCOUNT,
    ),
    "money": Refusal(402, error(402, EXHAUSTED), Remedy.FIX_ACCOUNT),
    "model": Refusal(404, error(404, "NOT_FOUND", "models/x is not found"), Remedy.FIX_ACCOUNT),
    "a day": Refusal(
        429, error(429, EXHAUSTED, QUOTA, quota(MINUTE, DAY), RETRY_INFO), Remedy.FIX_ACCOUNT
    ),
    "spend": Refusal(
        429, error(429, EXHAUSTED, QUOTA, quota("SpendPerTenMinutes")), Remedy.FIX_ACCOUNT
    ),
    "plan": Refusal(429, error(429, EXHAUSTED, QUOTA), Remedy.FIX_ACCOUNT),
    "a minute": Refusal(
        429, error(429, EXHAUSTED, QUOTA, quota(MINUTE), RETRY_INFO), Remedy.WAIT, False, 17.5
    ),
    "crowded": Refusal(
        429, error(429, EXHAUSTED, "Resource exhausted. Please try again later."), Remedy.WAIT
    ),
    "prompt": Refusal(400, error(400, INVALID, LONG), Remedy.SPLIT),
    "prompt, in a list": Refusal(400, [error(400, INVALID, LONG)], Remedy.SPLIT),
    "bytes": Refusal(
        400, error(400, INVALID, "Request payload size exceeds the limit: 20 MB."), Remedy.SPLIT
    ),
    "bytes, by status": Refusal(413, b"", Remedy.SPLIT),
    "form": Refusal(400, error(400, INVALID, "Unknown name"), Remedy.FIX_REQUEST),
    "effort": Refusal(
        400,
        error(400, INVALID, "Thinking level is not supported for this model."),
        Remedy.FIX_ACCOUNT,
    ),
    "a part of the form": Refusal(
        400,
        error(400, INVALID, "Invalid value", violation("generation_config.thinking_config")),
        Remedy.FIX_ACCOUNT,
    ),
    "a part of the contents": Refusal(
        400,
        error(400, INVALID, "Invalid temperature", violation("contents[0].parts")),
        Remedy.FIX_REQUEST,
    ),
    "timeout": Refusal(408, b"", Remedy.RETRY),
    "broken": Refusal(500, error(500, "INTERNAL"), Remedy.RETRY),
    "overloaded": Refusal(503, error(503, "UNAVAILABLE"), Remedy.WAIT),
    "slow": Refusal(504, error(504, "DEADLINE_EXCEEDED"), Remedy.RETRY),
    "moved": Refusal(302, b"<html>", Remedy.FIX_ACCOUNT),
}
