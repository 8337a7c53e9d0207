"""Agreement: Krippendorff's alpha and Cohen's kappa, with intervals over samples.

Alpha is 1 less the disagreement that is observed over the one expected by chance, both as means
over pairs of verdicts. By the nominal measure two verdicts that differ disagree by 1. By the
ordinal one they disagree by the square of what lies between their ranks; with the middle rank of a
value among all values, that is the square of a difference, so that sums of ranks and of their
squares give all pairs at once.

A verdict is what it names: by the nominal measure the set of stages, by the ordinal one their mean.
What is missing (an abstention, an answer that could not be read) makes no pair.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from quire.kits.judge.intervals import AT_MOST_ONE, Estimate, estimate_left_out
from quire.kits.judge.metrics import Score
from quire.kits.judge.pair_errors import estimate_over_pairs, pair_excess

NOMINAL, ORDINAL = "nominal", "ordinal"

Verdict = tuple[int, ...]  # what it names: stages, or the places at which they were displayed


def verdict_of(score: Score) -> Verdict:
    """What an answered score names, whatever the order it was said in."""
    return tuple(sorted(score.stages))


class Rating(NamedTuple):
    """One verdict on one unit."""

    unit: Hashable  # what was judged
    group: str  # whose verdict it is
    sample: int
    value: Verdict


def krippendorff_alpha(units: Iterable[Sequence[Verdict]], level: str) -> float | None:
    """Krippendorff's alpha of the values that each unit got; None where all are alike."""
    paired = [unit for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    coded = _codes(values, level)
    expected = _pairs([coded[value] for value in values], level)
    if not expected:
        return None
    observed = sum(
        _pairs([coded[value] for value in unit], level) / (len(unit) - 1) for unit in paired
    )
    return 1 - (len(values) - 1) * observed / expected


def alpha_between_groups(ratings: Sequence[Rating], level: str) -> float | None:
    """An alpha of pairs whose groups differ and whose samples differ, on the same unit.

    Groups that judge in the same sample see the same display, and agree where both only prefer a
    place on it; verdicts of different samples share nothing but the unit. Chance is that of any
    two verdicts, as in Krippendorff's alpha.
    """
    values = [rating.value for rating in ratings]
    coded = _codes(values, level)
    expected = _pairs([coded[value] for value in values], level)
    units: dict[Hashable, dict[str, dict[int, float]]] = {}
    for rating in ratings:
        groups = units.setdefault(rating.unit, {})
        groups.setdefault(rating.group, {})[rating.sample] = coded[rating.value]
    found = [
        _cross(one, other, level)
        for groups in units.values()
        for one, other in combinations(groups.values(), 2)
    ]
    count = sum(pairs for _, pairs in found)
    if not expected or not count:
        return None
    chance = expected / (len(values) * (len(values) - 1))
    return 1 - sum(total for total, _ in found) / count / chance


def _codes(values: Sequence[Verdict], level: str) -> Mapping[Verdict, float]:
    """A number for every value: one of its own, or its middle rank."""
    if level == NOMINAL:
        return {value: float(code) for code, value in enumerate(dict.fromkeys(values))}
    counts = Counter(sum(value) / len(value) for value in values)
    below, ranks = 0, {}
    for mean in sorted(counts):
        ranks[mean] = below + counts[mean] / 2
        below += counts[mean]
    return {value: ranks[sum(value) / len(value)] for value in set(values)}


def _pairs(codes: Sequence[float], level: str) -> float:
    """The disagreement of all ordered pairs."""
    if level == NOMINAL:
        return len(codes) ** 2 - sum(count**2 for count in Counter(codes).values())
    return 2 * (len(codes) * sum(code**2 for code in codes) - sum(codes) ** 2)


def _cross(one: Mapping[int, float], other: Mapping[int, float], level: str) -> tuple[float, int]:
    """The disagreement of pairs across two groups, of different samples; and how many they are."""
    both = one.keys() & other.keys()
    count = len(one) * len(other) - len(both)
    if level == NOMINAL:
        theirs = Counter(other.values())
        alike = sum(theirs[code] for code in one.values())
        return count - alike + sum(one[sample] == other[sample] for sample in both), count
    total = (
        len(other) * sum(code**2 for code in one.values())
        + len(one) * sum(code**2 for code in other.values())
        - 2 * sum(one.values()) * sum(other.values())
    )
    return total - sum((one[sample] - other[sample]) ** 2 for sample in both), count


def estimate_alpha(ratings: Sequence[Rating], level: str) -> Estimate:
    """Krippendorff's alpha with its interval; a unit's values are those of all its ratings."""
    units: dict[Hashable, list[Rating]] = {}
    for rating in ratings:
        units.setdefault(rating.unit, []).append(rating)
    paired = [rating for rating in ratings if len(units[rating.unit]) > 1]
    value, without = leave_out_alphas(ratings, level)
    samples, left_out = list(without), list(without.values())
    excess = 0.0
    if value is not None and None not in left_out:
        weights = {unit: 1 / len(paired) / (len(said) - 1) for unit, said in units.items()
                   if len(said) > 1}  # fmt: skip
        shares = _pair_shares(paired, level, 1 - value, lambda unit: weights[unit], apart=False)
        excess = pair_excess(samples, shares)
    return estimate_over_pairs(value, left_out, excess, len(paired))


class AlphaMoves(NamedTuple):
    """A figure of all samples, and without each; None where it cannot be computed."""

    value: float | None
    without: Mapping[int, float | None]

    def less(self, other: "AlphaMoves") -> "AlphaMoves":
        """By how much it is above another of the same samples."""
        without = {n: _less(mine, other.without[n]) for n, mine in self.without.items()}
        return AlphaMoves(_less(self.value, other.value), without)


def leave_out_alphas(ratings: Sequence[Rating], level: str) -> AlphaMoves:
    """Krippendorff's alpha of all ratings, and without each sample in turn."""
    units: dict[Hashable, list[tuple[int, Verdict]]] = {}
    for rating in ratings:
        units.setdefault(rating.unit, []).append((rating.sample, rating.value))

    def without(left_out: int | None) -> float | None:
        kept = ([v for sample, v in unit if sample != left_out] for unit in units.values())
        return krippendorff_alpha(kept, level)

    return AlphaMoves(without(None), {sample: without(sample) for sample in _samples(ratings)})


def _samples(ratings: Iterable[Rating]) -> list[int]:
    return sorted({rating.sample for rating in ratings})


def estimate_alpha_difference(
    one: Sequence[Rating], other: Sequence[Rating], level: str
) -> Estimate:
    """By how much one alpha is above another of the same verdicts, seen otherwise."""
    found = leave_out_alpha_difference(one, other, level)
    return estimate_left_out(found.value, list(found.without.values()), len(one))


def leave_out_alpha_difference(
    one: Sequence[Rating], other: Sequence[Rating], level: str
) -> AlphaMoves:
    """The same of all samples, and without each."""
    return leave_out_alphas(one, level).less(leave_out_alphas(other, level))


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def leave_out_alpha_between(ratings: Sequence[Rating], level: str) -> AlphaMoves:
    """An alpha across groups and samples, and without each sample in turn."""
    without = {
        sample: alpha_between_groups([item for item in ratings if item.sample != sample], level)
        for sample in _samples(ratings)
    }
    return AlphaMoves(alpha_between_groups(ratings, level), without)


def estimate_alpha_between(ratings: Sequence[Rating], level: str) -> Estimate:
    """An alpha across groups and samples with its interval."""
    value, without = leave_out_alpha_between(ratings, level)
    samples, left_out = list(without), list(without.values())
    excess = 0.0
    if value is not None and None not in left_out:
        units: dict[Hashable, list[Rating]] = {}
        for rating in ratings:
            units.setdefault(rating.unit, []).append(rating)
        count = sum(
            one.group != other.group and one.sample != other.sample
            for unit in units.values()
            for one, other in combinations(unit, 2)
        )
        shares = _pair_shares(ratings, level, 1 - value, lambda _: 1 / count / 2, apart=True)
        excess = pair_excess(samples, shares)
    return estimate_over_pairs(value, left_out, excess, len(ratings))


def _pair_shares(
    ratings: Sequence[Rating],
    level: str,
    ratio: float,
    weight: Callable[[Hashable], float],
    *,
    apart: bool,
) -> dict[tuple[int, int], float]:
    """What each two samples add to an alpha: what they disagree by, less `ratio` of chance."""
    coded = _codes([rating.value for rating in ratings], level)
    units: dict[Hashable, list[tuple[int, str, float]]] = {}
    by_sample: dict[int, list[float]] = {}
    for rating in ratings:
        code = coded[rating.value]
        units.setdefault(rating.unit, []).append((rating.sample, rating.group, code))
        by_sample.setdefault(rating.sample, []).append(code)
    every = len(ratings) * (len(ratings) - 1)
    chance = _pairs([code for codes in by_sample.values() for code in codes], level) / every
    found = {
        (one, other): -2 * ratio * _apart(by_sample[one], by_sample[other], level) / every / chance
        for one, other in combinations(sorted(by_sample), 2)
    }
    for unit, said in units.items():
        share = 2 * weight(unit) / chance
        for (one, group, mine), (other, rival, theirs) in combinations(said, 2):
            if one != other and not (apart and group == rival):
                off = float(mine != theirs) if level == NOMINAL else (mine - theirs) ** 2
                found[min(one, other), max(one, other)] += share * off
    return found


def _apart(one: Sequence[float], other: Sequence[float], level: str) -> float:
    """The disagreement of all pairs of one value of each."""
    return (_pairs([*one, *other], level) - _pairs(one, level) - _pairs(other, level)) / 2


def cohen_kappa(pairs: Mapping[tuple[Verdict, Verdict], int]) -> float | None:
    """Cohen's kappa of counted pairs; None where chance alone makes all of them agree."""
    total = sum(pairs.values())
    ours, theirs = Counter[Verdict](), Counter[Verdict]()
    for (one, other), count in pairs.items():
        ours[one] += count
        theirs[other] += count
    agreed = sum(count for (one, other), count in pairs.items() if one == other)
    by_chance = sum(count * theirs[value] for value, count in ours.items())
    if by_chance == total**2:
        return None
    return 1 - (total - agreed) * total / (total**2 - by_chance)


def estimate_kappa(pairs: Iterable[tuple[int, Verdict, Verdict]]) -> Estimate:
    """Cohen's kappa of pairs, each with its sample, and its interval."""
    by_sample: dict[int, Counter[tuple[Verdict, Verdict]]] = {}
    for sample, one, other in pairs:
        by_sample.setdefault(sample, Counter())[one, other] += 1
    every = sum(by_sample.values(), Counter[tuple[Verdict, Verdict]]())
    left_out = [cohen_kappa(every - counts) for counts in by_sample.values()]
    return estimate_left_out(cohen_kappa(every), left_out, every.total(), AT_MOST_ONE)


class Display(NamedTuple):
    """How one model was shown the scale in one sample."""

    order: tuple[int, ...]  # stages from 1, as displayed
    tokens: tuple[str, ...]  # identifiers, weakest stage first

    def positions(self, stages: Verdict) -> Verdict:
        """At which lines, from 1, stages were displayed."""
        return tuple(sorted(self.order.index(stage) + 1 for stage in stages))


Displays = Mapping[tuple[str, int], Display]  # by model and sample


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinModel:
    """How far a model agrees with itself, on the same evidence, from sample to sample."""

    model: str
    stages_ordinal: Estimate
    stages_nominal: Estimate
    positions_ordinal: Estimate  # of the lines that were chosen, whatever stage stood there
    positions_nominal: Estimate
    lines_above_stages: Estimate  # the ordinal alpha of lines less that of stages


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenModels:
    """How far models agree: in the same sample, so on the same display, and in different ones."""

    models: tuple[str, ...]
    matched_ordinal: Estimate  # Krippendorff's, a unit a bundle in a sample
    matched_nominal: Estimate
    apart_ordinal: Estimate  # of verdicts of different samples
    apart_nominal: Estimate
    kappa: Estimate | None = None  # of two models, in the same sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Who agrees with whom."""

    within: tuple[WithinModel, ...]
    between: BetweenModels | None  # all models together; None where there is one
    pairs: tuple[BetweenModels, ...]


def measure_agreement(scores: Sequence[Score], displays: Displays) -> Agreement:
    """Agreement within models and between them, of scores that are no swaps."""
    answered = [score for score in scores if score.decoded and score.stages]
    models = tuple(dict.fromkeys(score.model for score in scores))
    return Agreement(
        within=tuple(
            _within(model, [score for score in answered if score.model == model], displays)
            for model in models
        ),
        between=_between(models, answered) if len(models) > 1 else None,
        pairs=tuple(_pair(pair, answered) for pair in combinations(models, 2)),
    )


def ratings_of(scores: Iterable[Score]) -> list[Rating]:
    """What answered scores name, a unit a bundle."""
    return [Rating(score.bundle, score.model, score.sample, verdict_of(score)) for score in scores]


def ratings_of_lines(ratings: Iterable[Rating], displays: Displays) -> list[Rating]:
    """The lines on which the stages stood that were named."""
    return [
        rating._replace(value=displays[rating.group, rating.sample].positions(rating.value))
        for rating in ratings
    ]


def _within(model: str, scores: Sequence[Score], displays: Displays) -> WithinModel:
    stages = ratings_of(scores)
    positions = ratings_of_lines(stages, displays)
    return WithinModel(
        model=model,
        stages_ordinal=estimate_alpha(stages, ORDINAL),
        stages_nominal=estimate_alpha(stages, NOMINAL),
        positions_ordinal=estimate_alpha(positions, ORDINAL),
        positions_nominal=estimate_alpha(positions, NOMINAL),
        lines_above_stages=estimate_alpha_difference(positions, stages, ORDINAL),
    )


def _between(models: tuple[str, ...], scores: Sequence[Score]) -> BetweenModels:
    chosen = [score for score in scores if score.model in models]
    apart = ratings_of(chosen)
    matched = [rating._replace(unit=(rating.sample, rating.unit)) for rating in apart]
    return BetweenModels(
        models=models,
        matched_ordinal=estimate_alpha(matched, ORDINAL),
        matched_nominal=estimate_alpha(matched, NOMINAL),
        apart_ordinal=estimate_alpha_between(apart, ORDINAL),
        apart_nominal=estimate_alpha_between(apart, NOMINAL),
    )


def _pair(pair: tuple[str, str], scores: Sequence[Score]) -> BetweenModels:
    found = _between(pair, scores)
    return BetweenModels(
        models=pair,
        matched_ordinal=found.matched_ordinal,
        matched_nominal=found.matched_nominal,
        apart_ordinal=found.apart_ordinal,
        apart_nominal=found.apart_nominal,
        kappa=estimate_kappa(_match(pair, scores)),
    )


def _match(
    pair: tuple[str, str], scores: Iterable[Score]
) -> Iterator[tuple[int, Verdict, Verdict]]:
    """What two models said of the same bundle in the same sample."""
    places: dict[tuple[int, str], dict[str, Verdict]] = {}
    for score in scores:
        places.setdefault((score.sample, score.bundle), {})[score.model] = verdict_of(score)
    for (sample, _), said in places.items():
        if all(model in said for model in pair):
            yield sample, said[pair[0]], said[pair[1]]
