"""What Anthropic sends: answers with what they mean, errors with what can be done."""

from typing import Any, NamedTuple

from quire.domain.errors import Remedy
from quire.domain.models import Usage
from quire.domain.requests import Reply, Stop

ANSWER = '{"results":[{"block_uid":"1x","words":2}]}'


class Refusal(NamedTuple):
    """An error's status and body, and what it means."""

    status: int
    body: Any
    remedy: Remedy
    bad_key: bool = False


def message(*content: dict[str, Any], stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    """A message as it comes."""
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 20,
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "service_tier": "standard",
            **usage,
        },
    }


def block(text: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": text, "citations": None}


TOOL_USE = {
    "type": "tool_use",
    "id": "toolu_01A09q90qw90lq917835lq9",
    "name": "results",
    "input": {"results": [{"block_uid": "1x", "words": 2}]},
}
THINKING = {"type": "thinking", "thinking": "Two words.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA"}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}
WRITTEN = {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 500}
PLAIN = Usage(input=20, output=10)

ANSWERS: dict[str, tuple[dict[str, Any], Reply]] = {
    "text": (message(block(ANSWER)), Reply(text=ANSWER, stop=Stop.END, usage=PLAIN)),
    "two blocks of text": (
        message(block(ANSWER[:9]), block(ANSWER[9:])),
        Reply(text=ANSWER, stop=Stop.END, usage=PLAIN),
    ),
    "the argument of a tool": (
        message(block("Here it is:"), TOOL_USE, stop="tool_use"),
        Reply(text=ANSWER, stop=Stop.END, usage=PLAIN),
    ),
    "thinking": (
        message(
            THINKING,
            REDACTED,
            block(ANSWER),
            output_tokens=400,
            output_tokens_details={"thinking_tokens": 390},
        ),
        Reply(
            text=ANSWER,
            stop=Stop.END,
            usage=Usage(input=20, output=400, reasoning=390),
            reasoning="Two words.",
        ),
    ),
    "a stop sequence": (
        {**message(block(ANSWER), stop="stop_sequence"), "stop_sequence": "END"},
        Reply(text=ANSWER, stop=Stop.END, usage=PLAIN),
    ),
    "cut off": (
        message(block(ANSWER[:20]), stop="max_tokens"),
        Reply(text=ANSWER[:20], stop=Stop.LENGTH, usage=PLAIN),
    ),
    "the window is full": (
        message(block(ANSWER[:20]), stop="model_context_window_exceeded"),
        Reply(text=ANSWER[:20], stop=Stop.LENGTH, usage=PLAIN),
    ),
    "paused": (
        message(block(ANSWER[:20]), stop="pause_turn"),
        Reply(text=ANSWER[:20], stop=Stop.LENGTH, usage=PLAIN),
    ),
    "refused": (
        {
            **message(stop="refusal"),
            "stop_details": {"type": "refusal", "category": "bio", "explanation": "No."},
        },
        Reply(text="", stop=Stop.REFUSAL, usage=PLAIN),
    ),
    "the prefix was written": (
        message(block(ANSWER), cache_creation_input_tokens=1500, cache_creation=WRITTEN),
        Reply(
            text=ANSWER,
            stop=Stop.END,
            usage=Usage(input=20, output=10, written_short=1000, written_long=500),
        ),
    ),
    "the prefix was written, it is not said how": (
        message(block(ANSWER), cache_creation_input_tokens=1500, cache_creation=None),
        Reply(text=ANSWER, stop=Stop.END, usage=Usage(input=20, output=10, written_short=1500)),
    ),
    "the prefix was read": (
        message(block(ANSWER), cache_read_input_tokens=1500),
        Reply(text=ANSWER, stop=Stop.END, usage=Usage(input=20, output=10, cached=1500)),
    ),
}


def error(kind: str, detail: str = "Something.", code: str = "") -> dict[str, Any]:
    """An error as it comes."""
    inner = {"type": kind, "message": detail, **({"details": {"error_code": code}} if code else {})}
    return {"type": "error", "error": inner, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


INVALID, RATE = "invalid_request_error", "rate_limit_error"
LIMIT = "You have reached your specified workspace API usage limits. You will regain access later."
CONTEXT = "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"

ERRORS: dict[str, Refusal] = {
    "the key": Refusal(401, error("authentication_error"), Remedy.FIX_ACCOUNT, True),
    "its rights": Refusal(403, error("permission_error"), Remedy.FIX_ACCOUNT, True),
    "on hold": Refusal(400, error(INVALID, code="organization_on_hold"), Remedy.FIX_ACCOUNT, True),
    "money": Refusal(402, error("billing_error"), Remedy.FIX_ACCOUNT),
    "spend limit": Refusal(
        429, error(RATE, code="enforced_spend_limit_reached"), Remedy.FIX_ACCOUNT
    ),
    "own limit": Refusal(400, error(INVALID, LIMIT), Remedy.FIX_ACCOUNT),
    "credit": Refusal(
        400, error(INVALID, "Your credit balance is too low to access the API."), Remedy.FIX_ACCOUNT
    ),
    "model": Refusal(404, error("not_found_error", "model: claude-9"), Remedy.FIX_ACCOUNT),
    "bytes": Refusal(413, error("request_too_large"), Remedy.SPLIT),
    "prompt": Refusal(
        400, error(INVALID, "prompt is too long: 210000 tokens > 200000 maximum"), Remedy.SPLIT
    ),
    "prompt and answer": Refusal(400, error(INVALID, CONTEXT), Remedy.SPLIT),
    "form": Refusal(400, error(INVALID, "temperature: Extra inputs"), Remedy.FIX_ACCOUNT),
    "effort": Refusal(
        400,
        error(INVALID, "output_config.effort: Input should be 'low', 'medium' or 'high'"),
        Remedy.FIX_ACCOUNT,
    ),
    "effort, in words": Refusal(
        400, error(INVALID, "This model does not support the effort parameter."), Remedy.FIX_ACCOUNT
    ),
    "a message": Refusal(
        400,
        error(INVALID, "messages.0.content: text about temperature must be non-empty"),
        Remedy.FIX_REQUEST,
    ),
    "length": Refusal(
        400, error(INVALID, "max_tokens: 99999 > 64000, which is the maximum"), Remedy.FIX_ACCOUNT
    ),
    "content": Refusal(422, error(INVALID), Remedy.FIX_REQUEST),
    "rate": Refusal(429, error(RATE), Remedy.WAIT),
    "ramp": Refusal(429, error(RATE, code="ramp_limit_exceeded"), Remedy.WAIT),
    "broken": Refusal(500, error("api_error"), Remedy.RETRY),
    "slow": Refusal(504, error("timeout_error"), Remedy.RETRY),
    "overloaded": Refusal(529, error("overloaded_error"), Remedy.WAIT),
    "timeout": Refusal(408, error("timeout_error"), Remedy.RETRY),
    "conflict": Refusal(409, error("conflict_error"), Remedy.RETRY),
    "page": Refusal(502, b"<html>Bad gateway</html>", Remedy.RETRY),
    "moved": Refusal(308, b"", Remedy.FIX_ACCOUNT),
}
