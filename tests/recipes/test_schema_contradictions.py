"""Fields that no value could satisfy are told with all other mistakes, before anything is spent."""

import pytest

from quire.domain.data import Json
from quire.recipes.user_schemas import load_schema
from tests.recipes.test_user_schemas import body, mistakes


def test_a_field_that_no_value_could_satisfy_says_what_contradicts_it() -> None:
    (said,) = mistakes(body({"type": "number", "enum": ["a"], "description": "d"})).values()

    assert said == 'no value could satisfy both this and the rest (type "number")'


def test_contradictions_are_told_beside_other_mistakes_of_the_same_field() -> None:
    wrong: Json = {
        "type": "object",
        "properties": {"y": {"type": "string", "minLength": 3, "maxLength": 2, "const": 5}},
        "required": ["z"],
        "enum": ["a"],
    }

    assert set(mistakes(body(wrong))) == {
        "/properties/x/properties/y/minLength",
        "/properties/x/properties/y/const",
        "/properties/x/required/0",
        "/properties/x/enum",
    }


@pytest.mark.parametrize(
    "field",
    [
        {"type": "number", "minimum": 1.2, "maximum": 1.8},
        {"type": ["integer", "number"], "minimum": 1.2, "maximum": 1.8},
        {"type": "integer", "minimum": -1.5, "maximum": -0.5, "multipleOf": 0.5},
        {"type": "number", "minimum": 0.3, "maximum": 0.3, "multipleOf": 0.1},
    ],
)
def test_a_range_with_a_number_in_it_is_no_mistake(field: Json) -> None:
    load_schema(body(field), name="s.json")


def test_values_of_which_one_is_allowed_are_no_mistake() -> None:
    load_schema(body({"type": ["string", "null"], "enum": ["a", 1, None]}), name="s.json")


@pytest.mark.parametrize(
    "field",
    [
        {"type": "integer", "minimum": 1.2, "maximum": 1.8},
        {"type": ["integer", "null"], "multipleOf": 0.5, "minimum": 0.5, "maximum": 0.9},
        {"type": "number", "minimum": 0.11, "maximum": 0.19, "multipleOf": 0.1},
    ],
)
def test_a_range_without_a_number_in_it_is_a_mistake(field: Json) -> None:
    ((pointer, said),) = mistakes(body(field)).items()

    assert pointer == "/properties/x/minimum"
    assert "from here to maximum" in said
