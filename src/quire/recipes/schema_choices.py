"""Schema choices: `anyOf`, `oneOf` and `allOf` in the simplest form that says the same."""

from collections.abc import Mapping, Sequence

from quire.domain.data import Json, JsonObject
from quire.recipes.schema_dialects import make_nullable

_NULL: JsonObject = {"type": "null"}
_ANNOTATIONS = ("title", "description", "default", "examples")
_JOINED = ("properties", "required", *_ANNOTATIONS)


def simplify_choice(field: dict[str, Json]) -> dict[str, Json]:
    """Write "this or null" as a nullable type, plain alternatives as a list of types."""
    for choice in ("anyOf", "oneOf"):
        options = field.get(choice)
        if isinstance(options, list) and options and all(isinstance(o, dict) for o in options):
            field = _simplify(field, choice, options)
    return field


def _simplify(
    field: dict[str, Json], choice: str, options: list[dict[str, Json]]
) -> dict[str, Json]:
    own = {key: value for key, value in field.items() if key != choice}
    plain = [option for option in options if option != _NULL]
    # a rule beside the choice holds for all of it, and may not speak of the same thing
    if len(plain) == 1 and not (own.keys() & plain[0].keys() - {*_ANNOTATIONS}):
        return {**(make_nullable(plain[0]) if len(plain) < len(options) else plain[0]), **own}
    if "type" not in own and all(_is_plain_type(option) for option in options):
        return {**own, "type": [option["type"] for option in options]}
    return {**field, choice: options}


def _is_plain_type(option: JsonObject) -> bool:
    return option.keys() == {"type"} and isinstance(option["type"], str)


def merge_parts(field: dict[str, Json], parts: Sequence[Json]) -> dict[str, Json]:
    """Put the parts of an `allOf` together; what cannot be put together stays a part."""
    merged = {key: value for key, value in field.items() if key != "allOf"}
    left: list[Json] = []
    for part in parts:
        together = _merge(merged, part) if isinstance(part, Mapping) else None
        if together is None:
            left.append(part)
        else:
            merged = together
    return {**merged, "allOf": left} if left else merged


def _merge(own: JsonObject, part: JsonObject) -> dict[str, Json] | None:
    """Two schemas that must both hold as one; None where they speak of the same thing."""
    if any(own[key] != part[key] for key in own.keys() & part.keys() - {*_JOINED}):
        return None
    fields, others = _mapping(own.get("properties")), _mapping(part.get("properties"))
    if any(fields[name] != others[name] for name in fields.keys() & others.keys()):
        return None
    merged: dict[str, Json] = {**part, **own}
    if fields or others:
        merged["properties"] = {**fields, **others}
    required = dict.fromkeys([*_list(own.get("required")), *_list(part.get("required"))])
    return {**merged, "required": list(required)} if required else merged


def _mapping(value: Json) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
