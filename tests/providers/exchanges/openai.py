"""OpenAI's answers and errors, written from its published types and reference."""

from typing import Any

from quire.domain.data import Json
from quire.domain.errors import Remedy
from quire.domain.models import Usage
from quire.domain.requests import Reply, Stop

ANSWER = '{"results":[{"block_uid":"1x","words":2}]}\n'
USAGE: dict[str, Json] = {
    "input_tokens": 1200,
    "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 0},
    "output_tokens": 90,
    "output_tokens_details": {"reasoning_tokens": 64},
    "total_tokens": 1290,
}
USED = Usage(input=176, output=90, cached=1024, reasoning=64)
CHAT_USAGE: dict[str, Json] = {
    "prompt_tokens": 1200,
    "completion_tokens": 90,
    "total_tokens": 1290,
    "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 100, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 64, "audio_tokens": 0},
}
CHAT_USED = Usage(input=76, output=90, cached=1024, written_short=100, reasoning=64)


def response(*output: Json, **changes: Any) -> dict[str, Any]:
    """A response around some output."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_780_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": 500,
        "model": "gpt-6-luna",
        "output": list(output),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "low", "summary": None},
        "service_tier": "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": USAGE,
        "metadata": {},
        **changes,
    }


def message(*parts: Json, **changes: Json) -> dict[str, Json]:
    """One message of the output."""
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": list(parts),
        **changes,
    }


def text_part(text: str) -> dict[str, Json]:
    """A part with text."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def completion(message: Json, finish: str = "stop", **changes: Any) -> dict[str, Any]:
    """A chat completion around one message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": "gpt-6-luna",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": CHAT_USAGE,
        "service_tier": "default",
        "system_fingerprint": "fp_1",
        **changes,
    }


def chat_message(content: Json, **changes: Json) -> dict[str, Json]:
    """One message of a chat."""
    return {"role": "assistant", "content": content, "refusal": None, "annotations": [], **changes}


THOUGHTS: Json = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Count the words."}],
}
GIVEN: Json = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "answer",
    "arguments": ANSWER,
    "status": "completed",
}
TOOL_CALL: Json = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "answer", "arguments": ANSWER},
}
DECLINED: Json = {"type": "refusal", "refusal": "I cannot help with that."}
HALF = '{"results":[{"block_uid":"1x","wo'


def reply(text: str, stop: Stop = Stop.END, usage: Usage = USED, reasoning: str = "") -> Reply:
    """What a body means."""
    return Reply(text=text, stop=stop, usage=usage, reasoning=reasoning)


RESPONSES_ANSWERS: dict[str, tuple[dict[str, Any], Reply]] = {
    "answer": (
        response(THOUGHTS, message(text_part(ANSWER))),
        reply(ANSWER, reasoning="Count the words."),
    ),
    "in parts": (response(message(text_part("{"), text_part("}"))), reply("{}")),
    "with an aside": (
        response(
            message(text_part("Let me see."), phase="commentary"),
            message(text_part(ANSWER), phase="final_answer"),
        ),
        reply(ANSWER),
    ),
    "tool": (response(GIVEN), reply(ANSWER)),
    "refusal": (
        response(message(DECLINED)),
        reply("I cannot help with that.", Stop.REFUSAL),
    ),
    "cut off": (
        response(
            message(text_part(HALF), status="incomplete"),
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        reply(HALF, Stop.LENGTH),
    ),
    "nothing but thoughts": (
        response(THOUGHTS, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        reply("", Stop.LENGTH, reasoning="Count the words."),
    ),
    "filtered": (
        response(status="incomplete", incomplete_details={"reason": "content_filter"}),
        reply("", Stop.REFUSAL),
    ),
    "failed, paid": (
        response(status="failed", error={"code": "server_error", "message": "Oops."}),
        reply(""),
    ),
    "failed by policy": (
        response(status="failed", error={"code": "bio_policy", "message": "Not this."}, usage=None),
        reply("Not this.", Stop.REFUSAL, Usage()),
    ),
}

CHAT_ANSWERS: dict[str, tuple[dict[str, Any], Reply]] = {
    "answer": (completion(chat_message(ANSWER)), reply(ANSWER, usage=CHAT_USED)),
    "tool": (
        completion(chat_message(None, tool_calls=[TOOL_CALL]), "tool_calls"),
        reply(ANSWER, usage=CHAT_USED),
    ),
    "refusal": (
        completion(chat_message(None, refusal="No.")),
        reply("No.", Stop.REFUSAL, CHAT_USED),
    ),
    "cut off": (completion(chat_message(HALF), "length"), reply(HALF, Stop.LENGTH, CHAT_USED)),
    "nothing but thoughts": (
        completion(chat_message(""), "length"),
        reply("", Stop.LENGTH, CHAT_USED),
    ),
    "filtered": (
        completion(chat_message(None), "content_filter"),
        reply("", Stop.REFUSAL, CHAT_USED),
    ),
    "few counts": (
        completion(
            chat_message(ANSWER),
            usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        ),
        reply(ANSWER, usage=Usage(input=10, output=5)),
    ),
}

FAILED_UNPAID: dict[str, tuple[dict[str, Any], Remedy]] = {
    "broken down": (
        response(status="failed", error={"code": "server_error", "message": "Oops."}, usage=None),
        Remedy.RETRY,
    ),
    "too many": (
        response(
            status="failed",
            error={"code": "rate_limit_exceeded", "message": "Slow down."},
            usage=None,
        ),
        Remedy.WAIT,
    ),
    "not allowed": (
        response(status="failed", error={"code": "invalid_prompt", "message": "No."}, usage=None),
        Remedy.FIX_REQUEST,
    ),
}


def error(
    code: str | None,
    kind: str = "invalid_request_error",
    message: str = "It is so.",
    at: str | None = None,
) -> Json:
    """An error's body."""
    return {"error": {"message": message, "type": kind, "param": at, "code": code}}


LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000."
LARGE = "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 40000."

EFFORT = "`reasoning_effort` is not supported with this model"

ERRORS: list[tuple[int, Json, Remedy, bool, str]] = [
    (401, error("invalid_api_key"), Remedy.FIX_ACCOUNT, True, "check the key"),
    (401, error(None), Remedy.FIX_ACCOUNT, True, "It is so."),
    (403, error("permission_denied"), Remedy.FIX_ACCOUNT, True, "allowed"),
    (402, error(None), Remedy.FIX_ACCOUNT, False, "add money"),
    (429, error("insufficient_quota", "insufficient_quota"), Remedy.FIX_ACCOUNT, False, "money"),
    (429, error("credit_balance_exhausted"), Remedy.FIX_ACCOUNT, False, "money"),
    (429, error("organization_spend_limit_exceeded"), Remedy.FIX_ACCOUNT, False, "spend limit"),
    (429, error("project_spend_limit_exceeded"), Remedy.FIX_ACCOUNT, False, "spend limit"),
    (429, error("organization_usage_limit_exceeded"), Remedy.FIX_ACCOUNT, False, "spend limit"),
    (400, error("billing_hard_limit_reached"), Remedy.FIX_ACCOUNT, False, "money"),
    (429, error("rate_limit_exceeded", "tokens"), Remedy.WAIT, False, "It is so."),
    (429, error("slow_down"), Remedy.WAIT, False, "It is so."),
    (429, error("rate_limit_exceeded", "tokens", LARGE), Remedy.SPLIT, False, "too large"),
    (503, error("server_is_overloaded", "server_error"), Remedy.WAIT, False, "It is so."),
    (500, error(None, "server_error"), Remedy.RETRY, False, "It is so."),
    (502, error(None), Remedy.RETRY, False, "It is so."),
    (504, error(None), Remedy.RETRY, False, "It is so."),
    (408, error(None), Remedy.RETRY, False, "It is so."),
    (409, error(None), Remedy.RETRY, False, "It is so."),
    (404, error("model_not_found"), Remedy.FIX_ACCOUNT, False, "model's name"),
    (404, {"detail": "Not Found"}, Remedy.FIX_ACCOUNT, False, "base URL"),
    (405, {"detail": "Method Not Allowed"}, Remedy.FIX_ACCOUNT, False, "base URL"),
    (400, error("context_length_exceeded"), Remedy.SPLIT, False, "It is so."),
    (400, error(None, message=LONG), Remedy.SPLIT, False, "maximum context length"),
    (413, error(None), Remedy.SPLIT, False, "It is so."),
    (400, error("invalid_prompt"), Remedy.FIX_REQUEST, False, "It is so."),
    (400, error(None), Remedy.FIX_REQUEST, False, "It is so."),
    (422, error(None), Remedy.FIX_REQUEST, False, "It is so."),
    (400, error("unsupported_parameter"), Remedy.FIX_ACCOUNT, False, "parameters"),
    (400, error("invalid_json_schema"), Remedy.FIX_ACCOUNT, False, "parameters"),
    (400, error("invalid_value", at="reasoning.effort"), Remedy.FIX_ACCOUNT, False, "parameters"),
    (400, error(None, at="input[0].content"), Remedy.FIX_REQUEST, False, "It is so."),
    (400, error(None, at="max_output_tokens"), Remedy.FIX_REQUEST, False, "It is so."),
    (400, error(None, message=EFFORT), Remedy.FIX_ACCOUNT, False, "parameters"),
    (422, {"detail": [{"loc": ["body", "seed"]}]}, Remedy.FIX_ACCOUNT, False, "no reason"),
    (422, {"detail": [{"loc": ["body", "messages", 0]}]}, Remedy.FIX_REQUEST, False, "no reason"),
    (400, {"error": "short"}, Remedy.FIX_REQUEST, False, "short"),
    (400, {}, Remedy.FIX_REQUEST, False, "no reason given"),
    (400, error(None, message="one\ntwo " * 200), Remedy.FIX_REQUEST, False, "one two"),
]
