"""Groupings: how many tasks there are, and that models are shown the same."""

from collections.abc import Sequence
from typing import Any

import pytest

from quire.domain.groupings import DriverItem, GroupingContext, Part
from quire.domain.ids import DocumentId
from quire.kits.judge.experiment import Experiment, all_pairs
from quire.kits.judge.groupings import JudgeGivenTargets, JudgeSamples, JudgeTargets
from quire.kits.judge.randomization import RANDOMIZATIONS
from quire.kits.judge.recipe import RUBRIC_GEN, SCORE_GEN, recipe_of
from tests.kits.judge.examples import experiment

DOCUMENTS = tuple(DocumentId(number) for number in (11, 12, 13, 14, 15))


def _context(of: Experiment, stage: str = SCORE_GEN, **settings: Any) -> GroupingContext:
    made = {item.name: item for item in recipe_of(of).stages}[stage]
    return GroupingContext(
        parameters={},
        settings={**made.settings, **settings},
        samples=made.samples,
        models=made.models,
        documents=DOCUMENTS,
    )


def _rubrics(of: Experiment) -> list[Part]:
    return list(JudgeSamples().fan(DriverItem(0), _context(of, RUBRIC_GEN)))


def _targets(of: Experiment) -> list[Part]:
    context = _context(of)
    return [
        part
        for key, rubric in enumerate(_rubrics(of))
        for part in JudgeTargets().fan(
            DriverItem(key, rubric.model, rubric.sample, rubric.part), context
        )
    ]


def _by_model(parts: Sequence[Part], name: str) -> dict[str, list[object]]:
    models = dict.fromkeys(part.model for part in parts)
    return {model: [part.part[name] for part in parts if part.model == model] for model in models}


def test_each_sample_of_each_model_is_one_task_and_models_share_its_seed() -> None:
    parts = _rubrics(experiment(samples=30))

    assert len(parts) == 90
    assert JudgeSamples().count(1, _context(experiment(samples=30), RUBRIC_GEN)) == 90
    assert [part.sample for part in parts[:4]] == [0, 0, 0, 1]
    seeds = _by_model(parts, "seed")
    assert len(set(map(str, seeds.values()))) == 1
    assert len(set(seeds["simulated/a"])) == 30


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("swaps", [(), (("simulated/a", "simulated/c"),), "all"])
def test_the_number_of_scores_is_the_stated_one(size: int, swaps: Any) -> None:
    models = experiment().models
    pairs = all_pairs(models) if swaps == "all" else swaps
    wanted = experiment(evidence_bundle_size=size, swaps=pairs)

    parts = _targets(wanted)

    rubrics, bundled = 6, -(-5 // size)
    assert len(parts) == (rubrics + 2 * 2 * len(pairs)) * bundled
    assert JudgeTargets().count(rubrics, _context(wanted)) == len(parts)
    assert sum(part.part["is_swap"] is True for part in parts) == 2 * 2 * len(pairs) * bundled


@pytest.mark.parametrize("strategy", ["window_round_robin", "random_bundle"])
def test_bundles_and_labels_are_identical_across_models(strategy: str) -> None:
    parts = _targets(
        experiment(evidence_bundle_size=2, bundle_strategy=strategy, randomizations=RANDOMIZATIONS)
    )

    for name in ("bundle_signature", "evidence_ids", "labels", "tokens", "order", "display_seed"):
        assert len(set(map(str, _by_model(parts, name).values()))) == 1
    documents = {
        model: [part.documents for part in parts if part.model == model]
        for model in experiment().models
    }
    assert len(set(map(str, documents.values()))) == 1


def test_a_sample_shows_all_its_bundles_on_one_surface_and_another_sample_on_another() -> None:
    parts = [part for part in _targets(experiment(randomizations=RANDOMIZATIONS))]

    by_sample = {
        sample: {str(part.part["labels"]) for part in parts if part.sample == sample}
        for sample in (0, 1)
    }
    assert [len(labels) for labels in by_sample.values()] == [1, 1]
    assert by_sample[0] != by_sample[1]


def test_a_target_carries_all_that_its_prompt_and_its_gate_need() -> None:
    (part, *_) = _targets(experiment(evidence_bundle_size=2, randomizations=("hide_label_text",)))

    first, second = experiment().evidence[0], experiment().evidence[1]
    assert part.documents == (11, 12)
    assert part.part == {
        "ordinal": 0,
        "seed": 50271532,
        "display_seed": 50271532,
        "labels": {"A": 1, "B": 2, "C": 3, "D": 4},
        "tokens": ("A", "B", "C", "D"),
        "order": (1, 2, 3, 4),
        "hide_labels": True,
        "shuffled": False,
        "bundle": 0,
        "bundle_signature": "|".join(sorted((first.id, second.id))),
        "evidence_ids": [first.id, second.id],
        "evidence_labels": ["E1", "E2"],
        "is_swap": False,
        "rubric_model": "simulated/a",
    }


def test_a_swap_is_judged_by_the_rival_with_labels_of_its_own() -> None:
    wanted = experiment(
        swaps=(("simulated/a", "simulated/b"),), randomizations=("anonymize_stages",)
    )

    parts = _targets(wanted)

    swaps = [part for part in parts if part.part["is_swap"]]
    assert {(part.part["rubric_model"], part.model) for part in swaps} == {
        ("simulated/a", "simulated/b"),
        ("simulated/b", "simulated/a"),
    }
    own = {part.sample: part.part["labels"] for part in parts if not part.part["is_swap"]}
    assert all(part.part["labels"] != own[part.sample] for part in swaps)
    assert [part.documents for part in swaps[:5]] == [part.documents for part in parts[:5]]


def test_a_given_rubric_is_judged_in_every_sample_by_every_model() -> None:
    context = _context(experiment())._replace(samples=2, models=experiment().models)

    parts = list(JudgeGivenTargets().fan(DriverItem(0), context))

    assert len(parts) == JudgeGivenTargets().count(1, context) == 2 * 3 * 5
    assert not any(part.part["is_swap"] for part in parts)
    assert len(set(map(str, _by_model(parts, "labels").values()))) == 1


def test_rubrics_of_another_kind_of_stage_are_displayed_by_seeds_too() -> None:
    context = _context(experiment())

    (first, *_) = JudgeTargets().fan(DriverItem(3, "simulated/a", 1), context)

    assert first.part["seed"] == _rubrics(experiment())[-1].part["seed"]


def test_the_same_call_gives_the_same_parts() -> None:
    assert _targets(experiment()) == _targets(experiment())


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"seed": "x"}, "seed must be a whole number from 0 to 4294967295, not x"),
        ({"scale_size": 1}, "scale_size must be a whole number from 2 to 100, not 1"),
        ({"bundle_strategy": "by_topic"}, "bundle_strategy must be window_round_robin or"),
        ({"bundel_size": 2}, "bundel_size is not known; did you mean bundle_size?"),
        ({"windows": [0]}, "windows names 1 documents, but the stage has 5"),
        ({"rivals": ["a"]}, "rivals must be a table from models to lists of models"),
        ({"randomizations": ["mix"]}, "randomizations must be a list of anonymize_stages"),
    ],
)
def test_settings_that_cannot_be_used_are_told(settings: dict[str, Any], expected: str) -> None:
    (mistake,) = JudgeTargets().mistakes(_context(experiment(), **settings))

    assert mistake.startswith(expected)


def test_a_stage_without_a_seed_is_told() -> None:
    assert JudgeSamples().mistakes(GroupingContext({}, {}, 1, ("a",))) == ["seed is missing"]
    assert JudgeTargets().mistakes(_context(experiment())) == []
