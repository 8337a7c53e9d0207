"""Calls and accounts as the engine makes them, for the tests of vendors."""

from dataclasses import fields, replace
from typing import Any

import orjson

from quire.domain.accounts import Account, Secret
from quire.domain.data import Json
from quire.domain.ids import AttemptId
from quire.domain.models import CacheMarking, Params, StructuredOutput, Wire
from quire.domain.requests import Call, Role, Turn
from quire.providers.protocol import HttpResponse, WireFormat

KEY = "sk-test-0123456789abcdefghijklmnop"
SYSTEM = "Follow the guidelines. Answer in JSON."
USER = 'Fill in the fields.\n{"blocks":[{"block_uid":"1x","block_content":"Grüße 👋"}]}'
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"block_uid": {"type": "string"}, "words": {"type": "integer"}},
                "required": ["block_uid", "words"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["results"],
    "additionalProperties": False,
}
CALL = Call(
    attempt_id=AttemptId(7),
    model="openai/gpt-6-luna",
    system=SYSTEM,
    user=USER,
    output_schema=SCHEMA,
    params=Params(max_tokens=500),
)

_PARAMS = {field.name for field in fields(Params)}
_WIRE = {field.name for field in fields(Wire)}


def make_call(model: str = CALL.model, **changes: Any) -> Call:
    """A call; names of Params and Wire go where they belong."""
    params = {name: changes.pop(name) for name in list(changes) if name in _PARAMS}
    wire = {name: changes.pop(name) for name in list(changes) if name in _WIRE}
    return replace(
        CALL, model=model, params=replace(CALL.params, **params), wire=Wire(**wire), **changes
    )


# Two of a role follow one another: legal for us, and not for every vendor.
TURNS = (
    Turn(Role.USER, "First."),
    Turn(Role.ASSISTANT, "Said."),
    Turn(Role.ASSISTANT, "And more."),
    Turn(Role.USER, "Second."),
)
MARKED: dict[str, Any] = {"caching": True, "marking": CacheMarking.BREAKPOINT}

EVERY_FORM = [
    *(
        make_call(structured=structured, marking=marking, caching=caching)
        for structured in StructuredOutput
        for marking in CacheMarking
        for caching in (False, True)
    ),
    make_call(temperature=0.2, top_p=0.9, effort="low", seed=7, stop=("END",)),
    make_call(output_schema=None, max_tokens=None),
    make_call(max_tokens=1),
    *(make_call(turns=TURNS, stable_turns=count, **MARKED) for count in range(len(TURNS) + 1)),
]


def account(provider: str = "openai", base_url: str = "", **options: str) -> Account:
    """An account with the test's key."""
    return Account(
        provider=provider,
        credential="env TEST",
        key=Secret(KEY),
        base_url=base_url,
        options=options,
    )


def sent_body(vendor: WireFormat, call: Call, by: Account) -> Any:
    """What a vendor would be sent, read back."""
    return orjson.loads(vendor.encode(call, by).body)


def error_response(status: int, body: Any, **headers: str) -> HttpResponse:
    """A response that is no success; header names are written with underscores."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return HttpResponse(
        status, {name.replace("_", "-"): header for name, header in headers.items()}, raw
    )


def with_unknown_fields(value: Any) -> Any:
    """The same body from a newer API: fields that nobody told us of, everywhere."""
    if isinstance(value, dict):
        return {**{k: with_unknown_fields(v) for k, v in value.items()}, "zz_new": {"deep": [1]}}
    return [with_unknown_fields(item) for item in value] if isinstance(value, list) else value
