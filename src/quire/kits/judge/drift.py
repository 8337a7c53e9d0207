"""Drift: whether later samples of a model judge otherwise than earlier ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quire.kits.judge.correlations import estimate_moments, moments, slope
from quire.kits.judge.intervals import CHANGE_OF_SHARE, Estimate, Totals, change_on_scale
from quire.kits.judge.metrics import Score, mean_stage


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePoint:
    """One sample of a model."""

    sample: int
    expected_stage: float | None
    abstain_rate: float
    scores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far a model moves from its first sample to its last, along a straight line."""

    model: str
    expected_stage: Estimate  # in stages
    abstain_rate: Estimate
    points: tuple[SamplePoint, ...]


def measure_drift(scores: Sequence[Score], scale_size: int) -> tuple[Drift, ...]:
    """The drift of every model."""
    decoded = [score for score in scores if score.decoded]
    models = dict.fromkeys(score.model for score in decoded)
    return tuple(
        _drift(model, [score for score in decoded if score.model == model], scale_size)
        for model in models
    )


def _drift(model: str, scores: Sequence[Score], scale_size: int) -> Drift:
    answered = [score for score in scores if score.stages]
    abstentions = _change(scores, lambda score: float(not score.stages))
    return Drift(
        model=model,
        expected_stage=_change(answered, mean_stage).within(change_on_scale(scale_size)),
        abstain_rate=abstentions.within(CHANGE_OF_SHARE),
        points=tuple(_points(scores)),
    )


def _change(scores: Sequence[Score], value: Callable[[Score], float]) -> Estimate:
    """The slope over the numbers of the samples, times how far the last is from the first."""
    by_sample: dict[int, list[Totals]] = {}
    for score in scores:
        by_sample.setdefault(score.sample, []).append(moments(score.sample, value(score)))
    reach = max(by_sample, default=0) - min(by_sample, default=0)
    clusters = [tuple(map(sum, zip(*group, strict=True))) for group in by_sample.values()]

    def change(totals: Totals) -> float | None:
        steepness = slope(totals)
        return None if steepness is None else steepness * reach

    return estimate_moments(clusters, change, len(scores))


def _points(scores: Sequence[Score]) -> Iterator[SamplePoint]:
    by_sample: dict[int, list[Score]] = {}
    for score in scores:
        by_sample.setdefault(score.sample, []).append(score)
    for sample, group in sorted(by_sample.items()):
        stages = [mean_stage(score) for score in group if score.stages]
        yield SamplePoint(
            sample=sample,
            expected_stage=sum(stages) / len(stages) if stages else None,
            abstain_rate=1 - len(stages) / len(group),
            scores=len(group),
        )
