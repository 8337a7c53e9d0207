"""Typical records: how large an answer probably is, for the forecast.

Packing needs a size that answers rarely pass (`sizing`); a forecast needs the one they have.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.recipes import Schema
from quire.plan.sizing import RESTATING_WORDS

ANSWER_BYTES = len('{"results":[]}')
RECORD_BYTES = len('{"block_uid":"12ab"},')
FIELD_BYTES = len('"":,')  # around a key and its value
SHORT_TEXT = 40  # bytes of a free string that nothing limits: some seven words
ITEM_TEXT = 20  # the same, in a list: names and terms rather than sentences
PROSE_TEXT = 240  # the same, where the key promises prose
ITEMS = 2  # of an array that nothing limits
PROSE_WORDS = ("summary", "analysis", "reason", "notes", "explanation", "description")
VALUE_BYTES = {"boolean": 5, "integer": 3, "number": 4, "null": 4}


class Expected(NamedTuple):
    """Bytes of one record = fixed + restated × bytes of its block."""

    fixed: int
    restated: int


def expect(schema: Schema) -> Expected:
    """Size a typical record of a schema."""
    inside = _object(schema.record_schema)
    return Expected(RECORD_BYTES + inside.fixed, inside.restated)


def _object(schema: JsonObject) -> Expected:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return Expected(2, 0)
    fields = [
        _field(key.lower(), field)
        for key, field in properties.items()
        if isinstance(field, Mapping)
    ]
    keys = sum(len(key.encode()) + FIELD_BYTES for key in properties)
    return Expected(
        keys + sum(each.fixed for each in fields), sum(each.restated for each in fields)
    )


def _field(key: str, field: JsonObject, text: int = SHORT_TEXT) -> Expected:
    choices = field.get("enum") or ([field["const"]] if "const" in field else None)
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return Expected(sum(len(str(each)) + 2 for each in choices) // len(choices), 0)
    kinds = _kinds(field)
    kind = next((each for each in kinds if each != "null"), "null")
    if kind == "object":
        return _object(field)
    if kind == "array":
        return _array(key, field)
    if kind == "string":
        said = _text(key, field, text)
        return _half(said) if "null" in kinds and not said.restated else said
    return Expected(VALUE_BYTES.get(kind, text), 0)


def _half(said: Expected) -> Expected:
    """Half of all blocks have nothing to say where nothing may be said."""
    return Expected((said.fixed + VALUE_BYTES["null"]) // 2, 0)


def _array(key: str, field: JsonObject) -> Expected:
    items = field.get("items")
    item = items if isinstance(items, Mapping) else {}
    each = _field(key, item, ITEM_TEXT)
    least, most = _whole(field.get("minItems"), 0), _whole(field.get("maxItems"), ITEMS)
    count = max(least, min(most, ITEMS))
    return Expected(2 + count * (each.fixed + 1), count * each.restated)


def _text(key: str, field: JsonObject, text: int) -> Expected:
    longest = field.get("maxLength")
    if any(word in key for word in RESTATING_WORDS) and not isinstance(longest, int):
        return Expected(2, 1)
    likely = PROSE_TEXT if any(word in key for word in PROSE_WORDS) else text
    return Expected(2 + min(likely, _whole(longest, likely)), 0)


def _kinds(field: JsonObject) -> list[str]:
    stated = field.get("type")
    if isinstance(stated, str):
        return [stated]
    return [str(each) for each in stated] if isinstance(stated, Sequence) else []


def _whole(value: Json, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
