"""How many tasks every grouping makes, as stated; what is stated is what is then expanded."""

from dataclasses import replace

import pytest

from quire.domain.recipes import Recipe, Stage
from quire.planning.builtin_groupings import GROUPINGS
from quire.planning.stage_counts import InputCount, count_recipe
from quire.recipes.recipe_parameters import name_models
from tests.pipeline.recipe_stages import recipe, text_stage
from tests.pipeline.test_lineage import COUNTS, chain

ROOT = text_stage("root", "each_document", "Go.", all_models=True)
REVIEW = text_stage("review", "each_result", "Go.", of="root", all_models=True)


def count(asked: Recipe, models: int, documents: int = 1) -> dict[str, int]:
    """The tasks of each stage."""
    named = name_models(asked, [f"m/{number}" for number in range(models)])
    counts = count_recipe(named, GROUPINGS, InputCount(documents, blocks=10 * documents))
    return {name: found.tasks for name, found in counts.items()}


@pytest.mark.parametrize(("models", "counts"), COUNTS)
def test_the_chain_of_a_dialectic_is_counted_as_stated(
    models: int, counts: tuple[int, ...]
) -> None:
    assert tuple(count(chain(), models).values()) == counts


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("documents", [1, 4])
@pytest.mark.parametrize(
    ("stage", "tasks"),
    [  # with n models and d documents there are L = n·d lineages, each reviewed by n models
        (text_stage("it", "all_to_one", "Go.", needs=("root",)), "1"),
        (text_stage("it", "each_model", "Go.", needs=("root",)), "n"),
        (text_stage("it", "each_block", "Go."), "10 * d"),
        (text_stage("it", "each_document", "Go."), "d"),
        (text_stage("it", "samples", "Go.", samples=5), "5"),
        (text_stage("it", "samples", "Go.", of="root", samples=5), "5 * L"),
        (text_stage("it", "each_result", "Go.", of="root"), "L"),
        (text_stage("it", "each_result", "Go.", of="review"), "L * n"),
        (text_stage("it", "pairs_by_origin", "Go.", of="review", needs=("root",)), "L * n"),
        (text_stage("it", "by_lineage", "Go.", of="review"), "L"),
        (text_stage("it", "by_lineage", "Go.", of="root"), "L"),
        (text_stage("it", "by_group", "Go.", of="review"), "L"),
    ],
    ids=lambda value: value.about + value.of if isinstance(value, Stage) else None,
)
@pytest.mark.parametrize("multiplied", [False, True])
def test_every_grouping_has_its_stated_count(
    stage: Stage, tasks: str, models: int, documents: int, multiplied: bool
) -> None:
    asked = replace(stage, all_models=multiplied)

    found = count(recipe(ROOT, REVIEW, asked), models, documents)

    # as written above, by whoever wrote the test
    stated = eval(tasks, {"n": models, "d": documents, "L": models * documents})
    times = models if multiplied and stage.about != "each_model" else 1
    assert found["it"] == stated * times


def test_a_group_of_pairs_is_named_by_the_anchor() -> None:
    pairs = text_stage("pair", "pairs_by_origin", "Go.", of="review", needs=("root",))
    groups = text_stage("group", "by_group", "Go.", of="pair")
    again = text_stage("again", "by_group", "Go.", of="group")
    lines = text_stage("line", "by_lineage", "Go.", of="again")

    assert count(recipe(ROOT, REVIEW, pairs, groups, again, lines), 3) == {
        "root": 3,
        "review": 9,
        "pair": 9,
        "group": 3,
        "again": 3,
        "line": 3,
    }


def test_pairs_of_two_stages_below_one_origin_are_all_combinations() -> None:
    defence = replace(REVIEW, name="defence")
    pairs = text_stage("pair", "pairs_by_origin", "Go.", of="review", needs=("defence",))

    assert count(recipe(ROOT, REVIEW, defence, pairs), 3)["pair"] == 3 * 3 * 3
