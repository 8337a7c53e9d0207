"""The models of a run: `--models` names them, and a stage that asks all of them asks each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.errors import RecipeInvalid, UsageError
from quire.domain.recipes import Recipe
from quire.engine import RunHandle
from quire.recipes.recipe_snapshots import recipe_from_json
from tests.pipeline.recipe_stages import SMALL, recipe, task_states, text_stage
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]
LARGE = "simulated/large"

THESIS = text_stage("thesis", "all_to_one", "Answer.", all_models=True)
VIEW = text_stage("view", "each_result", "{{ inputs.thesis.text }}", of="thesis", all_models=True)
END = text_stage(
    "end",
    "all_to_one",
    "{% for each in inputs.thesis %}{{ each.text }}{% endfor %}",
    needs=("thesis",),
)
SAMPLED = """
[parameters]
draws = 2
[[stages]]
name = "idea"
about = "samples"
samples = "parameters.draws"
prompt = "An idea."
[[stages]]
name = "best"
about = "all_to_one"
needs = ["idea"]
prompt = "{% for each in inputs.idea %}{{ each.text }}{% endfor %}"
"""


def start(here: World, asked: Recipe, **more: object) -> RunHandle:
    """Start a run over two sentences."""
    here.ingest(sentences(2))
    return here.engine.run(recipe=asked, **more)  # type: ignore[arg-type]  # as a person says it


@pytest.mark.parametrize("names", [[SMALL], [SMALL, LARGE], [LARGE, SMALL]])
def test_a_stage_for_all_models_asks_each_model_of_the_run(world: Worlds, names: list[str]) -> None:
    here = world()

    run = start(here, recipe(THESIS, VIEW, END), models=names)
    run.wait()

    count = len(names)
    assert task_states(here.engine, run) == {
        "thesis": {"done": count},
        "view": {"done": count * count},
        "end": {"done": 1},
    }
    assert [row["model"] for row in run.rows(stage="thesis")] == names
    assert [row["model"] for row in run.rows(stage="end")] == names[:1]  # the first is its own


def test_without_models_all_is_the_one_of_the_run(world: Worlds) -> None:
    here = world()

    run = start(here, recipe(THESIS, VIEW, END), model=SMALL)
    run.wait()

    assert task_states(here.engine, run)["view"] == {"done": 1}


def test_the_plan_counts_what_the_run_then_makes(world: Worlds) -> None:
    here = world()
    names = [SMALL, LARGE]
    run = start(here, recipe(THESIS, VIEW, END), models=names)

    planned = here.engine.plan(recipe=recipe(THESIS, VIEW, END), models=names)
    run.wait()

    counts: dict[str, int] = {}
    for stage in planned.stages:
        counts[stage.stage] = counts.get(stage.stage, 0) + stage.tasks
    assert counts == {name: sum(of.values()) for name, of in task_states(here.engine, run).items()}
    assert counts == {"thesis": 2, "view": 4, "end": 1}


def test_the_stored_recipe_names_the_models(world: Worlds) -> None:
    here = world()

    run = start(here, recipe(THESIS), models=[SMALL, LARGE])

    with here.engine.ledger.snapshot() as tx:
        stored = recipe_from_json(tx.runs.must_get_run(run.id).recipe)
    assert stored.stages[0].models == (SMALL, LARGE)


def test_a_changed_recipe_that_reuses_a_run_asks_the_same_models(world: Worlds) -> None:
    here = world()
    run = start(here, recipe(THESIS, END), models=[SMALL, LARGE])
    run.wait()
    before = here.model.calls

    again = here.engine.run(
        recipe=recipe(THESIS, VIEW, END), reuse=(run.id, "view"), reuse_answers=False
    )
    again.wait()

    assert task_states(here.engine, again)["view"] == {"done": 4}
    assert here.model.calls - before == 4


@pytest.mark.parametrize(
    ("stages", "more", "says"),
    [
        ((END, THESIS), {"models": [SMALL, LARGE], "model": SMALL}, "model or models, not both"),
        ((THESIS,), {"models": [SMALL, SMALL]}, f"{SMALL} is named twice"),
        ((THESIS,), {"models": []}, "at least one model"),
        ((text_stage("one", "all_to_one", "Go."),), {"models": [SMALL, LARGE]}, "no stage of"),
    ],
)
def test_models_that_make_no_sense_are_refused(
    world: Worlds, stages: tuple[object, ...], more: dict[str, object], says: str
) -> None:
    here = world()

    with pytest.raises(UsageError, match=says):
        start(here, recipe(*stages), **more)  # type: ignore[arg-type]  # stages


def test_a_schema_takes_one_model(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))

    with pytest.raises(UsageError, match="models is for recipes"):
        here.engine.run(schema=METADATA, models=[SMALL, LARGE])


@pytest.mark.parametrize("draws", [1, 3])
def test_how_many_samples_may_be_a_parameter(world: Worlds, tmp_path: Path, draws: int) -> None:
    here = world()
    here.ingest(sentences(2))
    file = tmp_path / "ideas.toml"
    file.write_text(SAMPLED)

    run = here.engine.run(recipe=file, model=SMALL, parameters={"draws": draws})
    run.wait()

    assert task_states(here.engine, run) == {"idea": {"done": draws}, "best": {"done": 1}}


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        ('"parameters.drows"', "parameters.drows is not known; did you mean draws"),
        ('"parameters.kind"', "samples is parameters.kind, which must be a whole number from 1"),
        ('"draws"', 'samples must be a whole number from 1 to 1000000 or "parameters.NAME"'),
        ("0", 'samples must be a whole number from 1 to 1000000 or "parameters.NAME"'),
    ],
)
def test_samples_of_no_number_are_refused(
    world: Worlds, tmp_path: Path, samples: str, says: str
) -> None:
    here = world()
    file = tmp_path / "ideas.toml"
    text = SAMPLED.replace("draws = 2", 'draws = 2\nkind = "many"')
    file.write_text(text.replace('"parameters.draws"', samples))

    with pytest.raises(RecipeInvalid, match=says):
        here.engine.run(recipe=file, model=SMALL)


def test_models_of_a_stage_are_a_list_or_the_word_all(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.ingest(sentences(1))
    file = tmp_path / "ideas.toml"
    file.write_text(SAMPLED.replace('samples = "parameters.draws"', 'models = "all"'))

    run = here.engine.run(recipe=file, models=[SMALL, LARGE])
    run.wait()

    assert task_states(here.engine, run)["idea"] == {"done": 2}
    file.write_text(SAMPLED.replace('samples = "parameters.draws"', 'models = "every"'))
    with pytest.raises(RecipeInvalid, match='models must be a list of texts or "all"'):
        here.engine.run(recipe=file, model=SMALL)
