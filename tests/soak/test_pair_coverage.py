"""Intervals of what is compared within samples hold the true value as often as said.

Two models, or one on two rubrics: in each sample half of what shifts their verdicts is common to
both. The true value is what very many samples come to, computed by numpy alone.
"""

from functools import cache

import numpy
import pytest
from numpy.typing import NDArray

from quire.kits.judge.agreement import BetweenModels, Display, measure_agreement
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import Score, measure

pytestmark = pytest.mark.soak

EXPERIMENTS = 600
MANY = 20_000  # samples that show the true value
LEAST, MOST = 0.93, 0.97
CHANCE = 0.018  # two standard errors of a share of so many experiments
DESIGNS = [(10, 10, 0.0), (10, 10, 1.0), (30, 10, 1.0), (10, 40, 0.5)]  # samples, pieces, spread
STAGES = 4
EDGES = numpy.linspace(-1.5, 1.5, STAGES - 1)

Design = tuple[int, int, float]
Stages = NDArray[numpy.int64]


def _draw(design: Design, chance: numpy.random.Generator) -> tuple[Stages, Stages]:
    """The stages, from 1, that both say of each piece in each sample; 0 where one abstains."""
    samples, pieces, spread = design
    common, *own = chance.normal(size=(3, samples, 1)) / numpy.sqrt(2)
    drawn = []
    for shift, rubric in zip((0.0, 0.8), own, strict=True):
        latent = 1.5 * numpy.linspace(-1, 1, pieces) + shift + spread * (common + rubric)
        stages = numpy.digitize(latent + chance.logistic(size=(samples, pieces)), EDGES) + 1
        drawn.append(numpy.where(chance.random(stages.shape) < 0.1, 0, stages))
    return drawn[0], drawn[1]


def _scores(stages: Stages, model: str, rubric: str) -> list[Score]:
    return [
        Score(model, sample, str(piece), decoded=True, stages=(int(stage),) if stage else (),
              is_swap=model != rubric, rubric_model=rubric)
        for sample, row in enumerate(stages)
        for piece, stage in enumerate(row)
    ]  # fmt: skip


@cache
def _true(design: Design) -> dict[str, float]:
    one, other = _draw((MANY, *design[1:]), numpy.random.default_rng(21))
    both = (one > 0) & (other > 0)
    pairs = numpy.zeros((STAGES, STAGES))
    numpy.add.at(pairs, (one[both] - 1, other[both] - 1), 1)
    share = pairs / pairs.sum()
    same, rows, columns = numpy.trace(share), share.sum(1), share.sum(0)
    totals = rows + columns  # of all values, twice
    values = (share + share.T) / 2
    ranks = numpy.cumsum(totals / 2) - totals / 4
    apart = (ranks[:, None] - ranks[None, :]) ** 2
    expected = numpy.outer(totals, totals) / 4
    return {
        "delta": float((one - other)[both].mean()),
        "kappa": float((same - rows @ columns) / (1 - rows @ columns)),
        "matched_nominal": float(1 - (1 - same) / (1 - numpy.trace(expected))),
        "matched_ordinal": float(1 - (values * apart).sum() / (expected * apart).sum()),
    }


def _check(covered: list[bool]) -> None:
    share = sum(covered) / len(covered)

    assert LEAST - CHANCE <= share <= MOST + CHANCE


def _covers(found: Estimate | None, true: float) -> bool:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low <= true <= found.high


@cache
def _agreements(design: Design) -> list[BetweenModels]:
    """How far both agree, in each experiment."""
    chance = numpy.random.default_rng(22)
    plain = Display(tuple(range(1, STAGES + 1)), tuple("ABCD"))
    displays = {(model, sample): plain for model in "ab" for sample in range(design[0])}
    found: list[BetweenModels] = []
    for _ in range(EXPERIMENTS):
        one, other = _draw(design, chance)
        scores = [*_scores(one, "a", "a"), *_scores(other, "b", "b")]
        found += measure_agreement(scores, displays).pairs
    return found


@pytest.mark.parametrize("name", ["kappa", "matched_nominal", "matched_ordinal"])
@pytest.mark.parametrize("design", DESIGNS)
def test_agreement_in_the_same_sample(design: Design, name: str) -> None:
    true = _true(design)[name]

    _check([_covers(getattr(pair, name), true) for pair in _agreements(design)])


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("design", DESIGNS)
def test_matched_and_swap_deltas(design: Design, swapped: bool) -> None:
    """Of two models in the same samples, and of one on its own rubric and on a rival's."""
    chance = numpy.random.default_rng(23)

    covered = []
    for _ in range(EXPERIMENTS):
        one, other = _draw(design, chance)
        rival = ("a", "b") if swapped else ("b", "b")
        scores = [*_scores(one, "a", "a"), *_scores(other, *rival)]
        found = measure(scores, tag="t", scale_size=STAGES)
        (delta,) = found.swap_deltas if swapped else found.deltas
        true = _true(design)["delta"] * (-1 if swapped else 1)  # a rival's rubric less one's own
        covered.append(_covers(delta.stages, true))

    _check(covered)
