"""What vendors do not take in a schema that binds an answer, each in its own words."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

import orjson

from quire.domain.data import Json, JsonObject
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.schemas import Place, places
from quire.simulated.answering import write_json

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
    found = _mistake(write_json(schema), "openai")
    if found:
        raise Problem(
            Trouble.BAD_SCHEMA, f"Invalid schema for response_format '{name}': {found}", place=place
        )


def refuse_for_anthropic(schema: JsonObject, place: str) -> None:
    """Raise what Anthropic says to a schema that it cannot compile."""
    found = _mistake(write_json(schema), "anthropic")
    if found:
        raise Problem(Trouble.BAD_SCHEMA, f"{place}: {found}", place=place)


@lru_cache(maxsize=512)
def _mistake(written: str, vendor: str) -> str:
    """The first mistake; equal schemas are read once."""
    found = _RULES[vendor](orjson.loads(written))
    return next(found, "")


def _openai(schema: Json) -> Iterator[str]:
    every = list(places(schema))
    if not isinstance(schema, dict) or schema.get("type") != "object" or "anyOf" in schema:
        yield "schema must be a JSON Schema of 'type: \"object\"', got something else."
    if max(place.depth for place in every) > _OPENAI_DEEPEST:
        yield f"schema exceeds the limit of {_OPENAI_DEEPEST} levels of nesting."
    if sum(_count(place.schema, "properties") for place in every) > _OPENAI_FIELDS:
        yield f"schema exceeds the limit of {_OPENAI_FIELDS} properties."
    if sum(_count(place.schema, "enum") for place in every) > _OPENAI_ENUM:
        yield f"schema exceeds the limit of {_OPENAI_ENUM} enum values."
    for place in every:
        yield from (f"In context={place.context}, {each}" for each in _openai_place(place))


def _openai_place(place: Place) -> Iterator[str]:
    schema = place.schema
    if not isinstance(schema, dict):
        yield "schema must be an object."
        return
    for keyword in _OPENAI_REFUSES:
        if keyword in schema:
            yield f"'{keyword}' is not permitted."
    if not {"type", "$ref", "anyOf", "enum", "const"} & {*schema}:
        yield "schema must have a 'type' key."
    if _is(schema, "array") and "items" not in schema:
        yield "array schema missing items."
    if _is(schema, "object"):
        yield from _openai_object(schema)


def _openai_object(schema: JsonObject) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield "'additionalProperties' is required to be supplied and to be false."
    fields, required = _names(schema, "properties"), _names(schema, "required")
    if fields != required:
        missing = ", ".join(sorted(fields ^ required))
        yield (
            "'required' is required to be supplied and to be an array including every key in"
            f" properties. Missing or extra: '{missing}'."
        )


def _anthropic(schema: Json) -> Iterator[str]:
    every = [place for place in places(schema) if isinstance(place.schema, dict)]
    for place in every:
        yield from _anthropic_place(place.schema)
    objects = [place.schema for place in every if _is(place.schema, "object")]
    optional = sum(len(_names(each, "properties") - _names(each, "required")) for each in objects)
    if optional > _ANTHROPIC_OPTIONAL:
        yield (
            f"Schemas contains too many optional parameters ({optional}), which would make grammar"
            f" compilation inefficient. Reduce the number to at most {_ANTHROPIC_OPTIONAL}."
        )
    unions = sum(_is_union(place.schema) for place in every)
    if unions > _ANTHROPIC_UNIONS:
        yield (
            f"Schemas contains too many parameters with union types ({unions}), which would cause"
            f" exponential compilation cost. Reduce the number to at most {_ANTHROPIC_UNIONS}."
        )


def _anthropic_place(schema: Json) -> Iterator[str]:
    assert isinstance(schema, dict)
    refused = [keyword for keyword in _ANTHROPIC_REFUSES if keyword in schema]
    if refused:
        yield f"For '{schema.get('type')}' type, properties {', '.join(refused)} are not supported"
    if schema.get("minItems", 0) not in (0, 1):
        yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    if "format" in schema and schema["format"] not in _ANTHROPIC_FORMATS:
        yield f"For 'string' type, format '{schema['format']}' is not supported"
    if _is(schema, "object") and schema.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"


def _is(schema: Json, kind: str) -> bool:
    named = schema.get("type") if isinstance(schema, dict) else None
    return named == kind or (isinstance(named, list) and kind in named)


def _is_union(schema: Json) -> bool:
    return isinstance(schema, dict) and ("anyOf" in schema or isinstance(schema.get("type"), list))


def _names(schema: Json, key: str) -> set[str]:
    value = schema.get(key) if isinstance(schema, dict) else None
    return {str(each) for each in value} if isinstance(value, dict | list) else set()


def _count(schema: Json, key: str) -> int:
    value = schema.get(key) if isinstance(schema, dict) else None
    return len(value) if isinstance(value, dict | list) else 0


_RULES: dict[str, Callable[[Json], Iterator[str]]] = {"openai": _openai, "anthropic": _anthropic}
