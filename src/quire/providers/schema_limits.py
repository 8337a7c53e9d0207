"""Schema limits: whether a vendor can bind a portable schema, or Vertex's importer can read it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, plain_json
from quire.providers.portable_schemas import SchemaDialect, items_of

_LEVELS = 10
_PROPERTIES = 5_000
_MEMBERS = 1_000  # of all enums together
_LONG_ENUM = 250  # members; a longer one has a limit of its own
_LONG_ENUM_LETTERS = 15_000
_LETTERS = 120_000
_OPTIONAL = 24
_UNIONS = 16


class _LeveledNode(NamedTuple):
    node: JsonObject
    level: int


def can_bind(schema: JsonObject, dialect: SchemaDialect) -> bool:
    """Say whether the vendor takes a portable schema as binding; else every call would fail."""
    if dialect is SchemaDialect.GEMINI:  # ignores what it does not know
        return True
    places = list(_nodes_below(schema, 1))
    nodes = [place.node for place in places]
    if any(_is_open(node) for node in nodes):
        return False
    if dialect is SchemaDialect.ANTHROPIC:
        return _count_optional(nodes) <= _OPTIONAL and _count_unions(nodes) <= _UNIONS
    return max(place.level for place in places) <= _LEVELS and _is_small(nodes)


def _nodes_below(node: JsonObject, level: int) -> Iterator[_LeveledNode]:
    yield _LeveledNode(node, level)
    for child in _properties_of(node).values():
        yield from _nodes_of_child(child, level + 1)
    yield from _nodes_of_child(node.get("items"), level + 1)
    for option in items_of(node.get("anyOf")):
        yield from _nodes_of_child(option, level)


def _nodes_of_child(child: Json, level: int) -> Iterator[_LeveledNode]:
    if isinstance(child, Mapping):
        yield from _nodes_below(child, level)


def _is_open(node: JsonObject) -> bool:
    if "enum" in node or "anyOf" in node:
        return False
    kind = node.get("type")
    kinds = [kind] if isinstance(kind, str) else items_of(kind)
    return (
        not kinds
        or ("object" in kinds and node.get("additionalProperties") is not False)
        or ("array" in kinds and not isinstance(node.get("items"), Mapping))
    )


def _count_optional(nodes: Sequence[JsonObject]) -> int:
    return sum(len(_properties_of(node)) - len(items_of(node.get("required"))) for node in nodes)


def _count_unions(nodes: Sequence[JsonObject]) -> int:
    return sum("anyOf" in node or bool(items_of(node.get("type"))) for node in nodes)


def _is_small(nodes: Sequence[JsonObject]) -> bool:
    enums = [items_of(node.get("enum")) for node in nodes]
    letters = [len("".join(map(_member_text, enum))) for enum in enums]
    names = [name for node in nodes for name in _properties_of(node)]
    return (
        len(names) <= _PROPERTIES
        and sum(map(len, enums)) <= _MEMBERS
        and sum(map(len, names)) + sum(letters) <= _LETTERS
        and all(
            size <= _LONG_ENUM_LETTERS
            for enum, size in zip(enums, letters, strict=True)
            if len(enum) > _LONG_ENUM
        )
    )


def _properties_of(node: JsonObject) -> JsonObject:
    properties = node.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _member_text(member: Json) -> str:
    return member if isinstance(member, str) else plain_json(member)


IMPORT_LEVELS = 15  # of one line, all told
IMPORT_ENVELOPE_LEVELS = 3  # request, generationConfig, responseJsonSchema

_COLUMN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,299}")
_ANYTHING: JsonObject = {"description": "anything"}  # says as much as {}, and is not empty
_NAME_KEYED = (
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
)  # keys there are field names


def importable_schema(schema: JsonObject) -> JsonObject | None:
    """Rewrite a portable schema for the importer; None where nothing would make it fit.

    One line that does not fit fails the whole job, after it has waited for hours.
    """
    written = _import_node(schema)
    fits = _depth(written) + IMPORT_ENVELOPE_LEVELS <= IMPORT_LEVELS and _has_columns(written)
    return written if written and fits and _has_one_kind_each({}, written, "") else None


def _import_node(node: JsonObject) -> dict[str, Json]:
    """Rewrite one schema: no `$…`, nothing empty, no null, and a type that is one word."""
    kept: dict[str, Json] = {}
    for key, value in node.items():
        if key.startswith("$") or value is None:
            continue
        if key in _NAME_KEYED:
            fields = {name: _import_child(item) for name, item in _items(value)}
            kept |= {key: fields} if fields else {}
        elif isinstance(value, Mapping):
            kept |= {key: _import_child(value)}
        elif isinstance(value, list):
            kept |= {
                key: [_import_child(item) if isinstance(item, Mapping) else item for item in value]
            }
        else:
            kept[key] = value
    return _one_type(kept)


def _import_child(value: Json) -> Json:
    if not isinstance(value, Mapping):
        return value
    return _import_node(value) or dict(_ANYTHING)


def _items(value: Json) -> Sequence[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _one_type(node: dict[str, Json]) -> dict[str, Json]:
    """A type of several words is one of several alternatives, each of one word."""
    words = node.get("type")
    if not isinstance(words, list):
        return node
    if len(words) == 1:
        return {**node, "type": words[0]}
    description = {"description": node.pop("description")} if "description" in node else {}
    alternatives: list[Json] = [
        {"type": word} if word == "null" else {**node, "type": word} for word in words
    ]
    return {"anyOf": alternatives, **description}


def _depth(value: Json) -> int:
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    return max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _has_columns(value: Json) -> bool:
    """Whether every key can be the name of a column, apart from all others of its place."""
    if isinstance(value, list):
        return all(map(_has_columns, value))
    if not isinstance(value, Mapping):
        return True
    unlike = len({key.lower() for key in value}) == len(value)
    return (
        unlike
        and all(map(_COLUMN_NAME.fullmatch, value))
        and all(map(_has_columns, value.values()))
    )


def _has_one_kind_each(seen: dict[str, str], value: Json, at: str) -> bool:
    """Whether each place holds values of one type; the items of an array share a place."""
    if isinstance(value, Mapping):
        kind = "struct"
        inside = all(_has_one_kind_each(seen, item, f"{at}.{key}") for key, item in value.items())
    elif isinstance(value, list):
        kind = "list"
        plain = not any(isinstance(item, list) or item is None for item in value)
        inside = plain and all(_has_one_kind_each(seen, item, f"{at}[]") for item in value)
    else:
        kind = "number" if type(value) in (int, float) else type(value).__name__
        inside = True
    return seen.setdefault(at, kind) == kind and inside
