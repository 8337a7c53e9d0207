"""Metrics: equal to what a data frame computes from the exported files, and right at the edges."""

import json
from itertools import combinations
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


def _check(figures: Figures, frame: Any, size: int) -> None:
    parsed = frame[frame.parse_status == "parsed"]
    answered = parsed[parsed.stages.map(len) > 0]
    items = answered.explode("stages")
    items["mass"] = 1 / items.groupby("score_id").score_id.transform("count")
    masses = items.groupby("stages").mass.sum() / len(answered)
    shares = masses.reindex(range(1, size + 1)).fillna(0)

    assert (figures.scores, figures.missing) == (len(parsed), len(frame) - len(parsed))
    assert figures.stage_shares == pytest.approx(tuple(shares), abs=1e-12)
    parts = [found.value or 0.0 for found in figures.stage_shares_of_decoded]
    abstained = figures.abstain_rate.value or 0.0
    assert parts == pytest.approx([share * (1 - abstained) for share in figures.stage_shares])
    assert {x.observations for x in figures.stage_shares_of_decoded} == {figures.scores}


def test_counts_and_shares_equal_an_independent_computation(both: tuple[Metrics, Any]) -> None:
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


def test_divergence_is_the_same_both_ways_and_none_from_oneself(both: tuple[Metrics, Any]) -> None:
    found = both[0].divergence

    for one, other in combinations(found, 2):
        assert found[other][one].value == found[one][other].value
        assert found[one][one].value == 0


def test_every_rival_is_held_against_itself(both: tuple[Metrics, Any]) -> None:
    metrics, _ = both

    assert len(metrics.deltas) == 3
    assert len(metrics.swap_deltas) == 6


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
