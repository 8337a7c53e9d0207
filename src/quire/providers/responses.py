"""The Responses wire format, which OpenAI and Azure share."""

import re
from collections.abc import Sequence
from functools import lru_cache

import orjson

from quire.domain.data import Json, JsonObject
from quire.domain.errors import Undecodable
from quire.domain.models import Marking, Structured, Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers.binding import binds
from quire.providers.chat import ANSWER, cache_options, read_chat, sampling
from quire.providers.portable import Dialect, portable
from quire.providers.protocol import HttpResponse
from quire.providers.reading import count, items, mapping, needed, parse, text
from quire.providers.writing import Same, fragment, model_id

LEAST_OUTPUT = 16  # tokens; less is refused

_FAILED = re.compile(rb'"status"\s*:\s*"failed"')
_POLICIES = ("invalid_prompt", "bio_policy", "misalignment_policy_violation")
_STATUSES = {"rate_limit_exceeded": 429, "server_error": 500, "vector_store_timeout": 500}


def encode_responses(call: Call) -> bytes:
    """Write a call's body."""
    params, marked = call.params, call.caching and call.wire.marking is Marking.BREAKPOINT
    body: dict[str, object] = {
        "model": model_id(call),
        "input": [_developer(call.system, marked), {"role": "user", "content": call.user}],
        "store": False,
    }
    if params.max_tokens is not None:
        body["max_output_tokens"] = max(LEAST_OUTPUT, params.max_tokens)
    if params.effort:
        body["reasoning"] = {"effort": params.effort}
    if call.wire.sampling:
        body.update(sampling(call))
    body.update(cache_options(call))
    if call.output_schema is not None:
        body.update(_structured(call.output_schema, call.wire.structured))
    return orjson.dumps(body)


@lru_cache(maxsize=256)
def _developer(system: str, marked: bool) -> orjson.Fragment:
    """The prefix: `instructions` could carry it too, but no mark for the cache."""
    part: dict[str, Json] = {"type": "input_text", "text": system}
    if marked:
        part["prompt_cache_breakpoint"] = {"mode": "explicit"}
    return fragment({"role": "developer", "content": [part]})


def _structured(schema: JsonObject, way: Structured) -> dict[str, object]:
    if way is Structured.SCHEMA:
        return {"text": _format(Same(schema))}
    if way is Structured.JSON:
        return {"text": {"format": {"type": "json_object"}}}
    if way is Structured.TOOL:
        choice = {"type": "function", "name": ANSWER}
        return {"tools": [_tool(Same(schema))], "tool_choice": choice}
    return {}


@lru_cache(maxsize=256)
def _format(schema: Same) -> orjson.Fragment:
    form = portable(schema.value, Dialect.OPENAI)
    strict = binds(form, Dialect.OPENAI)
    return fragment(
        {"format": {"type": "json_schema", "name": ANSWER, "schema": form, "strict": strict}}
    )


@lru_cache(maxsize=256)
def _tool(schema: Same) -> orjson.Fragment:
    form = portable(schema.value, Dialect.OPENAI)
    strict = binds(form, Dialect.OPENAI)
    return fragment({"type": "function", "name": ANSWER, "parameters": form, "strict": strict})


def failed_response(raw: bytes) -> HttpResponse | None:
    """A response that failed before it was paid for, as the refusal that it is."""
    if _FAILED.search(raw) is None:
        return None
    body = mapping(parse(raw))
    if body.get("status") != "failed" or mapping(body.get("usage")):
        return None
    code = text(mapping(body.get("error")).get("code"))
    return HttpResponse(_STATUSES.get(code, 400), {}, raw)


def read_either(body: JsonObject) -> Reply:
    """Read a body of Responses or of Chat Completions, or raise Undecodable."""
    if "output" in body:
        return read_response(body)
    if "choices" in body:
        return read_chat(body)
    raise Undecodable("the body is neither a response nor a chat completion")


def read_response(body: JsonObject) -> Reply:
    """Read a response, failed and unfinished ones too: what was paid for is read, if little."""
    if not isinstance(body.get("output"), list):
        raise Undecodable("the response has no output")
    usage = _usage(body)
    said, refused, thoughts = _spoken(items(body["output"]))
    stop = Stop.REFUSAL if refused else _stop(body)
    if stop is Stop.REFUSAL:
        said = refused or said or text(mapping(body.get("error")).get("message"))
    return Reply(said, stop, usage, thoughts)


def _spoken(output: Sequence[JsonObject]) -> tuple[str, str, str]:
    """The answer, the words of a refusal, and the thoughts; asides to the answer are left out."""
    messages: list[JsonObject] = []
    given: list[str] = []
    thoughts: list[str] = []
    for item in output:
        kind = item.get("type")
        if kind == "message":
            messages.append(item)
        elif kind == "function_call":
            given.append(text(item.get("arguments")))
        elif kind == "reasoning":
            thoughts.append(_thoughts(item))
    final = [each for each in messages if each.get("phase") == "final_answer"]
    said, refused = _words(final or messages)
    return given[0] if given else said, refused, "\n".join(filter(None, thoughts))


def _words(messages: Sequence[JsonObject]) -> tuple[str, str]:
    """What messages say, and the words of a refusal in them."""
    said: list[str] = []
    refused: list[str] = []
    for message in messages:
        for part in items(message.get("content")):
            kind = part.get("type")
            if kind == "output_text":
                said.append(text(part.get("text")))
            elif kind == "refusal":
                refused.append(text(part.get("refusal")))
    return "".join(said), "".join(refused)


def _stop(body: JsonObject) -> Stop:
    reason, error = mapping(body.get("incomplete_details")).get("reason"), body.get("error")
    if reason == "max_output_tokens":
        return Stop.LENGTH
    if reason == "content_filter" or (error and mapping(error).get("code") in _POLICIES):
        return Stop.REFUSAL
    return Stop.END


def _thoughts(item: JsonObject) -> str:
    parts = (*items(item.get("summary")), *items(item.get("content")))
    return "\n".join(text(part.get("text")) for part in parts)


def _usage(body: JsonObject) -> Usage:
    usage = mapping(body.get("usage"))
    if not usage and body.get("status") == "failed":
        return Usage()
    read = mapping(usage.get("input_tokens_details"))
    wrote = mapping(usage.get("output_tokens_details"))
    cached = count(read, "cached_tokens")
    written = count(read, "cache_write_tokens")
    kinds = mapping(read.get("cache_write_tokens_details"))
    long = count(kinds, "ttl_12h_tokens")
    short = count(kinds, "ttl_30m_tokens") or max(0, written - long)
    return Usage(
        input=max(0, needed(usage, "input_tokens") - cached - short - long),
        output=needed(usage, "output_tokens"),
        cached=cached,
        written_short=short,
        written_long=long,
        reasoning=count(wrote, "reasoning_tokens"),
    )
