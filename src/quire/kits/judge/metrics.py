"""Metrics: what an experiment shows, overall and by model, with intervals."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations

from quire.domain.data import Json
from quire.kits.judge.estimating import (
    Estimate,
    Totals,
    divergence,
    entropy,
    ratio,
    resampled,
    share,
    shares,
)
from quire.kits.judge.scores import Score, mean_stage

OVERALL = "overall"

_Place = tuple[int, str]  # a sample and a bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one group of scores; swaps are not among them."""

    model: str  # or "overall"
    scores: int  # decoded
    missing: int  # not decoded: failed, blocked or not yet there
    stage_shares: Totals  # of the answered scores; a subset counts for each of its stages in part
    abstain_rate: Estimate
    singleton_rate: Estimate  # of the answered scores
    mean_subset_size: Estimate  # of the answered scores
    expected_stage: Estimate
    mid_scale_occupancy: Estimate  # on the middle stage, or on the middle two of an even scale
    stage_entropy: Estimate  # in bits
    critic_agreement: Estimate
    accuracy: Estimate  # one stage named, the right one; of answered scores with a known truth
    coverage: Estimate  # the right stage among those named
    stage_error: Estimate  # stages between what was named and what is right


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """How far two groups are apart where they judged the same bundle in the same sample."""

    of: str  # a model
    against: str  # another model; or the rubric's author, where a swap is compared with own scores
    stages: Estimate  # expected stage of `of` less that of `against`


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """All figures of one experiment."""

    experiment_tag: str
    scale_size: int
    overall: Figures
    by_model: tuple[Figures, ...]
    divergence: Mapping[str, Mapping[str, float | None]]  # between models' stage shares, in bits
    deltas: tuple[Delta, ...]  # between models
    swap_deltas: tuple[Delta, ...]  # judging on a rival's rubric, less judging on one's own


def measure(scores: Iterable[Score], *, tag: str, scale_size: int, seed: int = 0) -> Metrics:
    """Compute every figure; the seed decides which samples are drawn again."""
    known = tuple(scores)
    models = tuple(dict.fromkeys(each.model for each in known))
    own = tuple(each for each in known if not each.is_swap)
    measured = _Measure(scale_size, seed)
    by_model = {
        model: measured.figures(model, [each for each in own if each.model == model])
        for model in models
    }
    return Metrics(
        experiment_tag=tag,
        scale_size=scale_size,
        overall=measured.figures(OVERALL, own),
        by_model=tuple(by_model.values()),
        divergence={
            one: {
                other: divergence(by_model[one].stage_shares, by_model[other].stage_shares)
                for other in models
            }
            for one in models
        },
        deltas=tuple(measured.delta(own, pair) for pair in combinations(models, 2)),
        swap_deltas=tuple(measured.swap_deltas(known)),
    )


class _Measure:
    """The figures of groups of scores on one scale."""

    def __init__(self, scale_size: int, seed: int) -> None:
        self.scale_size = scale_size
        self.seed = seed
        low, high = (scale_size + 1) // 2, scale_size // 2 + 1
        self.middle = {low, high}  # one and the same on an odd scale

    def figures(self, model: str, scores: Sequence[Score]) -> Figures:
        """All figures of one group."""
        decoded = [each for each in scores if each.decoded]
        answered = [each for each in decoded if each.stages]
        judged = [each for each in answered if each.truth is not None]
        heard = [each for each in decoded if each.agreement is not None]
        masses = _clusters(answered, self._mass)
        return Figures(
            model=model,
            scores=len(decoded),
            missing=len(scores) - len(decoded),
            stage_shares=self._shares(masses),
            abstain_rate=share(len(decoded) - len(answered), len(decoded)),
            singleton_rate=share(sum(len(each.stages) == 1 for each in answered), len(answered)),
            mean_subset_size=self._mean(answered, lambda each: len(each.stages)),
            expected_stage=self._mean(answered, mean_stage),
            mid_scale_occupancy=self._mean(answered, self._middle_mass),
            stage_entropy=resampled(masses, entropy, len(answered), self.seed),
            critic_agreement=self._mean(heard, lambda each: each.agreement or 0.0),
            accuracy=share(sum(each.stages == (each.truth,) for each in judged), len(judged)),
            coverage=share(sum(each.truth in each.stages for each in judged), len(judged)),
            stage_error=self._mean(judged, lambda each: abs(mean_stage(each) - (each.truth or 0))),
        )

    def delta(self, scores: Sequence[Score], pair: tuple[str, str]) -> Delta:
        """The first model of a pair against the second."""
        one, other = ({_place(each): each for each in scores if each.model == m} for m in pair)
        return Delta(of=pair[0], against=pair[1], stages=self._matched(one, other))

    def swap_deltas(self, scores: Sequence[Score]) -> Iterator[Delta]:
        """Each rival on another's rubrics, against the same rival on its own."""
        swaps = [each for each in scores if each.is_swap]
        own = [each for each in scores if not each.is_swap]
        for scorer, author in dict.fromkeys((each.model, each.rubric_model) for each in swaps):
            one = {
                _place(each): each
                for each in swaps
                if (each.model, each.rubric_model) == (scorer, author)
            }
            other = {_place(each): each for each in own if each.model == scorer}
            yield Delta(of=scorer, against=author, stages=self._matched(one, other))

    def _matched(self, one: Mapping[_Place, Score], other: Mapping[_Place, Score]) -> Estimate:
        by_sample: dict[int, list[float]] = {}
        for place, score in one.items():
            match = other.get(place)
            if score.stages and match is not None and match.stages:
                by_sample.setdefault(place[0], []).append(mean_stage(score) - mean_stage(match))
        clusters = [(sum(each), float(len(each))) for each in by_sample.values()]
        return resampled(clusters, ratio, sum(map(len, by_sample.values())), self.seed)

    def _mean(self, scores: Sequence[Score], of: Callable[[Score], float]) -> Estimate:
        clusters = _clusters(scores, lambda each: (of(each), 1.0))
        return resampled(clusters, ratio, len(scores), self.seed)

    def _mass(self, score: Score) -> Totals:
        part = 1 / len(score.stages)
        return tuple(
            part if stage in score.stages else 0.0 for stage in range(1, self.scale_size + 1)
        )

    def _middle_mass(self, score: Score) -> float:
        return len(self.middle & set(score.stages)) / len(score.stages)

    def _shares(self, masses: Sequence[Totals]) -> Totals:
        return shares(tuple(map(sum, zip(*masses, strict=True))) or (0.0,) * self.scale_size)


def _clusters(scores: Sequence[Score], of: Callable[[Score], Totals]) -> list[Totals]:
    """What the scores of each sample add up to."""
    by_sample: dict[int, list[Totals]] = {}
    for each in scores:
        by_sample.setdefault(each.sample, []).append(of(each))
    return [tuple(map(sum, zip(*each, strict=True))) for each in by_sample.values()]


def _place(score: Score) -> _Place:
    return score.sample, score.bundle


def metrics_as_json(metrics: Metrics) -> dict[str, Json]:
    """All of it, for a file beside the plots."""
    return _plain(metrics)  # type: ignore[return-value]  # a dataclass becomes an object


def _plain(value: object) -> Json:
    if isinstance(value, Estimate):
        return value.as_json()
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    assert value is None or isinstance(value, str | int | float)
    return value
