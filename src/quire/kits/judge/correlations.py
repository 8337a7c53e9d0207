"""Correlations and straight lines through points, one point a sample, with intervals."""

from collections.abc import Callable, Sequence
from math import sqrt

from quire.kits.judge.intervals import (
    CORRELATION,
    PLAIN,
    Estimate,
    Scale,
    Totals,
    estimate_left_out,
)


def moments(x: float, y: float, weight: float = 1.0) -> Totals:
    """What points add up: their weight, and the sums that a correlation or a line needs."""
    return (
        *(weight, weight * x, weight * y),
        *(weight * x * x, weight * y * y, weight * x * y),
    )


def correlation(totals: Totals) -> float | None:
    """Pearson's, of added moments; None where one side does not vary."""
    _, xx, yy, xy = _center(totals)
    if min(xx, yy) <= 0:
        return None
    return max(-1.0, min(1.0, xy / sqrt(xx * yy)))


def slope(totals: Totals) -> float | None:
    """Of the straight line that fits best; None where x does not vary."""
    _, xx, _, xy = _center(totals)
    return xy / xx if xx > 0 else None


def estimate_correlation(clusters: Sequence[Totals], observations: int) -> Estimate:
    """Pearson's correlation of the points of some clusters, with its interval."""
    return estimate_moments(clusters, correlation, observations, CORRELATION)


def estimate_moments(
    clusters: Sequence[Totals],
    statistic: Callable[[Totals], float | None],
    observations: int,
    scale: Scale = PLAIN,
) -> Estimate:
    """Any statistic of added totals, with its interval."""
    if not clusters:
        return Estimate(None)
    whole = _sum(clusters)
    without = [
        statistic(tuple(a - b for a, b in zip(whole, cluster, strict=True))) for cluster in clusters
    ]
    return estimate_left_out(statistic(whole), without, observations, scale)


def _sum(clusters: Sequence[Totals]) -> Totals:
    return tuple(map(sum, zip(*clusters, strict=True)))


def _center(totals: Totals) -> tuple[float, float, float, float]:
    """The weight, and the sums of squares and products about the means; 0 for what is rounding."""
    weight, x, y, xx, yy, xy = totals
    if weight <= 0:
        return 0.0, 0.0, 0.0, 0.0
    squares = [(xx, xx - x * x / weight), (yy, yy - y * y / weight)]
    rounded = [left if left > 1e-12 * max(1.0, whole) else 0.0 for whole, left in squares]
    return weight, rounded[0], rounded[1], xy - x * y / weight
