"""The schema that an answer is bound to, recovered from the form in which it travelled."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import jsonschema_rs
import orjson

from quire.domain.data import Json, JsonObject
from quire.rehearsal.asked import Problem, Trouble
from quire.simulated.answering import write_json

DEEPEST = 100  # levels of JSON; beyond that no vendor compiles a schema
_MOST_REFERENCES = 8  # followed inside one another; a recursive schema ends there
_OWN_KEYS = ("block_uid", "data")  # a field of this name means that fields are inside `data`


class Place(NamedTuple):
    """A schema inside a schema, and the keys that lead to it."""

    path: tuple[str, ...]
    schema: Json
    depth: int  # in objects and arrays

    @property
    def context(self) -> str:
        """The path as OpenAI writes it."""
        return f"({', '.join(map(repr, self.path))}{',' if len(self.path) == 1 else ''})"


def places(schema: Json) -> Iterator[Place]:
    """List a schema and every schema inside it."""
    waiting = [Place((), schema, 1)]
    while waiting:
        place = waiting.pop()
        yield place
        waiting += [
            Place((*place.path, *path), inner, place.depth + deeper)
            for path, inner, deeper in _inside(place.schema)
        ]


def plain(schema: JsonObject) -> JsonObject:
    """Put what `$ref` points at in its place; the simulated model does not look elsewhere."""
    return _plain(write_json(schema))


def from_openapi(schema: JsonObject) -> JsonObject:
    """Turn the OpenAPI subset of Gemini's `responseSchema` into JSON Schema."""
    _refuse_depth(schema)
    turned = _turned(schema)
    assert isinstance(turned, dict)
    _refuse_nonsense(turned)
    return turned


@lru_cache(maxsize=256)
def from_words(system: str) -> JsonObject | None:
    """Find the schema that instructions end with, where the form is asked for in words alone."""
    for line in reversed(system.splitlines()):
        if line.startswith("{") and (fields := _fields(line)) is not None:
            uid: JsonObject = {"type": "string"}
            if any(name in _OWN_KEYS for name in fields):
                data: JsonObject = {"type": "object", "properties": fields}
                record: JsonObject = {"block_uid": uid, "data": data}
            else:
                record = {"block_uid": uid, **fields}
            items: JsonObject = {"type": "object", "properties": record}
            results: JsonObject = {"type": "array", "items": items}
            return {"type": "object", "properties": {"results": results}}
    return None


def camel(name: str) -> str:
    """Write a name as Google does in JSON; it reads both min_items and minItems."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others)) if first else name


def _fields(line: str) -> Mapping[str, Json] | None:
    try:
        schema = orjson.loads(line)
        _refuse_depth(schema)
    except (ValueError, Problem):
        return None
    fields = schema.get("properties") if isinstance(schema, dict) else None
    return fields if isinstance(fields, dict) else None


def _inside(schema: Json) -> Iterator[tuple[tuple[str, ...], Json, int]]:
    if not isinstance(schema, dict):
        return
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        inner = schema.get(key)
        if isinstance(inner, dict):
            yield from (((key, name), each, 1) for name, each in inner.items())
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner = schema.get(key)
        if isinstance(inner, list):
            yield from (((key, str(place)), each, 0) for place, each in enumerate(inner))
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), dict):
            yield (key,), schema[key], 1


@lru_cache(maxsize=256)
def _plain(written: str) -> JsonObject:
    schema = orjson.loads(written)
    _refuse_depth(schema)
    _refuse_nonsense(schema)
    if '"$ref"' not in written:
        return schema  # type: ignore[no-any-return]  # an object was written
    kept = {**_inlined(schema, schema, 0)}  # type: ignore[dict-item]  # an object stays one
    kept.pop("$defs", None)
    return kept


def _inlined(value: Json, root: JsonObject, followed: int) -> Json:
    if isinstance(value, list):
        return [_inlined(each, root, followed) for each in value]
    if not isinstance(value, dict):
        return value
    target = value.get("$ref")
    if not isinstance(target, str):
        return {
            key: _inlined(each, root, followed) for key, each in value.items() if key != "$defs"
        }
    if followed >= _MOST_REFERENCES:
        return {"type": "string"}
    beside = {key: each for key, each in value.items() if key != "$ref"}
    found = _inlined(_pointed(root, target), root, followed + 1)
    return {**(found if isinstance(found, dict) else {}), **beside}


def _pointed(root: JsonObject, pointer: str) -> Json:
    value: Json = root
    for key in pointer.removeprefix("#").split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or name not in value:
            raise Problem(Trouble.BAD_SCHEMA, f"reference {pointer!r} points at nothing")
        value = value[name]
    return value


def _turned(value: Json) -> Json:
    if isinstance(value, list):
        return [_turned(each) for each in value]
    if not isinstance(value, dict):
        return value
    named = {camel(key): inner for key, inner in value.items()}
    turned: dict[str, Json] = {
        key: {name: _turned(each) for name, each in inner.items()}
        if key == "properties" and isinstance(inner, dict)
        else inner
        if key in ("enum", "required", "default", "example")
        else _turned(inner)
        for key, inner in named.items()
        if key not in ("nullable", "propertyOrdering")
    }
    kind = turned.get("type")
    if isinstance(kind, str):
        turned["type"] = [kind.lower(), "null"] if value.get("nullable") else kind.lower()
    return turned


def _refuse_nonsense(schema: JsonObject) -> None:
    told = {key: value for key, value in schema.items() if key != "$schema"}
    if not jsonschema_rs.meta.is_valid(told):
        raise Problem(Trouble.BAD_SCHEMA, "the schema is not a valid JSON Schema")


def _refuse_depth(value: Json) -> None:
    level: Sequence[Json] = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise Problem(Trouble.BAD_SCHEMA, "the schema is too deeply nested")
