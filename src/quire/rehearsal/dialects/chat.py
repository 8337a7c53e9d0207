"""OpenAI's Chat Completions API, as its server and those of many others speak it."""

from collections.abc import Iterator
from typing import Any

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.domain.requests import Stop
from quire.rehearsal.asked import Asked, Part, Said
from quire.rehearsal.dialects.dialect import Incoming
from quire.rehearsal.dialects.openai import (
    Bound,
    OpenAI,
    bound,
    lifetime,
    refuse_name,
    refuse_output,
    refuse_unsupported,
    refuse_wordless,
    with_cache,
    worded,
)
from quire.rehearsal.dialects.openai_forms import CHAT, LAX_CHAT
from quire.rehearsal.models import Known
from quire.rehearsal.strictness import refuse_for_openai

_FINISHES = {Stop.END: "stop", Stop.LENGTH: "length", Stop.REFUSAL: "stop"}


class Chat(OpenAI):
    """POST /chat/completions."""

    endpoint = "chat"

    def __init__(self, *providers: str, lax: bool = False) -> None:
        """Answer for the models of these providers; a lax one drops what it does not know."""
        super().__init__(*providers)
        self._form = LAX_CHAT if lax else CHAT

    def read(self, body: Json, incoming: Incoming) -> Asked:
        """Understand a call."""
        mistake = self._form.mistake(body)
        if mistake:
            raise worded(mistake)
        asked: Any = body
        bound_to = _bound(asked)
        return Asked(
            model=asked["model"],
            parts=tuple(_parts(asked)),
            body=asked,
            schema=bound_to.schema,
            form=bound_to.form,
            max_tokens=asked.get("max_completion_tokens") or asked.get("max_tokens"),
            tool=bound_to.tool,
            named=bound_to.named,
        )

    def check(self, asked: Asked, model: Known) -> Asked:
        """Refuse what this model does not take."""
        refuse_unsupported(asked, model, ("temperature", "top_p", "max_tokens", "stop", "logprobs"))
        refuse_output(asked, model, "max_completion_tokens")
        form: Any = asked.body.get("response_format") or {}
        if form.get("type") == "json_object":
            refuse_wordless(asked, "response_format")
        return with_cache(asked, model, asked.body.get("prompt_cache_options"))

    def write(self, said: Said) -> tuple[JsonObject, Usage]:
        """Write an answer."""
        usage = said.usage
        calls = bool(said.asked.tool) and said.stop is not Stop.REFUSAL
        finish = _FINISHES[said.stop]
        # A tool that was forced by its name ends with `stop`, as the real one does.
        if calls and said.stop is Stop.END and not said.asked.named:
            finish = "tool_calls"
        written: JsonObject = {
            "id": said.id("chatcmpl-", 24),
            "object": "chat.completion",
            "created": int(said.now),
            "model": said.asked.model,
            "choices": [
                {
                    "index": 0,
                    "message": _message(said, calls),
                    "logprobs": None,
                    "finish_reason": finish,
                }
            ],
            "usage": _usage(usage),
            "service_tier": "default",
            "system_fingerprint": "fp_rehearsal",
        }
        return written, usage


def _usage(usage: Usage) -> JsonObject:
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


def _message(said: Said, calls: bool) -> JsonObject:
    message: dict[str, Json] = {
        "role": "assistant",
        "content": said.text,
        "refusal": None,
        "annotations": [],
    }
    if said.stop is Stop.REFUSAL:
        return {**message, "content": None, "refusal": said.text}
    if calls:
        call: JsonObject = {"name": said.asked.tool, "arguments": said.text}
        called: JsonObject = {"id": said.id("call_", 24), "type": "function", "function": call}
        return {**message, "content": None, "tool_calls": [called]}
    return message


def _parts(body: Any) -> Iterator[Part]:
    options = body.get("prompt_cache_options")
    for message in body["messages"]:
        system = message["role"] in ("system", "developer")
        content = message["content"] or ""
        for part in [{"text": content}] if isinstance(content, str) else content:
            yield Part(part["text"], system, lifetime(part, options))


def _bound(body: Any) -> Bound:
    """What the answer is bound to."""
    form = body.get("response_format") or {}
    told = form.get("json_schema", {}) if form.get("type") == "json_schema" else {}
    schema = told.get("schema")
    if told:
        refuse_name(told["name"], "response_format.json_schema.name")
    if schema is not None and told.get("strict"):
        refuse_for_openai(schema, told["name"], "response_format")
    choice = body.get("tool_choice")
    tools = [tool["function"] for tool in body.get("tools", ())]
    return bound(schema, tools, choice["function"] if isinstance(choice, dict) else choice)
