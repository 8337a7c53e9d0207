"""Column types: what each column of a table holds, taken from a JSON Schema, whoever stores it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from quire.domain.data import Json, as_object, mend_text, plain_json

LARGEST_INTEGER = 2**63 - 1


class ColumnKind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "moment"
    LIST = "list"
    RECORD = "record"
    JSON = "json"  # anything: different kinds in different rows


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A kind, and of what a list or a record is made."""

    kind: ColumnKind
    item: "ColumnType | None" = None  # of a list
    fields: "tuple[tuple[str, ColumnType], ...]" = ()  # of a record
    choices: tuple[str, ...] = ()  # of a text that is one of a few

    @property
    def is_nested(self) -> bool:
        """Whether its values have parts: a cell of a CSV file holds those as JSON."""
        return self.kind in (ColumnKind.LIST, ColumnKind.RECORD, ColumnKind.JSON)


class Column(NamedTuple):
    """One column of a table."""

    name: str
    type: ColumnType


TEXT = ColumnType(ColumnKind.TEXT)
INTEGER = ColumnType(ColumnKind.INTEGER)
NUMBER = ColumnType(ColumnKind.NUMBER)
BOOLEAN = ColumnType(ColumnKind.BOOLEAN)
DATE = ColumnType(ColumnKind.DATE)
MOMENT = ColumnType(ColumnKind.MOMENT)
JSON = ColumnType(ColumnKind.JSON)

_FORMATS = {"date": DATE, "date-time": MOMENT}
_PLAIN = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}


class DoesNotFitError(ValueError):
    """A value is not what its column was said to hold."""

    def __init__(self, column: str, value: Json) -> None:
        """Remember which column: it can be made wider."""
        super().__init__(f"column {column}: {plain_json(value)[:80]}")
        self.column = column


def schema_columns(properties: Mapping[str, Json]) -> tuple[Column, ...]:
    """The columns of the records that a schema with these properties describes."""
    return tuple(Column(name, schema_type(field)) for name, field in properties.items())


def schema_type(schema: Json) -> ColumnType:
    """What a value that satisfies a schema is; every column may be without a value."""
    body = as_object(schema)
    branches = body.get("anyOf") or body.get("oneOf")
    if isinstance(branches, Sequence) and not isinstance(branches, str):
        found = [schema_type(branch) for branch in branches if not _is_null(branch)]
        return merge_types(found)
    kinds = _type_names(body)
    if kinds == {"string"}:
        return _text_type(body)
    if kinds == {"array"}:
        item = schema_type(body["items"]) if "items" in body else JSON
        return ColumnType(ColumnKind.LIST, item=item) if item != JSON else JSON
    if kinds == {"object"}:
        fields = schema_columns(as_object(body.get("properties")))
        return ColumnType(ColumnKind.RECORD, fields=tuple(fields)) if fields else JSON
    return merge_types([_PLAIN.get(kind, JSON) for kind in sorted(kinds)])


def _is_null(schema: Json) -> bool:
    body = as_object(schema)
    return body.get("type") == "null" or ("const" in body and body["const"] is None)


def _type_names(body: Mapping[str, Json]) -> set[str]:
    """The types that a schema allows besides null; of a list of choices, theirs."""
    stated = body.get("type")
    if stated is None:
        choices = body.get("enum", [body["const"]] if "const" in body else [])
        return {_value_type(choice) for choice in choices if choice is not None}  # type: ignore[union-attr]  # checked at load
    names = [stated] if isinstance(stated, str) else stated
    return {str(name) for name in names if name != "null"}  # type: ignore[union-attr]  # checked at load


def _value_type(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "any"


def _text_type(body: Mapping[str, Json]) -> ColumnType:
    choices = body.get("enum")
    if isinstance(choices, Sequence):
        texts = tuple(choice for choice in choices if isinstance(choice, str))
        return ColumnType(ColumnKind.TEXT, choices=texts)
    return _FORMATS.get(str(body.get("format")), TEXT)


def merge_types(types: Iterable[ColumnType]) -> ColumnType:
    """One type for values of several: the wider number; text of any choice; else anything."""
    found = list(dict.fromkeys(types))
    if len(found) == 1:
        return found[0]
    kinds = {item.kind for item in found}
    if kinds == {ColumnKind.TEXT}:
        return TEXT
    return NUMBER if found and kinds <= {ColumnKind.INTEGER, ColumnKind.NUMBER} else JSON


def key_type(keys: Iterable[Json]) -> ColumnType:
    """What the keys of a table are; different kinds of them are text."""
    known = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}
    found = merge_types(known.get(_value_type(key), TEXT) for key in keys if key is not None)
    return TEXT if found == JSON else found


def widen(columns: Sequence[Column], name: str) -> tuple[Column, ...]:
    """The columns with one that takes whatever comes: as text, or as JSON where it has parts."""
    return tuple(
        column._replace(type=JSON if column.type.is_nested else TEXT)
        if column.name == name
        else column
        for column in columns
    )


def fit_values(column: Column, values: Iterable[Json]) -> list[Any]:
    """The values of a column as Python's own of its type; None where there is none.

    Raises `DoesNotFitError`, which names the column, where one is not what it was said to be.
    """
    fit = _fitter(column.type)
    found: list[Any] = []
    for value in values:
        try:
            found.append(None if value is None else fit(value))
        except (TypeError, ValueError, OverflowError):
            raise DoesNotFitError(column.name, value) from None
    return found


def _fitter(kind: ColumnType) -> Callable[[Any], Any]:
    if kind.kind is ColumnKind.LIST and kind.item is not None:
        return _list_fitter(_fitter(kind.item))
    if kind.kind is ColumnKind.RECORD:
        return _record_fitter({name: _fitter(field) for name, field in kind.fields})
    return _FITTERS[kind.kind]


def _list_fitter(fit: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def fit_list(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise TypeError
        return [None if item is None else fit(item) for item in value]

    return fit_list


def _record_fitter(fields: Mapping[str, Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def fit_record(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not value.keys() <= fields.keys():
            raise TypeError
        items = ((name, value.get(name), fit) for name, fit in fields.items())
        return {name: None if item is None else fit(item) for name, item, fit in items}

    return fit_record


def _fit_text(value: Any) -> str:
    return mend_text(value if isinstance(value, str) else plain_json(value))


def _fit_integer(value: Any) -> int:
    if isinstance(value, bool) or value != int(value) or abs(value) > LARGEST_INTEGER:
        raise ValueError
    return int(value)


def _fit_number(value: Any) -> float:
    if isinstance(value, bool | str):
        raise TypeError
    found = float(value)
    if not math.isfinite(found):
        raise ValueError
    return found


def _fit_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _fit_moment(value: Any) -> datetime:
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _fit_date(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


_FITTERS: Mapping[ColumnKind, Callable[[Any], Any]] = {
    ColumnKind.TEXT: _fit_text,
    ColumnKind.INTEGER: _fit_integer,
    ColumnKind.NUMBER: _fit_number,
    ColumnKind.BOOLEAN: _fit_boolean,
    ColumnKind.DATE: _fit_date,
    ColumnKind.MOMENT: _fit_moment,
    ColumnKind.JSON: lambda value: mend_text(plain_json(value)),
}
