"""Stand-ins are as large as what they stand for, and have its form."""

from dataclasses import replace

import pytest

from quire.domain.data import Json, canonical_json
from quire.domain.recipes import GateUse, Stage
from quire.planning.stand_ins import filler, result_stand_in, typical_data
from quire.planning.token_estimates import RECORD_BYTES, text_answer_bytes, typical_record_size
from tests.planning.examples import make_schema, make_stage

FIELDS: dict[str, Json] = {
    "kind": {"type": "string", "enum": ["heading", "payment"]},
    "summary": {"type": "string"},
    "terms": {"type": "array", "items": {"type": "string"}, "minItems": 3},
    "place": {"type": "object", "properties": {"page": {"type": "integer"}}},
    "sure": {"type": "boolean"},
}


def text_stage(**params: object) -> Stage:
    """A stage that is answered in text, behind one gate."""
    return replace(make_stage({}), schema=None, gates=(GateUse("markers", params),))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 1, 7, 1000, 12.4])
def test_filler_has_the_size_that_is_asked_for(size: float) -> None:
    assert len(filler(size)) == round(size)


def test_a_record_has_the_fields_of_its_schema_and_its_typical_size() -> None:
    schema = make_schema(FIELDS)
    asked = replace(make_stage({}), schema=schema)

    data = typical_data(asked, 0)

    assert isinstance(data, dict)
    assert data.keys() == FIELDS.keys()
    assert len(data["terms"]) == 3
    size = len(canonical_json(data))
    assert size == pytest.approx(typical_record_size(schema).fixed - RECORD_BYTES, rel=0.1)


def test_a_text_is_as_long_as_it_is_expected_and_a_rubric_has_its_stages() -> None:
    rubric = result_stand_in(text_stage(kind="rubric", scale_size=4), 500)

    assert len(rubric.text) == 500
    assert isinstance(rubric.data, dict)
    assert len(rubric.data["stages"]) == 4


def test_a_marker_comes_on_top_of_the_reasons_that_are_asked_for() -> None:
    asked = "First give your reasons in a few sentences."

    reasons = text_answer_bytes(replace(make_stage({}), schema=None, gates=()), asked)
    verdict = text_answer_bytes(text_stage(kind="verdict"), asked)
    rubric = text_answer_bytes(text_stage(kind="rubric", scale_size=4), asked)

    assert reasons < verdict < rubric
    assert text_answer_bytes(text_stage(max_length=100), asked) == 100
