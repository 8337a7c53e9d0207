"""Intervals of judge experiments hold the true value about 95 of 100 times, design by design.

Verdicts are drawn from a latent strength: of the piece of evidence, the same in every sample; of
the rubric, which shifts all verdicts of its sample; and of the draw. The true value of a figure is
what very many samples come to.
"""

from itertools import product
from math import log2

import numpy
import pytest
from numpy.typing import NDArray

from quire.kits.judge.agreement import (
    NOMINAL,
    ORDINAL,
    Rating,
    alpha_between_groups,
    estimate_alpha,
    estimate_alpha_between,
    krippendorff_alpha,
)
from quire.kits.judge.correctness import Correctness, measure_correctness
from quire.kits.judge.intervals import (
    SHARE,
    Ends,
    Estimate,
    estimate_contrast,
    estimate_mean,
    estimate_statistic,
)
from quire.kits.judge.metrics import Score, divergence, entropy

pytestmark = pytest.mark.soak

EXPERIMENTS = 1_500
MANY = 40_000  # samples that show the true value
LEAST, MOST = 0.93, 0.97
CHANCE = 0.012  # two standard errors of a share of so many experiments
DESIGNS = [*product((10, 30), (10, 40), (0.0, 0.5, 1.0))]  # samples, evidence, rubrics' spread

Counts = NDArray[numpy.float64]


def _stages(
    design: tuple[int, int, float], scale: int, shift: float, chance: numpy.random.Generator
) -> NDArray[numpy.int64]:
    """The stage, from 0, that each sample names of each piece."""
    samples, pieces, spread = design
    strength = numpy.linspace(-1, 1, pieces) + shift
    latent = strength + spread * chance.normal(size=(samples, 1))
    latent = latent + chance.logistic(size=(samples, pieces))
    return numpy.digitize(latent, numpy.linspace(-1.5, 1.5, scale - 1))


def _stage_counts(
    design: tuple[int, int, float], scale: int, shift: float, chance: numpy.random.Generator
) -> Counts:
    """How often each sample names each stage."""
    stages = _stages(design, scale, shift, chance)
    return numpy.stack([(stages == stage).sum(1) for stage in range(scale)], 1).astype(float)


def _many(design: tuple[int, int, float]) -> tuple[int, int, float]:
    return (MANY, *design[1:])


def _covers(found: Estimate, true: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= true <= found.high


def _check(covered: list[bool], most: float = MOST) -> None:
    share = sum(covered) / len(covered)

    assert LEAST - CHANCE <= share <= most + CHANCE


@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.parametrize("design", DESIGNS)
def test_shares(design: tuple[int, int, float], shift: float) -> None:
    chance = numpy.random.default_rng(1)
    every = _stage_counts(_many(design), 3, shift, chance)
    true = every[:, 0].sum() / every.sum()

    covered = []
    for _ in range(EXPERIMENTS):
        counts = _stage_counts(design, 3, shift, chance)
        covered.append(_covers(estimate_mean([(row[0], row.sum()) for row in counts], SHARE), true))

    _check(covered)


@pytest.mark.parametrize("design", DESIGNS)
def test_expected_stages(design: tuple[int, int, float]) -> None:
    chance = numpy.random.default_rng(2)
    stages = numpy.arange(1, 6)
    every = _stage_counts(_many(design), 5, 0.7, chance)
    true = (every @ stages).sum() / every.sum()

    covered = []
    for _ in range(EXPERIMENTS):
        counts = _stage_counts(design, 5, 0.7, chance)
        clusters = [(float(row @ stages), row.sum()) for row in counts]
        covered.append(_covers(estimate_mean(clusters, Ends(1, 5)), true))

    _check(covered)


@pytest.mark.parametrize(("scale", "shift"), [(3, 0.0), (3, 1.5), (5, 1.5)])
@pytest.mark.parametrize("design", DESIGNS)
def test_entropies(design: tuple[int, int, float], scale: int, shift: float) -> None:
    _check(_covered_entropies(design, scale, shift))


@pytest.mark.parametrize("design", DESIGNS)
def test_entropies_as_large_as_can_be(design: tuple[int, int, float]) -> None:
    """At its end the interval has one side only, and holds more often."""
    _check(_covered_entropies(design, 5, 0.0), 1.0)


def _covered_entropies(design: tuple[int, int, float], scale: int, shift: float) -> list[bool]:
    chance = numpy.random.default_rng(3)
    true = entropy(tuple(_stage_counts(_many(design), scale, shift, chance).sum(0)))
    assert true is not None
    covered = []
    for _ in range(EXPERIMENTS):
        clusters = [tuple(row) for row in _stage_counts(design, scale, shift, chance)]
        found = estimate_statistic(clusters, entropy, Ends(0, log2(scale)), len(clusters))
        covered.append(_covers(found, true))
    return covered


@pytest.mark.parametrize(("shift", "most"), [(0.0, 1.0), (0.5, 1.0), (1.5, MOST)])
@pytest.mark.parametrize("design", DESIGNS)
def test_divergences(design: tuple[int, int, float], shift: float, most: float) -> None:
    """Where models are alike, or nearly, the interval begins at 0, and holds more often."""
    chance = numpy.random.default_rng(4)
    one, other = (_stage_counts(_many(design), 3, by, chance).sum(0) for by in (0.0, shift))
    true = divergence(tuple(one), tuple(other)) if shift else 0.0
    assert true is not None

    covered = []
    for _ in range(EXPERIMENTS):
        first, second = (
            [tuple(row) for row in _stage_counts(design, 3, by, chance)] for by in (0, shift)
        )
        covered.append(_covers(estimate_contrast(first, second, divergence, 1), true))

    _check(covered, most)


FEWER = 600  # experiments, of figures that are slow to compute
FEWER_CHANCE = 0.018
FEWER_DESIGNS = [*product((10, 30), (10,), (0.0, 1.0)), (10, 40, 0.5)]
ENOUGH = 4_000  # samples that show the true value of an alpha


def _check_fewer(covered: list[bool]) -> None:
    share = sum(covered) / len(covered)

    assert LEAST - FEWER_CHANCE <= share <= MOST + FEWER_CHANCE


def _ratings(stages: NDArray[numpy.int64], group: str = "m") -> list[Rating]:
    return [
        Rating(piece, group, sample, (int(stage) + 1,))
        for sample, row in enumerate(stages)
        for piece, stage in enumerate(row)
    ]


@pytest.mark.parametrize("level", [NOMINAL, ORDINAL])
@pytest.mark.parametrize("design", FEWER_DESIGNS)
def test_alphas_within_a_model(design: tuple[int, int, float], level: str) -> None:
    chance = numpy.random.default_rng(5)
    many = _stages((ENOUGH, *design[1:]), 4, 0.3, chance)
    units = [[(int(stage),) for stage in column] for column in many.T]
    true = krippendorff_alpha(units, level)
    assert true is not None

    covered = []
    for _ in range(FEWER):
        found = estimate_alpha(_ratings(_stages(design, 4, 0.3, chance)), level)
        covered.append(_covers(found, true))

    _check_fewer(covered)


@pytest.mark.parametrize("level", [NOMINAL, ORDINAL])
@pytest.mark.parametrize("design", FEWER_DESIGNS)
def test_alphas_between_models(design: tuple[int, int, float], level: str) -> None:
    chance = numpy.random.default_rng(6)

    def draw(samples: int) -> list[Rating]:
        drawn = (samples, *design[1:])
        one, other = (_stages(drawn, 4, shift, chance) for shift in (0.0, 0.8))
        return [*_ratings(one, "a"), *_ratings(other, "b")]

    true = alpha_between_groups(draw(ENOUGH), level)
    assert true is not None
    covered = []
    for _ in range(FEWER):
        covered.append(_covers(estimate_alpha_between(draw(design[0]), level), true))

    _check_fewer(covered)


@pytest.mark.parametrize(
    ("name", "several"),
    [
        ("corrected", 0),
        ("corrected", 0.5),
        *((n, 0) for n in ("kappa", "discrimination", "right_of_all")),
    ],
)
@pytest.mark.parametrize("design", FEWER_DESIGNS)
def test_accuracies(design: tuple[int, int, float], name: str, several: float) -> None:
    """Truth is the stage of the piece's strength; the critic is surer of right verdicts.

    `several` of the verdicts name two stages, in some samples more of them than in others.
    """
    chance = numpy.random.default_rng(7)
    edges = numpy.linspace(-1.5, 1.5, 3)
    truths = numpy.digitize(numpy.linspace(-1, 1, design[1]), edges)

    def measure(samples: int) -> Correctness:
        stages = _stages((samples, *design[1:]), 4, 0.3, chance)
        sure = 1 / (1 + numpy.exp(-(0.8 * (stages == truths) + chance.logistic(size=stages.shape))))
        abstains = chance.random(stages.shape) < 0.1
        doubts = chance.random(stages.shape) < 2 * several * chance.random((samples, 1))
        (found,) = measure_correctness(
            [
                Score("m", sample, str(piece), decoded=True, truth=int(truths[piece]) + 1,
                      stages=() if abstains[sample, piece]
                      else tuple(range(int(stage) + 1, int(stage) + 2 + doubts[sample, piece])),
                      agreement=float(sure[sample, piece]))
                for sample, row in enumerate(stages)
                for piece, stage in enumerate(row)
            ],
            4,
        )  # fmt: skip
        return found

    true = _mean_of(name, [measure(60) for _ in range(60)])
    covered = [_covers(getattr(measure(design[0]), name), true) for _ in range(FEWER)]

    _check_fewer(covered)


def _mean_of(name: str, found: list[Correctness]) -> float:
    values = [getattr(item, name).value for item in found]
    return float(numpy.mean(values))
