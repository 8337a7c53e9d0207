"""Metrics: what an experiment's scores show, overall and by model, with 95 % intervals."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations
from math import log2
from typing import NamedTuple

from quire.domain.data import Json
from quire.kits.judge.experiment import PARSED
from quire.kits.judge.intervals import (
    SHARE,
    Ends,
    Estimate,
    Totals,
    change_on_scale,
    estimate_contrast,
    estimate_mean,
    estimate_statistic,
)


def shares(totals: Totals) -> Totals:
    """Totals as parts of 1; all 0 where there are none."""
    whole = sum(totals)
    return tuple(total / whole if whole else 0.0 for total in totals)


def entropy(totals: Totals) -> float | None:
    """Shannon's entropy in bits: 0 where one stage takes all."""
    if not sum(totals):
        return None
    return sum(-item * log2(item) for item in shares(totals) if item) or 0.0


def divergence(one: Totals, other: Totals) -> float | None:
    """Jensen and Shannon's divergence in bits: 0 for the same distribution, 1 for disjoint ones."""
    if not sum(one) or not sum(other):
        return None
    left, right = shares(one), shares(other)
    between = tuple((a + b) / 2 for a, b in zip(left, right, strict=True))
    mixed, mine, theirs = (entropy(item) or 0.0 for item in (between, left, right))
    return min(1.0, max(0.0, mixed - (mine + theirs) / 2))


def _sum(clusters: Sequence[Totals]) -> Totals:
    return tuple(map(sum, zip(*clusters, strict=True)))


class Score(NamedTuple):
    """One model's judgement of one bundle."""

    model: str
    sample: int
    bundle: str  # its signature
    decoded: bool  # False: there is no verdict that could be read
    stages: tuple[int, ...] = ()  # none: the model abstained
    agreement: float | None = None  # as its critic sees it
    truth: int | None = None
    is_swap: bool = False
    rubric_model: str = ""


def scores_of(table: Iterable[Mapping[str, Json]]) -> Iterator[Score]:
    """Read the rows of the table `scores`."""
    for row in table:
        stages = row["decoded_scores"]
        agreement, truth = row["expert_agreement_prob"], row["ground_truth_stage"]
        yield Score(
            model=str(row["model_id"]),
            sample=int(str(row["sample_ordinal"])),
            bundle=str(row["bundle_signature"]),
            decoded=row["parse_status"] == PARSED,
            stages=tuple(int(str(stage)) for stage in stages)
            if isinstance(stages, Sequence)
            else (),
            agreement=float(agreement) if isinstance(agreement, int | float) else None,
            truth=truth if isinstance(truth, int) else None,
            is_swap=row["is_swap"] is True,
            rubric_model=str(row["rubric_model_id"] or ""),
        )


def mean_stage(score: Score) -> float:
    """The stage an answered score stands for: the mean of those it names."""
    return sum(score.stages) / len(score.stages)


OVERALL = "overall"

_Place = tuple[int, str]  # a sample and a bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one group of scores; swaps are not among them."""

    model: str  # or "overall"
    scores: int  # decoded
    missing: int  # not decoded: failed, blocked or not yet there
    stage_shares: Totals  # of the answered scores; a subset counts for each of its stages in part
    stage_shares_of_decoded: tuple[Estimate, ...]  # the same, of abstentions too
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
    divergence: Mapping[str, Mapping[str, Estimate]]  # between models' stage shares, in bits
    deltas: tuple[Delta, ...]  # between models
    swap_deltas: tuple[Delta, ...]  # judging on a rival's rubric, less judging on one's own


def measure(scores: Iterable[Score], *, tag: str, scale_size: int) -> Metrics:
    """Compute every figure, each with its interval over samples."""
    known = tuple(scores)
    models = tuple(dict.fromkeys(score.model for score in known))
    own = tuple(score for score in known if not score.is_swap)
    measures = _Measure(scale_size)
    by_model = {
        model: measures.figures(model, [score for score in own if score.model == model])
        for model in models
    }
    return Metrics(
        experiment_tag=tag,
        scale_size=scale_size,
        overall=measures.figures(OVERALL, own),
        by_model=tuple(by_model.values()),
        divergence={
            one: {other: measures.divergence(own, one, other) for other in models} for one in models
        },
        deltas=tuple(measures.delta(own, pair) for pair in combinations(models, 2)),
        swap_deltas=tuple(measures.swap_deltas(known)),
    )


class _Measure:
    """The figures of groups of scores on one scale."""

    def __init__(self, scale_size: int) -> None:
        self.scale_size = scale_size
        self.stages = Ends(1, scale_size)
        low, high = (scale_size + 1) // 2, scale_size // 2 + 1
        self.middle = {low, high}  # one and the same on an odd scale

    def figures(self, model: str, scores: Sequence[Score]) -> Figures:
        """All figures of one group."""
        decoded = [score for score in scores if score.decoded]
        answered = [score for score in decoded if score.stages]
        judged = [score for score in answered if score.truth is not None]
        heard = [score for score in decoded if score.agreement is not None]
        masses = _clusters(answered, self._mass)
        return Figures(
            model=model,
            scores=len(decoded),
            missing=len(scores) - len(decoded),
            stage_shares=shares(_sum(masses) or (0.0,) * self.scale_size),
            stage_shares_of_decoded=tuple(self._decoded_shares(decoded)),
            abstain_rate=self._share(decoded, lambda score: not score.stages),
            singleton_rate=self._share(answered, lambda score: len(score.stages) == 1),
            mean_subset_size=self._mean(answered, lambda score: len(score.stages), self.stages),
            expected_stage=self._mean(answered, mean_stage, self.stages),
            mid_scale_occupancy=self._mean(answered, self._middle_mass, SHARE),
            stage_entropy=estimate_statistic(
                masses, entropy, Ends(0, log2(self.scale_size)), len(answered)
            ),
            critic_agreement=self._mean(heard, lambda score: score.agreement or 0.0, SHARE),
            accuracy=self._share(judged, lambda score: score.stages == (score.truth,)),
            coverage=self._share(judged, lambda score: score.truth in score.stages),
            stage_error=self._mean(
                judged,
                lambda score: abs(mean_stage(score) - (score.truth or 0)),
                Ends(0, self.scale_size - 1),
            ),
        )

    def divergence(self, scores: Sequence[Score], one: str, other: str) -> Estimate:
        """How differently two models spread their verdicts over the stages, in bits."""
        answered = [score for score in scores if score.decoded and score.stages]
        first, second = ([s for s in answered if s.model == model] for model in (one, other))
        if one == other:
            return Estimate(0.0, 0.0, 0.0, len(first)) if first else Estimate(None)
        masses, others = (_clusters(group, self._mass) for group in (first, second))
        found = estimate_contrast(masses, others, divergence, len(first) + len(second))
        return found._replace(clusters=len({score.sample for score in (*first, *second)}))

    def delta(self, scores: Sequence[Score], pair: tuple[str, str]) -> Delta:
        """The first model of a pair against the second."""
        one, other = ({_place(score): score for score in scores if score.model == m} for m in pair)
        return Delta(of=pair[0], against=pair[1], stages=self._matched_delta(one, other))

    def swap_deltas(self, scores: Sequence[Score]) -> Iterator[Delta]:
        """Each rival on another's rubrics, against the same rival on its own."""
        swaps = [score for score in scores if score.is_swap]
        own = [score for score in scores if not score.is_swap]
        for scorer, author in dict.fromkeys((swap.model, swap.rubric_model) for swap in swaps):
            alike = (swap for swap in swaps if (swap.model, swap.rubric_model) == (scorer, author))
            one = {_place(swap): swap for swap in alike}
            other = {_place(score): score for score in own if score.model == scorer}
            yield Delta(of=scorer, against=author, stages=self._matched_delta(one, other))

    def _matched_delta(
        self, one: Mapping[_Place, Score], other: Mapping[_Place, Score]
    ) -> Estimate:
        by_sample: dict[int, list[float]] = {}
        for place, score in one.items():
            match = other.get(place)
            if score.stages and match is not None and match.stages:
                by_sample.setdefault(place[0], []).append(mean_stage(score) - mean_stage(match))
        clusters = [(sum(item), float(len(item))) for item in by_sample.values()]
        return estimate_mean(clusters).within(change_on_scale(self.scale_size))

    def _mean(self, scores: Sequence[Score], of: Callable[[Score], float], ends: Ends) -> Estimate:
        return estimate_mean(_clusters(scores, lambda score: (of(score), 1.0)), ends)

    def _share(self, scores: Sequence[Score], hit: Callable[[Score], bool]) -> Estimate:
        return self._mean(scores, lambda score: float(hit(score)), SHARE)

    def _decoded_shares(self, decoded: Sequence[Score]) -> Iterator[Estimate]:
        for stage in range(1, self.scale_size + 1):

            def part(score: Score, stage: int = stage) -> float:
                return (stage in score.stages) / max(1, len(score.stages))

            yield self._mean(decoded, part, SHARE)

    def _mass(self, score: Score) -> Totals:
        part = 1 / len(score.stages)
        every = range(1, self.scale_size + 1)
        return tuple(part if stage in score.stages else 0.0 for stage in every)

    def _middle_mass(self, score: Score) -> float:
        return len(self.middle & set(score.stages)) / len(score.stages)


def _clusters(scores: Sequence[Score], of: Callable[[Score], Totals]) -> list[Totals]:
    """What the scores of each sample add up to."""
    by_sample: dict[int, list[Totals]] = {}
    for score in scores:
        by_sample.setdefault(score.sample, []).append(of(score))
    return [_sum(totals) for totals in by_sample.values()]


def _place(score: Score) -> _Place:
    return score.sample, score.bundle


def metrics_as_json(metrics: Metrics) -> dict[str, Json]:
    """All of it, for a file beside the plots."""
    return to_json(metrics)  # type: ignore[return-value]  # a dataclass becomes an object


def to_json(value: object) -> Json:
    """Figures of any shape, as plain data."""
    if isinstance(value, Estimate):
        return value.as_json()
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    assert value is None or isinstance(value, str | int | float)
    return value
