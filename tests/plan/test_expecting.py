"""A typical record is about as large as the answers that come."""

import orjson
import pytest

from quire.domain.data import Json
from quire.plan.expecting import expect, expected_tokens
from tests.plan.examples import REVISION, make_schema


def test_a_record_is_sized_as_its_json_would_be_written() -> None:
    schema = make_schema(
        {"kind": {"type": "string", "enum": ["ab", "cd"]}, "ok": {"type": "boolean"}}
    )

    written = orjson.dumps({"block_uid": "12ab", "kind": "ab", "ok": False}) + b","

    assert expect(schema).fixed == pytest.approx(len(written), abs=2)


def test_a_restated_field_grows_with_its_block() -> None:
    expected = expect(make_schema(REVISION))

    assert expected.restated == 1
    assert expected_tokens(expected, 4000) - expected_tokens(expected, 0) == 1000


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ({"type": "string", "maxLength": 8}, 8, 12),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 10}, 40, 60),
        ({"type": ["string", "null"]}, 40, 80),
        ({"type": "object", "properties": {"a": {"type": "number"}}}, 5, 15),
        ({"const": "fixed"}, 5, 10),
        ({}, 1, 80),
    ],
)
def test_every_kind_of_field_has_a_likely_size(
    field: dict[str, Json], least: int, most: int
) -> None:
    with_it = expect(make_schema({"x": field})).fixed
    without = expect(make_schema({"x": {"type": "boolean"}})).fixed - 5

    assert least <= with_it - without <= most
