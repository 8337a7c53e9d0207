"""What a run was told is read back as it was written."""

from dataclasses import fields, replace

from quire.domain.models import Params
from quire.domain.recipes import Recipe
from quire.recipes.snapshots import recipe_from_json, recipe_to_json
from tests.plan.examples import make_stage


def test_every_parameter_of_a_call_survives_its_snapshot() -> None:
    told = Params(temperature=0.5, top_p=0.9, seed=7, max_tokens=99, effort="low", stop=("END",))
    recipe = Recipe(name="r", stages=(replace(make_stage(), params=told),))

    kept = recipe_from_json(recipe_to_json(recipe)).stages[0].params

    assert all(getattr(told, each.name) is not None for each in fields(Params))
    assert kept == told
