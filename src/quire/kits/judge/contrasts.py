"""Contrasts: by how much experiments differ, paired where they share samples and evidence.

The idea. Two experiments of one seed draw their samples with the same seeds: the same identifiers
in the same order, and within a family the same rubrics. So a model's verdict on a bundle in one is
set beside its verdict on the same bundle in the same sample of the other, and the mean of these
differences has an interval over samples, by the delete-one jackknife. Where most bundles differ,
whole samples are set beside each other: each is left out of both in turn. Where not even
seeds are shared, the experiments are independent, and their errors add up (as Welch has it).

Every figure lies on a scale from 0 to 1 that does not depend on how many stages there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log2
from typing import NamedTuple

from quire.domain.data import Json
from quire.kits.judge.alpha_contrasts import ALL_MODELS, Alpha, compare_alphas
from quire.kits.judge.contrast_questions import QUESTIONS, Question
from quire.kits.judge.correctness import chance_of, estimate_above_chance
from quire.kits.judge.intervals import (
    CHANGE_OF_SHARE,
    COVERAGE,
    SHARE,
    Estimate,
    Totals,
    correct_bias,
    estimate_difference,
    estimate_mean,
    estimate_paired_difference,
    estimate_statistic,
)
from quire.kits.judge.metrics import Score, entropy
from quire.kits.judge.share_differences import compare_shares

BY_EVIDENCE, BY_SAMPLE, UNPAIRED = "evidence", "sample", "none"


_NO_ESTIMATE = Estimate(None)


NO_ALPHAS: Mapping[tuple[str, str], Alpha] = {}


class Arm(NamedTuple):
    """One experiment, as it is compared."""

    name: str
    scale_size: int
    seeds: tuple[int, ...]  # of its samples
    scores: tuple[Score, ...]  # swaps are left out
    settings: Mapping[str, str]  # what it was told, by name
    alphas: Mapping[tuple[str, str], Alpha] = NO_ALPHAS  # by question and model

    def models(self) -> tuple[str, ...]:
        """Who judged."""
        return tuple(dict.fromkeys(score.model for score in self.scores))

    def scores_by(self, model: str) -> list[Score]:
        """One model's scores, or all."""
        return [score for score in self.scores if model in (ALL_MODELS, score.model)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """How one model's figure in one experiment differs from that in another."""

    question: str
    model: str
    of: str
    against: str
    varies: tuple[str, ...]  # the settings in which they differ
    pairing: str
    of_value: float | None
    against_value: float | None
    difference: Estimate
    family: int = 0  # contrasts that have an interval, of the same comparison
    simultaneous: Estimate = _NO_ESTIMATE  # so long that all of the family's hold at once
    stands_out: bool | None = None  # whether it excludes 0 among so many, by Holm

    def as_row(self) -> dict[str, Json]:
        """Flat, for a table."""
        found = self.difference
        return {
            "question": self.question,
            "model_id": self.model,
            "of": self.of,
            "against": self.against,
            "varies": "; ".join(self.varies),
            "pairing": self.pairing,
            "of_value": self.of_value,
            "against_value": self.against_value,
            "difference": found.value,
            "low": found.low,
            "high": found.high,
            "excludes_zero": excludes_zero(found),
            "family": self.family,
            "simultaneous_low": self.simultaneous.low,
            "simultaneous_high": self.simultaneous.high,
            "stands_out": self.stands_out,
            "observations": found.observations,
            "clusters": found.clusters,
        }


def excludes_zero(found: Estimate) -> bool | None:
    """Whether a difference is above or below 0 by its whole interval; None without one."""
    if found.low is None or found.high is None:
        return None
    return found.low > 0 or found.high < 0


class ArmFigure(NamedTuple):
    """One model's figure in one experiment."""

    question: str
    experiment: str
    model: str
    figure: Estimate


def find_levels(arms: Sequence[Arm]) -> list[ArmFigure]:
    """Every figure of every experiment and model."""
    return [
        ArmFigure(question.name, arm.name, model, _level(question, arm, model))
        for question in QUESTIONS
        for arm in arms
        if not question.is_fixed_in(arm.settings)
        for model in _models_of(question, arm)
    ]


def _models_of(question: Question, arm: Arm) -> list[str]:
    """Whose figures there are: an alpha may be of all models together, or not known."""
    if question.is_alpha:
        return [model for name, model in arm.alphas if name == question.name]
    return list(arm.models())


def _level(question: Question, arm: Arm, model: str) -> Estimate:
    if question.is_alpha:
        return arm.alphas[question.name, model].figure
    counted = [score for score in arm.scores_by(model) if question.counts(score)]
    if question.over_chance:
        return estimate_above_chance(counted, arm.scale_size)
    clusters = list(_clusters(question, arm, counted).values())
    if question.is_mean:
        return estimate_mean(clusters, SHARE)
    return estimate_statistic(clusters, _figure(question, arm), SHARE, len(counted))


def find_contrasts(arms: Sequence[Arm]) -> list[Contrast]:
    """Every question of every pair of experiments that is to be told apart, by model."""
    found = []
    for one, other in pairs_to_contrast(arms):
        for question in QUESTIONS:
            if not _is_asked(question, one, other):
                continue
            for model in _models_to_compare(question, one, other):
                contrast = compare(question, model, one, other)
                if _is_known(question, contrast, (one, other)):
                    found.append(contrast)
    return found


def _models_to_compare(question: Question, one: Arm, other: Arm) -> list[str]:
    """The models that both have; all together where they share none."""
    theirs = _models_of(question, other)
    shared = [model for model in _models_of(question, one) if model in theirs]
    if not question.is_alpha:
        return shared or [ALL_MODELS]
    same = set(one.models()) == set(other.models())
    return [model for model in shared if same or model != ALL_MODELS]


def _is_asked(question: Question, one: Arm, other: Arm) -> bool:
    """Whether both can say something to it, on scales that it can be compared on."""
    if question.same_scale and one.scale_size != other.scale_size:
        return False
    return not any(question.is_fixed_in(arm.settings) for arm in (one, other))


def _is_known(question: Question, contrast: Contrast, arms: Sequence[Arm]) -> bool:
    """Whether there is a difference, or one has a figure though the two share nothing to match."""
    if contrast.difference.value is not None:
        return True
    if question.is_alpha:
        values = [arm.alphas[question.name, contrast.model].figure.value for arm in arms]
        return any(value is not None for value in values)
    return any(question.counts(score) for arm in arms for score in arm.scores_by(contrast.model))


def pairs_to_contrast(arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    """The pairs that differ in one setting, the later first; who is in none, with the first."""
    pairs = [
        (other, one)
        for one, other in combinations(arms, 2)
        if len(varied_settings(one, other)) <= 1
    ]
    order = {name: place for arm in arms for place, name in enumerate(arm.settings)}
    pairs.sort(key=lambda pair: [order[name] for name in varied_settings(*pair)])
    paired = {arm.name for pair in pairs for arm in pair}
    return pairs + [(arm, arms[0]) for arm in arms[1:] if arm.name not in paired]


def varied_settings(one: Arm, other: Arm) -> tuple[str, ...]:
    """In which settings two experiments differ."""
    names = dict.fromkeys([*one.settings, *other.settings])
    return tuple(name for name in names if one.settings.get(name) != other.settings.get(name))


def compare(
    question: Question, model: str, one: Arm, other: Arm, coverage: float = COVERAGE
) -> Contrast:
    """One contrast, paired as far as the two experiments allow it."""
    arms = (one, other)
    if question.is_alpha:
        return _compare_alphas(question, model, arms, coverage)
    counted = [[s for s in arm.scores_by(model) if question.counts(s)] for arm in arms]
    pairing = _pairing(question, model, one, other)
    if question.is_hit:
        values, difference = _compare_hits(question, arms, counted, pairing, coverage)
    elif pairing == BY_EVIDENCE:
        values, difference = _match_scores(question, arms, counted, coverage)
    else:
        paired = pairing == BY_SAMPLE
        values, difference = _match_samples(question, arms, counted, coverage, paired=paired)
    if not question.over_chance:  # which can be below 0
        difference = difference.within(CHANGE_OF_SHARE)
    return Contrast(
        question=question.name,
        model=model,
        of=one.name,
        against=other.name,
        varies=varied_settings(one, other),
        pairing=pairing,
        of_value=values[0],
        against_value=values[1],
        difference=difference,
    )


def _compare_alphas(question: Question, model: str, arms: "_Arms", coverage: float) -> Contrast:
    one, other = arms
    first, second = (arm.alphas[question.name, model] for arm in arms)
    paired = set(one.seeds) == set(other.seeds)
    return Contrast(
        question=question.name,
        model=model,
        of=one.name,
        against=other.name,
        varies=varied_settings(one, other),
        pairing=BY_SAMPLE if paired else UNPAIRED,
        of_value=first.figure.value,
        against_value=second.figure.value,
        difference=compare_alphas(first, second, paired=paired, coverage=coverage),
    )


def _pairing(question: Question, model: str, one: Arm, other: Arm) -> str:
    if model == ALL_MODELS or len(set(one.seeds) & set(other.seeds)) < 2:
        return UNPAIRED
    bundles = [{score.bundle for score in arm.scores} for arm in (one, other)]
    most = 2 * len(bundles[0] & bundles[1]) >= max(map(len, bundles))  # else much is left out
    return BY_EVIDENCE if question.is_mean and most else BY_SAMPLE


_Values = tuple[float | None, float | None]
_Arms = tuple[Arm, Arm]


def _chance(question: Question, arm: Arm, counted: Sequence[Score]) -> float:
    return chance_of(counted, arm.scale_size) if question.over_chance else 0.0


def _compare_hits(
    question: Question,
    arms: _Arms,
    counted: Sequence[Sequence[Score]],
    pairing: str,
    coverage: float,
) -> tuple[_Values, Estimate]:
    """Shares of exact hits: what they differ by has an end, and is not known where none moves."""
    places = [
        {(arm.seeds[score.sample], score.bundle) for score in scores}
        for arm, scores in zip(arms, counted, strict=True)
    ]
    both = places[0] & places[1]
    if pairing == BY_EVIDENCE:
        counted = [
            [score for score in scores if (arm.seeds[score.sample], score.bundle) in both]
            for arm, scores in zip(arms, counted, strict=True)
        ]
    if pairing != UNPAIRED:
        counted = _in_shared_samples(arms, counted)
    sides = [_clusters(question, arm, scores) for arm, scores in zip(arms, counted, strict=True)]
    one, other = ([side[seed] for seed in sorted(side)] for side in sides)
    chances = (_chance(question, arms[0], counted[0]), _chance(question, arms[1], counted[1]))
    levels, found = compare_shares(
        (one, other), chances, paired=pairing != UNPAIRED, coverage=coverage
    )
    if pairing == BY_EVIDENCE:
        found = found._replace(observations=levels[0].observations)
    return (levels[0].value, levels[1].value), found


def _in_shared_samples(arms: _Arms, counted: Sequence[Sequence[Score]]) -> list[list[Score]]:
    """The scores of samples from which both have some."""
    pairs = list(zip(arms, counted, strict=True))
    seeds = [{arm.seeds[score.sample] for score in scores} for arm, scores in pairs]
    both = seeds[0] & seeds[1]
    return [[score for score in scores if arm.seeds[score.sample] in both] for arm, scores in pairs]


def _match_scores(
    question: Question, arms: _Arms, counted: Sequence[Sequence[Score]], coverage: float
) -> tuple[_Values, Estimate]:
    """Verdicts on the same bundle in the same sample, each pair a difference."""
    one, other = (
        {(arm.seeds[score.sample], score.bundle): question.value(score, arm.scale_size)
         for score in scores}
        for arm, scores in zip(arms, counted, strict=True)
    )  # fmt: skip
    places = [place for place in one if place in other]
    by_sample: dict[int, list[float]] = {}
    for place in places:
        by_sample.setdefault(place[0], []).append(one[place] - other[place])
    sums = [(sum(item), float(len(item))) for item in by_sample.values()]
    found = estimate_mean(sums, coverage=coverage)
    if found.low == found.high:
        found = found._replace(low=None, high=None)
    averages = [_mean([side[place] for place in places]) for side in (one, other)]
    return (averages[0], averages[1]), found


def _match_samples(
    question: Question,
    arms: _Arms,
    counted: Sequence[Sequence[Score]],
    coverage: float,
    *,
    paired: bool,
) -> tuple[_Values, Estimate]:
    """Whole samples beside each other, or experiments that share none."""
    figures = (_figure(question, arms[0]), _figure(question, arms[1]))
    clusters = [_clusters(question, arm, scores) for arm, scores in zip(arms, counted, strict=True)]
    if paired:
        shared = [seed for seed in clusters[0] if seed in clusters[1]]
        clusters = [{seed: found[seed] for seed in shared} for found in clusters]
    one, other = (list(found.values()) for found in clusters)
    kept = [
        {arm.seeds.index(seed) for seed in found} for arm, found in zip(arms, clusters, strict=True)
    ]
    count = sum(s.sample in use for scores, use in zip(counted, kept, strict=True) for s in scores)
    unbias = not question.is_mean
    if paired:
        pairs = list(zip(one, other, strict=True))
        difference = estimate_paired_difference(
            pairs, figures, count, unbias=unbias, coverage=coverage
        )
    else:
        difference = estimate_difference(
            (one, other), figures, count, unbias=unbias, coverage=coverage
        )
    values = [
        correct_bias(group, figure) if unbias else figure(_total(group)) if group else None
        for figure, group in zip(figures, (one, other), strict=True)
    ]
    return (values[0], values[1]), difference


def _clusters(question: Question, arm: Arm, scores: Sequence[Score]) -> dict[int, Totals]:
    """What the scores of each sample add up to, by its seed."""
    by_seed: dict[int, list[Totals]] = {}
    for score in scores:
        totals = (
            (question.value(score, arm.scale_size), 1.0)
            if question.is_mean
            else _masses(score, arm.scale_size)
        )
        by_seed.setdefault(arm.seeds[score.sample], []).append(totals)
    return {seed: _total(totals) for seed, totals in by_seed.items()}


def _masses(score: Score, size: int) -> Totals:
    part = 1 / len(score.stages)
    return tuple(part if stage in score.stages else 0.0 for stage in range(1, size + 1))


def _figure(question: Question, arm: Arm) -> Callable[[Totals], float | None]:
    if question.is_mean:
        return lambda totals: totals[0] / totals[1] if totals[1] else None
    most = log2(arm.scale_size)

    def spread(totals: Totals) -> float | None:
        found = entropy(totals)
        return None if found is None else found / most

    return spread


def _total(clusters: Sequence[Totals]) -> Totals:
    return tuple(map(sum, zip(*clusters, strict=True)))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
