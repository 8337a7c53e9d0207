"""Contrasts of experiments, each computed again by numpy from the rows of the tables."""

from collections.abc import Callable
from dataclasses import replace
from math import log2
from typing import Any

import numpy as np
import pytest

from quire.kits.judge.comparison import compare_experiments
from quire.kits.judge.contrasts import BY_EVIDENCE, BY_SAMPLE, QUESTIONS, UNPAIRED, Contrast
from quire.kits.judge.experiment import ExperimentRows, GroundTruth
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.randomization import sample_seeds
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun
from tests.kits.judge.own_statistics import student

SAMPLES = 6
KNOWN = GroundTruth(source="experts", value=2)
Answers = dict[tuple[int, str], dict[str, Any]]


def arm(number: int, **changes: Any) -> ExperimentRows:
    """A run of its own, answered by chance."""
    given = {"samples": SAMPLES, "method": "subset", "task_type": "control", "ground_truth": KNOWN}
    wanted = experiment(experiment_tag=f"arm-{number}", **{**given, **changes})
    return replace(FakeRun(wanted, seed=number).rows(), run_id=number)


def answers(rows: ExperimentRows, model: str) -> Answers:
    """A model's scores by the seed of the sample and the bundle, straight from the table."""
    seeds = sample_seeds(rows.experiment.seed, rows.experiment.samples)
    return {
        (seeds[row["sample_ordinal"]], row["bundle_signature"]): row  # type: ignore[index,misc]
        for row in make_tables(rows)["scores"]
        if row["model_id"] == model and row["parse_status"] == "parsed"
    }


def value(question: str, row: dict[str, Any], size: int) -> float | None:
    """What a score counts, written anew; None where it does not."""
    stages = row["decoded_scores"]
    if question == "abstain_rate":
        return float(row["abstained"])
    if question == "critic_agreement":
        return row["expert_agreement_prob"]  # type: ignore[no-any-return]
    if not stages:
        return None
    if question == "singleton_rate":
        return float(len(stages) == 1)
    if question == "position":
        return float((np.mean(stages) - 1) / (size - 1))
    truth, chance = row["ground_truth_stage"], 1 / size
    right = float(list(stages) == [truth])
    return {
        "accuracy": right,
        "accuracy_above_chance": (right - chance) / (1 - chance),
        "stage_error": float(abs(np.mean(stages) - truth) / (size - 1)),
    }[question]


def spread(rows: list[dict[str, Any]], size: int) -> float:
    """The entropy of the stages named, of its most."""
    mass = np.zeros(size)
    for row in rows:
        for stage in row["decoded_scores"] or ():
            mass[stage - 1] += 1 / len(row["decoded_scores"])
    share = mass[mass > 0] / mass.sum()
    return float(-(share * np.log2(share)).sum() / log2(size))


def jackknife(figure: Callable[[list[int]], float], seeds: list[int]) -> tuple[float, float]:
    """The error of a figure over samples, and the mean without each."""
    without = np.array([figure([seed for seed in seeds if seed != out]) for out in seeds])
    m = len(seeds)
    return float(np.sqrt((m - 1) / m * ((without - without.mean()) ** 2).sum())), without.mean()


def by_hand(found: Contrast, one: ExperimentRows, other: ExperimentRows) -> list[float]:
    """The difference and its interval by numpy, paired as the contrast says."""
    sides = [(answers(rows, found.model), rows.experiment.scale_size) for rows in (one, other)]
    name = found.question
    if name == "spread":
        return spread_by_hand(found, sides)
    kept = [
        {at: v for at, row in rows.items() if (v := value(name, row, size)) is not None}
        for rows, size in sides
    ]
    if found.pairing == BY_EVIDENCE:
        places = [place for place in kept[0] if place in kept[1]]
        seeds = sorted({seed for seed, _ in places})
        assert (found.difference.observations, found.difference.clusters) == (
            len(places),
            len(seeds),
        )

        def matched(use: list[int]) -> float:
            return float(np.mean([kept[0][p] - kept[1][p] for p in places if p[0] in use]))

        error, _ = jackknife(matched, seeds)
        return interval(matched(seeds), error, len(seeds) - 1)

    def mean(side: int, use: list[int]) -> float:
        return float(np.mean([v for (seed, _), v in kept[side].items() if seed in use]))

    return unmatched(found, [sorted({seed for seed, _ in item}) for item in kept], mean, False)


def spread_by_hand(found: Contrast, sides: list[tuple[Answers, int]]) -> list[float]:
    """The same of the spread, each side's bias taken away."""

    def figure(side: int, use: list[int]) -> float:
        rows, size = sides[side]
        return spread([row for (seed, _), row in rows.items() if seed in use], size)

    answered = [
        sorted({seed for (seed, _), row in rows.items() if row["decoded_scores"]})
        for rows, _ in sides
    ]
    return unmatched(found, answered, figure, True)


def unmatched(
    found: Contrast, seeds: list[list[int]], figure: Callable[[int, list[int]], float], unbias: bool
) -> list[float]:
    """Whole samples beside each other, or two experiments that share none."""
    if found.pairing == BY_SAMPLE:
        both = [seed for seed in seeds[0] if seed in seeds[1]]
        plain = figure(0, both) - figure(1, both)
        error, mean = jackknife(lambda use: figure(0, use) - figure(1, use), both)
        shown = len(both) * plain - (len(both) - 1) * mean if unbias else plain
        return interval(shown, error, len(both) - 1)
    assert found.pairing == UNPAIRED
    sides, variances = [], []
    for side in (0, 1):
        own, m = figure(side, seeds[side]), len(seeds[side])
        error, mean = jackknife(lambda use, side=side: figure(side, use), seeds[side])  # type: ignore[misc]
        sides.append(m * own - (m - 1) * mean if unbias else own)
        variances.append(error**2)
    parts = sum(v**2 / (len(s) - 1) for v, s in zip(variances, seeds, strict=True))
    return interval(sides[0] - sides[1], sum(variances) ** 0.5, sum(variances) ** 2 / parts)


def interval(middle: float, error: float, degrees: float) -> list[float]:
    """Student's."""
    margin = student(degrees) * error
    return [middle, middle - margin, middle + margin]


@pytest.mark.parametrize(
    ("changes", "pairing"),
    [
        ({"evidence_view": "cleaned"}, BY_EVIDENCE),
        ({"scale_size": 5}, BY_EVIDENCE),
        ({"evidence_bundle_size": 2}, BY_SAMPLE),
        ({"seed": 8}, UNPAIRED),
    ],
)
def test_every_contrast_is_what_numpy_finds(changes: dict[str, Any], pairing: str) -> None:
    one, other = arm(1), arm(2, **changes)

    found = compare_experiments([one, other]).contrasts

    assert {contrast.model for contrast in found} == set(one.experiment.models)
    names = {q.name for q in QUESTIONS if "scale_size" not in changes or not q.same_scale}
    assert {contrast.question for contrast in found} == names
    for contrast in found:
        whole = BY_SAMPLE if pairing == BY_EVIDENCE else pairing
        assert contrast.pairing == (whole if contrast.question == "spread" else pairing)
        told = contrast.difference
        wanted = by_hand(contrast, other, one)
        assert [told.value, told.low, told.high] == pytest.approx(wanted, abs=1e-8), contrast


def test_levels_are_figures_of_the_scores() -> None:
    rows = arm(1)

    levels = compare_experiments([rows, arm(2)]).levels

    for level in levels:
        if level.experiment == "arm-1" and level.question != "spread":
            own = answers(rows, level.model)
            values = [value(level.question, row, 4) for row in own.values()]
            known = [item for item in values if item is not None]
            assert level.figure.value == pytest.approx(np.mean(known))
            assert level.figure.observations == len(known)


def test_pairs_differ_in_one_setting_and_who_is_in_none_is_held_to_the_first() -> None:
    grid = [arm(n, scale_size=s, abstain_enabled=a) for n, (s, a) in
            enumerate([(3, True), (3, False), (4, True), (4, False)], 1)]  # fmt: skip
    far = arm(9, scale_size=5, method="single", seed=3)

    found = compare_experiments([*grid, far])

    pairs = dict.fromkeys((item.of, item.against, item.varies) for item in found.contrasts)
    assert list(pairs) == [
        ("arm-3", "arm-1", ("scale_size",)),
        ("arm-4", "arm-2", ("scale_size",)),
        ("arm-2", "arm-1", ("abstain_enabled",)),
        ("arm-4", "arm-3", ("abstain_enabled",)),
        ("arm-9", "arm-1", ("scale_size", "method", "seed")),
    ]
    assert found.varying_names == ("scale_size", "method", "abstain_enabled", "seed")
    assert found.common_settings["concept"] == "civil order"


def test_what_the_design_decides_is_no_contrast() -> None:
    one, other = arm(1, method="single"), arm(2, method="single", evidence_view="cleaned")

    found = compare_experiments([one, other]).contrasts

    assert "singleton_rate" not in {contrast.question for contrast in found}
