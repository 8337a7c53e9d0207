"""Anthropic's Messages API, as its server speaks it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from quire.domain.data import Json, JsonObject
from quire.domain.models import Marking, Usage
from quire.domain.requests import Stop
from quire.rehearsal.asked import Asked, Part, Problem, Said, Trouble
from quire.rehearsal.dialects.anthropic import OLDER, Anthropic, version_of, worded
from quire.rehearsal.dialects.anthropic_forms import COUNTING, MESSAGES, OLDER_MESSAGES
from quire.rehearsal.dialects.dialect import Incoming
from quire.rehearsal.models import Known
from quire.rehearsal.schemas import plain
from quire.rehearsal.strictness import refuse_for_anthropic

_MOST_BREAKPOINTS = 4
_STOPS = {Stop.END: "end_turn", Stop.LENGTH: "max_tokens", Stop.REFUSAL: "refusal"}


class Messages(Anthropic):
    """POST /v1/messages."""

    endpoint = "messages"

    def read(self, body: Json, incoming: Incoming) -> Asked:
        """Understand a call."""
        form = OLDER_MESSAGES if version_of(incoming) == OLDER else MESSAGES
        mistake = form.mistake(body)
        if mistake:
            raise worded(mistake)
        asked: Any = body
        _refuse_contradictions(asked)
        return _understood(asked)

    def count(self, body: Json, incoming: Incoming) -> Asked:
        """Understand a call that is only to be counted."""
        version_of(incoming)
        mistake = COUNTING.mistake(body)
        if mistake:
            raise worded(mistake)
        return _understood(body)

    def check(self, asked: Asked, model: Known) -> Asked:
        """Refuse what this model does not take."""
        if asked.tool and not model.forcing:
            raise _invalid("tool_choice forces tool use is not compatible with this model.")
        for name in ("temperature", "top_p", "top_k") if not model.sampling else ():
            if asked.body.get(name) is not None:
                raise _invalid(f"{name}: is not supported by this model")
        if asked.max_tokens is not None and asked.max_tokens > model.most_output:
            raise _invalid(
                f"max_tokens: {asked.max_tokens} > {model.most_output}, which is the maximum"
                f" allowed number of output tokens for {asked.model}"
            )
        if model.marking in (Marking.NONE, Marking.AUTOMATIC):
            return replace(asked, caching=False)
        return asked

    def write(self, said: Said) -> tuple[JsonObject, Usage]:
        """Write an answer."""
        usage, refused = said.usage, said.stop is Stop.REFUSAL
        called = bool(said.asked.tool) and said.stop is Stop.END
        written: JsonObject = {
            "id": said.id("msg_", 24),
            "type": "message",
            "role": "assistant",
            "model": said.asked.model,
            "content": list(_content(said)),
            "stop_reason": "tool_use" if called else _STOPS[said.stop],
            "stop_sequence": None,
            "stop_details": {"type": "refusal", "category": None, "explanation": None}
            if refused
            else None,
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.written_short + usage.written_long,
                "cache_read_input_tokens": usage.cached,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": usage.written_short,
                    "ephemeral_1h_input_tokens": usage.written_long,
                },
                "output_tokens": usage.output,
                "output_tokens_details": {"thinking_tokens": usage.reasoning},
                "service_tier": "standard",
            },
        }
        return written, usage


def _content(said: Said) -> Iterator[JsonObject]:
    if said.usage.reasoning:
        yield {"type": "thinking", "thinking": "", "signature": said.id("sig", 24)}
    if said.asked.tool and said.stop is not Stop.REFUSAL and said.text:
        yield {
            "type": "tool_use",
            "id": said.id("toolu_", 24),
            "name": said.asked.tool,
            "input": said.arguments,
        }
    elif said.text:  # an empty text block is never sent
        yield {"type": "text", "text": said.text, "citations": None}


def _understood(body: Any) -> Asked:
    form, tool = _bound(body)
    top = body.get("cache_control")
    parts = tuple(_parts(body))
    marks = sum(bool(part.lifetime) for part in parts) + bool(top)
    if marks > _MOST_BREAKPOINTS:
        raise _invalid(
            f"A maximum of {_MOST_BREAKPOINTS} blocks with cache_control may be provided."
            f" Found {marks}."
        )
    most = body.get("max_tokens")
    return Asked(
        model=body["model"],
        parts=parts,
        body=body,
        schema=None if form is None else plain(form),
        form=form,
        max_tokens=most,
        tool=tool,
        named=bool(tool),
        prewarm=most == 0,
        implicit=top.get("ttl", "5m") if top else "",
    )


def _parts(body: Any) -> Iterator[Part]:
    texts: list[tuple[bool, Any]] = [(True, body.get("system") or [])]
    texts += [(False, message["content"]) for message in body["messages"]]
    for system, content in texts:
        blocks: list[Any] = [{"text": content}] if isinstance(content, str) else content
        for block in blocks:
            mark = block.get("cache_control")
            yield Part(block["text"], system, mark.get("ttl", "5m") if mark else "")


def _bound(body: Any) -> tuple[JsonObject | None, str]:
    """The schema of the answer, and the tool whose argument it is."""
    tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools", ())}
    for ordinal, tool in enumerate(body.get("tools", ())):
        if tool.get("strict"):
            refuse_for_anthropic(tool["input_schema"], f"tools.{ordinal}.custom.input_schema")
    choice = body.get("tool_choice") or {}
    form = (body.get("output_config") or {}).get("format")
    if form:
        refuse_for_anthropic(form["schema"], "output_config.format.schema")
    if choice.get("type") in ("tool", "any"):
        name = choice.get("name") or next(iter(tools), "")
        if name not in tools:
            raise _invalid(f"tool_choice: Tool '{name}' not found in provided tools")
        return tools[name], name
    return (form["schema"] if form else None), ""


def _refuse_contradictions(body: Any) -> None:
    if body["messages"][-1]["role"] == "assistant":
        raise _invalid(
            "This model does not support assistant message prefill. The conversation must end with"
            " a user message."
        )
    thinking = body.get("thinking") or {}
    if thinking.get("budget_tokens", 0) >= max(1, body["max_tokens"]):
        raise _invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    bound = (body.get("output_config") or {}).get("format")
    if body["max_tokens"] == 0 and (bound or body.get("tool_choice")):
        raise _invalid("max_tokens: 0 cannot be combined with structured outputs or tool_choice")


def _invalid(message: str) -> Problem:
    return Problem(Trouble.INVALID, message)
