"""Reading what vendors send: JSON of any form, taken for nothing but what it proves to be."""

import json
from collections.abc import Sequence

import orjson

from quire.domain.data import Json, JsonObject
from quire.domain.errors import Undecodable

MOST_TOKENS = 10**9  # in one call: beyond any model, and its cost within what databases keep

_NOTHING: JsonObject = {}


def load(raw: bytes, parsed: JsonObject | None = None) -> JsonObject:
    """Read a body that must be a JSON object, or raise Undecodable; once is enough."""
    body = parse(raw) if parsed is None else parsed
    if not isinstance(body, dict):
        raise Undecodable("the response is not a JSON object")
    return body


def parse(raw: bytes) -> Json:
    """Read a body as JSON, half characters and byte order marks forgiven; None if it is none."""
    try:
        return orjson.loads(raw)  # type: ignore[no-any-return]  # JSON is what it returns
    except ValueError:
        pass
    try:  # a model that is cut off inside an emoji leaves half of it; the rest is still paid for
        text = json.dumps(json.loads(raw), ensure_ascii=False)
        return orjson.loads(text.encode("utf-8", "replace"))  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None


def mapping(value: Json) -> JsonObject:
    """The object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: Json) -> Sequence[JsonObject]:
    """The objects of an array; whatever else it holds is left out."""
    if not isinstance(value, list):
        return ()
    return [each for each in value if isinstance(each, dict)]


def text(value: Json) -> str:
    """The string, or an empty one where something else stands."""
    return value if isinstance(value, str) else ""


def count(usage: JsonObject, name: str) -> int:
    """A number of tokens; what is left out counts as none, what is no number is Undecodable."""
    value = usage.get(name)
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= MOST_TOKENS:
        raise Undecodable(f"the response has no usable token counts: {name}")
    return value


def needed(usage: JsonObject, name: str) -> int:
    """A number of tokens that must be there: unknown is not nothing."""
    if usage.get(name) is None:
        raise Undecodable(f"the response does not say what it used: {name} is missing")
    return count(usage, name)
