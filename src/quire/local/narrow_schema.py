"""Narrow the schema of a call: one result for each block, and short texts."""

from collections.abc import Sequence

import orjson

from quire.domain.data import Json, JsonObject, as_object
from quire.simulated.block_answers import blocks_in

LONGEST_TEXT = 100  # characters; left alone, it repeats itself until it is cut off
MOST_ITEMS = 5
_DEEPEST = 30
_BOUND_TEXT = ("enum", "const", "format", "pattern")  # without any of them, all texts will do


def narrow_call(body: JsonObject) -> JsonObject:
    """Narrow the schema of a call; whoever asks in a form that is not ours gets what they ask."""
    form = as_object(body.get("response_format"))
    described = as_object(form.get("json_schema"))
    schema = as_object(described.get("schema"))
    result = as_object(as_object(as_object(schema.get("properties")).get("results")).get("items"))
    ids = [block.uid for block in blocks_in(_message_text(body, -1))]
    if not ids or "block_uid" not in as_object(result.get("properties")):
        return body
    result = _bound_field(_with_written_fields(_message_text(body, 0), result))
    one_each: list[Json] = [_result_schema_for(name, result) for name in ids]
    results: JsonObject = {"type": "array", "prefixItems": one_each}
    narrowed_format = {**described, "schema": {**schema, "properties": {"results": results}}}
    return {**body, "response_format": {**form, "json_schema": narrowed_format}}


def _with_written_fields(system: str, result: JsonObject) -> JsonObject:
    """The form of a result with the fields as the user wrote them.

    They end the instructions; on the wire their lengths and patterns are told in words only, and
    fields that may be absent are null.
    """
    try:
        own = as_object(orjson.loads(system.rpartition("\n")[2]))
    except orjson.JSONDecodeError:
        return result
    wire, written = as_object(result.get("properties")), as_object(own.get("properties"))
    if set(wire) == {"block_uid", "data"}:
        return {**result, "properties": {**wire, "data": own}} if written else result
    if set(wire) != {"block_uid", *written}:
        return result
    required = ["block_uid", *_sequence(own.get("required"))]
    return {**result, "properties": {**wire, **written}, "required": required}


def _result_schema_for(uid: str, result: JsonObject) -> JsonObject:
    """The result of one block."""
    fields = {**as_object(result.get("properties")), "block_uid": {"const": uid}}
    return {**result, "properties": fields}


def _bound_field(field: JsonObject, deepest: int = _DEEPEST) -> JsonObject:
    """The same field, with an end to texts and lists that have none."""
    kind = field.get("type")
    kinds = [kind] if isinstance(kind, str) else _sequence(kind)
    made = dict(field)
    if deepest == 0:
        return made
    if "string" in kinds and not any(item in made for item in _BOUND_TEXT):
        made.setdefault("maxLength", max(LONGEST_TEXT, _int_or_zero(made.get("minLength"))))
    if "array" in kinds and "items" in made:
        made.setdefault("maxItems", max(MOST_ITEMS, _int_or_zero(made.get("minItems"))))
        made["items"] = _bound_field(as_object(made["items"]), deepest - 1)
    if fields := as_object(made.get("properties")):
        inner = {name: as_object(item) for name, item in fields.items()}
        made["properties"] = {name: _bound_field(item, deepest - 1) for name, item in inner.items()}
    return made


def _message_text(body: JsonObject, at: int) -> str:
    """What the first or the last message says."""
    messages = _sequence(body.get("messages"))
    content = as_object(messages[at]).get("content") if messages else None
    return content if isinstance(content, str) else ""


def _sequence(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _int_or_zero(value: Json) -> int:
    return value if isinstance(value, int) else 0
