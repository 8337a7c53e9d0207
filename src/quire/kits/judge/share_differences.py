"""Differences of shares, each with its own interval: within what is possible, also at the ends.

The idea. Each share has an interval that stays between its ends and has a width even where every
sample says the same. The lower end of the difference is as far below it as the first's lower end
and the second's upper end are from their shares, as the sides of a triangle: at a right angle where
the two are independent, at that of their correlation over samples where they are paired (the method
of variance estimates recovery; Newcombe 1998, Zou and Donner 2008).
"""

from collections.abc import Sequence
from math import sqrt

from quire.kits.judge.correctness import above_chance
from quire.kits.judge.intervals import (
    COVERAGE,
    SHARE,
    Estimate,
    Totals,
    estimate_mean,
    leave_each_out,
    ratio,
)

_STILL = 1e-12  # what moves by less does not move


def compare_shares(
    groups: tuple[Sequence[Totals], Sequence[Totals]],
    chances: tuple[float, float],
    *,
    paired: bool,
    coverage: float = COVERAGE,
) -> tuple[tuple[Estimate, Estimate], Estimate]:
    """Two shares, each above its chance, and the first less the second."""
    one, other = (
        above_chance(estimate_mean(group, SHARE, coverage), chance)
        for group, chance in zip(groups, chances, strict=True)
    )
    clusters = one.clusters if paired else one.clusters + other.clusters
    plain = Estimate(None, None, None, one.observations + other.observations, clusters)
    if one.value is None or other.value is None:
        return (one, other), plain
    plain = plain._replace(value=one.value - other.value)
    moves = [leave_each_out(group, ratio) if len(group) > 1 else [] for group in groups]
    if paired and _always_differ_alike(moves, chances):
        return (one, other), plain
    return (one, other), _with_ends(plain, one, other, _correlation(*moves) if paired else 0.0)


def _with_ends(found: Estimate, one: Estimate, other: Estimate, alike: float) -> Estimate:
    if None in one[:3] or None in other[:3]:
        return found
    below = _third_side(one.value - one.low, other.high - other.value, alike)  # type: ignore[operator]
    above = _third_side(one.high - one.value, other.value - other.low, alike)  # type: ignore[operator]
    return found._replace(low=found.value - below, high=found.value + above)  # type: ignore[operator]


def _third_side(one: float, other: float, cosine: float) -> float:
    return sqrt(max(0.0, one**2 + other**2 - 2 * cosine * one * other))


def _always_differ_alike(moves: Sequence[Sequence[float]], chances: tuple[float, float]) -> bool:
    """Both move, and together: the samples cannot say how far their difference would."""
    scaled = [
        [value / (1 - chance) for value in values]
        for values, chance in zip(moves, chances, strict=True)
    ]
    apart = [one - other for one, other in zip(*scaled, strict=True)]
    return min(map(_reach, moves)) > _STILL and _reach(apart) <= _STILL


def _reach(values: Sequence[float]) -> float:
    return max(values) - min(values) if values else 0.0


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    if min(_reach(one), _reach(other)) <= _STILL:
        return 0.0
    first, second = ([value - sum(side) / len(side) for value in side] for side in (one, other))
    products = sum(a * b for a, b in zip(first, second, strict=True))
    found = products / sqrt(sum(a * a for a in first) * sum(b * b for b in second))
    return max(-1.0, min(1.0, found))
