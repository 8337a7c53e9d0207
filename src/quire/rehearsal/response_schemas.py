"""The JSON schema that an answer is bound to, recovered from the form in which it travelled."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import jsonschema_rs
import orjson

from quire.domain.data import Json, JsonObject
from quire.rehearsal.vendor_protocol import ApiProblem, ProblemKind
from quire.simulated.block_answers import write_json

DEEPEST = 100  # levels of JSON; beyond that no vendor compiles a schema
_MOST_REFERENCES = 8  # followed inside one another; a recursive schema ends there
_OWN_KEYS = ("block_uid", "data")  # a field of this name means that fields are inside `data`


class SchemaPlace(NamedTuple):
    """A schema inside a schema, and the keys that lead to it."""

    path: tuple[str, ...]
    schema: Json
    depth: int  # in objects and arrays

    @property
    def context(self) -> str:
        """The path as OpenAI writes it."""
        return f"({', '.join(map(repr, self.path))}{',' if len(self.path) == 1 else ''})"


def schema_places(schema: Json) -> Iterator[SchemaPlace]:
    """List a schema and every schema inside it."""
    waiting = [SchemaPlace((), schema, 1)]
    while waiting:
        place = waiting.pop()
        yield place
        waiting += [
            SchemaPlace((*place.path, *path), inner, place.depth + deeper)
            for path, inner, deeper in _inner_schemas(place.schema)
        ]


def inline_references(schema: JsonObject) -> JsonObject:
    """Put what `$ref` points at in its place; the simulated model does not look elsewhere."""
    return _inline_text(write_json(schema))


def convert_openapi(schema: JsonObject) -> JsonObject:
    """Turn the OpenAPI subset of Gemini's `responseSchema` into JSON Schema."""
    _refuse_depth(schema)
    turned = _convert_value(schema)
    assert isinstance(turned, dict)
    _refuse_invalid(turned)
    return turned


@lru_cache(maxsize=256)
def find_schema_in_words(system: str) -> JsonObject | None:
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


def camel_case(name: str) -> str:
    """Write a name as Google does in JSON; it reads both min_items and minItems."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others)) if first else name


def _fields(line: str) -> Mapping[str, Json] | None:
    try:
        schema = orjson.loads(line)
        _refuse_depth(schema)
    except (ValueError, ApiProblem):
        return None
    fields = schema.get("properties") if isinstance(schema, dict) else None
    return fields if isinstance(fields, dict) else None


def _inner_schemas(schema: Json) -> Iterator[tuple[tuple[str, ...], Json, int]]:
    if not isinstance(schema, dict):
        return
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        inner = schema.get(key)
        if isinstance(inner, dict):
            yield from (((key, name), item, 1) for name, item in inner.items())
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner = schema.get(key)
        if isinstance(inner, list):
            yield from (((key, str(place)), item, 0) for place, item in enumerate(inner))
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), dict):
            yield (key,), schema[key], 1


@lru_cache(maxsize=256)
def _inline_text(written: str) -> JsonObject:
    schema = orjson.loads(written)
    _refuse_depth(schema)
    _refuse_invalid(schema)
    if '"$ref"' not in written:
        return schema  # type: ignore[no-any-return]  # an object was written
    kept = {**_inline_value(schema, schema, 0)}  # type: ignore[dict-item]  # an object stays one
    kept.pop("$defs", None)
    return kept


def _inline_value(value: Json, root: JsonObject, followed: int) -> Json:
    if isinstance(value, list):
        return [_inline_value(item, root, followed) for item in value]
    if not isinstance(value, dict):
        return value
    target = value.get("$ref")
    if not isinstance(target, str):
        inner = ((key, item) for key, item in value.items() if key != "$defs")
        return {key: _inline_value(item, root, followed) for key, item in inner}
    if followed >= _MOST_REFERENCES:
        return {"type": "string"}
    beside = {key: item for key, item in value.items() if key != "$ref"}
    found = _inline_value(_resolve_pointer(root, target), root, followed + 1)
    return {**(found if isinstance(found, dict) else {}), **beside}


def _resolve_pointer(root: JsonObject, pointer: str) -> Json:
    value: Json = root
    for key in pointer.removeprefix("#").split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or name not in value:
            raise ApiProblem(ProblemKind.BAD_SCHEMA, f"reference {pointer!r} points at nothing")
        value = value[name]
    return value


def _convert_value(value: Json) -> Json:
    if isinstance(value, list):
        return [_convert_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {camel_case(key): inner for key, inner in value.items()}
    turned: dict[str, Json] = {
        key: {name: _convert_value(item) for name, item in inner.items()}
        if key == "properties" and isinstance(inner, dict)
        else inner
        if key in ("enum", "required", "default", "example")
        else _convert_value(inner)
        for key, inner in named.items()
        if key not in ("nullable", "propertyOrdering")
    }
    kind = turned.get("type")
    if isinstance(kind, str):
        turned["type"] = [kind.lower(), "null"] if value.get("nullable") else kind.lower()
    return turned


def _refuse_invalid(schema: JsonObject) -> None:
    body = {key: value for key, value in schema.items() if key != "$schema"}
    if not jsonschema_rs.meta.is_valid(body):
        raise ApiProblem(ProblemKind.BAD_SCHEMA, "the schema is not a valid JSON Schema")


def _refuse_depth(value: Json) -> None:
    level: Sequence[Json] = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise ApiProblem(ProblemKind.BAD_SCHEMA, "the schema is too deeply nested")


SCHEMA_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OPENAI_REFUSES = (
    *("oneOf", "allOf", "not", "if", "then", "else", "default", "patternProperties"),
    *("dependentRequired", "dependentSchemas", "propertyNames", "uniqueItems", "contains"),
)
_OPENAI_DEEPEST = 10
_OPENAI_FIELDS = 5_000
_OPENAI_ENUM = 1_000
_ANTHROPIC_REFUSES = (
    *("oneOf", "not", "if", "then", "else", "patternProperties", "uniqueItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minProperties", "maxProperties", "propertyNames", "contains"),
)
_ANTHROPIC_FORMATS = (
    *("date-time", "time", "date", "duration", "email"),
    *("hostname", "uri", "ipv4", "ipv6", "uuid"),
)
_ANTHROPIC_OPTIONAL = 24
_ANTHROPIC_UNIONS = 16


def refuse_for_openai(schema: JsonObject, name: str, place: str) -> None:
    """Raise what OpenAI says to a schema that is not fit for strict mode."""
    found = _first_mistake(write_json(schema), "openai")
    if found:
        message = f"Invalid schema for response_format '{name}': {found}"
        raise ApiProblem(ProblemKind.BAD_SCHEMA, message, place=place)


def refuse_for_anthropic(schema: JsonObject, place: str) -> None:
    """Raise what Anthropic says to a schema that it cannot compile."""
    found = _first_mistake(write_json(schema), "anthropic")
    if found:
        raise ApiProblem(ProblemKind.BAD_SCHEMA, f"{place}: {found}", place=place)


@lru_cache(maxsize=512)
def _first_mistake(written: str, vendor: str) -> str:
    """The first mistake; equal schemas are read once."""
    return next(_RULES[vendor](orjson.loads(written)), "")


def _openai_mistakes(schema: Json) -> Iterator[str]:
    every = list(schema_places(schema))
    if not isinstance(schema, dict) or schema.get("type") != "object" or "anyOf" in schema:
        yield "schema must be a JSON Schema of 'type: \"object\"', got something else."
    if max(place.depth for place in every) > _OPENAI_DEEPEST:
        yield f"schema exceeds the limit of {_OPENAI_DEEPEST} levels of nesting."
    if sum(_count(place.schema, "properties") for place in every) > _OPENAI_FIELDS:
        yield f"schema exceeds the limit of {_OPENAI_FIELDS} properties."
    if sum(_count(place.schema, "enum") for place in every) > _OPENAI_ENUM:
        yield f"schema exceeds the limit of {_OPENAI_ENUM} enum values."
    for place in every:
        yield from (f"In context={place.context}, {name}" for name in _openai_place_mistakes(place))


def _openai_place_mistakes(place: SchemaPlace) -> Iterator[str]:
    schema = place.schema
    if not isinstance(schema, dict):
        yield "schema must be an object."
        return
    for keyword in _OPENAI_REFUSES:
        if keyword in schema:
            yield f"'{keyword}' is not permitted."
    if not {"type", "$ref", "anyOf", "enum", "const"} & {*schema}:
        yield "schema must have a 'type' key."
    if _has_type(schema, "array") and "items" not in schema:
        yield "array schema missing items."
    if _has_type(schema, "object"):
        yield from _openai_object_mistakes(schema)


def _openai_object_mistakes(schema: JsonObject) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield "'additionalProperties' is required to be supplied and to be false."
    fields, required = _names(schema, "properties"), _names(schema, "required")
    if fields != required:
        missing = ", ".join(sorted(fields ^ required))
        yield (
            "'required' is required to be supplied and to be an array including every key in"
            f" properties. Missing or extra: '{missing}'."
        )


def _anthropic_mistakes(schema: Json) -> Iterator[str]:
    nodes = [place.schema for place in schema_places(schema) if isinstance(place.schema, dict)]
    for node in nodes:
        yield from _anthropic_place_mistakes(node)
    objects = [node for node in nodes if _has_type(node, "object")]
    optional = sum(len(_names(node, "properties") - _names(node, "required")) for node in objects)
    if optional > _ANTHROPIC_OPTIONAL:
        yield (
            f"Schemas contains too many optional parameters ({optional}), which would make grammar"
            f" compilation inefficient. Reduce the number to at most {_ANTHROPIC_OPTIONAL}."
        )
    unions = sum("anyOf" in node or isinstance(node.get("type"), list) for node in nodes)
    if unions > _ANTHROPIC_UNIONS:
        yield (
            f"Schemas contains too many parameters with union types ({unions}), which would cause"
            f" exponential compilation cost. Reduce the number to at most {_ANTHROPIC_UNIONS}."
        )


def _anthropic_place_mistakes(schema: JsonObject) -> Iterator[str]:
    refused = [keyword for keyword in _ANTHROPIC_REFUSES if keyword in schema]
    if refused:
        yield f"For '{schema.get('type')}' type, properties {', '.join(refused)} are not supported"
    if schema.get("minItems", 0) not in (0, 1):
        yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    if "format" in schema and schema["format"] not in _ANTHROPIC_FORMATS:
        yield f"For 'string' type, format '{schema['format']}' is not supported"
    if _has_type(schema, "object") and schema.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"


def _has_type(schema: Json, kind: str) -> bool:
    named = schema.get("type") if isinstance(schema, dict) else None
    return named == kind or (isinstance(named, list) and kind in named)


def _names(schema: Json, key: str) -> set[str]:
    value = schema.get(key) if isinstance(schema, dict) else None
    return {str(item) for item in value} if isinstance(value, dict | list) else set()


def _count(schema: Json, key: str) -> int:
    value = schema.get(key) if isinstance(schema, dict) else None
    return len(value) if isinstance(value, dict | list) else 0


_RULES: dict[str, Callable[[Json], Iterator[str]]] = {
    "openai": _openai_mistakes,
    "anthropic": _anthropic_mistakes,
}
