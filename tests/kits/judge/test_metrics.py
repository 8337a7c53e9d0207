"""Metrics: equal to what a data frame computes from the exported files, and right at the edges."""

import json
from itertools import combinations
from math import isclose, log2
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.kits.judge.experiment import Experiment, GroundTruth, all_pairs
from quire.kits.judge.experiment_export import write_tables
from quire.kits.judge.experiment_runs import typed_tables
from quire.kits.judge.experiment_tables import make_tables
from quire.kits.judge.intervals import SHARE, Estimate, estimate_contrast, estimate_mean
from quire.kits.judge.metrics import (
    Figures,
    Metrics,
    Score,
    divergence,
    entropy,
    measure,
    metrics_as_json,
    scores_of,
)
from quire.kits.judge.randomization import RANDOMIZATIONS
from tests.kits.judge.examples import experiment
from tests.kits.judge.fake_run import FakeRun

EXPERIMENTS = {
    "single": {"method": "single", "scale_size": 3},
    "subset": {"method": "subset", "scale_size": 4},
    "forced": {"method": "subset", "scale_size": 5, "abstain_enabled": False},
}


def _experiment(name: str) -> Experiment:
    return experiment(
        samples=6,
        randomizations=RANDOMIZATIONS,
        swaps=all_pairs(experiment().models),
        task_type="control",
        ground_truth=GroundTruth(source="experts", value=2),
        **EXPERIMENTS[name],
    )


@pytest.fixture(scope="module", params=list(EXPERIMENTS))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An experiment's metrics, and its exported scores as a frame."""
    wanted = _experiment(request.param)
    rows = FakeRun(wanted).rows()
    folder: Path = tmp_path_factory.mktemp("metrics")
    write_tables(rows, typed_tables(rows), folder)
    frame = pandas.read_csv(folder / "scores.csv")
    frame["stages"] = frame.decoded_scores.fillna("null").map(json.loads)
    metrics = measure(
        scores_of(make_tables(rows)["scores"]),
        tag=wanted.experiment_tag,
        scale_size=wanted.scale_size,
    )
    return metrics, frame


def _same(ours: float | None, theirs: float) -> bool:
    return ours is not None and isclose(ours, theirs, abs_tol=1e-12)


def _check(figures: Figures, frame: Any, size: int) -> None:
    parsed = frame[frame.parse_status == "parsed"]
    answered = parsed[parsed.stages.map(len) > 0]
    items = answered.explode("stages")
    items["mass"] = 1 / items.groupby("score_id").score_id.transform("count")
    masses = items.groupby("stages").mass.sum() / len(answered)
    expected = answered.stages.map(lambda stages: sum(stages) / len(stages))
    middle = {3: [2], 4: [2, 3], 5: [3]}[size]

    assert (figures.scores, figures.missing) == (len(parsed), len(frame) - len(parsed))
    assert _same(figures.abstain_rate.value, 1 - len(answered) / len(parsed))
    assert _same(figures.singleton_rate.value, (answered.stages.map(len) == 1).mean())
    assert _same(figures.mean_subset_size.value, answered.stages.map(len).mean())
    assert _same(figures.expected_stage.value, expected.mean())
    assert _same(figures.mid_scale_occupancy.value, masses.reindex(middle).fillna(0).sum())
    assert _same(figures.critic_agreement.value, parsed.expert_agreement_prob.mean())
    assert _same(figures.accuracy.value, (answered.stages.map(str) == "[2]").mean())
    assert _same(figures.coverage.value, answered.stages.map(lambda item: 2 in item).mean())
    assert _same(figures.stage_error.value, (expected - 2).abs().mean())
    shares = masses.reindex(range(1, size + 1)).fillna(0)
    assert all(map(_same, figures.stage_shares, shares))
    parts = [found.value or 0.0 for found in figures.stage_shares_of_decoded]
    abstained = figures.abstain_rate.value or 0.0
    assert parts == pytest.approx([share * (1 - abstained) for share in figures.stage_shares])
    assert {x.observations for x in figures.stage_shares_of_decoded} == {figures.scores}


def test_figures_equal_an_independent_computation(both: tuple[Metrics, Any]) -> None:
    metrics, frame = both
    own = frame[~frame.is_swap]

    _check(metrics.overall, own, metrics.scale_size)
    assert [item.model for item in metrics.by_model] == list(own.model_id.unique())
    for figures in metrics.by_model:
        _check(figures, own[own.model_id == figures.model], metrics.scale_size)


def test_intervals_hold_their_figure(both: tuple[Metrics, Any]) -> None:
    for figures in (both[0].overall, *both[0].by_model):
        for name in ("abstain_rate", "expected_stage", "stage_entropy", "critic_agreement"):
            estimate = getattr(figures, name)
            assert estimate.low <= estimate.value <= estimate.high
            assert 0 < estimate.high - estimate.low < 2 or estimate.value == 0


def _plain_entropy(masses: Any) -> float:
    parts = masses[masses > 0] / masses.sum()
    return float(-(parts * numpy.log2(parts)).sum())


def _masses_by_sample(frame: Any, size: int) -> Any:
    """A row a sample, a column a stage: what the answered scores of the sample come to."""
    answered = frame[(frame.parse_status == "parsed") & (frame.stages.map(lambda x: bool(x)))]
    rows = [
        [sum((stage in s) / len(s) for s in group) for stage in range(1, size + 1)]
        for _, group in answered.groupby("sample_ordinal").stages
    ]
    return numpy.array(rows)


def test_entropy_is_the_jackknifes_of_samples(both: tuple[Metrics, Any]) -> None:
    metrics, frame = both
    own = frame[~frame.is_swap]

    for figures in metrics.by_model:
        masses = _masses_by_sample(own[own.model_id == figures.model], metrics.scale_size)
        plain, m = _plain_entropy(masses.sum(0)), len(masses)
        without = numpy.array([_plain_entropy(masses.sum(0) - row) for row in masses])
        corrected = m * plain - (m - 1) * without.mean()
        assert _same(figures.stage_entropy.value, min(log2(metrics.scale_size), corrected))
        assert figures.stage_entropy.clusters == m


def test_intervals_equal_an_independent_computation(both: tuple[Metrics, Any]) -> None:
    metrics, frame = both
    students = {5: 2.570581835636314, 4: 2.776445105197793}  # 97.5 %, of a printed table

    for figures in metrics.by_model:
        own = frame[~frame.is_swap & (frame.model_id == figures.model)]
        parsed = own[own.parse_status == "parsed"]
        hits = parsed.stages.map(lambda x: float(not x)).groupby(parsed.sample_ordinal)
        total, count = hits.sum().to_numpy(), hits.count().to_numpy()
        share, m = total.sum() / count.sum(), len(total)
        if share in (0, 1):
            continue
        without = (total.sum() - total) / (count.sum() - count)
        error = numpy.sqrt((m - 1) / m * ((without - without.mean()) ** 2).sum())
        logit = numpy.log(share / (1 - share))
        margin = students[m - 1] * error / (share * (1 - share))
        ends = [1 / (1 + numpy.exp(-(logit + side * margin))) for side in (-1, 1)]
        found = figures.abstain_rate
        assert [found.low, found.high] == pytest.approx(ends, rel=1e-9)
        assert (found.observations, found.clusters) == (len(parsed), m)


def test_divergence_equals_an_independent_computation(both: tuple[Metrics, Any]) -> None:
    metrics, frame = both
    own, size = frame[~frame.is_swap], metrics.scale_size

    def jensen(one: Any, other: Any) -> float:
        mixed = (one / one.sum() + other / other.sum()) / 2
        return _plain_entropy(mixed) - (_plain_entropy(one) + _plain_entropy(other)) / 2

    for one, other in combinations([figures.model for figures in metrics.by_model], 2):
        a, b = (_masses_by_sample(own[own.model_id == model], size) for model in (one, other))
        plain = jensen(a.sum(0), b.sum(0))
        first = numpy.mean([jensen(a.sum(0) - row, b.sum(0)) for row in a]) - plain
        second = numpy.mean([jensen(a.sum(0), b.sum(0) - row) for row in b]) - plain
        wanted = max(0.0, float(plain - (len(a) - 1) * first - (len(b) - 1) * second))
        found = metrics.divergence[one][other]
        assert _same(found.value, wanted)
        assert found.low is not None
        assert found.high is not None
        assert found.low <= wanted <= found.high
        assert _same(metrics.divergence[other][one].value, wanted)
        assert metrics.divergence[one][one].value == 0


def test_deltas_match_samples_and_bundles(both: tuple[Metrics, Any]) -> None:
    metrics, frame = both
    answered = frame[frame.stages.map(lambda item: bool(item))].copy()
    answered["expected"] = answered.stages.map(lambda item: sum(item) / len(item))
    keys = ["sample_ordinal", "bundle_signature"]
    own = answered[~answered.is_swap]
    for delta in metrics.deltas:
        one, other = (own[own.model_id == model] for model in (delta.of, delta.against))
        matched = one.merge(other, on=keys)
        assert delta.stages.observations == len(matched)
        assert _same(delta.stages.value, (matched.expected_x - matched.expected_y).mean())
    assert len(metrics.swap_deltas) == 6
    for delta in metrics.swap_deltas:
        swapped = answered[
            answered.is_swap
            & (answered.model_id == delta.of)
            & (answered.rubric_model_id == delta.against)
        ]
        matched = swapped.merge(own[own.model_id == delta.of], on=keys)
        assert _same(delta.stages.value, (matched.expected_x - matched.expected_y).mean())


def test_nothing_observed_is_said_as_nothing() -> None:
    metrics = measure([Score("m", 0, "e", decoded=False)], tag="t", scale_size=4)

    assert (metrics.overall.scores, metrics.overall.missing) == (0, 1)
    assert metrics.overall.abstain_rate.value is None
    assert metrics.overall.expected_stage.value is None
    assert metrics.overall.stage_shares == (0.0, 0.0, 0.0, 0.0)
    assert metrics.divergence == {"m": {"m": Estimate(None)}}
    assert json.loads(json.dumps(metrics_as_json(metrics)))["by_model"][0]["model"] == "m"


def test_no_scores_at_all_are_measured_too() -> None:
    assert measure([], tag="t", scale_size=2).by_model == ()


def test_a_share_that_is_none_or_all_has_an_interval_too() -> None:
    none = estimate_mean([(0.0, 10.0)] * 5, SHARE)
    every = estimate_mean([(10.0, 10.0)] * 5, SHARE)

    assert (none.value, none.low, none.observations, none.clusters) == (0.0, 0.0, 50, 5)
    assert none.high == pytest.approx(0.2266, abs=1e-3)  # t²/(n + t²), t = 2.776, n = 50 / 1.9
    assert every.low == pytest.approx(1 - (none.high or 0))
    assert every.high == 1


def test_scores_that_are_alike_within_a_sample_tell_less() -> None:
    alike = [(10.0, 10.0), (0.0, 10.0)] * 5
    mixed = [(5.0, 10.0), (4.0, 10.0), (6.0, 10.0)] * 3 + [(5.0, 10.0)]

    wide, narrow = estimate_mean(alike, SHARE), estimate_mean(mixed, SHARE)

    assert wide.value == narrow.value == 0.5
    assert (wide.high or 0) - (wide.low or 0) > 4 * ((narrow.high or 0) - (narrow.low or 0))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(any), st.randoms())
def test_divergence_lies_between_none_and_all(one: list[float], chance: Random) -> None:
    other = one[:]
    chance.shuffle(other)

    found = divergence(tuple(one), tuple(other))

    assert found is not None
    assert 0 <= found <= 1
    assert divergence(tuple(one), tuple(one)) == pytest.approx(0, abs=1e-12)


def test_disjoint_verdicts_are_one_bit_apart() -> None:
    assert divergence((1, 0), (0, 3)) == 1
    assert entropy((2, 2, 2, 2)) == 2
    assert entropy((5, 0)) == 0


def test_models_that_are_alike_are_known_to_be_nearly_so() -> None:
    """Of 600 verdicts each, nobody should say that they may have nothing in common."""
    random = Random(3)
    one, other = (
        [tuple(float(random.randint(3, 7)) for _ in range(4)) for _ in range(30)] for _ in range(2)
    )

    found = estimate_contrast(one, other, divergence, 1_200)

    assert found.low == 0
    assert 0 < (found.high or 1) < 0.05


def test_the_error_of_a_mean_is_found() -> None:
    random = Random(1)
    clusters = [(random.gauss(10, 2), 1.0) for _ in range(200)]
    values = numpy.array([value for value, _ in clusters])

    found = estimate_mean(clusters)

    # of one observation a cluster the jackknife's error is the usual one
    margin = 1.9719565442492 * values.std(ddof=1) / numpy.sqrt(200)
    assert found.low == pytest.approx(values.mean() - margin, rel=1e-9)
    assert found.high == pytest.approx(values.mean() + margin, rel=1e-9)
