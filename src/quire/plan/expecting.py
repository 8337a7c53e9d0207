"""What an answer probably looks like: the size of a typical record, for the forecast.

Packing needs a size that answers rarely pass (`sizing`); a forecast needs the one they have.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.recipes import Schema
from quire.domain.requests import Sample
from quire.plan.rendering import items_bytes
from quire.plan.sizing import FEWEST_SAMPLES, RESTATING_WORDS, forecast_tokens

RECORD_BYTES = len('{"block_uid":"12ab"},')
FIELD_BYTES = len('"":,')  # around a key and its value
SHORT_TEXT = 60  # bytes of a free string that nothing limits
PROSE_TEXT = 240  # the same, where the key promises prose
ITEMS = 2  # of an array that nothing limits
PROSE_WORDS = ("summary", "analysis", "reason", "notes", "explanation", "description")
VALUE_BYTES = {"boolean": 5, "integer": 3, "number": 4, "null": 4}


class Expected(NamedTuple):
    """Bytes of one record = fixed + restated × bytes of its block."""

    fixed: int
    restated: int


class Seen(NamedTuple):
    """What answered calls took on the average."""

    input_per_byte: float  # tokens for a byte that was sent
    output_per_task: float
    output_per_byte: float  # of content


def see(samples: Sequence[Sample], head_bytes: int) -> Seen | None:
    """Look at answered calls of one stage, each of which began with so many bytes."""
    usable = [each for each in samples if each.tasks > 0 and each.input_tokens > 0]
    if len(usable) < FEWEST_SAMPLES:
        return None
    tasks = sum(each.tasks for each in usable)
    content = sum(each.content_bytes for each in usable)
    output = sum(each.output_tokens for each in usable)
    sent = len(usable) * head_bytes + items_bytes(tasks, content)
    taken = sum(each.input_tokens for each in usable)
    return Seen(taken / sent, output / tasks, output / max(1, content))


def expect(schema: Schema) -> Expected:
    """Size a typical record of a schema."""
    inside = _object(schema.record_schema)
    return Expected(RECORD_BYTES + inside.fixed, inside.restated)


def expected_tokens(expected: Expected, content_bytes: int) -> int:
    """Output tokens of one task whose content has this size as JSON."""
    return forecast_tokens(expected.fixed + expected.restated * content_bytes)


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


def _field(key: str, field: JsonObject) -> Expected:
    choices = field.get("enum") or ([field["const"]] if "const" in field else None)
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return Expected(sum(len(str(each)) + 2 for each in choices) // len(choices), 0)
    kind = _kind(field)
    if kind == "object":
        return _object(field)
    if kind == "array":
        return _array(key, field)
    if kind == "string":
        return _text(key, field)
    return Expected(VALUE_BYTES.get(kind, SHORT_TEXT), 0)


def _array(key: str, field: JsonObject) -> Expected:
    items = field.get("items")
    each = _field(key, items) if isinstance(items, Mapping) else Expected(SHORT_TEXT, 0)
    least, most = _whole(field.get("minItems"), 0), _whole(field.get("maxItems"), ITEMS)
    count = max(least, min(most, ITEMS))
    return Expected(2 + count * (each.fixed + 1), count * each.restated)


def _text(key: str, field: JsonObject) -> Expected:
    longest = field.get("maxLength")
    if any(word in key for word in RESTATING_WORDS) and not isinstance(longest, int):
        return Expected(2, 1)
    likely = PROSE_TEXT if any(word in key for word in PROSE_WORDS) else SHORT_TEXT
    return Expected(2 + min(likely, _whole(longest, likely)), 0)


def _kind(field: JsonObject) -> str:
    stated = field.get("type")
    kinds = [stated] if isinstance(stated, str) else list(stated or ())  # type: ignore[arg-type]
    return next((str(kind) for kind in kinds if kind != "null"), "null")


def _whole(value: Json, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
