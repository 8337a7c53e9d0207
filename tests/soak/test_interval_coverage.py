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

from quire.kits.judge.intervals import (
    SHARE,
    Ends,
    Estimate,
    estimate_contrast,
    estimate_mean,
    estimate_statistic,
)
from quire.kits.judge.metrics import divergence, entropy

pytestmark = pytest.mark.soak

EXPERIMENTS = 1_500
MANY = 40_000  # samples that show the true value
LEAST, MOST = 0.93, 0.97
CHANCE = 0.012  # two standard errors of a share of so many experiments
DESIGNS = [*product((10, 30), (10, 40), (0.0, 0.5, 1.0))]  # samples, evidence, rubrics' spread

Counts = NDArray[numpy.float64]


def _stage_counts(
    design: tuple[int, int, float], scale: int, shift: float, chance: numpy.random.Generator
) -> Counts:
    """How often each sample names each stage."""
    samples, pieces, spread = design
    strength = numpy.linspace(-1, 1, pieces) + shift
    latent = strength + spread * chance.normal(size=(samples, 1))
    latent = latent + chance.logistic(size=(samples, pieces))
    stages = numpy.digitize(latent, numpy.linspace(-1.5, 1.5, scale - 1))
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
