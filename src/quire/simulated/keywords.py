"""Typed reading of JSON Schema keywords, so that a malformed schema reads as one without them."""

from collections.abc import Sequence
from fractions import Fraction

from quire.domain.data import Json, JsonObject


def whole(schema: JsonObject, key: str) -> int | None:
    """Read a length or a count."""
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return None
    return int(value)


def exact(schema: JsonObject, key: str) -> Fraction | None:
    """Read a bound as the decimal that was written, not as its nearest binary fraction."""
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(repr(value))


def text(schema: JsonObject, key: str) -> str | None:
    """Read a pattern or a format."""
    value = schema.get(key)
    return value if isinstance(value, str) else None


def listed(schema: JsonObject, key: str) -> Sequence[Json]:
    """Read a list; empty where there is none."""
    value = schema.get(key)
    return value if isinstance(value, list | tuple) else ()


def types(schema: JsonObject) -> tuple[str, ...]:
    """Read the types a value may have; where none is given, what the other keywords imply."""
    given = schema.get("type")
    if isinstance(given, str):
        return (given,)
    if isinstance(given, list | tuple):
        return tuple(each for each in given if isinstance(each, str))
    for keyword, implied in (("properties", "object"), ("items", "array")):
        if keyword in schema:
            return (implied,)
    return ()
