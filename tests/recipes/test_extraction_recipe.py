"""The built-in recipe and its snapshot."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.models import Params
from quire.domain.recipes import (
    DEFAULT_INSTRUCTIONS,
    DEFAULT_PROMPT,
    JSON_GATE,
    Recipe,
    Schema,
    Stage,
)
from quire.recipes.recipe_snapshots import recipe_from_json, recipe_to_json
from quire.recipes.user_schemas import extraction_recipe, load_schema


def schema(**config: Json) -> Schema:
    """Load a schema with this prompt_config."""
    return load_schema(
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"x": {"type": "string"}},
            "prompt_config": config,
        },
        name="s",
    )


def stage_of(recipe: Recipe) -> Stage:
    """Take the only stage."""
    (stage,) = recipe.stages
    return stage


def test_a_schema_without_wishes_gets_the_defaults() -> None:
    stage = stage_of(extraction_recipe(schema(), Params()))

    assert (stage.name, stage.about, stage.gates) == ("extract", "each_block", (JSON_GATE,))
    assert (stage.instructions, stage.prompt) == (DEFAULT_INSTRUCTIONS, DEFAULT_PROMPT)
    assert stage.params == Params()


def test_the_schemas_wishes_are_taken() -> None:
    stage = stage_of(
        extraction_recipe(
            schema(
                system_instructions="Read.",
                per_block_prompt="Fill.",
                max_tokens_per_block=300,
                max_batch_size=4,
            ),
            Params(),
        )
    )

    assert (stage.instructions, stage.prompt) == ("Read.", "Fill.")
    assert (stage.max_tokens_per_block, stage.max_batch_size) == (300, 4)


@pytest.mark.parametrize(("chosen", "used"), [(None, 0.5), (0.0, 0.0), (1.0, 1.0)])
def test_a_chosen_temperature_wins_over_the_schemas(chosen: float | None, used: float) -> None:
    stage = stage_of(extraction_recipe(schema(temperature=0.5), Params(temperature=chosen, seed=7)))

    assert stage.params == Params(temperature=used, seed=7)


@given(
    st.builds(
        Params,
        temperature=st.none() | st.floats(0, 2),
        top_p=st.none() | st.floats(0, 1),
        seed=st.none() | st.integers(),
        max_tokens=st.none() | st.integers(1),
        stop=st.lists(st.text()).map(tuple),
    ),
    st.none() | st.integers(1),
)
def test_a_snapshot_gives_back_the_same_recipe(params: Params, most: int | None) -> None:
    config: dict[str, Json] = {} if most is None else {"max_batch_size": most}
    recipe = extraction_recipe(schema(**config), params)

    text = json.dumps(recipe_to_json(recipe))

    assert recipe_from_json(json.loads(text)) == recipe


def test_a_snapshot_keeps_facts_and_several_stages() -> None:
    (stage,) = extraction_recipe(schema(), Params()).stages
    recipe = Recipe(name="two", stages=(stage, stage), facts={"language": "de"})

    assert recipe_from_json(recipe_to_json(recipe)) == recipe
