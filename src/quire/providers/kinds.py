"""Which JSON types a schema allows, and which of the values that it lists are of them."""

from collections.abc import Mapping, Sequence

from quire.domain.data import Json, JsonObject, canonical_json

_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")
_NULL: JsonObject = {"type": "null"}


def items_of(value: Json) -> list[Json]:
    """Read a keyword's list; anything else is an empty one."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def kinds_of(keywords: JsonObject) -> list[str]:
    """List the types a value may have, null last; none means any."""
    named = keywords.get("type")
    kinds = [named] if isinstance(named, str) else items_of(named)
    members = items_of(keywords.get("enum"))
    if members:  # a type that no listed value has is no choice
        held = [kind for kind in kinds if any(is_of(member, str(kind)) for member in members)]
        kinds = held or [_kind(member) for member in members]
    found = [kind for kind in _KINDS if kind in kinds]
    if "number" in found and "integer" in found:
        found.remove("integer")
    return found


def members_of(keywords: JsonObject, kinds: Sequence[str]) -> list[Json]:
    """List the values that are allowed by name, once each, as far as they are of these types."""
    once = {canonical_json(member): member for member in items_of(keywords.get("enum"))}
    return [member for member in once.values() if any(is_of(member, kind) for kind in kinds)]


def is_of(value: Json, kind: str) -> bool:
    """Whether a value is of a type, as JSON Schema sees it."""
    own = _kind(value)
    whole = isinstance(value, float) and value.is_integer()
    return own == kind or (kind == "number" and own == "integer") or (kind == "integer" and whole)


def are_scalars(values: Sequence[Json]) -> bool:
    """Whether no value is a list or an object."""
    return all(_kind(value) not in ("object", "array") for value in values)


def nullable(node: JsonObject) -> dict[str, Json]:
    """Let a node be null besides."""
    wider = dict(node)
    options = items_of(node.get("anyOf"))
    if options and not any(_allows_null(option) for option in options):
        wider["anyOf"] = [*options, _NULL]
    named = node.get("type")
    kinds = [named] if isinstance(named, str) else items_of(named)
    if kinds and "null" not in kinds:
        wider["type"] = [*kinds, "null"]
    members = items_of(node.get("enum"))
    if members and None not in members:
        wider["enum"] = [*members, None]
    return wider


def _allows_null(option: Json) -> bool:
    return isinstance(option, Mapping) and "null" in (
        option.get("type"),
        *items_of(option.get("type")),
    )


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"
