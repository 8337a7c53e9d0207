"""Metrics: equal to what a data frame computes from the exported files, and right at the edges."""

import json
from itertools import combinations
from math import isclose, log2
from pathlib import Path
from random import Random
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.kits.judge.experiment import Experiment, GroundTruth, all_pairs
from quire.kits.judge.experiment_tables import make_tables, write_tables
from quire.kits.judge.metrics import (
    Figures,
    Metrics,
    Score,
    divergence,
    entropy,
    measure,
    metrics_as_json,
    ratio,
    resample,
    scores_of,
    share,
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
    write_tables(rows, folder)
    frame = pandas.read_csv(folder / "scores.csv")
    frame["stages"] = frame.decoded_scores.fillna("null").map(json.loads)
    metrics = measure(
        scores_of(make_tables(rows)["scores"]),
        tag=wanted.experiment_tag,
        scale_size=wanted.scale_size,
        seed=3,
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
    assert _same(figures.stage_entropy.value, -sum(p * log2(p) for p in masses if p))
    assert _same(figures.critic_agreement.value, parsed.expert_agreement_prob.mean())
    assert _same(figures.accuracy.value, (answered.stages.map(str) == "[2]").mean())
    assert _same(figures.coverage.value, answered.stages.map(lambda item: 2 in item).mean())
    assert _same(figures.stage_error.value, (expected - 2).abs().mean())
    shares = masses.reindex(range(1, size + 1)).fillna(0)
    assert all(map(_same, figures.stage_shares, shares))


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
            assert 0 < estimate.high - estimate.low < 1.5 or estimate.value == 0


def test_divergence_equals_an_independent_computation(both: tuple[Metrics, Any]) -> None:
    metrics, _ = both
    shares = {figures.model: figures.stage_shares for figures in metrics.by_model}

    for one, other in combinations(shares, 2):
        mixed = [(a + b) / 2 for a, b in zip(shares[one], shares[other], strict=True)]
        kullback = [
            sum(p * log2(p / m) for p, m in zip(shares[model], mixed, strict=True) if p)
            for model in (one, other)
        ]
        assert _same(metrics.divergence[one][other], sum(kullback) / 2)
        assert metrics.divergence[one][other] == metrics.divergence[other][one]
        assert metrics.divergence[one][one] == 0


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


def test_the_seed_alone_decides_the_intervals() -> None:
    random = Random(2)
    scores = [Score("m", n % 30, str(n), True, (1,), random.random()) for n in range(90)]

    same = [measure(scores, tag="t", scale_size=4, seed=5) for _ in range(2)]

    assert same[0] == same[1]
    other = measure(scores, tag="t", scale_size=4, seed=6)
    assert same[0].overall.critic_agreement.low != other.overall.critic_agreement.low


def test_nothing_observed_is_said_as_nothing() -> None:
    metrics = measure([Score("m", 0, "e", decoded=False)], tag="t", scale_size=4)

    assert (metrics.overall.scores, metrics.overall.missing) == (0, 1)
    assert metrics.overall.abstain_rate.value is None
    assert metrics.overall.expected_stage.value is None
    assert metrics.overall.stage_shares == (0.0, 0.0, 0.0, 0.0)
    assert metrics.divergence == {"m": {"m": None}}
    assert json.loads(json.dumps(metrics_as_json(metrics)))["by_model"][0]["model"] == "m"


def test_no_scores_at_all_are_measured_too() -> None:
    assert measure([], tag="t", scale_size=2).by_model == ()


def test_a_share_has_the_interval_that_wilson_gives() -> None:
    found = share(8, 10)

    assert found.value == 0.8
    assert found.low == pytest.approx(0.4901625, abs=1e-6)
    assert found.high == pytest.approx(0.9433178, abs=1e-6)
    assert share(0, 5).low == 0
    assert share(5, 5).high == 1


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


def test_resampling_finds_the_error_of_a_mean() -> None:
    random = Random(1)
    clusters = [(random.gauss(10, 2), 1.0) for _ in range(200)]

    found = resample(clusters, ratio, 200, 1)

    assert found.low is not None
    assert found.high is not None
    # two standard errors each way: 1.96 × 2 / √200 = 0.277
    assert found.high - found.low == pytest.approx(2 * 0.277, rel=0.2)
