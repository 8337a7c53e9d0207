"""Intervals of figures whose observations come in clusters, as scores share a sample's rubric.

The idea. A figure is computed from totals of clusters, one cluster a sample. It is computed again
without each of them in turn (the delete-one jackknife): how much it moves tells its standard error,
and by how much the mean of those lies off tells the bias that it has for want of clusters. The
interval has Student's width with one degree of freedom less than there are clusters. A figure with
two ends, such as a share, is put on the logit scale between them first, so that its interval stays
within, and is longer towards the middle.

What could go wrong. Scores of one sample are alike, so that an interval made as if they were
independent (Wilson's over all scores) covers 73 to 83 of 100 times where it says 95; and drawing
few samples again and again (the percentile bootstrap, BCa) is as bad for an entropy, which is
biased and bounded. `tests/soak/test_interval_coverage.py` shows how often these here cover.
"""

from collections.abc import Callable, Mapping, Sequence
from math import atanh, exp, log, sqrt, tanh
from typing import NamedTuple

from quire.domain.data import Json
from quire.planning.quantiles import student_quantile

COVERAGE = 0.95
_ALIKE = 0.1  # intraclass correlation that is assumed where all clusters say the same
_NEAREST = 1.0  # standard errors: an entropy is taken to be so far from its ends, at least
_FARTHEST = 3.0  # margins: how far up a contrast may reach that cannot be told from 0
_LARGEST = 500.0  # of a logit, so that nothing overflows

Totals = tuple[float, ...]
Statistic = Callable[[Totals], float | None]


class Ends(NamedTuple):
    """Between which values a figure must lie."""

    low: float
    high: float

    def part(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one."""
        return (value - self.low) / (self.high - self.low)

    def value(self, part: float) -> float:
        """The value at a part of the way."""
        return self.low + part * (self.high - self.low)


SHARE = Ends(0.0, 1.0)
CHANGE_OF_SHARE = Ends(-1.0, 1.0)


def change_on_scale(scale_size: int) -> Ends:
    """How far a stage can move on a scale."""
    return Ends(1.0 - scale_size, scale_size - 1.0)


class Estimate(NamedTuple):
    """A figure, its 95 % interval, and how many observations in how many clusters it rests on."""

    value: float | None  # None: there was nothing to observe
    low: float | None = None
    high: float | None = None
    observations: int = 0
    clusters: int = 0

    def within(self, ends: Ends) -> "Estimate":
        """The same, bounded by what can be: few samples tell less than that."""
        value, low, high = (
            None if place is None else min(ends.high, max(ends.low, place))
            for place in (self.value, self.low, self.high)
        )
        return self._replace(value=value, low=low, high=high)

    def as_json(self) -> dict[str, Json]:
        """All five by name."""
        return dict(self._asdict())


class Scale(NamedTuple):
    """Where an interval is made, so that it stays within what a figure can be."""

    forward: Callable[[float], float]
    back: Callable[[float], float]
    slope: Callable[[float], float]  # of `forward`; 0 where there is none


PLAIN = Scale(lambda value: value, lambda place: place, lambda _: 1.0)
AT_MOST_ONE = Scale(  # alphas and kappas: 1 - figure is a ratio of disagreements
    lambda value: -log(1 - value),
    lambda place: 1 - exp(-place),
    lambda value: 1 / (1 - value) if value < 1 else 0.0,
)
CORRELATION = Scale(atanh, tanh, lambda value: 1 / (1 - value**2) if abs(value) < 1 else 0.0)


def scale_between(ends: Ends) -> Scale:
    """The logit scale of figures that lie between two ends."""

    def slope(value: float) -> float:
        part = ends.part(value)
        return 1 / (part * (1 - part) * (ends.high - ends.low)) if 0 < part < 1 else 0.0

    return Scale(
        lambda value: log(ends.part(value) / (1 - ends.part(value))),
        lambda place: ends.value(1 / (1 + exp(-place))),
        slope,
    )


WITHIN_ONE = scale_between(SHARE)


def estimate_left_out(
    value: float | None,
    without: Sequence[float | None],
    observations: int,
    scale: Scale = PLAIN,
) -> Estimate:
    """A figure with the interval that the same figure without each cluster in turn gives it.

    There is none where the figure does not move, or without a cluster cannot be computed.
    """
    plain = Estimate(value, observations=observations, clusters=len(without))
    known = [item for item in without if item is not None]
    if value is None or len(known) < len(without) or len(known) < 2:
        return plain
    error, slope = _standard_error(known), scale.slope(value)
    if not error or not slope:
        return plain
    margin = student_quantile(COVERAGE, len(known) - 1) * error * slope
    middle = scale.forward(value)
    low, high = (
        scale.back(max(-_LARGEST, min(_LARGEST, middle + side * margin))) for side in (-1, 1)
    )
    return plain._replace(low=low, high=high)


def estimate_mean(
    clusters: Sequence[Totals], ends: Ends | None = None, coverage: float = COVERAGE
) -> Estimate:
    """A ratio of totals, a sum over a count in each cluster; between `ends` if it has some."""
    clusters = [cluster for cluster in clusters if cluster[1]]
    count = sum(cluster[1] for cluster in clusters)
    value = ratio(_sum(clusters)) if clusters else None
    plain = Estimate(value, observations=round(count), clusters=len(clusters))
    if value is None or len(clusters) < 2:
        return plain
    error = _standard_error(leave_each_out(clusters, ratio))
    width = student_quantile(coverage, len(clusters) - 1)
    if ends is None:
        return plain._replace(low=value - width * error, high=value + width * error)
    part = ends.part(value)
    if part in (0.0, 1.0) or not error:
        low, high = _wilson(part, _independent(count, len(clusters)), width)
        low, high = (0.0 if part == 0 else low), (1.0 if part == 1 else high)
    else:
        low, high = _logit_interval(part, width * error / (ends.high - ends.low))
    return plain._replace(low=ends.value(low), high=ends.value(high))


def estimate_statistic(
    clusters: Sequence[Totals], statistic: Statistic, ends: Ends, observations: int
) -> Estimate:
    """A statistic of all totals, such as an entropy, corrected for the bias of few clusters."""
    clusters = [cluster for cluster in clusters if any(cluster)]
    value = statistic(_sum(clusters)) if clusters else None
    plain = Estimate(value, observations=observations, clusters=len(clusters))
    without = leave_each_out(clusters, statistic) if len(clusters) > 1 else []
    if value is None or not without:
        return plain
    corrected = value - (len(clusters) - 1) * (_mean(without) - value)
    error = _standard_error(without)
    width = student_quantile(COVERAGE, len(clusters) - 1)
    shown = min(ends.high, max(ends.low, corrected))
    if not error:
        return plain._replace(value=shown, low=shown, high=shown)
    near = min(_NEAREST * error, (ends.high - ends.low) / 4)
    inner = min(ends.high - near, max(ends.low + near, corrected))
    low, high = _logit_interval(ends.part(inner), width * error / (ends.high - ends.low))
    low, high = ends.value(low), ends.value(high)
    return plain._replace(
        value=shown,
        low=ends.low if corrected - width * error <= ends.low else min(low, shown),
        high=ends.high if corrected + width * error >= ends.high else max(high, shown),
    )


def estimate_contrast(
    one: Sequence[Totals],
    other: Sequence[Totals],
    contrast: Callable[[Totals, Totals], float | None],
    observations: int,
) -> Estimate:
    """How far two groups of clusters are apart, from 0 on, such as a divergence.

    Leaving one cluster out of either group in turn gives the bias and the error of each; the
    interval is made on the scale of logarithms, and begins at 0 where 0 cannot be told from it.
    """
    one, other = [c for c in one if any(c)], [c for c in other if any(c)]
    value = contrast(_sum(one), _sum(other)) if one and other else None
    plain = Estimate(value, observations=observations, clusters=len(one) + len(other))
    if value is None or min(len(one), len(other)) < 2:
        return plain
    first = leave_each_out(one, lambda totals: contrast(totals, _sum(other)))
    second = leave_each_out(other, lambda totals: contrast(_sum(one), totals))
    if not (first and second):
        return plain
    bias = sum((len(group) - 1) * (_mean(group) - value) for group in (first, second))
    variances = [_standard_error(group) ** 2 for group in (first, second)]
    error = sqrt(sum(variances))
    corrected = max(0.0, value - bias)
    if not error:
        return plain._replace(value=corrected, low=corrected, high=corrected)
    width = student_quantile(COVERAGE, _degrees(variances, (len(first), len(second))))
    base = max(value - bias, value / 10, 1e-12)
    reach = exp(min(_LARGEST, width * error / base))
    high = min(1.0, base * reach)
    if value - bias - width * error > 0:
        return plain._replace(value=corrected, low=min(base / reach, corrected), high=high)
    # near 0 logarithms reach too far up: as far as thrice the plain margin is enough
    farthest = corrected + _FARTHEST * width * error
    return plain._replace(value=corrected, low=0.0, high=min(high, farthest))


def estimate_paired_difference(
    pairs: Sequence[tuple[Totals, Totals]],
    figures: tuple[Statistic, Statistic],
    observations: int,
    *,
    unbias: bool = False,
    coverage: float = COVERAGE,
) -> Estimate:
    """A figure of the first less one of the second, where each cluster has its part in both."""

    def difference(kept: Sequence[tuple[Totals, Totals]]) -> float | None:
        one, other = (figures[side](_sum([pair[side] for pair in kept])) for side in (0, 1))
        return None if one is None or other is None else one - other

    value = difference(pairs) if pairs else None
    plain = Estimate(value, observations=observations, clusters=len(pairs))
    if value is None or len(pairs) < 2:
        return plain
    without = [difference([*pairs[:at], *pairs[at + 1 :]]) for at in range(len(pairs))]
    known = [item for item in without if item is not None]
    if len(known) < len(without):
        return plain
    shown = value - (len(pairs) - 1) * (_mean(known) - value) if unbias else value
    return _with_margin(
        plain._replace(value=shown), _standard_error(known), len(pairs) - 1, coverage
    )


def estimate_difference(
    groups: tuple[Sequence[Totals], Sequence[Totals]],
    figures: tuple[Statistic, Statistic],
    observations: int,
    *,
    unbias: bool = False,
    coverage: float = COVERAGE,
) -> Estimate:
    """The same of two groups of clusters that have nothing to do with each other."""
    kept = [[cluster for cluster in group if any(cluster)] for group in groups]
    values, variances = [], []
    for group, figure in zip(kept, figures, strict=True):
        value = figure(_sum(group)) if group else None
        without = leave_each_out(group, figure) if len(group) > 1 else []
        bias = (len(group) - 1) * (_mean(without) - value) if without and value is not None else 0.0
        values.append(value - bias if unbias and value is not None else value)
        variances.append(_standard_error(without) ** 2)
    one, other = values
    clusters = sum(map(len, kept))
    if one is None or other is None:
        return Estimate(None, observations=observations, clusters=clusters)
    plain = Estimate(one - other, observations=observations, clusters=clusters)
    if min(map(len, kept)) < 2:
        return plain
    degrees = _degrees(variances, (len(kept[0]), len(kept[1])))
    return _with_margin(plain, sqrt(sum(variances)), degrees, coverage)


class Moves(NamedTuple):
    """A figure, and what it is without each cluster, by name; None where one cannot be known."""

    value: float | None
    without: Mapping[int, float] | None


def estimate_difference_of_moves(
    one: Moves, other: Moves, observations: int, *, paired: bool, coverage: float = COVERAGE
) -> Estimate:
    """One figure less another, from what either is without each cluster of its own or of both."""
    values, without = (one.value, other.value), (one.without or {}, other.without or {})
    names = sorted(without[0].keys() | without[1].keys())
    clusters = len(names) if paired else sum(map(len, without))
    if values[0] is None or values[1] is None:
        return Estimate(None, observations=observations, clusters=clusters)
    plain = Estimate(values[0] - values[1], observations=observations, clusters=clusters)
    if one.without is None or other.without is None or min(map(len, without)) < 2:
        return plain
    if paired:  # a cluster that has no part in one moves only the other
        apart = [without[0].get(it, values[0]) - without[1].get(it, values[1]) for it in names]
        return _with_margin(plain, _standard_error(apart), clusters - 1, coverage)
    variances = [_standard_error(list(side.values())) ** 2 for side in without]
    degrees = _degrees(variances, (len(without[0]), len(without[1])))
    return _with_margin(plain, sqrt(sum(variances)), degrees, coverage)


def correct_bias(clusters: Sequence[Totals], statistic: Statistic) -> float | None:
    """A statistic without the bias of few clusters, whether or not it can be so much."""
    value = statistic(_sum(clusters)) if clusters else None
    without = leave_each_out(clusters, statistic) if len(clusters) > 1 else []
    if value is None or not without:
        return value
    return value - (len(clusters) - 1) * (_mean(without) - value)


def _with_margin(found: Estimate, error: float, degrees: float, coverage: float) -> Estimate:
    """The plain interval; none where nothing moves, since nothing can be learnt from that."""
    if not error or found.value is None:
        return found
    margin = student_quantile(coverage, degrees) * error
    return found._replace(low=found.value - margin, high=found.value + margin)


def _degrees(variances: Sequence[float], sizes: Sequence[int]) -> float:
    """Degrees of freedom of a sum of two variances, as Welch and Satterthwaite have them."""
    parts = sum(var**2 / (size - 1) for var, size in zip(variances, sizes, strict=True))
    return max(1.0, sum(variances) ** 2 / parts) if parts else float(min(sizes) - 1)


def ratio(totals: Totals) -> float | None:
    """A sum over its count; None of nothing."""
    return totals[0] / totals[1] if totals[1] else None


def _sum(clusters: Sequence[Totals]) -> Totals:
    return tuple(map(sum, zip(*clusters, strict=True)))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def leave_each_out(clusters: Sequence[Totals], statistic: Statistic) -> list[float]:
    """The statistic without each cluster in turn; nothing where one of them carries it all."""
    whole = _sum(clusters)
    rests = (tuple(a - b for a, b in zip(whole, cluster, strict=True)) for cluster in clusters)
    found = [statistic(rest) for rest in rests]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else []


def _standard_error(without: Sequence[float]) -> float:
    """The jackknife's, of a statistic without each cluster in turn."""
    if not without:
        return 0.0
    centre, count = _mean(without), len(without)
    squares = sum((value - centre) ** 2 for value in without)
    return sqrt(squares * (count - 1) / count) if squares > 1e-30 else 0.0


def _logit_interval(part: float, margin: float) -> tuple[float, float]:
    middle, half = log(part / (1 - part)), margin / (part * (1 - part))
    low, high = (max(-_LARGEST, min(_LARGEST, middle + side * half)) for side in (-1, 1))
    return 1 / (1 + exp(-low)), 1 / (1 + exp(-high))


def _independent(count: float, clusters: int) -> float:
    """How many independent observations tell as much, where the data cannot say."""
    return count / (1 + (count / clusters - 1) * _ALIKE)


def _wilson(part: float, count: float, width: float) -> tuple[float, float]:
    spread = width**2 / count
    middle = (part + spread / 2) / (1 + spread)
    half = width * sqrt(part * (1 - part) / count + spread / (4 * count)) / (1 + spread)
    return middle - half, middle + half
