"""Rubric quality: what critics say of rubrics, and whether verdicts on them go with it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.data import Json
from quire.kits.judge.agreement import Verdict, verdict_of
from quire.kits.judge.correlations import estimate_correlation, moments
from quire.kits.judge.intervals import SHARE, Estimate, estimate_mean
from quire.kits.judge.metrics import Score, mean_stage

QUALITIES = ("observability", "discriminability")
OUTCOMES = ("agreement", "abstain_rate", "stage_error")


class Quality(NamedTuple):
    """What the critic of one rubric said."""

    observability: float
    discriminability: float


Qualities = Mapping[tuple[str, int], Quality]  # by model and sample


def qualities_of(table: Iterable[Mapping[str, Json]]) -> Qualities:
    """Read the rows of the table `rubrics`."""
    found = {}
    for row in table:
        said = row["observability_score"], row["discriminability_score"]
        if isinstance(said[0], int | float) and isinstance(said[1], int | float):
            place = str(row["model_id"]), int(str(row["sample_ordinal"]))
            found[place] = Quality(float(said[0]), float(said[1]))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricPoint:
    """One rubric: what its critic said, and what became of the scores on it."""

    sample: int
    observability: float
    discriminability: float
    agreement: float | None  # share of the model's verdicts in other samples that say the same
    abstain_rate: float
    stage_error: float | None  # where the truth is known


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRelation:
    """How one quality of a model's rubrics goes with one outcome, rubric by rubric."""

    quality: str
    outcome: str
    correlation: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricQuality:
    """The rubrics of one model."""

    model: str
    observability: Estimate
    discriminability: Estimate
    relations: tuple[QualityRelation, ...]
    points: tuple[RubricPoint, ...]


def measure_rubrics(scores: Sequence[Score], qualities: Qualities) -> tuple[RubricQuality, ...]:
    """The rubrics of every model that critics spoke of; none where the rubric was given."""
    models = dict.fromkeys(model for model, _ in qualities)
    return tuple(
        _quality(model, [score for score in scores if score.model == model], qualities)
        for model in models
    )


def _quality(model: str, scores: Sequence[Score], qualities: Qualities) -> RubricQuality:
    said = [quality for (author, _), quality in qualities.items() if author == model]
    points = list(_points(model, scores, qualities))
    return RubricQuality(
        model=model,
        observability=estimate_mean([(one.observability, 1.0) for one in said], SHARE),
        discriminability=estimate_mean([(one.discriminability, 1.0) for one in said], SHARE),
        relations=tuple(
            _relate(points, quality, outcome) for quality in QUALITIES for outcome in OUTCOMES
        ),
        points=tuple(points),
    )


def _points(model: str, scores: Sequence[Score], qualities: Qualities) -> Iterator[RubricPoint]:
    decoded = [score for score in scores if score.decoded]
    counts: dict[str, Counter[Verdict]] = {}
    for score in decoded:
        if score.stages:
            counts.setdefault(score.bundle, Counter())[verdict_of(score)] += 1
    by_sample: dict[int, list[Score]] = {}
    for score in decoded:
        by_sample.setdefault(score.sample, []).append(score)
    for sample, group in sorted(by_sample.items()):
        quality = qualities.get((model, sample))
        if quality is not None:
            yield _point(sample, quality, group, counts)


def _point(
    sample: int, quality: Quality, group: Sequence[Score], counts: Mapping[str, Counter[Verdict]]
) -> RubricPoint:
    answered = [score for score in group if score.stages]
    same = [
        (counts[score.bundle][verdict_of(score)] - 1) / (counts[score.bundle].total() - 1)
        for score in answered
        if counts[score.bundle].total() > 1
    ]
    off = [abs(mean_stage(s) - s.truth) for s in answered if s.truth is not None]
    return RubricPoint(
        sample=sample,
        observability=quality.observability,
        discriminability=quality.discriminability,
        agreement=sum(same) / len(same) if same else None,
        abstain_rate=1 - len(answered) / len(group),
        stage_error=sum(off) / len(off) if off else None,
    )


def _relate(points: Sequence[RubricPoint], quality: str, outcome: str) -> QualityRelation:
    known = [point for point in points if getattr(point, outcome) is not None]
    clusters = [moments(getattr(point, quality), getattr(point, outcome)) for point in known]
    found = estimate_correlation(clusters, len(known))
    return QualityRelation(quality=quality, outcome=outcome, correlation=found)
