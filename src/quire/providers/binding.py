"""Whether a vendor can hold a model to a portable schema, or must be asked in words alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, plain_json
from quire.providers.kinds import items_of
from quire.providers.portable import Dialect

_LEVELS = 10
_PROPERTIES = 5_000
_MEMBERS = 1_000  # of all enums together
_LONG_ENUM = 250  # members; a longer one has a limit of its own
_LONG_ENUM_LETTERS = 15_000
_LETTERS = 120_000
_OPTIONAL = 24
_UNIONS = 16


class _Place(NamedTuple):
    node: JsonObject
    level: int


def binds(schema: JsonObject, dialect: Dialect) -> bool:
    """Say whether the vendor takes a portable schema as binding; else every call would fail."""
    if dialect is Dialect.GEMINI:  # ignores what it does not know
        return True
    places = list(_places(schema, 1))
    nodes = [place.node for place in places]
    if any(_is_open(node) for node in nodes):
        return False
    if dialect is Dialect.ANTHROPIC:
        return _optional(nodes) <= _OPTIONAL and _unions(nodes) <= _UNIONS
    return max(place.level for place in places) <= _LEVELS and _is_small(nodes)


def _places(node: JsonObject, level: int) -> Iterator[_Place]:
    yield _Place(node, level)
    for child in _fields(node).values():
        yield from _child(child, level + 1)
    yield from _child(node.get("items"), level + 1)
    for option in items_of(node.get("anyOf")):
        yield from _child(option, level)


def _child(child: Json, level: int) -> Iterator[_Place]:
    if isinstance(child, Mapping):
        yield from _places(child, level)


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


def _optional(nodes: Sequence[JsonObject]) -> int:
    return sum(len(_fields(node)) - len(items_of(node.get("required"))) for node in nodes)


def _unions(nodes: Sequence[JsonObject]) -> int:
    return sum("anyOf" in node or bool(items_of(node.get("type"))) for node in nodes)


def _is_small(nodes: Sequence[JsonObject]) -> bool:
    enums = [items_of(node.get("enum")) for node in nodes]
    letters = [len("".join(map(_shown, enum))) for enum in enums]
    names = [name for node in nodes for name in _fields(node)]
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


def _fields(node: JsonObject) -> JsonObject:
    properties = node.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _shown(member: Json) -> str:
    return member if isinstance(member, str) else plain_json(member)
