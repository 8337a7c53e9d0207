"""Loading schemas: the contract, its mistakes and its names."""

import json
from typing import Any

import pytest

from quire.domain.data import Json
from quire.domain.errors import SchemaInvalid
from quire.recipes.user_schemas import load_schema, read_schema


def body(field: Json = None, **more: Json) -> dict[str, Json]:
    """Make a right schema with one field x, then change it."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {"x": {"type": "string"} if field is None else field},
        **more,
    }


def mistakes(value: Json, **options: Any) -> dict[str, str]:
    """Load what must be refused; return each mistake by its pointer."""
    with pytest.raises(SchemaInvalid) as refused:
        load_schema(value, name="s.json", **options)
    return {mistake.pointer: mistake.message for mistake in refused.value.mistakes}


def test_a_schema_with_everything_supported_is_loaded() -> None:
    fields: Json = {
        "s": {"type": ["string", "null"], "minLength": 1, "maxLength": 9, "pattern": "^a"},
        "d": {"type": "string", "format": "date"},
        "n": {"type": "number", "minimum": 0, "maximum": 1.5, "multipleOf": 0.5, "default": 1},
        "e": {"enum": ["a", None], "description": "d", "title": "t", "examples": ["a"]},
        "c": {"const": 3},
        "l": {"type": "array", "minItems": 0, "maxItems": 3, "items": {"type": "integer"}},
        "o": {
            "type": "object",
            "properties": {"y": {"type": "boolean"}},
            "required": ["y"],
            "additionalProperties": False,
        },
    }  # fmt: skip
    given = {
        **body(),
        "properties": fields,
        "required": ["s", "o"],
        "prompt_config": {"model": "m"},
    }

    schema = load_schema(given, name="s.json")

    assert schema.body == given
    assert set(schema.properties) == set("sdneclo")


@pytest.mark.parametrize("value", [None, [], "text", 5, True])
def test_what_is_no_object_is_no_schema(value: Json) -> None:
    assert mistakes(value) == {"": "a schema must be a JSON object"}


def test_every_mistake_is_told_at_once() -> None:
    wrong: Json = {
        "type": "array",
        "properties": {"a/b": {"type": "strin", "enum": []}, "c": {"anyOf": []}},
        "required": ["a/b", "z"],
        "prompt_config": {"temperature": 3, "modle": "m"},
    }

    assert set(mistakes(wrong)) == {
        "/type",
        "/properties/a~1b/type",
        "/properties/a~1b/enum",
        "/properties/c/anyOf",
        "/required/1",
        "/prompt_config/temperature",
        "/prompt_config/modle",
    }


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"type": ["object"]}, "/type"),
        ({"additionalProperties": {"type": "string"}}, "/additionalProperties"),
        ({"properties": {}}, "/properties"),
        ({"properties": []}, "/properties"),
        ({"required": "x"}, "/required"),
        ({"required": [1]}, "/required"),
        ({"required": ["x", "x"]}, "/required/1"),
        ({"description": 5}, "/description"),
        ({"$id": 5}, "/$id"),
        ({"fields": {}}, "/fields"),
        ({"$ref": "#/$defs/a"}, "/$ref"),
        ({"prompt_config": []}, "/prompt_config"),
    ],
)
def test_a_mistake_at_the_root_is_found(change: dict[str, Json], pointer: str) -> None:
    assert pointer in mistakes(body(**change))


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("string", ""),
        (False, ""),
        ({"type": "text"}, "/type"),
        ({"type": []}, "/type"),
        ({"type": ["string", "string"]}, "/type"),
        ({"type": {"a": 1}}, "/type"),
        ({"$ref": "#/x"}, "/$ref"),
        ({"enum": []}, "/enum"),
        ({"enum": "a"}, "/enum"),
        ({"minLength": -1}, "/minLength"),
        ({"minLength": True}, "/minLength"),
        ({"maxLength": 1.5}, "/maxLength"),
        ({"minimum": "0"}, "/minimum"),
        ({"multipleOf": 0}, "/multipleOf"),
        ({"pattern": "("}, "/pattern"),
        ({"pattern": 5}, "/pattern"),
        ({"format": 5}, "/format"),
        ({"examples": "a"}, "/examples"),
        ({"items": "string"}, "/items"),
        ({"type": "array", "items": {"items": {"oneOf": []}}}, "/items/items/oneOf"),
        ({"properties": {"y": {"allOf": {}}}}, "/properties/y/allOf"),
        ({"properties": {"y": {}}, "required": ["z"]}, "/required/0"),
        ({"additionalProperties": {"not": 5}}, "/additionalProperties/not"),
        ({"type": "number", "exclusiveMinimum": 3, "maximum": 3}, "/exclusiveMinimum"),
        ({"$ref": "other.json#/a"}, "/$ref"),
        ({"minLength": 3, "maxLength": 2}, "/minLength"),
        ({"type": "number", "minLength": 3}, "/minLength"),
        ({"type": ["string", "null"], "minimum": 3}, "/minimum"),
        ({"type": "number", "enum": ["a"]}, "/enum"),
        ({"type": "string", "const": 5}, "/const"),
        ({"type": "integer", "enum": [1, 2], "minimum": 3}, "/enum"),
        ({"enum": ["a", "b"], "const": "c"}, "/enum"),
        ({"type": "array", "items": {"type": "string", "enum": [1]}}, "/items/enum"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_field_is_found_where_it_stands(field: Json, place: str) -> None:
    assert list(mistakes(body(field))) == ["/properties/x" + place]


def test_an_unsupported_keyword_is_told_with_those_that_are() -> None:
    found = mistakes(body({"minLenght": 3, "colour": "red"}))

    assert found["/properties/x/minLenght"] == "is not known; did you mean minLength?"
    assert "minLength" in found["/properties/x/colour"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("system_instructions", ""),
        ("per_block_prompt", 5),
        ("model", None),
        ("temperature", "0.3"),
        ("temperature", -0.1),
        ("temperature", True),
        ("max_tokens_per_block", 0),
        ("max_batch_size", 1.5),
        ("pack_size", 0),
        ("pack_size", 26),
        ("packing", "yes"),
        ("batching_enabled", 1),
        ("max_attempts", 0),
        ("max_calls", False),
        ("concurrency", 0),
        ("estimated_output_per_task", 0),
        ("ledger", "lean"),
    ],
)
def test_a_wrong_wish_about_the_prompt_is_found(name: str, value: Json) -> None:
    found = mistakes(body(prompt_config={name: value}))

    assert list(found) == [f"/prompt_config/{name}"]


def test_every_known_wish_about_the_prompt_is_accepted_and_kept() -> None:
    config: Json = {
        "system_instructions": "Read.", "per_block_prompt": "Fill.", "model": "simulated/small",
        "temperature": 2, "max_tokens_per_block": 1, "max_batch_size": 1, "pack_size": 25,
        "packing": "auto", "estimated_output_per_task": 100, "max_tries": 1, "max_calls": 1,
        "concurrency": 1, "batching_enabled": False, "max_attempts": 2,
    }  # fmt: skip

    assert load_schema(body(prompt_config=config), name="s").prompt_config == config


def test_a_misspelt_wish_is_answered_with_the_nearest_name() -> None:
    found = mistakes(body(prompt_config={"max_atempts": 2}))

    assert found["/prompt_config/max_atempts"].endswith("did you mean max_attempts?")


def test_absurd_nesting_is_a_mistake_and_not_a_crash() -> None:
    field: Json = {"type": "string"}
    for _ in range(5_000):
        field = {"type": "array", "items": field}

    assert any("nested" in message for message in mistakes(body(field)).values())


def test_a_value_without_a_fingerprint_is_a_mistake() -> None:
    assert mistakes(body({"default": float("inf")}))
    assert mistakes(body({"default": "\ud800"}))


@pytest.mark.parametrize(
    ("change", "ref"),
    [
        ({}, "duties"),
        ({"title": "My  Invoices (2024)!"}, "my_invoices_2024"),
        ({"$id": "urn:acme:Invoice-Lines", "title": "Other"}, "invoice-lines"),
        ({"$id": "https://acme.example/schemas/v2", "title": "Other"}, "v2"),
        ({"$id": "https://acme.example/", "title": "Other"}, "other"),
        ({"$id": "???", "title": "é"}, "duties"),
        ({"$id": "my schema"}, "my_schema"),
        ({"title": "x" * 100}, "x" * 64),
    ],
)
def test_the_ref_is_derived_from_id_then_title_then_file(change: dict[str, Json], ref: str) -> None:
    assert load_schema(body(**change), name="of/Duties.json").ref == ref
    assert load_schema(body(), name="é.json").ref == "schema"


def test_a_given_ref_wins() -> None:
    assert load_schema(body(title="Other"), name="s", ref="mine").ref == "mine"


@pytest.mark.parametrize("ref", ["", "Mine", "_x", "-x", "a b", "x" * 65, "x\n"])
def test_a_given_ref_that_is_no_slug_is_refused(ref: str) -> None:
    assert "ref" in mistakes(body(), ref=ref)[""]


def test_the_uid_does_not_depend_on_the_order_of_keys() -> None:
    turned = dict(reversed(body().items()))

    assert load_schema(turned, name="s").uid == load_schema(body(), name="s").uid


def test_a_file_is_read_with_or_without_a_byte_order_mark() -> None:
    text = json.dumps(body()).encode()

    assert read_schema(b"\xef\xbb\xbf" + text, "s.json") == read_schema(text, "s.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b'{\n  "a" 1}', "not JSON: Expecting ':' delimiter at line 2, column 7"),
        (b'{"a": NaN}', "not usable JSON: NaN is not JSON"),
        (b'{"a": {"b": 1, "b": 2}}', "has the key 'b' twice"),
        (b"[" * 100_000, "not usable JSON"),
        (b'{"a": "\\ud800"}', "not usable JSON"),
    ],
)
def test_a_file_that_is_no_json_says_what_and_where(text: bytes, message: str) -> None:
    with pytest.raises(SchemaInvalid) as refused:
        read_schema(text, "s.json")

    assert str(refused.value).startswith("s.json: 1 mistake\n")
    assert message in str(refused.value)
