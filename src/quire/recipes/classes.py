"""Python classes become schemas: anything with `model_json_schema()`, such as a Pydantic model."""

import json
from typing import Protocol

from quire.domain.data import Json
from quire.domain.errors import Mistake, SchemaInvalid
from quire.domain.recipes import Schema
from quire.recipes.schemas import load_schema

_DEFINITIONS = "#/$defs/"


class ModelClass(Protocol):
    """What a class must offer."""

    def model_json_schema(self) -> dict[str, object]:
        """Return its JSON Schema."""
        ...


def schema_of(model_class: ModelClass, *, ref: str | None = None) -> Schema:
    """Turn a class into a schema of the user-schema contract.

    References are put in place, optional fields become nullable types, and objects are closed.
    """
    name = getattr(model_class, "__name__", "schema")
    # a round trip, so that enums, tuples and defaults are plain JSON from here on
    body: Json = json.loads(json.dumps(model_class.model_json_schema(), default=str))
    assert isinstance(body, dict)
    found = body.pop("$defs", {})
    definitions = found if isinstance(found, dict) else {}
    plain = _Plain(name, definitions)
    return load_schema(plain.field(body, ()), name=name, ref=ref)


class _Plain:
    """Rewrites a field into the supported subset, as far as that loses nothing."""

    def __init__(self, name: str, definitions: dict[str, Json]) -> None:
        self._name = name
        self._definitions = definitions

    def field(self, value: Json, inside: tuple[str, ...]) -> Json:
        """Rewrite one field; `inside` are the definitions being put in place around it."""
        if not isinstance(value, dict):
            return value
        target = value.get("$ref")
        if isinstance(target, str) and target.startswith(_DEFINITIONS):
            return self._put_in_place(target.removeprefix(_DEFINITIONS), value, inside)
        plain = dict(value)
        for keyword in ("items", "additionalProperties"):
            if keyword in plain:
                plain[keyword] = self.field(plain[keyword], inside)
        properties = plain.get("properties")
        if isinstance(properties, dict):
            plain["properties"] = {
                name: self.field(field, inside) for name, field in properties.items()
            }
            if plain.get("additionalProperties", True) is True:
                plain["additionalProperties"] = False
        options = plain.get("anyOf")
        if isinstance(options, list):
            plain["anyOf"] = [self.field(option, inside) for option in options]
        return _without_any_of(_whole_bounds(plain))

    def _put_in_place(self, name: str, value: dict[str, Json], inside: tuple[str, ...]) -> Json:
        if name in inside:
            message = f"{name} contains itself, which a schema cannot express"
            raise SchemaInvalid(self._name, [Mistake("", message)])
        meant = self.field(self._definitions.get(name), (*inside, name))
        if not isinstance(meant, dict):
            raise SchemaInvalid(self._name, [Mistake("", f"{name} is not defined")])
        beside = {key: each for key, each in value.items() if key != "$ref"}
        return {**meant, **beside}


def _whole_bounds(field: dict[str, Json]) -> dict[str, Json]:
    """Write `gt` and `lt` of an integer as the bounds that are supported."""
    for strict, bound, step in (
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ):
        limit = field.get(strict)
        if field.get("type") == "integer" and isinstance(limit, int) and bound not in field:
            field = {**field, bound: limit + step}
            del field[strict]
    return field


def _without_any_of(field: dict[str, Json]) -> dict[str, Json]:
    """Write "this or null" as a nullable type, and plain alternatives as a list of types."""
    options = field.get("anyOf")
    if not isinstance(options, list) or not all(isinstance(each, dict) for each in options):
        return field
    outer = {key: value for key, value in field.items() if key != "anyOf"}
    plain = [each for each in options if each != {"type": "null"}]
    if len(plain) == 1 and len(options) == 2:
        return {**_nullable(plain[0]), **outer}
    if all(set(each) == {"type"} and isinstance(each["type"], str) for each in options):
        return {**outer, "type": [each["type"] for each in options]}
    return field


def _nullable(field: dict[str, Json]) -> dict[str, Json]:
    wider = dict(field)
    kind = wider.get("type")
    if kind is not None:
        kinds = kind if isinstance(kind, list) else [kind]
        wider["type"] = [*kinds, *(["null"] if "null" not in kinds else [])]
    if "const" in wider:
        wider["enum"] = [wider.pop("const")]
    listed = wider.get("enum")
    if isinstance(listed, list) and None not in listed:
        wider["enum"] = [*listed, None]
    return wider
