"""OpenAI's Responses and Chat Completions, as its server and those of many others speak them."""

from collections.abc import Iterator, Sequence
from typing import Any

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.domain.requests import Stop
from quire.rehearsal.response_schemas import refuse_for_openai
from quire.rehearsal.vendor_apis.openai import (
    OpenAIEndpoint,
    answer_format,
    body_problem,
    cache_lifetime,
    refuse_name,
    refuse_output,
    refuse_unmentioned_json,
    refuse_unsupported,
    with_cache,
)
from quire.rehearsal.vendor_apis.openai_forms import CHAT, LAX_CHAT, RESPONSES
from quire.rehearsal.vendor_protocol import (
    AnswerFormat,
    CallPart,
    IncomingRequest,
    KnownModel,
    ModelAnswer,
    ParsedCall,
    sampling_of,
)


class ResponsesEndpoint(OpenAIEndpoint):
    """POST /responses."""

    endpoint_name = "responses"

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call."""
        call = RESPONSES.check(body, body_problem)
        options = call.get("prompt_cache_options")
        return ParsedCall(
            model=call["model"],
            parts=tuple(_responses_parts(call, options)),
            body=call,
            max_tokens=call.get("max_output_tokens"),
            sampling=sampling_of(call),
            prewarm=bool(options and options.get("prewarm")),
            **_responses_format(call)._asdict(),
        )

    def check(self, call: ParsedCall, model: KnownModel) -> ParsedCall:
        """Refuse what this model does not take."""
        refuse_unsupported(call, model, ("temperature", "top_p", "top_logprobs"))
        refuse_output(call, model, "max_output_tokens")
        text: Any = call.body.get("text") or {}
        if text.get("format", {}).get("type") == "json_object":
            refuse_unmentioned_json(call, "text.format")
        return with_cache(call, model, call.body.get("prompt_cache_options"))

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write an answer."""
        body, cut = answer.call.body, answer.stop is Stop.LENGTH
        usage = answer.usage
        written: dict[str, Json] = {
            "id": answer.id("resp_", 48),
            "object": "response",
            "created_at": int(answer.now),
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": answer.call.max_tokens,
            "model": answer.call.model,
            "output": [] if answer.call.prewarm else _responses_output(answer),
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            "previous_response_id": None,
            "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
            "service_tier": "default",
            "store": body.get("store") is not False,
            "temperature": body.get("temperature", 1.0),
            "text": body.get("text") or {"format": {"type": "text"}},
            "tool_choice": body.get("tool_choice", "auto"),
            "tools": body.get("tools", []),
            "top_p": body.get("top_p", 1.0),
            "truncation": body.get("truncation") or "disabled",
            "usage": _responses_usage(usage),
            "metadata": body.get("metadata") or {},
        }
        return written, usage


def _responses_usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_total,
        "input_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.written_short + usage.written_long,
            "cache_write_tokens_details": {
                "ttl_30m_tokens": usage.written_short,
                "ttl_12h_tokens": usage.written_long,
            },
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input_total + usage.output,
    }


def _responses_parts(body: Any, options: object) -> Iterator[CallPart]:
    if body.get("instructions"):
        yield CallPart(body["instructions"], system=True)
    if isinstance(body["input"], str):
        yield CallPart(body["input"], system=False)
        return
    yield from _message_parts(body["input"], options)


def _message_parts(messages: Any, options: object) -> Iterator[CallPart]:
    for message in messages:
        role = message["role"]
        system = role in ("system", "developer")
        content = message["content"] or ""
        for part in [{"text": content}] if isinstance(content, str) else content:
            lifetime = cache_lifetime(part, options)
            yield CallPart(part["text"], system, lifetime, role == "assistant")


def _responses_format(body: Any) -> AnswerFormat:
    """What the answer is bound to."""
    form = body.get("text", {}).get("format", {})
    schema = form.get("schema") if form.get("type") == "json_schema" else None
    if schema is not None:
        refuse_name(form["name"], "text.format.name")
        if form.get("strict"):
            refuse_for_openai(schema, form["name"], "text.format.schema")
    return answer_format(schema, body.get("tools", ()), body.get("tool_choice"))


def _responses_output(answer: ModelAnswer) -> Sequence[Json]:
    status = "incomplete" if answer.stop is Stop.LENGTH else "completed"
    output: list[Json] = []
    if answer.usage.reasoning:
        output.append({"id": answer.id("rs_", 48), "type": "reasoning", "summary": []})
    if answer.stop is Stop.LENGTH and not answer.text:
        return output
    if answer.call.tool and answer.stop is not Stop.REFUSAL:
        output.append(
            {
                "id": answer.id("fc_", 48),
                "type": "function_call",
                "status": status,
                "call_id": answer.id("call_", 24),
                "name": answer.call.tool,
                "arguments": answer.text,
            }
        )
        return output
    content: JsonObject = (
        {"type": "refusal", "refusal": answer.text}
        if answer.stop is Stop.REFUSAL
        else {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
    )
    message: JsonObject = {
        "id": answer.id("msg_", 48),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [content],
    }
    return [*output, message]


_FINISHES = {Stop.END: "stop", Stop.LENGTH: "length", Stop.REFUSAL: "stop"}


class ChatEndpoint(OpenAIEndpoint):
    """POST /chat/completions."""

    endpoint_name = "chat"

    def __init__(self, *providers: str, lax: bool = False) -> None:
        """Answer for the models of these providers; a lax one drops what it does not know."""
        super().__init__(*providers)
        self._form = LAX_CHAT if lax else CHAT

    def read(self, body: Json, incoming: IncomingRequest) -> ParsedCall:
        """Understand a call."""
        call = self._form.check(body, body_problem)
        return ParsedCall(
            model=call["model"],
            parts=tuple(_message_parts(call["messages"], call.get("prompt_cache_options"))),
            body=call,
            max_tokens=call.get("max_completion_tokens") or call.get("max_tokens"),
            sampling=sampling_of(call),
            **_chat_format(call)._asdict(),
        )

    def check(self, call: ParsedCall, model: KnownModel) -> ParsedCall:
        """Refuse what this model does not take."""
        refuse_unsupported(call, model, ("temperature", "top_p", "max_tokens", "stop", "logprobs"))
        refuse_output(call, model, "max_completion_tokens")
        form: Any = call.body.get("response_format") or {}
        if form.get("type") == "json_object":
            refuse_unmentioned_json(call, "response_format")
        return with_cache(call, model, call.body.get("prompt_cache_options"))

    def write(self, answer: ModelAnswer) -> tuple[JsonObject, Usage]:
        """Write an answer."""
        usage = answer.usage
        calls = bool(answer.call.tool) and answer.stop is not Stop.REFUSAL
        finish = _FINISHES[answer.stop]
        # A tool that was forced by its name ends with `stop`, as the real one does.
        if calls and answer.stop is Stop.END and not answer.call.tool_named:
            finish = "tool_calls"
        written: JsonObject = {
            "id": answer.id("chatcmpl-", 24),
            "object": "chat.completion",
            "created": int(answer.now),
            "model": answer.call.model,
            "choices": [
                {
                    "index": 0,
                    "message": _chat_message(answer, calls),
                    "logprobs": None,
                    "finish_reason": finish,
                }
            ],
            "usage": _chat_usage(usage),
            "service_tier": "default",
            "system_fingerprint": "fp_rehearsal",
        }
        return written, usage


def _chat_usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_total,
        "completion_tokens": usage.output,
        "total_tokens": usage.input_total + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.written_short + usage.written_long,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _chat_message(answer: ModelAnswer, calls: bool) -> JsonObject:
    message: dict[str, Json] = {"role": "assistant", "content": None, "refusal": None}
    message["annotations"] = []
    if answer.stop is Stop.REFUSAL:
        return {**message, "refusal": answer.text}
    if calls:
        call: JsonObject = {"name": answer.call.tool, "arguments": answer.text}
        tool_call: JsonObject = {"id": answer.id("call_", 24), "type": "function", "function": call}
        return {**message, "tool_calls": [tool_call]}
    return {**message, "content": answer.text}


def _chat_format(body: Any) -> AnswerFormat:
    """What the answer is bound to."""
    form = body.get("response_format") or {}
    json_schema = form.get("json_schema", {}) if form.get("type") == "json_schema" else {}
    schema = json_schema.get("schema")
    if json_schema:
        refuse_name(json_schema["name"], "response_format.json_schema.name")
    if schema is not None and json_schema.get("strict"):
        refuse_for_openai(schema, json_schema["name"], "response_format")
    choice = body.get("tool_choice")
    tools = [tool["function"] for tool in body.get("tools", ())]
    return answer_format(schema, tools, choice["function"] if isinstance(choice, dict) else choice)
