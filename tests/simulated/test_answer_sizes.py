"""Schemas that ask for more than anybody could write: the simulated model does not try."""

from typing import Any

import pytest

from quire.simulated.answer_sizes import MOST_BYTES, least_bytes, within_reach
from quire.simulated.block_answers import AskedBlock, answer, records_for

HUGE = 10**9
TEXT: dict[str, Any] = {"type": "string"}


def record(field: Any) -> dict[str, Any]:
    """What a call asks for: records with one field."""
    items = {"type": "object", "properties": {"block_uid": TEXT, "a": field}}
    return {"type": "object", "properties": {"results": {"type": "array", "items": items}}}


def many(items: Any, least: int) -> dict[str, Any]:
    return {"type": "array", "minItems": least, "items": items}


@pytest.mark.parametrize(
    "field",
    [
        many(TEXT, HUGE),
        many({"type": "integer"}, HUGE),
        {"type": "string", "minLength": HUGE},
        many(many(TEXT, 10**5), 10**5),
        {"anyOf": [many(TEXT, HUGE), {"type": "null"}]},
        {"type": "object", "minProperties": HUGE, "additionalProperties": TEXT},
        {"type": "array", "prefixItems": [{"type": "string", "minLength": HUGE}]},
        {"type": ["array", "null"], "minItems": float(HUGE), "items": TEXT},
    ],
    ids=str,
)
def test_an_answer_longer_than_any_is_not_written(field: Any) -> None:
    asked = record(field)

    found = records_for([AskedBlock("b1", "One Alpha.")], asked)

    assert len(str(found)) < 1000
    assert len(answer("One Alpha.", {"type": "object", "properties": {"a": field}})) < 1000


def test_what_can_be_written_is_as_long_as_it_must_be() -> None:
    asked = record(many(TEXT, 2000))

    (found,) = records_for([AskedBlock("b1", "One Alpha.")], asked) or [{}]

    assert within_reach(asked) == asked
    names = found["a"]
    assert isinstance(names, list)
    assert len(names) == 2000


def test_a_field_may_be_called_like_a_size() -> None:
    fields = {"minItems": {"type": "integer"}, "a": {"type": "string", "minLength": HUGE}}
    schema: dict[str, Any] = {"type": "object", "properties": fields}

    limited: Any = within_reach(schema)

    assert least_bytes(schema) > MOST_BYTES >= least_bytes(limited)
    assert limited["properties"] == {"minItems": {"type": "integer"}, "a": TEXT}
