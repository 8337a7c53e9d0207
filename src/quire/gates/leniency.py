"""Leniency: what an answer says in another form, read where nothing is lost; else left alone.

Models that are not bound to a schema write `"12"` for 12, and fields that nobody asked for. Only
what can be put back exactly is converted, and only where the schema leaves no other reading; all
that was done is told, by its place. A whole number written as `12.0` is the same number: it is
written without the fraction wherever only whole numbers may stand, and nothing is told.
"""

import json
import operator
import re
from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.gates import NoteKind, ReadingNote, clip

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")
_EXACT = 2**53  # whole numbers up to here are exact as floats
_WORDS = {"true": True, "false": False}
_INTEGER = frozenset({"integer"})
_DEEPEST = 20
_LONGEST_VALUE = 40


class Loosened(NamedTuple):
    """An answer in the form that was asked for, and what was done to it."""

    data: Json
    notes: tuple[ReadingNote, ...]


def loosen(data: Json, schema: JsonObject) -> Loosened:
    """Drop fields that the schema does not have, and convert what can be converted losslessly."""
    notes: list[ReadingNote] = []
    changed = _loosen(data, schema, "", notes)
    if isinstance(data, Mapping) and data and not changed:
        return Loosened(data, ())  # nothing of it was asked for
    return Loosened(changed, tuple(notes))


def _loosen(value: Json, schema: Json, path: str, notes: list[ReadingNote]) -> Json:
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
        note = ReadingNote(NoteKind.CONVERTED, path or "/", _quote(value), json.dumps(converted))
        notes.append(note)
    return converted


def _loosen_fields(
    value: JsonObject, rule: JsonObject, path: str, notes: list[ReadingNote]
) -> Json:
    fields = rule.get("properties")
    if not isinstance(fields, Mapping):
        return value
    kept: dict[str, Json] = {}
    for name, item in value.items():
        if name in fields:
            kept[name] = _loosen(item, fields[name], f"{path}/{name}", notes)
        elif rule.get("additionalProperties") is False and "patternProperties" not in rule:
            place = f"{path}/{clip(name, _LONGEST_VALUE)}"
            notes.append(ReadingNote(NoteKind.DROPPED, place, _quote(item)))
        else:
            kept[name] = item
    return kept


def _quote(value: Json) -> str:
    return clip(json.dumps(value, ensure_ascii=False), _LONGEST_VALUE)


class WholeNumbers(NamedTuple):
    """Where in an answer only whole numbers may stand."""

    inner: Mapping[str, "WholeNumbers"]
    items: "WholeNumbers | None" = None


_WHOLE_NUMBER = WholeNumbers({})  # the value itself is one


def find_whole_numbers(schema: Json, depth: int = 0) -> WholeNumbers | None:
    """Find where a schema has whole numbers only; None where it has none at any depth."""
    rule = _only_branch(schema)
    if rule is None or depth > _DEEPEST:
        return None
    if _types(rule) == {"integer"}:
        return _WHOLE_NUMBER
    properties = rule.get("properties")
    fields = properties if isinstance(properties, Mapping) else {}
    found = {name: find_whole_numbers(field, depth + 1) for name, field in fields.items()}
    inner = {name: numbers for name, numbers in found.items() if numbers is not None}
    items = find_whole_numbers(rule.get("items"), depth + 1)
    return WholeNumbers(inner, items) if inner or items else None


def write_whole(value: Json, numbers: WholeNumbers) -> Json:
    """The value with whole numbers written as such; the same object where all of them are."""
    if numbers is _WHOLE_NUMBER:
        return _convert(value, _INTEGER)
    if isinstance(value, dict):
        changed = {
            name: whole
            for name, inner in numbers.inner.items()
            if type(item := value.get(name)) is not int  # as a rule it is: not worth a call
            and (whole := write_whole(item, inner)) is not item
        }
        return {**value, **changed} if changed else value
    if isinstance(value, list) and numbers.items is not None:
        items = [write_whole(item, numbers.items) for item in value]
        return items if any(map(operator.is_not, items, value)) else value
    return value


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
