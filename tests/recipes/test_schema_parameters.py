"""Bounds of a schema may be parameters: they hold the answer, and a wrong one is told."""

from pathlib import Path

import pytest

from quire.domain.data import Json
from quire.domain.errors import RecipeInvalid
from quire.recipes.plugin_registry import builtin_registry
from quire.recipes.recipe_files import read_recipe_file
from tests.recipes.examples import read

RECIPE = """
[parameters]
sections = { type = "integer", description = "how many" }

[[stages]]
name = "outline"
about = "all_to_one"
prompt = "Plan it."

[stages.schema]
type = "object"
additionalProperties = false
required = ["titles"]

[stages.schema.properties.titles]
type = "array"
minItems = "parameters.sections"
maxItems = "parameters.sections"
items = { type = "string" }
"""


def titles(text: str, given: dict[str, Json] | None) -> Json:
    found = read_recipe_file(
        text.encode(), "r.toml", folder=Path(), registry=builtin_registry(), given=given
    )
    return found.recipe.stages[0].record.properties["titles"]


def test_a_parameter_bounds_a_list_of_the_schema() -> None:
    bounds = {"minItems": 4, "maxItems": 4}

    assert titles(RECIPE, {"sections": 4}) == {
        "type": "array",
        "items": {"type": "string"},
        **bounds,
    }


def test_a_parameter_that_has_no_value_yet_bounds_nothing() -> None:
    assert titles(RECIPE, None) == {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("wrong", "right", "given", "message"),
    [
        ("parameters.sections", "parameters.section", 4, "parameters.section is not known"),
        ("", "", -1, "minItems"),
        ("", "", "many", "must be of type integer"),
    ],
)
def test_a_bound_that_is_none_is_told(wrong: str, right: str, given: Json, message: str) -> None:
    text = RECIPE.replace(wrong, right, 1) if wrong else RECIPE

    with pytest.raises(RecipeInvalid, match=message):
        read(text, given={"sections": given})


def test_words_that_look_like_a_parameter_stay_words_elsewhere() -> None:
    text = RECIPE.replace('{ type = "string" }', '{ enum = ["parameters.sections"] }')

    found = titles(text, {"sections": 4})

    assert isinstance(found, dict)
    assert found["items"] == {"enum": ["parameters.sections"]}
