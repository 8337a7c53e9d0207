"""The recipe of an experiment: its stages, and what every prompt shows and hides."""

import re
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.recipes import Recipe, Stage
from quire.kits.judge.experiment import Experiment, ScaleStage, all_pairs
from quire.kits.judge.randomization import RANDOMIZATIONS, scale_display
from quire.kits.judge.recipe import recipe_of
from quire.planning.templates import compile_template
from quire.recipes.plugin_registry import builtin_registry
from quire.recipes.recipe_checks import check_recipe
from quire.simulated.judge_prompts import read_prompt
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import GROUPINGS

RUBRIC = tuple(ScaleStage(label=f"L{n}", criteria=("x", "y")) for n in range(4))
VIEWS = {"raw": "RAW TEXT", "cleaned": "CLEAN TEXT", "neutralized": "NEUTRAL TEXT"}


def _stages(recipe: Recipe) -> dict[str, Stage]:
    return {stage.name: stage for stage in recipe.stages}


def _scale(size: int) -> list[dict[str, Any]]:
    return [
        {"label": f"Label {number}", "criteria": [f"sign {number}{letter}" for letter in "abc"]}
        for number in range(1, size + 1)
    ]


def _render_prompt(of: Experiment, stage: str, **variables: Any) -> str:
    recipe = recipe_of(of)
    template = compile_template(_stages(recipe)[stage].prompt)
    return template.render({"parameters": recipe.parameters, **variables})


def _score_prompt(of: Experiment) -> str:
    display = scale_display(1, of.scale_size, of.randomizations)
    part = {
        **{
            name: item if isinstance(item, bool) else list(item)
            for name, item in display._asdict().items()
        },
        "evidence_labels": [f"E{n}" for n in range(1, of.evidence_bundle_size + 1)],
    }
    return _render_prompt(
        of,
        "score_gen",
        part=part,
        inputs={"rubric_gen": {"data": {"stages": _scale(of.scale_size)}}},
        documents=[{"views": VIEWS}] * of.evidence_bundle_size,
    )


def test_raw_evidence_needs_four_stages() -> None:
    recipe = recipe_of(experiment())

    assert [(stage.name, stage.of, stage.critic) for stage in recipe.stages] == [
        ("rubric_gen", "", ""),
        ("rubric_critic", "rubric_gen", "record"),
        ("score_gen", "rubric_gen", ""),
        ("score_critic", "score_gen", "record"),
    ]
    assert [stage.models for stage in recipe.stages[1:]] == [("same",)] * 3
    assert all(stage.templated and stage.schema is None for stage in recipe.stages)
    assert all(stage.policy["pack_size"] == 1 for stage in recipe.stages)


def test_each_view_is_made_from_the_one_before_by_one_model() -> None:
    recipe = recipe_of(experiment(evidence_view="abstracted", view_model="simulated/v"))

    made = [(stage.name, stage.about, stage.of, stage.models) for stage in recipe.stages[:3]]
    assert made == [
        ("cleaned", "each_document", "", ("simulated/v",)),
        ("neutralized", "each_result", "cleaned", ("simulated/v",)),
        ("abstracted", "each_result", "neutralized", ("simulated/v",)),
    ]
    assert _stages(recipe)["score_gen"].upstream == ("rubric_gen", "abstracted")


def test_a_given_rubric_leaves_its_stages_out() -> None:
    recipe = recipe_of(experiment(task_type="benchmark", rubric=RUBRIC))

    assert list(_stages(recipe)) == ["score_gen", "score_critic"]
    score = _stages(recipe)["score_gen"]
    assert (score.about, score.of, score.samples) == ("judge_given_targets", "", 2)
    assert score.models == experiment().models
    assert score.prompt.startswith("{% set rubric_stages = parameters.rubric -%}Concept:")


@pytest.mark.parametrize(
    "wanted",
    [
        experiment(),
        experiment(evidence_view="abstracted", swaps=all_pairs(experiment().models)),
        experiment(method="subset", abstain_enabled=False, randomizations=RANDOMIZATIONS),
        experiment(experiment_tag="Order", evidence_view="cleaned", rubric=RUBRIC),
    ],
)
def test_the_recipe_has_no_mistakes(wanted: Experiment) -> None:
    registry = builtin_registry()
    known = replace(registry, groupings={**registry.groupings, **GROUPINGS})

    assert check_recipe(recipe_of(wanted), known) == []


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_a_rubric_is_asked_for_with_its_number_of_stages(size: int) -> None:
    asked = _render_prompt(experiment(scale_size=size), "rubric_gen")

    assert f"exactly {size} stages" in asked
    assert asked.endswith(f"{size}) Label :: criterion; criterion; criterion")
    assert ('"Ambiguous / Mixed Evidence."' in asked) == (size % 2 == 1)
    assert ("no midpoint" in asked) == (size % 2 == 0)
    if size % 2:
        assert f"The middle stage, stage {(size + 1) // 2}," in asked


def test_a_plain_scale_is_shown_in_order_with_its_labels() -> None:
    asked = _score_prompt(experiment())

    assert re.findall(r"^\[.*$", asked, re.MULTILINE) == [
        "[A] Label 1: sign 1a; sign 1b; sign 1c",
        "[B] Label 2: sign 2a; sign 2b; sign 2c",
        "[C] Label 3: sign 3a; sign 3b; sign 3c",
        "[D] Label 4: sign 4a; sign 4b; sign 4c",
    ]
    assert "no particular order" not in asked
    assert "RAW TEXT" in asked


def test_a_randomized_scale_hides_labels_and_order() -> None:
    asked = _score_prompt(experiment(randomizations=RANDOMIZATIONS, scale_size=5))

    display = scale_display(1, 5, RANDOMIZATIONS)
    assert re.findall(r"^\[.*$", asked, re.MULTILINE) == [
        f"[{display.tokens[number - 1]}] sign {number}a; sign {number}b; sign {number}c"
        for number in display.order
    ]
    assert "Label" not in asked
    assert "in no particular order" in asked


@pytest.mark.parametrize("view", list(VIEWS))
def test_evidence_is_shown_in_its_view_alone(view: str) -> None:
    asked = _score_prompt(experiment(evidence_view=view, evidence_bundle_size=2))

    fence = experiment().fence
    assert asked.count(f"<<<E2 {fence}\n{VIEWS[view]}\nE2 {fence}>>>") == 1
    assert not any(text in asked for name, text in VIEWS.items() if name != view)


@pytest.mark.parametrize(
    ("method", "abstain", "ending"),
    [
        ("single", True, "VERDICT: <identifier> or VERDICT: ABSTAIN"),
        ("single", False, "VERDICT: <identifier>"),
        ("subset", True, "VERDICT: <identifiers, separated by commas> or VERDICT: ABSTAIN"),
        ("subset", False, "VERDICT: <identifiers, separated by commas>"),
    ],
)
def test_a_verdict_is_asked_for_in_its_form(method: str, abstain: bool, ending: str) -> None:
    asked = _score_prompt(experiment(method=method, abstain_enabled=abstain))

    assert asked.endswith(f"End with one line: {ending}")
    assert ("weakest displayed identifier" in asked) == (not abstain)
    assert ("ABSTAIN" in asked) == abstain


def test_the_critic_sees_what_the_scorer_saw_and_not_a_word_more_of_the_scale() -> None:
    wanted = experiment(randomizations=RANDOMIZATIONS)
    surface_shown = _score_prompt(wanted)

    asked = _render_prompt(
        wanted, "score_critic", judged={"asked": surface_shown, "answer": "It is.\nVERDICT: x"}
    )

    assert asked.count(surface_shown) == 1
    rest = asked.replace(surface_shown, "")
    assert "Label" not in rest
    assert "sign" not in rest
    assert "It is.\nVERDICT: x" in rest
    assert rest.endswith("End with one line: EXPERT_AGREEMENT: <0..1>")


def test_the_critic_of_a_rubric_sees_its_stages() -> None:
    asked = _render_prompt(experiment(), "rubric_critic", judged={"data": {"stages": _scale(4)}})

    assert "4) Label 4 :: sign 4a; sign 4b; sign 4c" in asked
    assert asked.endswith(
        "End with one line: QUALITY: observability=<0..1>, discriminability=<0..1>"
    )


def test_instructions_are_the_same_for_every_call_of_a_stage() -> None:
    for stage in recipe_of(experiment(evidence_view="abstracted")).stages:
        assert "{{" not in stage.instructions
        assert "{%" not in stage.instructions


@pytest.mark.parametrize("method", ["single", "subset"])
@pytest.mark.parametrize("abstain", [True, False])
def test_the_simulated_model_understands_every_prompt(method: str, abstain: bool) -> None:
    wanted = experiment(
        method=method, abstain_enabled=abstain, randomizations=RANDOMIZATIONS, scale_size=5
    )
    stages = _stages(recipe_of(wanted))
    scored = _score_prompt(wanted)
    prompts = {
        "rubric_gen": _render_prompt(wanted, "rubric_gen"),
        "rubric_critic": _render_prompt(
            wanted, "rubric_critic", judged={"data": {"stages": _scale(5)}}
        ),
        "score_gen": scored,
        "score_critic": _render_prompt(
            wanted, "score_critic", judged={"asked": scored, "answer": "So.\nVERDICT: x"}
        ),
    }

    read = {name: read_prompt(stages[name].instructions, text) for name, text in prompts.items()}

    assert {name: call.marker for name, call in read.items() if call} == {
        "rubric_gen": "RUBRIC",
        "rubric_critic": "QUALITY",
        "score_gen": "VERDICT",
        "score_critic": "EXPERT_AGREEMENT",
    }
    rubric, score = read["rubric_gen"], read["score_gen"]
    assert rubric is not None
    assert score is not None
    assert rubric.stages == 5
    display = scale_display(1, 5, RANDOMIZATIONS)
    assert score.identifiers == tuple(display.tokens[number - 1] for number in display.order)
    assert (score.several, score.abstain) == (method == "subset", abstain)
    assert "RAW TEXT" in score.material
