"""Mistakes of stages that read lines of results are told in words, before anything is spent."""

from dataclasses import replace

import pytest

from quire.domain.recipes import Stage
from quire.recipes.plugin_registry import builtin_registry
from quire.recipes.recipe_checks import check_recipe
from tests.pipeline.recipe_stages import recipe, text_stage

THESIS = text_stage("thesis", "all_to_one", "Go.", all_models=True)
REVIEW = text_stage("review", "each_result", "Go.", of="thesis", all_models=True)
OTHER = text_stage("other", "all_to_one", "Go.", all_models=True)
PAIR = text_stage("it", "pairs_by_origin", "Go.", of="review", needs=("thesis",))
LINE = text_stage("it", "by_lineage", "Go.", of="review")
GROUP = text_stage("it", "by_group", "Go.", of="review")
LOOP = "{% for it in inputs.thesis %}{{ it.text }}{% endfor %}"
MODEL = text_stage("it", "each_model", "Go.", needs=("review",))


def mistakes(*stages: Stage) -> list[str]:
    """What is wrong with a recipe of these stages."""
    return [str(found) for found in check_recipe(recipe(*stages), builtin_registry())]


@pytest.mark.parametrize(
    "stage",
    [
        PAIR,
        replace(PAIR, needs=("other", "thesis"), settings={"with": "thesis"}),
        replace(PAIR, models=("same",)),
        LINE,
        replace(LINE, needs=("thesis", "other"), own_model=("review",)),
        replace(LINE, of="thesis"),
        GROUP,
        replace(GROUP, needs=("thesis",), samples=3, missing="leave_out"),
        MODEL,
        replace(MODEL, own_model=("*",), missing="block"),
    ],
)
def test_a_sound_stage_has_no_mistakes(stage: Stage) -> None:
    assert mistakes(THESIS, REVIEW, OTHER, stage) == []


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (replace(PAIR, needs=()), "pairs_by_origin needs a second stage: name it in needs"),
        (replace(PAIR, settings={"with": "other"}), "with = 'other' must be one of needs"),
        (replace(PAIR, settings={"with": 3}), "the setting with must be the name of a stage"),
        (
            replace(PAIR, settings={"to": "x"}),
            "pairs_by_origin has no setting 'to'; it knows documents, with",
        ),
        (replace(PAIR, needs=("other",)), "review and other have no common origin"),
        (replace(PAIR, needs=("review",)), "would pair every result of review with its own kind"),
        (replace(PAIR, of=""), "pairs_by_origin needs of: the stage whose results it is about"),
        (replace(LINE, of=""), "by_lineage needs of: the stage whose results it is about"),
        (replace(LINE, of="nobody"), "the stage 'nobody' is not known"),
        (replace(GROUP, of="thesis"), "results of thesis (all_to_one) are about no result"),
        (replace(GROUP, settings={"x": True}), "by_group has no setting 'x'"),
        (replace(MODEL, of="review"), "each_model is not about the results of a stage"),
        (replace(MODEL, samples=2), "each_model gives one answer each"),
        (replace(MODEL, models=("same",)), 'model = "same" needs a result it is about'),
        (replace(MODEL, about="each_modle"), "'each_modle' is not known; did you mean each_model?"),
        (replace(MODEL, own_model=("thesis",)), "own_model: 'thesis' is not known"),
        (replace(PAIR, own_model=("review",)), "a task reads one result of review, whoever gave"),
        (replace(LINE, needs=("thesis",), own_model=("thesis",)), "one result of thesis, whoever"),
        (replace(OTHER, name="it", own_model=("*",)), "own_model is for stages that read others"),
        (replace(OTHER, name="it", missing="block"), "missing is for stages that read others"),
        (replace(MODEL, missing="wait"), "missing must be block or leave_out, not 'wait'"),
        (replace(REVIEW, name="it", critic="record", models=()), ""),
        (
            replace(REVIEW, name="it", critic="record", all_models=False, missing="block"),
            "a critic reads only what it judges",
        ),
        (replace(MODEL, prompt="{{ inputs.review.text }}"), "inputs.review is a list here"),
        (replace(LINE, prompt="{{ inputs.review.text }}"), "inputs.review is a list here"),
        (replace(GROUP, prompt="{{ inputs.review.text }}"), "inputs.review is a list here"),
        (
            replace(LINE, needs=("thesis",), prompt=LOOP),
            "inputs.thesis is one result here, not a list",
        ),
    ],
)
def test_a_mistake_is_told_once_in_clear_words(stage: Stage, says: str) -> None:
    found = mistakes(THESIS, REVIEW, OTHER, stage)

    assert len(found) == 1, found
    assert says in found[0]
