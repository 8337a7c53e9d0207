"""Calibration of critics: what they say of verdicts, against truth and against other models."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.kits.judge.agreement import Verdict, verdict_of
from quire.kits.judge.correctness import is_right
from quire.kits.judge.correlations import estimate_correlation, moments
from quire.kits.judge.intervals import CHANGE_OF_SHARE, SHARE, Estimate, estimate_mean
from quire.kits.judge.metrics import Score

TRUTH, OTHERS = "truth", "others"
_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Verdicts of which critics said much the same."""

    low: float
    high: float
    said: float  # mean of what critics said
    found: Estimate  # what came true of them


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticCalibration:
    """How far what a model's critics say comes true."""

    model: str
    against: str  # truth: the verdict was right; others: share of the others that say the same
    said: Estimate
    found: Estimate
    excess: Estimate  # said less found: above 0, critics promise too much
    brier: Estimate  # mean square of said less found
    correlation: Estimate  # between both, verdict by verdict
    bins: tuple[CalibrationBin, ...]


class _Heard(NamedTuple):
    """One verdict: what its critic said of it, and what came true."""

    sample: int
    said: float
    found: float


def measure_calibration(scores: Sequence[Score]) -> tuple[CriticCalibration, ...]:
    """For every model, against truth where it is known, and against the other models."""
    answered = [score for score in scores if score.decoded and score.stages]
    models = tuple(dict.fromkeys(score.model for score in answered))
    found = []
    for model in models:
        own = [score for score in answered if score.model == model and score.agreement is not None]
        for against, heard in (
            (TRUTH, list(_against_truth(own))),
            (OTHERS, list(_against_others(own, answered))),
        ):
            if heard:
                found.append(_calibration(model, against, heard))
    return tuple(found)


def _against_truth(own: Iterable[Score]) -> Iterator[_Heard]:
    for score in own:
        if score.truth is not None:
            yield _Heard(score.sample, score.agreement or 0.0, float(is_right(score)))


def _against_others(own: Iterable[Score], every: Iterable[Score]) -> Iterator[_Heard]:
    """The share of other models' verdicts on the bundle, in all samples, that name the same."""
    said: dict[str, Counter[tuple[str, Verdict]]] = {}
    for score in every:
        said.setdefault(score.bundle, Counter())[score.model, verdict_of(score)] += 1
    for score in own:
        others = {key: n for key, n in said[score.bundle].items() if key[0] != score.model}
        if others:
            same = sum(n for (_, verdict), n in others.items() if verdict == verdict_of(score))
            yield _Heard(score.sample, score.agreement or 0.0, same / sum(others.values()))


def _calibration(model: str, against: str, heard: Sequence[_Heard]) -> CriticCalibration:
    points = [(one.sample, moments(one.said, one.found)) for one in heard]
    by_sample: dict[int, list[tuple[float, ...]]] = {}
    for sample, totals in points:
        by_sample.setdefault(sample, []).append(totals)
    clusters = [tuple(map(sum, zip(*group, strict=True))) for group in by_sample.values()]
    return CriticCalibration(
        model=model,
        against=against,
        said=_mean(heard, lambda one: one.said),
        found=_mean(heard, lambda one: one.found),
        excess=_mean(heard, lambda one: one.said - one.found, is_share=False),
        brier=_mean(heard, lambda one: (one.said - one.found) ** 2),
        correlation=estimate_correlation(clusters, len(heard)),
        bins=tuple(_bins(heard)),
    )


def _mean(
    heard: Sequence[_Heard], value: Callable[[_Heard], float], *, is_share: bool = True
) -> Estimate:
    totals: dict[int, tuple[float, float]] = {}
    for one in heard:
        total, count = totals.get(one.sample, (0.0, 0.0))
        totals[one.sample] = (total + value(one), count + 1)
    clusters = list(totals.values())
    if is_share:
        return estimate_mean(clusters, SHARE)
    return estimate_mean(clusters).within(CHANGE_OF_SHARE)


def _bins(heard: Sequence[_Heard]) -> Iterator[CalibrationBin]:
    for place in range(_BINS):
        inside = [one for one in heard if min(_BINS - 1, int(one.said * _BINS)) == place]
        if inside:
            yield CalibrationBin(
                low=place / _BINS,
                high=(place + 1) / _BINS,
                said=sum(one.said for one in inside) / len(inside),
                found=_mean(inside, lambda one: one.found),
            )
