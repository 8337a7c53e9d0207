"""Schemas of Vertex's batches: rewritten so that its importer reads them, or left out."""

from typing import Any

import pytest
from hypothesis import given

from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.schema_limits import importable_schema
from tests.providers.sample_calls import SCHEMA
from tests.providers.schemas import Pair, roots


def test_a_plain_schema_stays_as_it_is() -> None:
    assert importable_schema(SCHEMA) == SCHEMA


def test_a_type_of_two_words_becomes_two_alternatives_of_one() -> None:
    schema = {"type": ["string", "null"], "format": "date", "description": "When."}

    assert importable_schema(schema) == {
        "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
        "description": "When.",
    }
    assert importable_schema({"type": ["string"]}) == {"type": "string"}


def test_nothing_empty_nothing_null_and_no_dollar_is_left() -> None:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "any": {},
            "list": {"type": "array", "items": {}},
            "empty": {"type": "object", "properties": {}, "description": None},
        },
    }

    assert importable_schema(schema) == {
        "type": "object",
        "properties": {
            "any": {"description": "anything"},
            "list": {"type": "array", "items": {"description": "anything"}},
            "empty": {"type": "object"},
        },
    }


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


def test_a_schema_may_be_as_deep_as_the_importer_reads_and_no_deeper() -> None:
    assert importable_schema(nested(5)) == nested(5)
    assert importable_schema(nested(6)) is None


@pytest.mark.parametrize("name", ["two words", "größe", "1st", "a.b", "x" * 301, ""])
def test_a_field_that_cannot_be_a_column_leaves_the_schema_out(name: str) -> None:
    assert importable_schema({"type": "object", "properties": {name: {"type": "string"}}}) is None


def test_two_fields_that_a_table_would_take_for_one_leave_the_schema_out() -> None:
    fields = {"Name": {"type": "string"}, "name": {"type": "string"}}

    assert importable_schema({"type": "object", "properties": fields}) is None


@pytest.mark.parametrize(
    "options",
    [
        [{"additionalProperties": False}, {"additionalProperties": {"type": "string"}}],
        [{"enum": [1, "one"]}],
        [{"enum": ["a", None]}],
        [{"enum": [["a"]]}],
    ],
)
def test_one_place_with_values_of_two_types_leaves_the_schema_out(options: list[Any]) -> None:
    assert importable_schema({"anyOf": options}) is None


def strange(value: Any) -> bool:
    """Whether the importer stumbles: nothing, an empty struct, or a key with a dollar."""
    if isinstance(value, dict):
        if any(key.startswith("$") or item is None for key, item in value.items()):
            return True
        return not value or any(map(strange, value.values()))
    return isinstance(value, list) and any(map(strange, value))


@given(roots())
def test_whatever_the_schema_what_is_sent_can_be_read(pair: Pair) -> None:
    written = importable_schema(portable_schema(pair.schema, SchemaDialect.GEMINI))

    assert written is None or not strange(written)
