"""A typical record is about as large as the answers that come."""

import orjson
import pytest

from quire.domain.data import Json
from quire.planning.token_estimates import typical_record_size
from tests.planning.examples import REVISION, make_schema


def test_a_record_is_sized_as_its_json_would_be_written() -> None:
    schema = make_schema(
        {"kind": {"type": "string", "enum": ["ab", "cd"]}, "ok": {"type": "boolean"}}
    )

    written = orjson.dumps({"block_uid": "12ab", "kind": "ab", "ok": False}) + b","

    assert typical_record_size(schema).fixed == pytest.approx(len(written), abs=2)


def test_a_restated_field_grows_with_its_block() -> None:
    expected = typical_record_size(make_schema(REVISION))

    assert expected.restated == 1


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ({"type": "string", "maxLength": 8}, 8, 12),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 10}, 40, 60),
        ({"type": "string"}, 40, 60),
        ({"type": ["string", "null"]}, 20, 30),  # half of the blocks have nothing to say
        ({"type": "array", "items": {"type": "string"}}, 30, 60),  # names rather than sentences
        ({"type": "object", "properties": {"a": {"type": "number"}}}, 5, 15),
        ({"const": "fixed"}, 5, 10),
        ({}, 1, 80),
    ],
)
def test_every_kind_of_field_has_a_likely_size(
    field: dict[str, Json], least: int, most: int
) -> None:
    with_it = typical_record_size(make_schema({"x": field})).fixed
    without = typical_record_size(make_schema({"x": {"type": "boolean"}})).fixed - 5

    assert least <= with_it - without <= most
