"""Contrasts of experiments, each computed again by numpy from the rows of the tables."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from math import log2
from random import Random
from typing import Any

import numpy as np
import pandas
import pytest

from quire.kits.judge.comparison import compare_experiments
from quire.kits.judge.contrast_families import find_family
from quire.kits.judge.contrast_questions import QUESTIONS
from quire.kits.judge.contrasts import (
    BY_EVIDENCE,
    BY_SAMPLE,
    UNPAIRED,
    Arm,
    Contrast,
    excludes_zero,
)
from quire.kits.judge.experiment import ExperimentRows, GroundTruth
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.metrics import Score
from quire.kits.judge.randomization import sample_seeds
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun
from tests.kits.judge.own_figures import above_chance, mean_of_sums
from tests.kits.judge.own_statistics import alpha, alpha_apart, holm, student, two_sided_p

SAMPLES = 6
KNOWN = GroundTruth(source="experts", value=2)
ALPHAS = ("self_agreement", "model_agreement", "choice_by_place")
Answers = dict[tuple[int, str], dict[str, Any]]
_KNOWN = dict[tuple[object, ...], Any]()


@pytest.fixture(autouse=True)
def _known_of_one_test() -> Iterator[None]:
    """What is made of the rows of a test is made once in it."""
    yield
    _KNOWN.clear()


def tables_of(rows: ExperimentRows) -> dict[str, Any]:
    """Its tables, made once."""
    key = ("tables", id(rows))
    if key not in _KNOWN:
        _KNOWN[key] = make_tables(rows), rows  # kept, so that no other has its id
    return _KNOWN[key][0]  # type: ignore[no-any-return]


def arm(number: int, **changes: Any) -> ExperimentRows:
    """A run of its own, answered by chance."""
    given = {"samples": SAMPLES, "method": "subset", "task_type": "control", "ground_truth": KNOWN,
             "randomizations": ("shuffle_rubric_order",)}  # fmt: skip
    wanted = experiment(experiment_tag=f"arm-{number}", **{**given, **changes})
    return replace(FakeRun(wanted, seed=number).rows(), run_id=number)


def answers(rows: ExperimentRows, model: str) -> Answers:
    """A model's scores by the seed of the sample and the bundle, straight from the table."""
    seeds = sample_seeds(rows.experiment.seed, rows.experiment.samples)
    return {
        (seeds[row["sample_ordinal"]], row["bundle_signature"]): row
        for row in tables_of(rows)["scores"]
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
    truth = row["ground_truth_stage"]
    right = float(list(stages) == [truth])
    said = row["expert_agreement_prob"]
    return {
        "critic_error": None if said is None else float((said - right) ** 2),
        "accuracy": right,
        "accuracy_above_chance": right,
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


def alpha_by_hand(
    found: Contrast, rows: ExperimentRows
) -> tuple[Any, Callable[[tuple[int, ...]], float]]:
    """Verdicts with their lines as the table has them, and an alpha of chosen samples."""
    key = (found.question, found.model, id(rows))
    if key not in _KNOWN:
        _KNOWN[key] = make_alpha(found, rows)
    return _KNOWN[key]  # type: ignore[no-any-return]


def make_alpha(
    found: Contrast, rows: ExperimentRows
) -> tuple[Any, Callable[[tuple[int, ...]], float]]:
    """The same, made anew; an alpha is counted once for the same samples."""
    tables, lines = tables_of(rows), dict[Any, list[int]]()
    for item in tables["score_items"]:
        lines.setdefault(item["score_id"], []).append(item["display_position"])
    seeds = sample_seeds(rows.experiment.seed, rows.experiment.samples)
    scores: list[Any] = [row for row in tables["scores"] if row["decoded_scores"]]
    frame = pandas.DataFrame(
        {**row, "seed": seeds[row["sample_ordinal"]], "value": tuple(sorted(row["decoded_scores"])),
         "line": tuple(sorted(lines[row["score_id"]]))}
        for row in scores
    )  # fmt: skip
    if found.model != "all models":
        frame = frame[frame.model_id == found.model]

    def within(use: tuple[int, ...], what: str) -> float:
        kept = frame[frame.seed.isin(use)]
        return alpha({at: list(of[what]) for at, of in kept.groupby("bundle_signature")}, "ordinal")

    figure = {
        "self_agreement": lambda use: within(use, "value"),
        "choice_by_place": lambda use: within(use, "line") - within(use, "value"),
        "model_agreement": lambda use: alpha_apart(frame[frame.seed.isin(use)], "ordinal"),
    }[found.question]
    return frame, cache(figure)


def jackknife(figure: Callable[[list[int]], float], seeds: list[int]) -> tuple[float, float]:
    """The error of a figure over samples, and the mean without each."""
    without = np.array([figure([seed for seed in seeds if seed != out]) for out in seeds])
    m = len(seeds)
    return float(np.sqrt((m - 1) / m * ((without - without.mean()) ** 2).sum())), without.mean()


def by_hand(
    found: Contrast, one: ExperimentRows, other: ExperimentRows, level: float = 0.95
) -> list[float]:
    """The difference and its interval by numpy, within what can be."""
    most = 1.0
    if found.question in ("accuracy_above_chance", *ALPHAS):
        most = float("inf")
    return [min(most, max(-most, place)) for place in unbounded(found, one, other, level)]


def unbounded(
    found: Contrast, one: ExperimentRows, other: ExperimentRows, level: float
) -> list[float]:
    """The same as plain formulas have it, paired as the contrast says."""
    sides = [(answers(rows, found.model), rows.experiment.scale_size) for rows in (one, other)]
    name = found.question
    if name == "spread":
        return spread_by_hand(found, sides, level)
    if name in ALPHAS:
        alphas = [alpha_by_hand(found, rows) for rows in (one, other)]
        given = [sorted(set(verdicts.seed)) for verdicts, _ in alphas]
        if found.pairing == BY_SAMPLE:  # who has no part in one still has in the other
            given = [sorted({*given[0], *given[1]})] * 2
        return unmatched(found, given, lambda side, use: alphas[side][1](tuple(use)), False, level)
    kept = [
        {at: v for at, row in rows.items() if (v := value(name, row, size)) is not None}
        for rows, size in sides
    ]
    if name.startswith("accuracy"):
        return hits_by_hand(found, kept, [guesses(*side) for side in sides], level)
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
        return interval(matched(seeds), error, len(seeds) - 1, level)

    def mean(side: int, use: list[int]) -> float:
        return float(np.mean([v for (seed, _), v in kept[side].items() if seed in use]))

    return unmatched(
        found, [sorted({seed for seed, _ in item}) for item in kept], mean, False, level
    )


_ByPlace = dict[tuple[int, str], float]


def guesses(rows: Answers, size: int) -> _ByPlace:
    """What a guess at as many stages as were named is right in."""
    named = {at: row["decoded_scores"] for at, row in rows.items() if row["decoded_scores"]}
    return {at: float(len(stages) == 1) / size for at, stages in named.items()}


def hits_by_hand(
    found: Contrast, kept: list[_ByPlace], chances: list[_ByPlace], level: float
) -> list[float]:
    """Each side's interval on the logit scale, or Wilson's; both joined as sides of a triangle."""
    if found.pairing == BY_EVIDENCE:
        kept = [{p: v for p, v in side.items() if p in kept[0] and p in kept[1]} for side in kept]
    seeds = [sorted({seed for seed, _ in side}) for side in kept]
    if found.pairing != UNPAIRED:
        seeds = [[seed for seed in seeds[0] if seed in seeds[1]]] * 2
    ends, moves = [], []
    for side, use, guess in zip(kept, seeds, chances, strict=True):
        hits = [[v for (s, _), v in side.items() if s == seed] for seed in use]
        chance = 0.0
        if found.question == "accuracy_above_chance":
            chance = float(np.mean([guess[place] for place in side if place[0] in use]))
        ends.append([(end - chance) / (1 - chance) for end in share_by_hand(hits, level)])
        moves.append(
            [np.mean(np.concatenate(hits[:at] + hits[at + 1 :])) for at in range(len(use))]
        )
    (p, k, u), (q, m, v) = ends
    still = min(map(np.std, moves)) < 1e-12
    r = 0.0 if found.pairing == UNPAIRED or still else np.corrcoef(moves)[0, 1]
    below = np.sqrt((p - k) ** 2 + (v - q) ** 2 - 2 * r * (p - k) * (v - q))
    above = np.sqrt((u - p) ** 2 + (q - m) ** 2 - 2 * r * (u - p) * (q - m))
    assert [found.of_value, found.against_value] == pytest.approx([p, q])
    return [p - q, p - q - below, p - q + above]


def share_by_hand(hits: list[list[float]], level: float) -> list[float]:
    """A share and its interval over samples."""
    share, t = float(np.mean(np.concatenate(hits))), student(len(hits) - 1, level)
    error, _ = jackknife(
        lambda use: float(np.mean(np.concatenate([hits[at] for at in use]))), list(range(len(hits)))
    )
    if error > 1e-12:
        half = t * error / (share * (1 - share))
        low, high = (1 / (1 + (1 / share - 1) * np.exp(-side * half)) for side in (-1, 1))
        return [share, low, high]
    count = float(sum(map(len, hits)))
    count /= 1 + (count / len(hits) - 1) * 0.1
    middle = (share + t**2 / count / 2) / (1 + t**2 / count)
    root = np.sqrt(share * (1 - share) / count + t**2 / (4 * count**2))
    half = t * root / (1 + t**2 / count)
    return [share, middle - half, middle + half]


def spread_by_hand(found: Contrast, sides: list[tuple[Answers, int]], level: float) -> list[float]:
    """The same of the spread, each side's bias taken away."""

    def figure(side: int, use: list[int]) -> float:
        rows, size = sides[side]
        return spread([row for (seed, _), row in rows.items() if seed in use], size)

    answered = [
        sorted({seed for (seed, _), row in rows.items() if row["decoded_scores"]})
        for rows, _ in sides
    ]
    return unmatched(found, answered, figure, True, level)


def unmatched(
    found: Contrast,
    seeds: list[list[int]],
    figure: Callable[[int, list[int]], float],
    unbias: bool,
    level: float,
) -> list[float]:
    """Whole samples beside each other, or two experiments that share none."""
    if found.pairing == BY_SAMPLE:
        both = [seed for seed in seeds[0] if seed in seeds[1]]
        plain = figure(0, both) - figure(1, both)
        error, mean = jackknife(lambda use: figure(0, use) - figure(1, use), both)
        shown = len(both) * plain - (len(both) - 1) * mean if unbias else plain
        return interval(shown, error, len(both) - 1, level)
    assert found.pairing == UNPAIRED
    sides, variances = [], []
    for side in (0, 1):
        own, m = figure(side, seeds[side]), len(seeds[side])
        error, mean = jackknife(lambda use, side=side: figure(side, use), seeds[side])  # type: ignore[misc]
        sides.append(m * own - (m - 1) * mean if unbias else own)
        variances.append(error**2)
    parts = sum(v**2 / (len(s) - 1) for v, s in zip(variances, seeds, strict=True))
    return interval(sides[0] - sides[1], sum(variances) ** 0.5, sum(variances) ** 2 / parts, level)


def interval(middle: float, error: float, degrees: float, level: float) -> list[float]:
    """Student's."""
    margin = student(degrees, level) * error
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

    found, models = compare_experiments([one, other]).contrasts, one.experiment.models

    for contrast in found:
        whose = {"all models"} if contrast.question == "model_agreement" else set(models)
        assert contrast.model in whose
    names = {q.name for q in QUESTIONS if "scale_size" not in changes or not q.same_scale}
    assert {contrast.question for contrast in found} == names
    for contrast in found:
        whole = BY_SAMPLE if pairing == BY_EVIDENCE else pairing
        of_all = contrast.question in ("spread", *ALPHAS)
        assert contrast.pairing == (whole if of_all else pairing)
        told = contrast.difference
        wanted = by_hand(contrast, other, one)
        assert [told.value, told.low, told.high] == pytest.approx(wanted, abs=1e-8), contrast
        wide = contrast.simultaneous
        wanted = by_hand(contrast, other, one, 1 - 0.05 / len(found))
        assert contrast.family == len(found)
        assert [wide.value, wide.low, wide.high] == pytest.approx(wanted, rel=1e-4), contrast


def test_what_stands_out_among_many_is_what_holms_procedure_rejects() -> None:
    """Six models that abstain more and more in one experiment, and alike in the other."""
    random, arms, t = Random(4), [], student(19)
    for name in ("one", "other"):
        scores = [
            Score(f"m{rank}", sample, f"e{piece}", decoded=True, agreement=random.random(),
                  stages=() if random.random() < 0.1 + 0.08 * rank * (name == "other")
                  else (random.randint(1, 4),))
            for rank in range(6) for sample in range(20) for piece in range(8)
        ]  # fmt: skip
        arms.append(Arm(name, 4, tuple(range(20)), tuple(scores), {"method": name}))

    found = [item for item in find_family(arms) if item.difference.low is not None]

    p_values = []
    for item in found:
        value, low, high = item.difference[:3]
        assert value is not None
        assert low is not None
        assert high is not None
        p_values.append(two_sided_p(value / ((high - low) / 2 / t), 19))
    assert [item.stands_out for item in found] == holm(p_values)
    alone = sum(bool(excludes_zero(item.difference)) for item in found)
    at_once = sum(bool(excludes_zero(item.simultaneous)) for item in found)
    assert alone > sum(bool(item.stands_out) for item in found) > at_once > 0


def test_levels_are_figures_of_the_scores_with_intervals_over_samples() -> None:
    rows = arm(1)

    levels = compare_experiments([rows, arm(2)]).levels

    own = [level for level in levels if level.experiment == "arm-1"]
    for level in (item for item in own if item.question not in ("spread", *ALPHAS)):
        sums: dict[int, list[float]] = {}
        for (seed, _), row in answers(rows, level.model).items():
            if (counted := value(level.question, row, 4)) is not None:
                sums.setdefault(seed, []).append(counted)
        totals, counts = (np.array([of(item) for item in sums.values()]) for of in (sum, len))
        wanted = list(mean_of_sums(totals, counts))
        if level.question == "accuracy_above_chance":
            ones = dict.fromkeys(sums, 0)
            for (seed, _), row in answers(rows, level.model).items():
                if seed in ones:
                    ones[seed] += len(row["decoded_scores"]) == 1
            wanted = list(above_chance(totals, np.array([*ones.values()]), counts, 4))
        assert list(level.figure) == pytest.approx(wanted, abs=1e-6), level


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


def test_the_values_of_a_spread_differ_by_its_difference() -> None:
    for changes in ({"evidence_view": "cleaned"}, {"seed": 8}):
        for item in compare_experiments([arm(1), arm(2, **changes)]).contrasts:
            assert item.of_value is not None
            assert item.against_value is not None
            apart = item.of_value - item.against_value
            assert apart == pytest.approx(item.difference.value), item
