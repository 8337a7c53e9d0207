"""Portable schemas: what each vendor accepts, never stricter than what the user wrote."""

import copy
import json
from typing import Any

import pytest
from anthropic import transform_schema
from hypothesis import assume, given
from hypothesis import strategies as st
from openai.lib._pydantic import _ensure_strict_json_schema

from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.schema_limits import can_bind
from quire.rehearsal.response_schemas import refuse_for_anthropic, refuse_for_openai
from tests.providers.schemas import Pair, accepts, roots

OPENAI, ANTHROPIC, GEMINI = SchemaDialect.OPENAI, SchemaDialect.ANTHROPIC, SchemaDialect.GEMINI
ALL = st.sampled_from(list(SchemaDialect))


@given(roots(), ALL)
def test_what_the_user_allows_the_vendor_is_told_to_allow(
    pair: Pair, dialect: SchemaDialect
) -> None:
    assume(accepts(pair.schema, pair.value))

    assert accepts(portable_schema(pair.schema, dialect), pair.value)


@given(roots(), ALL)
def test_the_schema_it_is_made_of_stays_as_it_was(pair: Pair, dialect: SchemaDialect) -> None:
    before = json.dumps(pair.schema)

    portable_schema(pair.schema, dialect)

    assert json.dumps(pair.schema) == before


@given(roots(), ALL)
def test_equal_schemas_become_equal_bytes(pair: Pair, dialect: SchemaDialect) -> None:
    again = portable_schema(copy.deepcopy(pair.schema), dialect)

    assert json.dumps(again) == json.dumps(portable_schema(pair.schema, dialect))


@given(roots(), ALL)
def test_what_is_portable_stays_as_it_is(pair: Pair, dialect: SchemaDialect) -> None:
    once = portable_schema(pair.schema, dialect)

    assert json.dumps(portable_schema(once, dialect)) == json.dumps(once)


@given(roots())
def test_anthropics_own_client_has_nothing_to_take_out_of_a_binding_schema(pair: Pair) -> None:
    schema = portable_schema(pair.schema, ANTHROPIC)
    assume(can_bind(schema, ANTHROPIC))

    assert transform_schema(schema) == schema


@given(roots())
def test_openais_own_client_has_nothing_to_make_strict_in_a_binding_schema(pair: Pair) -> None:
    schema: dict[str, Any] = {**portable_schema(pair.schema, OPENAI)}
    assume(can_bind(schema, OPENAI))

    assert _ensure_strict_json_schema(copy.deepcopy(schema), path=(), root=schema) == schema


@given(roots(), ALL)
def test_keywords_that_a_vendor_does_not_know_are_not_sent(
    pair: Pair, dialect: SchemaDialect
) -> None:
    assert keywords(portable_schema(pair.schema, dialect)) <= KNOWN[dialect]


COMMON = {"type", "description", "enum", "anyOf", "properties", "required"}
COMMON |= {"additionalProperties", "items", "minItems", "format"}
BOUNDS = {"minimum", "maximum", "maxItems"}
KNOWN = {
    ANTHROPIC: COMMON,
    GEMINI: COMMON | BOUNDS | {"prefixItems"},
    OPENAI: COMMON | BOUNDS | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}


def keywords(schema: Any) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    children = [*schema.get("properties", {}).values(), schema.get("items")]
    children += [*schema.get("anyOf", []), *schema.get("prefixItems", [])]
    children.append(schema.get("additionalProperties"))
    return set(schema).union(*map(keywords, children))


def field(schema: dict[str, Any], dialect: SchemaDialect) -> Any:
    """What becomes of one required field."""
    root: dict[str, Any] = {"type": "object", "properties": {"f": schema}, "required": ["f"]}
    found: Any = portable_schema(root, dialect)
    return found["properties"]["f"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array", "items": {"type": "string"}, "minItems": 3}, "at least 3 items"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, "at most 1 item"),
        ({"type": "number", "minimum": 0, "maximum": 10}, "between 0 and 10"),
        ({"type": "integer", "minimum": 1}, "at least 1"),
        ({"type": "number", "exclusiveMinimum": 0}, "more than 0"),
        ({"type": "number", "multipleOf": 0.5}, "a multiple of 0.5"),
        ({"type": "string", "maxLength": 300}, "at most 300 characters"),
        ({"type": "string", "pattern": "^a{2}$"}, "matches the pattern ^a{2}$"),
        ({"type": "string", "format": "json-pointer"}, "in the format json-pointer"),
        (
            {"type": "array", "items": {"type": "null"}, "uniqueItems": True, "maxItems": 2},
            "at most 2 items; no item twice",
        ),
        ({"type": "string", "not": {"const": "x"}}, 'not: {"const":"x"}'),
    ],
)
def test_what_anthropic_cannot_bind_it_is_told_in_words(schema: dict[str, Any], said: str) -> None:
    plain = field(schema, ANTHROPIC)
    after = field({**schema, "description": "Things."}, ANTHROPIC)

    assert plain["description"] == said
    assert after["description"] == f"Things. ({said})"


def test_of_a_least_number_of_items_anthropic_can_bind_one() -> None:
    found = field({"type": "array", "items": {"type": "string"}, "minItems": 3}, ANTHROPIC)

    assert found["minItems"] == 1


def test_openai_has_every_field_required_and_those_that_need_not_be_there_may_be_null() -> None:
    record: dict[str, Any] = {
        "type": "object",
        "properties": {
            "must": {"type": "string"},
            "may": {"type": "integer", "minimum": 0},
            "kind": {"enum": ["a", "b"]},
            "either": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
            "within": {"type": "object", "properties": {"x": {"type": "string"}}},
        },
        "required": ["must"],
    }

    found = portable_schema(record, OPENAI)

    assert found["required"] == ["must", "may", "kind", "either", "within"]
    assert found["additionalProperties"] is False
    assert found["properties"] == {
        "must": {"type": "string"},
        "may": {"type": ["integer", "null"], "minimum": 0},
        "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
        "either": {"anyOf": [{"type": "string"}, {"type": "boolean"}, {"type": "null"}]},
        "within": {
            "type": ["object", "null"],
            "properties": {"x": {"type": ["string", "null"]}},
            "required": ["x"],
            "additionalProperties": False,
        },
    }


def test_a_nullable_field_is_written_as_each_vendor_reads_it() -> None:
    text, choice = {"type": ["string", "null"]}, {"enum": ["a", None]}

    assert field(text, OPENAI) == field(text, GEMINI) == {"type": ["string", "null"]}
    assert field(text, ANTHROPIC) == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert field(choice, ANTHROPIC) == {"enum": ["a", None]}
    assert field(choice, GEMINI) == {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}


def test_a_constant_becomes_a_choice_of_one() -> None:
    assert field({"const": "x"}, GEMINI) == {"type": "string", "enum": ["x"]}
    assert field({"const": True}, GEMINI) == {"type": "boolean", "description": "one of [true]"}


def test_a_schema_that_contains_itself_is_cut_where_it_repeats() -> None:
    tree: dict[str, Any] = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}},
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {"branches": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            }
        },
    }

    found = portable_schema(tree, ANTHROPIC)

    assert "$ref" not in json.dumps(found)
    assert "of the same form as the tree around it" in json.dumps(found)
    assert not can_bind(found, ANTHROPIC)


def test_parts_that_must_all_hold_are_put_together_or_told() -> None:
    one = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    two = {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}

    assert field({"allOf": [one, two]}, ANTHROPIC) == {
        "type": "object",
        "properties": {"b": {"type": "string"}, "a": {"type": "string"}},
        "required": ["b", "a"],
        "additionalProperties": False,
    }
    assert field({"type": "number", "minimum": 1, "allOf": [{"minimum": 2}]}, GEMINI) == {
        "type": "number",
        "minimum": 1,
        "description": 'also of the form {"minimum":2}',
    }


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        {"type": "array"},
    ],
)
def test_what_is_left_open_binds_only_gemini(schema: dict[str, Any]) -> None:
    root: dict[str, Any] = {"type": "object", "properties": {"f": schema}, "required": ["f"]}

    assert [can_bind(portable_schema(root, endpoint), endpoint) for endpoint in SchemaDialect] == [
        False,
        False,
        True,
    ]


def test_a_schema_beyond_a_vendors_limits_does_not_bind() -> None:
    wide = {f"f{n}": {"type": "string"} for n in range(25)}
    torn = {f"f{n}": {"type": ["string", "null"]} for n in range(17)}
    long = {"f": {"enum": [str(n) for n in range(1001)]}}
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(10):
        deep = {"type": "array", "items": deep}

    assert not bound(wide, ANTHROPIC)
    assert not bound(torn, ANTHROPIC, required=list(torn))
    assert not bound(long, OPENAI)
    assert not bound({"f": deep}, OPENAI)
    assert bound(wide, OPENAI)
    assert bound(torn, OPENAI)


def bound(fields: dict[str, Any], dialect: SchemaDialect, **more: Any) -> bool:
    """Whether a vendor can be held to these fields."""
    return can_bind(
        portable_schema({"type": "object", "properties": fields, **more}, dialect), dialect
    )


@given(roots())
def test_the_rehearsal_server_refuses_no_schema_that_binds(pair: Pair) -> None:
    for dialect in (OPENAI, ANTHROPIC):
        schema = portable_schema(pair.schema, dialect)
        if can_bind(schema, OPENAI) and dialect is OPENAI:
            refuse_for_openai(schema, "results", "")
        if can_bind(schema, ANTHROPIC) and dialect is ANTHROPIC:
            refuse_for_anthropic(schema, "")
