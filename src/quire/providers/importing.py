"""Schemas that the importer of Vertex's batches can read: as rows of a table, not as JSON."""

import re
from collections.abc import Mapping, Sequence

from quire.domain.data import Json, JsonObject

LEVELS = 15  # of one line, all told
AROUND = 3  # request, generationConfig, responseJsonSchema

_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,299}")
_ANYTHING: JsonObject = {"description": "anything"}  # says as much as {}, and is not empty
_NAMED = ("properties", "patternProperties", "$defs", "definitions")  # keys there are field names


def importable(schema: JsonObject) -> JsonObject | None:
    """Rewrite a portable schema for the importer; None where nothing would make it fit.

    One line that does not fit fails the whole job, after it has waited for hours.
    """
    written = _node(schema)
    fits = _depth(written) + AROUND <= LEVELS and _has_columns(written)
    return written if written and fits and _kinds({}, written, "") else None


def _node(node: JsonObject) -> dict[str, Json]:
    """Rewrite one schema: no `$…`, nothing empty, no null, and a type that is one word."""
    kept: dict[str, Json] = {}
    for key, value in node.items():
        if key.startswith("$") or value is None:
            continue
        if key in _NAMED:
            fields = {name: _inner(each) for name, each in _items(value)}
            kept |= {key: fields} if fields else {}
        elif isinstance(value, Mapping):
            kept |= {key: _inner(value)}
        elif isinstance(value, list):
            kept |= {key: [_inner(each) if isinstance(each, Mapping) else each for each in value]}
        else:
            kept[key] = value
    return _one_type(kept)


def _inner(value: Json) -> Json:
    if not isinstance(value, Mapping):
        return value
    return _node(value) or dict(_ANYTHING)


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
    return unlike and all(map(_COLUMN.fullmatch, value)) and all(map(_has_columns, value.values()))


def _kinds(seen: dict[str, str], value: Json, at: str) -> bool:
    """Whether each place holds values of one type; the items of an array share a place."""
    if isinstance(value, Mapping):
        kind = "struct"
        inside = all(_kinds(seen, each, f"{at}.{key}") for key, each in value.items())
    elif isinstance(value, list):
        kind = "list"
        plain = not any(isinstance(each, list) or each is None for each in value)
        inside = plain and all(_kinds(seen, each, f"{at}[]") for each in value)
    else:
        kind = "number" if type(value) in (int, float) else type(value).__name__
        inside = True
    return seen.setdefault(at, kind) == kind and inside
