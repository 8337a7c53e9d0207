"""Correctness: verdicts held against what is known, against chance, and against abstention.

A verdict is right if it names the right stage and no other. So chance is what a guesser gets who
names as many stages at a time as the model did: a guess at one of n stages is right once in n, a
guess at several never. Where every verdict names one stage, that is 1 / n.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quire.kits.judge.agreement import estimate_kappa, verdict_of
from quire.kits.judge.intervals import (
    SHARE,
    WITHIN_ONE,
    Ends,
    Estimate,
    estimate_left_out,
    estimate_mean,
    leave_each_out,
    scale_between,
)
from quire.kits.judge.metrics import Score

_STEPS = 10  # of the curve


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """How right the verdicts are whose critics are at least so sure."""

    least_agreement: float  # of the critic
    kept: float  # share of the decoded verdicts with a known truth
    accuracy: Estimate  # of those kept
    chance: float  # what guesses of the same sizes get


@dataclass(frozen=True, slots=True, kw_only=True)
class Correctness:
    """How right one model is, where the truth is known."""

    model: str
    chance: float  # what guesses of the same sizes get
    commonest_truth: float  # what always naming the commonest truth would get
    accuracy: Estimate  # of answered verdicts
    corrected: Estimate  # accuracy above chance, of what is above chance: 0 guesses, 1 is right
    kappa: Estimate  # Cohen's, of verdicts and truths: corrected for how often stages are named
    answered: Estimate  # share of decoded verdicts with a known truth that do not abstain
    right_of_all: Estimate  # right of all decoded ones: an abstention is not right
    discrimination: Estimate  # how often the critic is surer of a right verdict than a wrong one
    curve: tuple[CurvePoint, ...]  # from all that were answered to the surest


def measure_correctness(scores: Sequence[Score], scale_size: int) -> tuple[Correctness, ...]:
    """The figures of every model that has verdicts with a known truth."""
    known = [score for score in scores if score.decoded and score.truth is not None]
    models = dict.fromkeys(score.model for score in known)
    return tuple(
        _correctness(model, [score for score in known if score.model == model], scale_size)
        for model in models
    )


def is_right(score: Score) -> bool:
    """Whether a verdict names the right stage and no other."""
    return score.stages == (score.truth,)


def _correctness(model: str, scores: Sequence[Score], scale_size: int) -> Correctness:
    answered = [score for score in scores if score.stages]
    truths = Counter(score.truth for score in scores)
    accuracy = _share(answered, [is_right(score) for score in answered])
    chance = chance_of(answered, scale_size)
    pairs = ((score.sample, verdict_of(score), (score.truth or 0,)) for score in answered)
    return Correctness(
        model=model,
        chance=chance,
        commonest_truth=max(truths.values()) / len(scores),
        accuracy=accuracy,
        corrected=estimate_above_chance(answered, scale_size),
        kappa=estimate_kappa(pairs),
        answered=_share(scores, [bool(score.stages) for score in scores]),
        right_of_all=_share(scores, [is_right(score) for score in scores]),
        discrimination=_discrimination(answered),
        curve=tuple(_curve(answered, len(scores), scale_size)),
    )


def _share(scores: Sequence[Score], hits: Sequence[bool]) -> Estimate:
    totals: dict[int, tuple[float, float]] = {}
    for score, hit in zip(scores, hits, strict=True):
        right, count = totals.get(score.sample, (0.0, 0.0))
        totals[score.sample] = (right + hit, count + 1)
    return estimate_mean(list(totals.values()), SHARE)


def chance_of(answered: Sequence[Score], scale_size: int) -> float:
    """How often guesses that name as many stages as these verdicts would be exactly right."""
    alone = sum(len(score.stages) == 1 for score in answered)
    return alone / len(answered) / scale_size if answered else 1 / scale_size


def above_chance(accuracy: Estimate, chance: float) -> Estimate:
    """An accuracy less chance, as part of what there is above chance; the interval goes along."""
    value, low, high = (
        None if end is None else (end - chance) / (1 - chance) for end in accuracy[:3]
    )
    return accuracy._replace(value=value, low=low, high=high)


def estimate_above_chance(answered: Sequence[Score], scale_size: int) -> Estimate:
    """Accuracy above chance, of what is above chance.

    Chance goes by how often one stage is named, which varies from sample to sample as accuracy
    does: so both are computed without each sample in turn. Where every verdict names one stage,
    or no accuracy moves, it is the interval of accuracy, moved along.
    """
    right = [is_right(score) for score in answered]
    moved = above_chance(_share(answered, right), chance_of(answered, scale_size))
    alone = [len(score.stages) == 1 for score in answered]
    if all(alone) or not any(right):
        return moved
    totals: dict[int, tuple[float, float, float]] = {}
    for score, hit, one in zip(answered, right, alone, strict=True):
        hits, ones, count = totals.get(score.sample, (0.0, 0.0, 0.0))
        totals[score.sample] = (hits + hit, ones + one, count + 1)

    def figure(of: tuple[float, ...]) -> float | None:
        hits, ones, count = of
        chance = ones / count / scale_size if count else 0.0
        return (hits / count - chance) / (1 - chance) if count else None

    without = leave_each_out(list(totals.values()), figure)
    scale = scale_between(Ends(-1 / (scale_size - 1), 1.0))
    found = estimate_left_out(moved.value, without, moved.observations, scale)
    return found._replace(clusters=moved.clusters) if found.low is not None else moved


def _discrimination(scores: Sequence[Score]) -> Estimate:
    heard = [
        (score.sample, score.agreement, is_right(score))
        for score in scores
        if score.agreement is not None
    ]
    samples = sorted({sample for sample, _, _ in heard})
    without = [
        area_under_curve([(sure, hit) for sample, sure, hit in heard if sample != left_out])
        for left_out in samples
    ]
    value = area_under_curve([(sure, hit) for _, sure, hit in heard])
    return estimate_left_out(value, without, len(heard), WITHIN_ONE)


def area_under_curve(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """How often a hit has the higher value than a miss, ties counting half; None without both."""
    hits = sum(hit for _, hit in pairs)
    if hits in (0, len(pairs)):
        return None
    misses: Mapping[float, int] = Counter(value for value, hit in pairs if not hit)
    wins = below = 0.0
    for value, group in sorted(Counter(pairs).items()):
        if value[1]:
            wins += group * (below - misses.get(value[0], 0) / 2)
        else:
            below += group
    return wins / (hits * (len(pairs) - hits))


def _curve(answered: Sequence[Score], every: int, scale_size: int) -> list[CurvePoint]:
    """From all to the surest tenth; verdicts of one sureness are kept together."""
    ranked = sorted((s.agreement for s in answered if s.agreement is not None), reverse=True)
    points: list[CurvePoint] = []
    for step in range(_STEPS, 0, -1):
        least = ranked[max(0, len(ranked) * step // _STEPS - 1)] if ranked else 0.0
        kept = [s for s in answered if s.agreement is not None and s.agreement >= least]
        if kept and (not points or len(kept) / every < points[-1].kept):
            accuracy = _share(kept, [is_right(score) for score in kept])
            points.append(
                CurvePoint(
                    least_agreement=least,
                    kept=len(kept) / every,
                    accuracy=accuracy,
                    chance=chance_of(kept, scale_size),
                )
            )
    return points
