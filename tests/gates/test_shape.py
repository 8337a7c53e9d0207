"""Checking one task's data against the schema."""

import pytest

from quire.domain.data import Json, JsonObject
from quire.gates.shape import Shape


def shape(**properties: Json) -> Shape:
    """Compile a schema with these fields, none required."""
    return Shape({"type": "object", "additionalProperties": False, "properties": properties})


def test_right_data_has_no_problems() -> None:
    assert shape(x={"type": "string"}).problems({"x": "yes"}) == ()


def test_a_problem_names_its_place_and_its_value() -> None:
    field: Json = {"type": "array", "items": {"enum": ["x", "y"]}}
    gate = shape(**{"a/b": field})

    assert gate.problems({"a/b": ["x", "z"]}) == ('/a~1b/1: "z" is not one of "x" or "y"',)


def test_a_field_nobody_asked_for_is_a_problem() -> None:
    assert "'y'" in shape(x={}).problems({"y": 1})[0]


def test_a_required_field_that_is_missing_is_a_problem() -> None:
    gate = Shape({"type": "object", "properties": {"x": {}}, "required": ["x"]})

    assert gate.problems({}) == ('/: "x" is a required property',)


def test_at_most_five_problems_are_told() -> None:
    gate = shape(x={"type": "array", "items": {"type": "string"}})

    assert len(gate.problems({"x": list(range(50))})) == 5


def test_a_long_value_is_clipped_and_the_rule_still_shown() -> None:
    (reason,) = shape(x={"enum": ["yes"]}).problems({"x": "long " * 10_000})

    assert len(reason) < 120
    assert reason.endswith('is not one of "yes"')


def test_formats_are_enforced() -> None:
    assert shape(day={"type": "string", "format": "date"}).problems({"day": "tomorrow"})


@pytest.mark.parametrize("number", [1, 1.0, 10**18, 2**64, 10**40, -(10**900)])
def test_every_whole_number_is_an_integer(number: float) -> None:
    assert shape(n={"type": "integer"}).problems({"n": number}) == ()


@pytest.mark.parametrize("number", [1.5, True, "1", None])
def test_nothing_else_is_an_integer(number: Json) -> None:
    assert shape(n={"type": "integer"}).problems({"n": number})


@pytest.mark.parametrize("number", [2**63, 2**64, 10**40, 10**999, 1e300])
def test_a_maximum_binds_numbers_of_any_size(number: float) -> None:
    assert shape(n={"type": "number", "maximum": 100}).problems({"n": number})


def test_nesting_beyond_the_validators_stack_is_refused() -> None:
    deep: Json = []
    for _ in range(5_000):
        deep = [deep]

    assert "cannot be checked" in shape(x={"enum": [1]}).problems({"x": deep})[0]


def test_a_pattern_that_backtracks_for_ever_comes_to_an_end() -> None:
    gate = shape(x={"type": "string", "pattern": "^(?=(a+)+$)(a+)+$"})

    assert gate.problems({"x": "a" * 60 + "b"})


def test_a_file_name_that_is_no_uri_does_no_harm() -> None:
    assert Shape({"$id": "my schema", "$schema": "mine", "type": "object"}).problems({}) == ()


OPTIONAL: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "date": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "parts": {
            "type": "array",
            "items": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
    },
}


def test_null_for_an_optional_field_means_that_it_is_absent() -> None:
    shape = Shape(OPTIONAL)
    said: Json = {"name": "x", "date": None, "note": None, "parts": [{"size": None}, {"size": 2}]}

    pruned = shape.prune(said)

    assert pruned == {"name": "x", "note": None, "parts": [{}, {"size": 2}]}
    assert shape.problems(pruned) == ()


def test_null_for_a_required_field_stays_wrong() -> None:
    shape = Shape(OPTIONAL)

    assert shape.prune({"name": None}) == {"name": None}
    assert shape.problems(shape.prune({"name": None})) != ()
