"""OpenAI's Responses API, as its server speaks it."""

from collections.abc import Iterator, Sequence
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
from quire.rehearsal.dialects.openai_forms import RESPONSES
from quire.rehearsal.models import Known
from quire.rehearsal.strictness import refuse_for_openai


class Responses(OpenAI):
    """POST /responses."""

    endpoint = "responses"

    def read(self, body: Json, incoming: Incoming) -> Asked:
        """Understand a call."""
        mistake = RESPONSES.mistake(body)
        if mistake:
            raise worded(mistake)
        asked: Any = body
        options = asked.get("prompt_cache_options")
        bound_to = _bound(asked)
        return Asked(
            model=asked["model"],
            parts=tuple(_parts(asked, options)),
            body=asked,
            schema=bound_to.schema,
            form=bound_to.form,
            max_tokens=asked.get("max_output_tokens"),
            tool=bound_to.tool,
            named=bound_to.named,
            prewarm=bool(options and options.get("prewarm")),
        )

    def check(self, asked: Asked, model: Known) -> Asked:
        """Refuse what this model does not take."""
        refuse_unsupported(asked, model, ("temperature", "top_p", "top_logprobs"))
        refuse_output(asked, model, "max_output_tokens")
        text: Any = asked.body.get("text") or {}
        if text.get("format", {}).get("type") == "json_object":
            refuse_wordless(asked, "text.format")
        return with_cache(asked, model, asked.body.get("prompt_cache_options"))

    def write(self, said: Said) -> tuple[JsonObject, Usage]:
        """Write an answer."""
        body, cut = said.asked.body, said.stop is Stop.LENGTH
        usage = said.usage
        written: dict[str, Json] = {
            "id": said.id("resp_", 48),
            "object": "response",
            "created_at": int(said.now),
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": said.asked.max_tokens,
            "model": said.asked.model,
            "output": [] if said.asked.prewarm else _output(said),
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
            "usage": _usage(usage),
            "metadata": body.get("metadata") or {},
        }
        return written, usage


def _usage(usage: Usage) -> JsonObject:
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


def _parts(body: Any, options: object) -> Iterator[Part]:
    if body.get("instructions"):
        yield Part(body["instructions"], system=True)
    if isinstance(body["input"], str):
        yield Part(body["input"], system=False)
        return
    for message in body["input"]:
        system = message["role"] in ("system", "developer")
        content = message["content"]
        for part in [{"text": content}] if isinstance(content, str) else content:
            yield Part(part["text"], system, lifetime(part, options))


def _bound(body: Any) -> Bound:
    """What the answer is bound to."""
    form = body.get("text", {}).get("format", {})
    schema = form.get("schema") if form.get("type") == "json_schema" else None
    if schema is not None:
        refuse_name(form["name"], "text.format.name")
        if form.get("strict"):
            refuse_for_openai(schema, form["name"], "text.format.schema")
    return bound(schema, body.get("tools", ()), body.get("tool_choice"))


def _output(said: Said) -> Sequence[Json]:
    status = "incomplete" if said.stop is Stop.LENGTH else "completed"
    output: list[Json] = []
    if said.usage.reasoning:
        output.append({"id": said.id("rs_", 48), "type": "reasoning", "summary": []})
    if said.stop is Stop.LENGTH and not said.text:
        return output
    if said.asked.tool and said.stop is not Stop.REFUSAL:
        output.append(
            {
                "id": said.id("fc_", 48),
                "type": "function_call",
                "status": status,
                "call_id": said.id("call_", 24),
                "name": said.asked.tool,
                "arguments": said.text,
            }
        )
        return output
    content: JsonObject = (
        {"type": "refusal", "refusal": said.text}
        if said.stop is Stop.REFUSAL
        else {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
    )
    message: JsonObject = {
        "id": said.id("msg_", 48),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [content],
    }
    return [*output, message]
