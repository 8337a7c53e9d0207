"""A call of ours is held to one result a block; any other is left as it is."""

from typing import Any

import pytest

from quire.domain.data import Json, JsonObject
from quire.domain.recipes import Stage
from quire.local.narrow_schema import LONGEST_TEXT, MOST_ITEMS, narrow_call
from quire.planning.rendering import BlockItem, pack_text, render_prefix
from quire.providers.portable_schemas import SchemaDialect, portable_schema
from tests.planning.examples import make_stage

FIELDS: dict[str, Json] = {
    "topic": {"type": "string"},
    "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
    "short": {"type": ["string", "null"], "maxLength": 7},
    "tags": {"type": "array", "items": {"type": "string", "minLength": 200}},
}


def call(stage: Stage, blocks: int = 2) -> dict[str, Any]:
    """The body of a call that carries blocks called a, b, …"""
    start = render_prefix(stage)
    user = pack_text("Fill in.", "abc"[:blocks], [BlockItem(0, "paragraph", "Hello.")] * blocks)
    return {
        "messages": [
            {"role": "system", "content": start.system},
            {"role": "user", "content": user},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "schema": portable_schema(start.output_schema, SchemaDialect.OPENAI),
            },
        },
    }


def results(body: JsonObject) -> Any:
    """What a call asks for in its results."""
    whole: Any = body
    return whole["response_format"]["json_schema"]["schema"]["properties"]["results"]


def test_each_block_gets_one_result_with_its_own_id() -> None:
    found = results(narrow_call(call(make_stage(FIELDS), 3)))

    ids = [item["properties"]["block_uid"] for item in found["prefixItems"]]
    assert ids == [{"const": "a"}, {"const": "b"}, {"const": "c"}]
    assert "items" not in found


def test_fields_are_as_the_user_wrote_them_and_texts_and_lists_have_an_end() -> None:
    found = results(narrow_call(call(make_stage(FIELDS, more={"required": ["code"]}))))[
        "prefixItems"
    ][0]

    assert found["required"] == ["block_uid", "code"]
    assert found["properties"]["code"] == FIELDS["code"]
    assert found["properties"]["short"] == FIELDS["short"]
    assert found["properties"]["topic"] == {"type": "string", "maxLength": LONGEST_TEXT}
    assert found["properties"]["tags"] == {
        "type": "array",
        "items": {"type": "string", "minLength": 200, "maxLength": 200},
        "maxItems": MOST_ITEMS,
    }


def test_fields_that_stand_inside_data_are_found_there() -> None:
    fields = {**FIELDS, "data": {"type": "string"}}

    found = results(narrow_call(call(make_stage(fields))))["prefixItems"][0]["properties"]

    assert set(found) == {"block_uid", "data"}
    assert found["data"]["properties"]["data"] == {"type": "string", "maxLength": LONGEST_TEXT}
    assert found["data"]["properties"]["code"] == FIELDS["code"]


def test_without_the_users_schema_that_of_the_wire_is_narrowed() -> None:
    body = call(make_stage(FIELDS))
    body["messages"][0]["content"] = "Other instructions."

    found = results(narrow_call(body))["prefixItems"][0]["properties"]

    assert found["block_uid"] == {"const": "a"}
    assert found["topic"]["maxLength"] == LONGEST_TEXT


def without(body: dict[str, Any], part: str) -> dict[str, Any]:
    """The same call with one part of it strange."""
    if part == "user":
        body["messages"][-1]["content"] = "What is the capital of France?"
    elif part == "messages":
        body["messages"] = "none"
    elif part == "message":
        body["messages"] = [7]
    elif part == "format":
        body["response_format"] = {"type": "json_object"}
    else:
        body["response_format"]["json_schema"]["schema"] = {"type": "object", "properties": []}
    return body


@pytest.mark.parametrize("part", ["user", "messages", "message", "format", "schema"])
def test_a_call_of_another_form_is_left_as_it_is(part: str) -> None:
    body = without(call(make_stage(FIELDS)), part)

    assert narrow_call(body) is body


def test_a_schema_of_any_depth_is_survived() -> None:
    body = call(make_stage(FIELDS))
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "array", "items": deep}
    results(body)["items"]["properties"]["topic"] = deep
    body["messages"][0]["content"] = ""

    assert narrow_call(body) is not body
