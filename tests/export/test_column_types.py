"""Columns have the types that their schema states, and lose nothing where a value has another."""

import pytest

from quire.domain.data import Json
from quire.export.column_types import (
    BOOLEAN,
    DATE,
    INTEGER,
    JSON,
    MOMENT,
    NUMBER,
    TEXT,
    Column,
    ColumnKind,
    ColumnType,
    DoesNotFitError,
    fit_values,
    key_type,
    schema_type,
)

INTEGERS = ColumnType(ColumnKind.LIST, item=INTEGER)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "integer"}, INTEGER),
        ({"type": ["integer", "null"]}, INTEGER),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, NUMBER),
        ({"type": ["integer", "number"]}, NUMBER),
        ({"type": "boolean"}, BOOLEAN),
        ({"type": "string"}, TEXT),
        ({"type": "string", "format": "date"}, DATE),
        ({"type": "string", "format": "date-time"}, MOMENT),
        ({"enum": [1, 2, None]}, INTEGER),
        ({"enum": ["a", 1]}, JSON),
        ({"type": "string", "enum": ["a", "b"]}, ColumnType(ColumnKind.TEXT, choices=("a", "b"))),
        ({"type": ["string", "integer"]}, JSON),
        (
            {"type": "array", "items": {"type": "integer"}},
            ColumnType(ColumnKind.LIST, item=INTEGER),
        ),
        ({"type": "array"}, JSON),
        ({}, JSON),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            ColumnType(ColumnKind.RECORD, fields=(("a", TEXT),)),
        ),
        ({"type": "object"}, JSON),
    ],
)
def test_a_schema_says_what_its_column_holds(schema: Json, kind: ColumnType) -> None:
    assert schema_type(schema) == kind


def test_keys_keep_their_type_unless_they_are_of_several() -> None:
    assert key_type([1, None, 2]) == INTEGER
    assert key_type([1, 2.5]) == NUMBER
    assert key_type(["a", 1]) == TEXT
    assert key_type([]) == TEXT


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (INTEGER, 2**63),
        (INTEGER, 1.5),
        (INTEGER, True),
        (NUMBER, "1"),
        (NUMBER, 10**400),
        (BOOLEAN, 1),
        (DATE, "in March"),
        (MOMENT, "2026-01-01T00:00:60Z"),
        (schema_type({"type": "array", "items": {"type": "integer"}}), "1"),
        (schema_type({"type": "object", "properties": {"a": {}}}), {"b": 1}),
    ],
)
def test_a_value_of_another_type_names_its_column(kind: ColumnType, value: Json) -> None:
    with pytest.raises(DoesNotFitError, match="column age"):
        fit_values(Column("age", kind), [None, value])


def test_values_become_pythons_own() -> None:
    assert fit_values(Column("n", INTEGER), [12.0, None]) == [12, None]
    assert fit_values(Column("t", TEXT), ["a", 7, "\ud800"]) == ["a", "7", "?"]
    assert fit_values(Column("j", JSON), [{"a": [1]}]) == ['{"a":[1]}']
