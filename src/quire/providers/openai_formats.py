"""OpenAI's two wire formats: Chat Completions, which many others speak too, and Responses."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import orjson

from quire.domain.accounts import Account, Rates
from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Undecodable
from quire.domain.fallbacks import COUNTED_STREAM
from quire.domain.ids import fingerprint
from quire.domain.models import CacheMarking, StructuredOutput, Usage
from quire.domain.requests import Call, Reply, Role, Stop
from quire.providers import error_codes, wire
from quire.providers.embedding_formats import EMBEDDINGS_PATH, encode_passages, read_embeddings
from quire.providers.event_streams import load_answer
from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.protocol import HttpResponse
from quire.providers.rate_headers import read_rates
from quire.providers.schema_limits import can_bind
from quire.providers.vendors import VENDORS, ChatVariant

ANSWER = "answer"  # what the schema of an answer, or the tool that takes it, is called
_TOOL_DESCRIPTION = "Give the answer."

_CHAT_STOPS = {
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "model_length": Stop.LENGTH,  # Mistral: the window was full
    "content_filter": Stop.REFUSAL,
    "refusal": Stop.REFUSAL,
    "safety": Stop.REFUSAL,
}


class OpenAIFormats:
    """What is read alike wherever both wire formats are served."""

    name: str
    decoder_version = 2

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a body of either API, or raise Undecodable."""
        read = load_answer(raw, body)
        return read_embeddings(read) or read_either(read)

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about an error."""
        return error_codes.classify(self.name, response)

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Read what the headers say of our limits."""
        return read_rates(headers)

    def error_in_success(self, raw: bytes) -> HttpResponse | None:
        """A body that came with a 200 and is an error, as the error that it is."""
        return failed_response(raw)

    def encode_body(self, call: Call, account: Account) -> tuple[str, bytes]:
        """The endpoint that the account's calls go to, and what one says there."""
        if call.passages:
            return EMBEDDINGS_PATH, encode_passages(call, VENDORS[self.name].embeddings)
        if account.options.get("api") == "chat":
            return "/chat/completions", encode_chat(call, VENDORS[self.name].chat)
        return "/responses", encode_responses(call)


def encode_chat(call: Call, variant: ChatVariant) -> bytes:
    """Write a call's body."""
    params, marked = call.params, call.caching and call.wire.marking is CacheMarking.BREAKPOINT
    body: dict[str, object] = {
        "model": wire.model_id(call),
        "messages": _chat_messages(call, variant, variant.marking if marked else ""),
        **variant.extra,
    }
    if params.max_tokens is not None:
        body[call.limit_name or variant.limit] = params.max_tokens
    if params.effort:
        body["reasoning_effort"] = params.effort
    if params.seed is not None:
        body[variant.seed] = params.seed
    if params.stop:
        body["stop"] = params.stop
    if call.wire.sampling:
        body.update(sampling(call))
    if variant.marking == "prompt_cache":
        body.update(cache_options(call))
    body.update(_streaming(call))
    if call.output_schema is not None:
        body.update(_structured_chat(call, call.output_schema, variant))
    return orjson.dumps(body)


def _streaming(call: Call) -> dict[str, Json]:
    if not call.stream:
        return {}
    counted: dict[str, Json] = {"stream_options": {"include_usage": True}}
    return {"stream": True, **(counted if call.stream == COUNTED_STREAM else {})}


def _chat_messages(call: Call, variant: ChatVariant, marking: str) -> list[object]:
    marked_roles = tuple(Role) if marking else ()
    said: list[object] = [
        {"role": message.role.value, "content": _chat_content(message, marking)}
        for message in wire.messages_of(call, marked_roles)
    ]
    if not call.system:
        return said
    return [_chat_system(call.system, call.system_role or variant.system_role, marking), *said]


def _chat_content(message: wire.Message, marking: str) -> Json:
    if not message.kept:
        return message.text
    own: list[Json] = [{"type": "text", "text": message.text}] if message.text else []
    return [_marked_part(message.kept, marking), *own]


def sampling(call: Call) -> dict[str, float]:
    """How freely the model may choose, where anybody said so."""
    chosen = {"temperature": call.params.temperature, "top_p": call.params.top_p}
    return {name: value for name, value in chosen.items() if value is not None}


def cache_options(call: Call) -> dict[str, Json]:
    """Say which prefix is worth keeping; without a breakpoint nothing is written, nor paid."""
    if call.wire.marking is CacheMarking.BREAKPOINT:
        return {"prompt_cache_options": {"mode": "explicit"}}
    if call.wire.marking is CacheMarking.AUTOMATIC and call.caching:
        return {"prompt_cache_key": _cache_key(call.system)}
    return {}


@lru_cache(maxsize=256)
def _cache_key(system: str) -> str:
    return fingerprint(system).hex()


@lru_cache(maxsize=256)
def _chat_system(system: str, role: str, marking: str) -> orjson.Fragment:
    if not marking:
        return wire.fragment({"role": role, "content": system})
    return wire.fragment({"role": role, "content": [_marked_part(system, marking)]})


def _marked_part(text: str, marking: str) -> dict[str, Json]:
    part: dict[str, Json] = {"type": "text", "text": text}
    if marking == "cache_control":
        part["cache_control"] = {"type": "ephemeral"}
    else:
        part["prompt_cache_breakpoint"] = {"mode": "explicit"}
    return part


def _structured_chat(call: Call, schema: JsonObject, variant: ChatVariant) -> dict[str, object]:
    way = call.wire.structured
    if way is StructuredOutput.TEXT:
        return {}
    if way is StructuredOutput.JSON:
        return {"response_format": {"type": "json_object"}}
    strict = variant.strict_for in wire.model_id(call)
    if way is StructuredOutput.SCHEMA:
        return {"response_format": _chat_format(wire.IdentityKey(schema), strict)}
    choice = {"type": "function", "function": {"name": ANSWER}}
    return {"tools": [_chat_tool(wire.IdentityKey(schema), strict)], "tool_choice": choice}


@lru_cache(maxsize=256)
def _chat_format(schema: wire.IdentityKey, strict: bool) -> orjson.Fragment:
    named = {"name": ANSWER, **_bound_form(schema, "schema", strict)}
    return wire.fragment({"type": "json_schema", "json_schema": named})


@lru_cache(maxsize=256)
def _chat_tool(schema: wire.IdentityKey, strict: bool) -> orjson.Fragment:
    named: dict[str, Json] = {"name": ANSWER, "description": _TOOL_DESCRIPTION}
    function = named | _bound_form(schema, "parameters", strict)
    return wire.fragment({"type": "function", "function": function})


def _bound_form(schema: wire.IdentityKey, name: str, strict: bool = True) -> dict[str, Json]:
    """An answer's schema, as OpenAI reads one, and whether the answer is strictly bound to it."""
    form = portable_schema(schema.value, SchemaDialect.OPENAI)
    return {name: form, "strict": strict and can_bind(form, SchemaDialect.OPENAI)}


def read_chat(body: JsonObject, *, free: bool = False) -> Reply:
    """Read a completion; a `free` server, on one's own machine, need not say what it used."""
    if not isinstance(body.get("choices"), list):
        raise Undecodable("the response has no choices")
    choices = wire.items(body["choices"])
    choice = choices[0] if choices else {}
    message = wire.mapping(choice.get("message"))
    usage = _chat_usage(wire.mapping(body.get("usage")), free)
    reasoning = wire.text(message.get("reasoning_content")) or wire.text(message.get("reasoning"))
    reasoning = reasoning or _chat_thoughts(message.get("content"))
    if refused := wire.text(message.get("refusal")):
        return Reply(text=refused, stop=Stop.REFUSAL, usage=usage, reasoning=reasoning)
    stop = _CHAT_STOPS.get(wire.text(choice.get("finish_reason")), Stop.END)
    return Reply(text=_chat_answer(message), stop=stop, usage=usage, reasoning=reasoning)


def _chat_answer(message: JsonObject) -> str:
    """What was said, or what was given to the tool."""
    for call in wire.items(message.get("tool_calls")):
        if arguments := _argument_text(wire.mapping(call.get("function")).get("arguments")):
            return arguments
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(wire.text(part.get("text")) for part in wire.items(content))


def _argument_text(arguments: Json) -> str:
    """What was given to the tool, as text; some servers send the object itself."""
    if isinstance(arguments, Mapping):
        return orjson.dumps(arguments).decode()
    return wire.text(arguments)


def _chat_thoughts(content: Json) -> str:
    """Thoughts that stand among the parts of the answer, as Mistral sends them."""
    return "".join(
        wire.text(thought.get("text"))
        for part in wire.items(content)
        for thought in wire.items(part.get("thinking"))
    )


def _chat_usage(usage: JsonObject, free: bool) -> Usage:
    if not usage and free:
        return Usage()
    counts = wire.TokenCounts(usage)
    taken, output = counts.require("prompt_tokens"), counts.require("completion_tokens")
    cached = counts.read("cached_tokens", "prompt_tokens_details")
    written = counts.read("cache_write_tokens", "prompt_tokens_details")
    reasoning = counts.read("reasoning_tokens", "completion_tokens_details")
    reasoning = reasoning or counts.read("reasoning_tokens")
    output = counts.spread(taken, output, reasoning)
    return Usage(
        input=counts.uncached_input(taken, cached + written),
        output=counts.complete(output, taken, "total_tokens"),
        cached=cached,
        written_short=written,
        reasoning=reasoning,
        exact=counts.exact,
    )


LEAST_OUTPUT = 16  # tokens; less is refused

_FAILED_STATUS = re.compile(rb'"status"\s*:\s*"failed"')
_POLICIES = ("invalid_prompt", "bio_policy", "misalignment_policy_violation")
_WRITTEN = "cache_write_tokens_details"
_STATUSES = {"rate_limit_exceeded": 429, "server_error": 500, "vector_store_timeout": 500}


def encode_responses(call: Call) -> bytes:
    """Write a call's body."""
    params, marked = call.params, call.caching and call.wire.marking is CacheMarking.BREAKPOINT
    body: dict[str, object] = {
        "model": wire.model_id(call),
        "input": _response_messages(call, marked),
        "store": False,
    }
    if params.max_tokens is not None:
        body["max_output_tokens"] = max(LEAST_OUTPUT, params.max_tokens)
    if params.effort:
        body["reasoning"] = {"effort": params.effort}
    if call.wire.sampling:
        body.update(sampling(call))
    body.update(cache_options(call))
    if call.stream:
        body["stream"] = True
    if call.output_schema is not None:
        body.update(_structured_response(call.output_schema, call.wire.structured))
    return orjson.dumps(body)


def _response_messages(call: Call, marked: bool) -> list[object]:
    # What the model said can carry no mark there.
    said: list[object] = [
        {"role": message.role.value, "content": _response_content(message)}
        for message in wire.messages_of(call, (Role.USER,) if marked else ())
    ]
    if not call.system:
        return said
    return [_prefix_message(call.system, call.system_role or "developer", marked), *said]


def _response_content(message: wire.Message) -> Json:
    if not message.kept:
        return message.text
    own: list[Json] = [{"type": "input_text", "text": message.text}] if message.text else []
    return [_response_part(message.kept, marked=True), *own]


@lru_cache(maxsize=256)
def _prefix_message(system: str, role: str, marked: bool) -> orjson.Fragment:
    """The prefix: `instructions` could carry it too, but no mark for the cache."""
    return wire.fragment({"role": role, "content": [_response_part(system, marked=marked)]})


def _response_part(text: str, *, marked: bool) -> dict[str, Json]:
    part: dict[str, Json] = {"type": "input_text", "text": text}
    if marked:
        part["prompt_cache_breakpoint"] = {"mode": "explicit"}
    return part


def _structured_response(schema: JsonObject, way: StructuredOutput) -> dict[str, object]:
    if way is StructuredOutput.SCHEMA:
        return {"text": _response_format(wire.IdentityKey(schema))}
    if way is StructuredOutput.JSON:
        return {"text": {"format": {"type": "json_object"}}}
    if way is StructuredOutput.TOOL:
        choice = {"type": "function", "name": ANSWER}
        return {"tools": [_response_tool(wire.IdentityKey(schema))], "tool_choice": choice}
    return {}


@lru_cache(maxsize=256)
def _response_format(schema: wire.IdentityKey) -> orjson.Fragment:
    form = {"type": "json_schema", "name": ANSWER, **_bound_form(schema, "schema")}
    return wire.fragment({"format": form})


@lru_cache(maxsize=256)
def _response_tool(schema: wire.IdentityKey) -> orjson.Fragment:
    form = _bound_form(schema, "parameters")
    return wire.fragment({"type": "function", "name": ANSWER, **form})


def failed_response(raw: bytes) -> HttpResponse | None:
    """A response that failed before it was paid for, as the refusal that it is."""
    if _FAILED_STATUS.search(raw) is None:
        return None
    body = wire.mapping(wire.parse(raw))
    if body.get("status") != "failed" or wire.mapping(body.get("usage")):
        return None
    code = wire.text(wire.mapping(body.get("error")).get("code"))
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
    usage = _response_usage(body)
    said, refused, thoughts = _read_output(wire.items(body["output"]))
    stop = Stop.REFUSAL if refused else _response_stop(body)
    if stop is Stop.REFUSAL:
        said = refused or said or wire.text(wire.mapping(body.get("error")).get("message"))
    return Reply(said, stop, usage, thoughts)


def _read_output(output: Sequence[JsonObject]) -> tuple[str, str, str]:
    """The answer, the words of a refusal, and the thoughts; asides to the answer are left out."""
    messages: list[JsonObject] = []
    given: list[str] = []
    thoughts: list[str] = []
    for item in output:
        kind = item.get("type")
        if kind == "message":
            messages.append(item)
        elif kind == "function_call":
            given.append(_argument_text(item.get("arguments")))
        elif kind == "reasoning":
            thoughts.append(_response_thoughts(item))
    final = [message for message in messages if message.get("phase") == "final_answer"]
    said, refused = _message_texts(final or messages)
    return given[0] if given else said, refused, "\n".join(filter(None, thoughts))


def _message_texts(messages: Sequence[JsonObject]) -> tuple[str, str]:
    """What messages say, and the words of a refusal in them."""
    said: list[str] = []
    refused: list[str] = []
    for message in messages:
        for part in wire.items(message.get("content")):
            kind = part.get("type")
            if kind == "output_text":
                said.append(wire.text(part.get("text")))
            elif kind == "refusal":
                refused.append(wire.text(part.get("refusal")))
    return "".join(said), "".join(refused)


def _response_stop(body: JsonObject) -> Stop:
    reason, error = wire.mapping(body.get("incomplete_details")).get("reason"), body.get("error")
    if reason == "max_output_tokens":
        return Stop.LENGTH
    if reason == "content_filter" or (error and wire.mapping(error).get("code") in _POLICIES):
        return Stop.REFUSAL
    return Stop.END


def _response_thoughts(item: JsonObject) -> str:
    parts = (*wire.items(item.get("summary")), *wire.items(item.get("content")))
    return "\n".join(wire.text(part.get("text")) for part in parts)


def _response_usage(body: JsonObject) -> Usage:
    usage = wire.mapping(body.get("usage"))
    if not usage and body.get("status") == "failed":
        return Usage()
    counts = wire.TokenCounts(usage)
    details = wire.TokenCounts(wire.mapping(usage.get("input_tokens_details")))
    cached, short, long = details.read("cached_tokens"), details.read("cache_write_tokens"), 0
    if _WRITTEN in details.usage:
        long = details.read("ttl_12h_tokens", _WRITTEN)
        short = details.read("ttl_30m_tokens", _WRITTEN) or max(0, short - long)
    reasoning = counts.read("reasoning_tokens", "output_tokens_details")
    taken, output = counts.require("input_tokens"), counts.require("output_tokens")
    output = counts.spread(taken, output, reasoning)
    return Usage(
        input=counts.uncached_input(taken, cached + short + long),
        output=counts.complete(output, taken, "total_tokens"),
        cached=cached,
        written_short=short,
        written_long=long,
        reasoning=reasoning,
        exact=counts.exact and details.exact,
    )
