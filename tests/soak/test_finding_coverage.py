"""Intervals of contrasts, drift, calibration and correlations hold the true value as often as said.

Verdicts are drawn as in test_interval_coverage; the true value is known by construction, or is what
very many samples come to, computed by numpy alone.
"""

from itertools import product
from typing import NamedTuple

import numpy
import pytest
from numpy.typing import NDArray

from quire.kits.judge.agreement import Display, measure_agreement
from quire.kits.judge.alpha_contrasts import (
    ALL_MODELS,
    CHOICE_BY_PLACE,
    MODEL_AGREEMENT,
    SELF_AGREEMENT,
    Alpha,
    compare_alphas,
    measure_alphas,
)
from quire.kits.judge.calibration import OTHERS, TRUTH, measure_calibration
from quire.kits.judge.contrast_families import find_family
from quire.kits.judge.contrast_questions import QUESTIONS
from quire.kits.judge.contrasts import Arm, compare
from quire.kits.judge.correlations import estimate_correlation, moments
from quire.kits.judge.drift import measure_drift
from quire.kits.judge.evidence_figures import measure_evidence
from quire.kits.judge.intervals import Estimate
from quire.kits.judge.metrics import Score

pytestmark = pytest.mark.soak

EXPERIMENTS = 600
MANY = 40_000  # samples that show the true value
LEAST, MOST = 0.93, 0.97
CHANCE = 0.018  # two standard errors of a share of so many experiments
FEWER, FEWER_CHANCE = 200, 0.031  # the same, of figures that are slow to compute
DESIGNS = [(10, 10, 0.0), (10, 10, 1.0), (30, 10, 1.0), (10, 40, 0.5)]  # samples, pieces, spread
STAGES = 4
EDGES = numpy.linspace(-1.5, 1.5, STAGES - 1)

Design = tuple[int, int, float]


class Verdicts(NamedTuple):
    """What each sample says of each piece: its stage from 1, 0 where it abstains; its critic."""

    stages: NDArray[numpy.int64]
    said: NDArray[numpy.float64]
    truths: NDArray[numpy.int64]
    open_below: float = 0.0  # critics below it leave two stages open

    def named(self, sample: int, piece: int, stage: int) -> tuple[int, ...]:
        """Nothing, the stage, or where the critic doubts, the one below it, too."""
        if self.open_below and stage > 1 and self.said[sample, piece] < self.open_below:
            return (stage - 1, stage)
        return (stage,) if stage else ()

    def scores(self) -> tuple[Score, ...]:
        return tuple(
            Score("m", sample, str(piece), decoded=True,
                  stages=self.named(sample, piece, int(stage)),
                  agreement=float(self.said[sample, piece]), truth=int(self.truths[piece]))
            for sample, row in enumerate(self.stages)
            for piece, stage in enumerate(row)
        )  # fmt: skip

    def right(self) -> NDArray[numpy.bool_]:
        found: NDArray[numpy.bool_] = self.stages == self.truths
        return found


def _draw(
    design: Design,
    chance: numpy.random.Generator,
    rubrics: NDArray[numpy.float64] | None = None,
    shift: float = 0.3,
    trend: float = 0.0,
) -> Verdicts:
    samples, pieces, spread = design
    strength = numpy.linspace(-1, 1, pieces)
    truths = numpy.digitize(strength, EDGES) + 1
    own = chance.normal(size=(samples, 1)) if rubrics is None else rubrics
    latent = strength + shift + spread * own + trend * numpy.linspace(0, 1, samples)[:, None]
    stages = numpy.digitize(latent + chance.logistic(size=(samples, pieces)), EDGES) + 1
    surer = 0.8 * (stages == truths) + spread * own + chance.logistic(size=stages.shape)
    abstains = chance.random(stages.shape) < 1 / (1 + numpy.exp(2 - spread * own - shift))
    return Verdicts(numpy.where(abstains, 0, stages), 1 / (1 + numpy.exp(-surer)), truths)


def _covers(found: Estimate, true: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= true <= found.high


def _check(covered: list[bool], least: float = LEAST, most: float = MOST) -> None:
    share = sum(covered) / len(covered)

    assert least - CHANCE <= share <= most + CHANCE


@pytest.mark.parametrize("trend", [0.0, 1.0])
@pytest.mark.parametrize("design", DESIGNS)
def test_drift(design: Design, trend: float) -> None:
    chance = numpy.random.default_rng(11)
    centres = numpy.zeros(design[0])
    for _ in range(2_000):
        drawn = _draw(design, chance, trend=trend).stages
        centres += drawn.sum(1) / numpy.maximum(1, (drawn > 0).sum(1)) / 2_000
    true = numpy.polyfit(numpy.arange(design[0]), centres, 1)[0] * (design[0] - 1)

    covered = []
    for _ in range(EXPERIMENTS):
        (found,) = measure_drift(_draw(design, chance, trend=trend).scores(), len(EDGES) + 1)
        covered.append(_covers(found.expected_stage, true))

    _check(covered)


@pytest.mark.parametrize("name", ["said", "found", "excess", "brier", "correlation"])
@pytest.mark.parametrize("design", DESIGNS)
def test_calibration_against_truth(design: Design, name: str) -> None:
    chance = numpy.random.default_rng(12)
    many = _draw((MANY, *design[1:]), chance)
    answered = many.stages > 0
    said, right = many.said[answered], many.right()[answered]
    true = {
        "said": said.mean(),
        "found": right.mean(),
        "excess": (said - right).mean(),
        "brier": ((said - right) ** 2).mean(),
        "correlation": numpy.corrcoef(said, right)[0, 1],
    }[name]

    covered = []
    for _ in range(EXPERIMENTS):
        found = measure_calibration(_draw(design, chance).scores())
        (against,) = [item for item in found if item.against == TRUTH]
        covered.append(_covers(getattr(against, name), float(true)))

    _check(covered)


@pytest.mark.parametrize("name", ["said", "found", "excess", "brier", "correlation"])
@pytest.mark.parametrize("design", DESIGNS)
def test_calibration_against_others(design: Design, name: str) -> None:
    """The other model's verdicts are given: what is estimated is of one model beside these."""
    chance = numpy.random.default_rng(16)
    rival = _draw(design, chance, shift=-0.3).stages
    many = _draw((MANY, *design[1:]), chance)
    same = numpy.stack([(rival == stage).sum(0) / numpy.maximum(1, (rival > 0).sum(0))
                        for stage in range(STAGES + 1)])  # fmt: skip
    answered = many.stages > 0
    pieces = numpy.broadcast_to(numpy.arange(design[1]), many.stages.shape)
    said, agreed = many.said[answered], same[many.stages, pieces][answered]
    true = {
        "said": said.mean(),
        "found": agreed.mean(),
        "excess": (said - agreed).mean(),
        "brier": ((said - agreed) ** 2).mean(),
        "correlation": numpy.corrcoef(said, agreed)[0, 1],
    }[name]
    others = Verdicts(rival, numpy.zeros(rival.shape), numpy.ones(design[1], int)).scores()
    given = [score._replace(model="rival", agreement=None, truth=None) for score in others]

    covered = []
    for _ in range(EXPERIMENTS):
        found = measure_calibration([*_draw(design, chance).scores(), *given])
        (against,) = [item for item in found if item.against == OTHERS and item.model == "m"]
        covered.append(_covers(getattr(against, name), float(true)))

    _check(covered)


def _said_about(
    samples: int, shift: float, spread: float, chance: numpy.random.Generator
) -> list[Score]:
    """What two models say of one piece of evidence, of which they think otherwise."""
    return [
        Score(model, sample, "e", decoded=True, stages=(int(stage),))
        for model, centre in (("a", 0.0), ("b", shift))
        for sample, stage in enumerate(
            numpy.digitize(
                centre + spread * chance.normal(size=samples) + chance.logistic(size=samples), EDGES
            )
            + 1
        )
    ]


@pytest.mark.parametrize("shift", [1.0, 2.0])
@pytest.mark.parametrize("samples", [10, 30])
def test_divided_evidence(samples: int, shift: float) -> None:
    chance = numpy.random.default_rng(17)
    shares = []
    for centre in (0.0, shift):
        latent = centre + 0.5 * chance.normal(size=MANY * 10) + chance.logistic(size=MANY * 10)
        shares.append(numpy.bincount(numpy.digitize(latent, EDGES), minlength=STAGES) / MANY / 10)
    one, other = shares
    true = (1 - one @ other) - (1 - (one @ one + other @ other) / 2)

    covered = []
    for _ in range(EXPERIMENTS):
        (found,) = measure_evidence(_said_about(samples, shift, 0.5, chance), STAGES)
        covered.append(_covers(found.divided, float(true)))

    _check(covered)


@pytest.mark.parametrize("samples", [10, 30])
@pytest.mark.parametrize("name", ["positions_ordinal", "positions_nominal", "lines_above_stages"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_alphas_of_lines(share: float, name: str, samples: int) -> None:
    """A judge that takes the line that a piece of evidence leans to, now and then, else a stage."""
    chance = numpy.random.default_rng(18)

    def measure(samples: int) -> Estimate:
        orders = [tuple(int(s) + 1 for s in chance.permutation(STAGES)) for _ in range(samples)]
        stages = _draw((samples, 10, 0.5), chance).stages
        lines = chance.random(stages.shape) < share
        scores = [
            Score("m", sample, str(piece), decoded=True,
                  stages=(orders[sample][piece % STAGES],) if lines[sample, piece]
                  else (int(stage),) if stage else ())
            for sample, row in enumerate(stages)
            for piece, stage in enumerate(row)
        ]  # fmt: skip
        displays = {("m", n): Display(order, tuple("ABCD")) for n, order in enumerate(orders)}
        (within,) = measure_agreement(scores, displays).within
        found: Estimate = getattr(within, name)
        return found

    true = numpy.mean([measure(200).value for _ in range(5)])
    covered = [_covers(measure(samples), float(true)) for _ in range(EXPERIMENTS)]

    _check(covered)


@pytest.mark.parametrize(("samples", "strength"), [*product((10, 30), (0.0, 1.0, 3.0))])
def test_correlations_of_rubrics(samples: int, strength: float) -> None:
    """A quality between 0 and 1, and the share of 20 verdicts that abstain, the more the better."""
    chance = numpy.random.default_rng(13)

    def draw(count: int) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        latent = chance.normal(size=count)
        odds = numpy.exp(strength * latent - 1)
        return 1 / (1 + numpy.exp(-latent)), chance.binomial(20, odds / (1 + odds)) / 20

    true = float(numpy.corrcoef(*draw(MANY * 10))[0, 1])
    covered = []
    for _ in range(EXPERIMENTS * 3):
        points = [moments(float(x), float(y)) for x, y in zip(*draw(samples), strict=True)]
        covered.append(_covers(estimate_correlation(points, samples), true))

    _check(covered)


COMPARED = (
    "abstain_rate",
    "singleton_rate",
    "position",
    "spread",
    "critic_agreement",
    "accuracy",
    "stage_error",
)


def _level(name: str, drawn: Verdicts) -> float:
    answered = drawn.stages > 0
    stages = drawn.stages[answered]
    off = numpy.abs(drawn.stages - drawn.truths)[answered]
    left_open = (drawn.said < drawn.open_below)[answered] & (stages > 1)
    share = numpy.bincount(stages, minlength=STAGES + 1)[1:] / answered.sum()
    found = {
        "abstain_rate": 1 - answered.mean(),
        "singleton_rate": 1 - left_open.mean(),
        "critic_agreement": drawn.said.mean(),
        "accuracy": drawn.right()[answered].mean(),
        "position": (stages.mean() - 1) / (STAGES - 1),
        "stage_error": off.mean() / (STAGES - 1),
        "spread": -(share * numpy.log2(share)).sum() / numpy.log2(STAGES),
    }
    return float(found[name])


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("design", DESIGNS)
def test_contrasts(design: Design, name: str, paired: bool) -> None:
    """Two experiments whose rubrics have half of their spread in common, or nothing."""
    chance = numpy.random.default_rng(14)
    (question,) = [item for item in QUESTIONS if item.name == name]

    def draw(samples: int) -> tuple[Verdicts, Verdicts]:
        common, *own = chance.normal(size=(3, samples, 1)) / numpy.sqrt(2)
        shared = [common + item if paired else item * numpy.sqrt(2) for item in own]
        one, other = (
            _draw((samples, *design[1:]), chance, rubrics, shift)
            for rubrics, shift in zip(shared, (0.0, 0.7), strict=True)
        )
        if name == "singleton_rate":
            return one._replace(open_below=0.4), other._replace(open_below=0.4)
        return one, other

    one, other = draw(MANY)
    if (
        name in ("singleton_rate", "position", "accuracy", "stage_error") and paired
    ):  # of what both answered
        both = (one.stages > 0) & (other.stages > 0)
        one, other = (v._replace(stages=numpy.where(both, v.stages, 0)) for v in (one, other))
    true = _level(name, one) - _level(name, other)
    covered = []
    for _ in range(EXPERIMENTS):
        arms = [
            Arm(str(place), STAGES, tuple(range(place * 1000, place * 1000 + design[0]))
                if not paired else tuple(range(design[0])), drawn.scores(), {})
            for place, drawn in enumerate(draw(design[0]))
        ]  # fmt: skip
        covered.append(_covers(compare(question, "m", arms[0], arms[1]).difference, true))

    _check(covered)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("name", [SELF_AGREEMENT, CHOICE_BY_PLACE])
@pytest.mark.parametrize("design", DESIGNS)
def test_contrasts_of_alphas(design: Design, name: str, paired: bool) -> None:
    """The second of two experiments takes the line that a piece leans to, three in ten times."""
    chance = numpy.random.default_rng(19)

    def draw(samples: int) -> tuple[Alpha, Alpha]:
        orders = [tuple(int(s) + 1 for s in chance.permutation(STAGES)) for _ in range(samples)]
        common, *own = chance.normal(size=(3, samples, 1)) / numpy.sqrt(2)
        found = []
        for place, by_line in enumerate((0.0, 0.3)):
            if place and not paired:
                orders = [tuple(int(s) + 1 for s in chance.permutation(STAGES)) for _ in orders]
            rubrics = common + own[place] if paired else own[place] * numpy.sqrt(2)
            drawn = _draw((samples, *design[1:]), chance, rubrics)
            piece = numpy.arange(design[1])
            leant = numpy.array(orders)[:, piece % STAGES]
            lines = chance.random(drawn.stages.shape) < by_line
            scores = drawn._replace(stages=numpy.where(lines, leant, drawn.stages)).scores()
            displays = {("m", n): Display(order, tuple("ABCD")) for n, order in enumerate(orders)}
            seeds = range(samples)
            found.append(measure_alphas(scores, displays, seeds, lines_drawn=True)[name, "m"])
        return found[0], found[1]

    trials = [[alpha.figure.value or 0.0 for alpha in draw(200)] for _ in range(5)]
    true = float(numpy.diff(numpy.mean(trials, axis=0))[0])
    covered = []
    for _ in range(EXPERIMENTS):
        one, other = draw(design[0])
        covered.append(_covers(compare_alphas(other, one, paired=paired), true))

    _check(covered, most=1.0)  # errors are those of the plain jackknife: rather too long


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_stands_out_where_nothing_differs(design: Design, paired: bool) -> None:
    """Three models in two experiments that are drawn alike: at most 5 of 100 comparisons err."""
    chance = numpy.random.default_rng(15)
    seeds = [tuple(range(place, place + design[0])) for place in (0, 0 if paired else 1000)]
    erring = []
    for _ in range(EXPERIMENTS):
        arms = []
        for place in (0, 1):
            drawn = [(model, _draw(design, chance).scores()) for model in "abc"]
            scores = [score._replace(model=model) for model, said in drawn for score in said]
            arms.append(Arm(str(place), STAGES, seeds[place], tuple(scores), {"n": str(place)}))
        erring.append(any(item.stands_out for item in find_family(arms)))

    assert sum(erring) / len(erring) <= 0.05 + CHANCE


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("design", DESIGNS)
def test_contrasts_of_agreement_between_models(design: Design, paired: bool) -> None:
    """Two models, of which the second judges by lines, three in ten times, in one experiment."""
    chance = numpy.random.default_rng(20)

    def draw_arm(samples: int, rubrics: NDArray[numpy.float64], by_line: float) -> Alpha:
        scores = []
        for model, shift in (("a", 0.0), ("b", 0.8)):
            drawn = _draw((samples, *design[1:]), chance, rubrics, shift)
            lines = chance.random(drawn.stages.shape) < by_line * (model == "b")
            other = chance.integers(1, STAGES + 1, drawn.stages.shape)
            said = drawn._replace(stages=numpy.where(lines, other, drawn.stages)).scores()
            scores += [score._replace(model=model) for score in said]
        found = measure_alphas(scores, {}, range(samples), lines_drawn=False)
        return found[MODEL_AGREEMENT, ALL_MODELS]

    def draw(samples: int) -> list[Alpha]:
        common, *own = chance.normal(size=(3, samples, 1)) / numpy.sqrt(2)
        rubrics = [common + item if paired else item * numpy.sqrt(2) for item in own]
        return [draw_arm(samples, *item) for item in zip(rubrics, (0.0, 0.3), strict=True)]

    trials = [[alpha.figure.value or 0.0 for alpha in draw(100)] for _ in range(8)]
    true = float(numpy.diff(numpy.mean(trials, axis=0))[0])
    covered = []
    for _ in range(FEWER):
        one, other = draw(design[0])
        covered.append(_covers(compare_alphas(other, one, paired=paired), true))

    _check(covered, least=LEAST - FEWER_CHANCE + CHANCE, most=1.0)  # as of single models
