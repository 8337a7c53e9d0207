"""Leniency: what an answer says in another form, read where nothing is lost; else left alone.

Models that are not bound to a schema write `"12"` for 12, and fields that nobody asked for. Only
what can be put back exactly is converted, and only where the schema leaves no other reading; all
that was done is told, by its place.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.gates import clip

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_EXACT = 2**53  # whole numbers up to here are exact as floats
_WORDS = {"true": True, "false": False}
_DEEPEST = 20
_LONGEST_VALUE = 40


class Loosened(NamedTuple):
    """An answer in the form that was asked for, and what was done to it."""

    data: Json
    notes: tuple[str, ...]


def loosen(data: Json, schema: JsonObject) -> Loosened:
    """Drop fields that the schema does not have, and convert what can be converted losslessly."""
    notes: list[str] = []
    changed = _loosen(data, schema, "", notes)
    if isinstance(data, Mapping) and data and not changed:
        return Loosened(data, ())  # nothing of it was asked for
    return Loosened(changed, tuple(notes))


def _loosen(value: Json, schema: Json, path: str, notes: list[str]) -> Json:
    rule = _only_branch(schema)
    if rule is None or path.count("/") > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return _loosen_fields(value, rule, path, notes)
    if isinstance(value, list):
        items = rule.get("items")
        return [_loosen(item, items, f"{path}/{no}", notes) for no, item in enumerate(value)]
    converted = _convert(value, _types(rule))
    if converted is not value:
        said = clip(f'"{value}"' if isinstance(value, str) else str(value), _LONGEST_VALUE)
        notes.append(f"{path or '/'}: {said} is read as {str(converted).lower()}")
    return converted


def _loosen_fields(value: JsonObject, rule: JsonObject, path: str, notes: list[str]) -> Json:
    fields = rule.get("properties")
    if not isinstance(fields, Mapping):
        return value
    kept: dict[str, Json] = {}
    for name, item in value.items():
        if name in fields:
            kept[name] = _loosen(item, fields[name], f"{path}/{name}", notes)
        elif rule.get("additionalProperties") is False and "patternProperties" not in rule:
            notes.append(f"{path}/{clip(name, _LONGEST_VALUE)}: is dropped, nobody asked for it")
        else:
            kept[name] = item
    return kept


def _only_branch(schema: Json) -> JsonObject | None:
    """The rules for a value; of a choice the one branch besides null, where there is just one."""
    if not isinstance(schema, Mapping):
        return None
    for name in ("anyOf", "oneOf"):
        branches = schema.get(name)
        if isinstance(branches, list | tuple):
            own = [item for item in branches if isinstance(item, Mapping)]
            own = [item for item in own if item.get("type") != "null"]
            return own[0] if len(own) == 1 else None
    return schema


def _types(rule: JsonObject) -> frozenset[str]:
    kind = rule.get("type")
    kinds = kind if isinstance(kind, list | tuple) else (kind,)
    return frozenset(item for item in kinds if isinstance(item, str) and item != "null")


def _convert(value: Json, types: frozenset[str]) -> Json:
    """The value in the one type that it may have; the same object where it cannot be had."""
    if isinstance(value, str):
        return _convert_text(value, types)
    if type(value) is float and types == {"integer"} and value.is_integer():
        return int(value) if abs(value) <= _EXACT else value
    return value


def _convert_text(text: str, types: frozenset[str]) -> Json:
    if types == {"boolean"}:
        return _WORDS.get(text, text)
    if types <= {"integer", "number"} and types:
        if _WHOLE.fullmatch(text):
            return int(text)
        if "number" in types and _DECIMAL.fullmatch(text) and str(float(text)) == text:
            return float(text)
    return text
