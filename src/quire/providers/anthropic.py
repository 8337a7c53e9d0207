"""Anthropic: the Messages wire format."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import jiter
import orjson

from quire.domain.accounts import Account, Rates
from quire.domain.data import Json, JsonObject, plain_json
from quire.domain.errors import ProviderError, Undecodable
from quire.domain.models import CacheMarking, Limits, StructuredOutput, Usage
from quire.domain.requests import Call, Reply, Role, Stop
from quire.providers import error_codes, wire
from quire.providers.event_streams import load_answer
from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.schema_limits import can_bind
from quire.providers.vendors import VENDORS

BASE_URL = VENDORS["anthropic"].base_url
VERSION = "2026-10-21"
SAMPLING_VERSION = "2023-06-01"  # the newer one refuses temperature and top_p
USUAL_OUTPUT = 8_192  # tokens, where nobody said how many: a call without a limit is refused
TOOL = "results"

_VERSIONED = re.compile(r"/v\d\w*/?$")
_STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.END,
    "refusal": Stop.REFUSAL,
}  # any other reason, known or new, leaves an answer that may not be whole
_BY_CODE = {
    "enforced_spend_limit_reached": error_codes.MONEY,
    "billing_error": error_codes.MONEY,
    "organization_on_hold": error_codes.KEY,
    "authentication_error": error_codes.KEY,
    "permission_error": error_codes.KEY,
    "not_found_error": error_codes.MODEL,
    "request_too_large": error_codes.TOO_LARGE,
    "rate_limit_error": error_codes.WAIT,
}
# These come as 400 invalid_request_error, like any mistake; only the words tell them apart.
_SPENT = re.compile(r"You have reached your specified|credit balance is too low", re.IGNORECASE)
_LONG = re.compile(r"prompt is too long|exceed context limit|too many tokens", re.IGNORECASE)
_KINDS = ("requests", "input-tokens", "output-tokens", "tokens")


@dataclass(eq=False)
class Anthropic:
    """Claude, at Anthropic itself."""

    name: str = "anthropic"
    decoder_version = 2

    def encode(self, call: Call, account: Account) -> HttpRequest:
        """Put a call into a message."""
        params = call.params
        marked = call.caching and call.wire.marking is CacheMarking.BREAKPOINT
        body: dict[str, object] = {
            "model": wire.model_id(call),
            "max_tokens": USUAL_OUTPUT if params.max_tokens is None else params.max_tokens,
            "messages": _messages(call, marked),
        }
        if call.system:
            body["system"] = _system(call.system, marked, marked and call.long_lived)
        if params.stop:
            body["stop_sequences"] = params.stop
        sampling = _sampling(call)
        body.update(sampling)
        body.update(_structured_output(call))
        base = call.wire.url or account.base_url or BASE_URL
        version = SAMPLING_VERSION if sampling else VERSION
        return HttpRequest(messages_url(base), headers_for(account, version), orjson.dumps(body))

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read a message; the argument of a forced tool is the answer where there is one."""
        body = load_answer(raw, body)
        blocks = wire.items(body.get("content"))
        if body.get("type") == "error" or not isinstance(body.get("content"), list):
            raise Undecodable("the response of anthropic is not a message")
        stop = body.get("stop_reason")
        given = next((block for block in blocks if block.get("type") == "tool_use"), None)
        return Reply(
            text=_text(blocks) if given is None else _argument(raw, given),
            stop=_STOPS.get(stop, Stop.LENGTH) if isinstance(stop, str) else Stop.LENGTH,
            usage=_usage(wire.mapping(body.get("usage"))),
            reasoning="\n".join(
                wire.text(block.get("thinking"))
                for block in blocks
                if block.get("type") == "thinking"
            ),
        )

    def classify(self, response: HttpResponse) -> ProviderError:
        """Say what can be done about an error, by its code, its type and its status."""
        whole = wire.mapping(wire.parse(response.body))
        error = wire.mapping(whole.get("error"))
        codes = (wire.mapping(error.get("details")).get("error_code"), error.get("type"))
        error_body = error_codes.ErrorBody(
            tuple(code for code in codes if isinstance(code, str)),
            wire.text(error.get("message"))
            or wire.text(whole.get("error"))
            or error_codes.plain_text(response.body),
        )
        meaning = _meaning(response.status, error_body)
        return error_codes.name_error(self.name, response, error_body, meaning)

    def rates(self, headers: Mapping[str, str]) -> Rates | None:
        """Read `anthropic-ratelimit-*`."""
        limits, left = _limits(headers, "limit"), _limits(headers, "remaining")
        if limits == left == Limits():
            return None
        return Rates(limits, left)

    def error_in_success(self, raw: bytes) -> HttpResponse | None:
        """None: it sends no errors with a 200."""
        return None


@lru_cache(maxsize=256)
def messages_url(base: str) -> str:
    """Where messages go, below a base URL's own version or the usual one."""
    base = base if _VERSIONED.search(base) else base.rstrip("/") + "/v1"
    return wire.endpoint_url("anthropic", base, "", "/messages")


def headers_for(account: Account, version: str) -> Mapping[str, str]:
    """Headers with the account's key, in the form that goes with a version of the API."""
    workspace = account.options.get("workspace", "")
    others = (("anthropic-version", version), ("anthropic-workspace-id", workspace))
    if version == VERSION:
        return wire.headers("Authorization", account.key, "Bearer ", *others)
    return wire.headers("x-api-key", account.key, "", *others)


@lru_cache(maxsize=256)
def _system(system: str, marked: bool, long_lived: bool) -> orjson.Fragment:
    return wire.fragment([_block(system, marked, long_lived)])


def _block(text: str, marked: bool, long_lived: bool) -> dict[str, Json]:
    block: dict[str, Json] = {"type": "text", "text": text}
    if marked:  # for five minutes, where nothing else is said
        hour: dict[str, Json] = {"ttl": "1h"} if long_lived else {}
        block["cache_control"] = {"type": "ephemeral", **hour}
    return block


def _messages(call: Call, marked: bool) -> list[object]:
    return [
        {"role": message.role.value, "content": _content(message, call.long_lived)}
        for message in wire.messages_of(call, tuple(Role) if marked else ())
    ]


def _content(message: wire.Message, long_lived: bool) -> Json:
    if not message.kept:
        return message.text
    own = [_block(message.text, marked=False, long_lived=False)] if message.text else []
    return [_block(message.kept, marked=True, long_lived=long_lived), *own]


def _sampling(call: Call) -> dict[str, object]:
    asked = {"temperature": call.params.temperature, "top_p": call.params.top_p}
    if not call.wire.sampling:
        return {}
    return {name: value for name, value in asked.items() if value is not None}


def _structured_output(call: Call) -> dict[str, object]:
    """Ask for the form of the answer; where it cannot be bound, the words of the prompt ask."""
    output: dict[str, object] = {"effort": call.params.effort} if call.params.effort else {}
    found: dict[str, object] = {}
    if call.output_schema is not None and call.wire.structured is StructuredOutput.TOOL:
        found["tools"] = _tools(wire.IdentityKey(call.output_schema))
        choice = {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True}
        found["tool_choice"] = choice
    elif call.output_schema is not None and call.wire.structured is StructuredOutput.SCHEMA:
        form = _format(wire.IdentityKey(call.output_schema))
        output |= {"format": form} if form is not None else {}
    return {**found, "output_config": output} if output else found


@lru_cache(maxsize=256)
def _tools(schema: wire.IdentityKey) -> orjson.Fragment:
    form = portable_schema(schema.value, SchemaDialect.ANTHROPIC)
    tool: dict[str, Json] = {
        "name": TOOL,
        "description": "Give the results, one for each block.",
        "input_schema": form,
    }
    if can_bind(form, SchemaDialect.ANTHROPIC):
        tool["strict"] = True
    return wire.fragment([tool])


@lru_cache(maxsize=256)
def _format(schema: wire.IdentityKey) -> orjson.Fragment | None:
    form = portable_schema(schema.value, SchemaDialect.ANTHROPIC)
    if not can_bind(form, SchemaDialect.ANTHROPIC):
        return None
    return wire.fragment({"type": "json_schema", "schema": form})


def _text(blocks: Sequence[JsonObject]) -> str:
    return "".join(wire.text(block.get("text")) for block in blocks if block.get("type") == "text")


def _argument(raw: bytes, given: JsonObject) -> str:
    """A tool's argument as the JSON text that it was, large integers kept."""
    try:
        blocks = jiter.from_json(raw, allow_inf_nan=False)["content"]
        exact = next(block for block in blocks if wire.mapping(block).get("type") == "tool_use")
        return plain_json(exact.get("input"))
    except ValueError:  # half a character in it; what was read with it replaced will do
        return orjson.dumps(given.get("input")).decode()


def _usage(usage: JsonObject) -> Usage:
    counts = wire.TokenCounts(usage)
    written = counts.read("cache_creation_input_tokens")
    short = counts.read("ephemeral_5m_input_tokens", "cache_creation")
    long = counts.read("ephemeral_1h_input_tokens", "cache_creation")
    output = counts.require("output_tokens")
    reasoning = counts.read("thinking_tokens", "output_tokens_details")
    parted = short + long
    contradictory = reasoning > output or (written and parted and written != parted)
    return Usage(
        input=counts.require("input_tokens"),
        output=output + reasoning if reasoning > output else output,
        cached=counts.read("cache_read_input_tokens"),
        written_short=max(short, written - long),
        written_long=long,
        reasoning=reasoning,
        exact=counts.exact and not contradictory,
    )


def _meaning(status: int, error_body: error_codes.ErrorBody) -> error_codes.Meaning:
    if status in (400, 422):
        if _SPENT.search(error_body.message):
            return error_codes.MONEY
        if _LONG.search(error_body.message):
            return error_codes.TOO_LARGE
    for code in error_body.codes:
        if code in _BY_CODE:
            return _BY_CODE[code]
    place, colon, _ = error_body.message.partition(": ")  # a path, where one part is to blame
    places = [place] if colon and " " not in place else []
    form = error_codes.meaning_of_form(error_body._replace(places=tuple(places)))
    return (status in (400, 422) and form) or error_codes.meaning_of_status(status)


def _limits(headers: Mapping[str, str], word: str) -> Limits:
    found = [headers.get(f"anthropic-ratelimit-{kind}-{word}", "").strip() for kind in _KINDS]
    numbers = [
        int(value) if value.isascii() and value.isdigit() and len(value) < 16 else None
        for value in found
    ]
    return Limits(requests=numbers[0], input=numbers[1], output=numbers[2], total=numbers[3])
