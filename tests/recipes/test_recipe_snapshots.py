"""What a run was told is read back as it was written."""

import json
from dataclasses import fields, replace
from typing import Any

from quire.domain.models import Params
from quire.domain.recipes import JSON_GATE, HistoryEntry, Recipe, Stage
from quire.recipes.recipe_snapshots import recipe_from_json, recipe_to_json
from tests.planning.examples import make_stage
from tests.recipes.examples import recipe


def test_every_parameter_of_a_call_survives_its_snapshot() -> None:
    told = Params(temperature=0.5, top_p=0.9, seed=7, max_tokens=99, effort="low", stop=("END",))
    recipe = Recipe(name="r", stages=(replace(make_stage(), params=told),))

    kept = recipe_from_json(recipe_to_json(recipe)).stages[0].params

    assert all(getattr(told, field.name) is not None for field in fields(Params))
    assert kept == told


def test_a_recipe_of_many_stages_survives_its_snapshot() -> None:
    told = replace(recipe(), facts={"language": "de"}, description="all of it", attach="notes")

    kept = recipe_from_json(json.loads(json.dumps(recipe_to_json(told))))

    assert kept == told
    assert all(getattr(told, field.name) for field in fields(Recipe))


def test_every_field_of_a_stage_is_in_its_snapshot_but_what_follows_from_the_others() -> None:
    derived = {"prompt_in_items"}
    # as before there were any, so that the run key stays
    silent = {"samples_parameter", "all_models", "own_model", "missing", "relevance", "history"}

    assert set(_old_snapshot()) == {field.name for field in fields(Stage)} - derived - silent


def test_what_only_some_stages_say_survives_its_snapshot() -> None:
    stage = replace(make_stage(), samples_parameter="draws", all_models=True)
    stage = replace(stage, own_model=("a", "b"), missing="leave_out", relevance={"a": 0.5})
    stage = replace(
        stage, history=(HistoryEntry("user", "Hello."), HistoryEntry("assistant", "", "a"))
    )

    kept = recipe_from_json(recipe_to_json(Recipe(name="r", stages=(stage,))))

    assert kept.stages == (stage,)


def test_a_snapshot_from_before_there_were_several_stages_is_still_read() -> None:
    new = {*("gates", "needs", "of", "over", "samples", "critic", "accepts", "models")}
    new |= {"policy", "settings", "templated"}
    old = {name: value for name, value in _old_snapshot().items() if name not in new}

    kept = recipe_from_json({"name": "r", "stages": [{**old, "gate": "json"}], "facts": {}})

    assert kept == Recipe(name="r", stages=(make_stage(),))
    assert kept.stages[0].gates == (JSON_GATE,)


def _old_snapshot() -> dict[str, Any]:
    """The snapshot of a plain stage."""
    body: Any = recipe_to_json(Recipe(name="r", stages=(make_stage(),)))
    (stage,) = body["stages"]
    return dict(stage)
