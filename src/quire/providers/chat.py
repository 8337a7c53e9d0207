"""The Chat Completions wire format: OpenAI's, and that of everybody who speaks like it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import orjson

from quire.domain.data import Json, JsonObject
from quire.domain.errors import Undecodable
from quire.domain.ids import fingerprint
from quire.domain.models import Marking, Structured, Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers.binding import binds
from quire.providers.portable import Dialect, portable
from quire.providers.reading import count, items, mapping, needed, text
from quire.providers.writing import Same, fragment, model_id

ANSWER = "answer"  # what the schema of an answer, or the tool that takes it, is called
_TOLD = "Give the answer."

_STOPS = {
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "model_length": Stop.LENGTH,  # Mistral: the window was full
    "content_filter": Stop.REFUSAL,
    "refusal": Stop.REFUSAL,
    "safety": Stop.REFUSAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accent:
    """Where one server's Chat Completions differ from another's."""

    system_role: Literal["developer", "system"] = "system"
    limit: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    seed: Literal["seed", "random_seed"] = "seed"
    strict_for: str = ""  # only models with this in their name bind answers strictly
    # How a prefix is marked for its cache, where that must be said at all.
    marking: Literal["", "prompt_cache", "cache_control"] = ""
    extra: Mapping[str, Json] = field(default_factory=dict, hash=False)  # sent with every call


def encode_chat(call: Call, accent: Accent) -> bytes:
    """Write a call's body."""
    params, marked = call.params, call.caching and call.wire.marking is Marking.BREAKPOINT
    body: dict[str, object] = {
        "model": model_id(call),
        "messages": [
            _system(call.system, accent.system_role, accent.marking if marked else ""),
            {"role": "user", "content": call.user},
        ],
        **accent.extra,
    }
    if params.max_tokens is not None:
        body[accent.limit] = params.max_tokens
    if params.effort:
        body["reasoning_effort"] = params.effort
    if params.seed is not None:
        body[accent.seed] = params.seed
    if params.stop:
        body["stop"] = params.stop
    if call.wire.sampling:
        body.update(sampling(call))
    if accent.marking == "prompt_cache":
        body.update(cache_options(call))
    if call.output_schema is not None:
        body.update(_structured(call.output_schema, model_id(call), call.wire.structured, accent))
    return orjson.dumps(body)


def sampling(call: Call) -> dict[str, float]:
    """How freely the model may choose, where anybody said so."""
    chosen = {"temperature": call.params.temperature, "top_p": call.params.top_p}
    return {name: value for name, value in chosen.items() if value is not None}


def cache_options(call: Call) -> dict[str, Json]:
    """Say which prefix is worth keeping; without a breakpoint nothing is written, nor paid."""
    if call.wire.marking is Marking.BREAKPOINT:
        return {"prompt_cache_options": {"mode": "explicit"}}
    if call.wire.marking is Marking.AUTOMATIC and call.caching:
        return {"prompt_cache_key": _cache_key(call.system)}
    return {}


@lru_cache(maxsize=256)
def _cache_key(system: str) -> str:
    return fingerprint(system).hex()


@lru_cache(maxsize=256)
def _system(system: str, role: str, marking: str) -> orjson.Fragment:
    if not marking:
        return fragment({"role": role, "content": system})
    part: dict[str, Json] = {"type": "text", "text": system}
    if marking == "cache_control":
        part["cache_control"] = {"type": "ephemeral"}
    else:
        part["prompt_cache_breakpoint"] = {"mode": "explicit"}
    return fragment({"role": role, "content": [part]})


def _structured(
    schema: JsonObject, model: str, way: Structured, accent: Accent
) -> dict[str, object]:
    if way is Structured.TEXT:
        return {}
    if way is Structured.JSON:
        return {"response_format": {"type": "json_object"}}
    strict = accent.strict_for in model
    if way is Structured.SCHEMA:
        return {"response_format": _format(Same(schema), strict)}
    choice = {"type": "function", "function": {"name": ANSWER}}
    return {"tools": [_tool(Same(schema), strict)], "tool_choice": choice}


@lru_cache(maxsize=256)
def _format(schema: Same, strict: bool) -> orjson.Fragment:
    form = portable(schema.value, Dialect.OPENAI)
    return fragment(
        {
            "type": "json_schema",
            "json_schema": {
                "name": ANSWER,
                "schema": form,
                "strict": strict and binds(form, Dialect.OPENAI),
            },
        }
    )


@lru_cache(maxsize=256)
def _tool(schema: Same, strict: bool) -> orjson.Fragment:
    form = portable(schema.value, Dialect.OPENAI)
    function: dict[str, Json] = {
        "name": ANSWER,
        "description": _TOLD,
        "parameters": form,
        "strict": strict and binds(form, Dialect.OPENAI),
    }
    return fragment({"type": "function", "function": function})


def read_chat(body: JsonObject, *, free: bool = False) -> Reply:
    """Read a completion; a `free` server, on one's own machine, need not say what it used."""
    if not isinstance(body.get("choices"), list):
        raise Undecodable("the response has no choices")
    choices = items(body["choices"])
    choice = choices[0] if choices else {}
    message = mapping(choice.get("message"))
    usage = _usage(mapping(body.get("usage")), free)
    reasoning = text(message.get("reasoning_content")) or text(message.get("reasoning"))
    reasoning = reasoning or _thoughts(message.get("content"))
    if refused := text(message.get("refusal")):
        return Reply(text=refused, stop=Stop.REFUSAL, usage=usage, reasoning=reasoning)
    stop = _STOPS.get(text(choice.get("finish_reason")), Stop.END)
    return Reply(text=_answer(message), stop=stop, usage=usage, reasoning=reasoning)


def _answer(message: JsonObject) -> str:
    """What was said, or what was given to the tool."""
    for call in items(message.get("tool_calls")):
        if arguments := text(mapping(call.get("function")).get("arguments")):
            return arguments
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(text(part.get("text")) for part in items(content))


def _thoughts(content: Json) -> str:
    """Thoughts that stand among the parts of the answer, as Mistral sends them."""
    return "".join(
        text(thought.get("text"))
        for part in items(content)
        for thought in items(part.get("thinking"))
    )


def _usage(usage: JsonObject, free: bool) -> Usage:
    if not usage and free:
        return Usage()
    total, output = needed(usage, "prompt_tokens"), needed(usage, "completion_tokens")
    read = mapping(usage.get("prompt_tokens_details"))
    wrote = mapping(usage.get("completion_tokens_details"))
    cached = count(read, "cached_tokens")
    written = count(read, "cache_write_tokens")
    return Usage(
        input=max(0, total - cached - written),
        output=output,
        cached=cached,
        written_short=written,
        reasoning=count(wrote, "reasoning_tokens"),
    )
