"""Share estimates: so many of so many, alone or in pairs, each with the interval it lies in."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quire.planning.quantiles import beta_quantile

Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations


class ShareEstimate(NamedTuple):
    """So many of so many, and the interval in which the true share probably lies (Wilson's)."""

    hits: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share in the sample; of nothing it is 0."""
        return self.hits / self.of if self.of else 0.0


class Excess(NamedTuple):
    """How much larger one share is than another, with its interval; below 0 it is smaller."""

    share: float
    low: float
    high: float


class PairCounts(NamedTuple):
    """The same things looked at in two ways: how many struck in both, one, or neither."""

    both: int
    first: int  # in the first way only
    second: int  # in the second way only
    neither: int

    @property
    def all(self) -> int:
        """How many things there are."""
        return sum(self)


def estimate_share(hits: int, of: int) -> ShareEstimate:
    """Estimate a share by Wilson's score interval, which holds for few and for none as well."""
    return _wilson(hits, of, of)


def estimate_exact_share(hits: int, of: int, alpha: float = 0.05) -> ShareEstimate:
    """Estimate a share by Clopper and Pearson's interval, which covers at least so often.

    Biometrika 26 (1934) 404-413: the lower end is the share at which as many or more would be seen
    with probability α/2, the upper end that at which as many or fewer would. Both are quantiles of
    the beta distribution.
    """
    if of == 0:
        return ShareEstimate(0, 0, 0.0, 1.0)
    low = 0.0 if hits == 0 else beta_quantile(alpha / 2, hits, of - hits + 1)
    high = 1.0 if hits == of else beta_quantile(1 - alpha / 2, hits + 1, of - hits)
    return ShareEstimate(hits, of, low, high)


def estimate_clustered_share(clusters: Iterable[tuple[int, int]]) -> ShareEstimate:
    """Estimate a share of things that come in groups, each given as (hits, of).

    Things of one group, such as the elements of one list, are right or wrong together, so that
    they tell less than as many apart. How much less is estimated from the groups themselves: the
    variance of the ratio of sums, Σ(hᵢ - p·aᵢ)² / (Σaᵢ)², beside that of independent things,
    p(1 - p) / Σaᵢ, gives the number of independent things that would tell as much, and Wilson's
    interval is taken at that number. Where all are right or all wrong nothing can be estimated:
    then every group counts once, as where each has one thing.
    """
    found = [(hits, of) for hits, of in clusters if of]
    hits, of, groups = sum(one for one, _ in found), sum(other for _, other in found), len(found)
    if not of:
        return estimate_share(0, 0)
    share = hits / of
    squares = sum((one - share * other) ** 2 for one, other in found)
    if hits in (0, of) or groups in (1, of):
        return _wilson(hits, of, groups)
    variance = squares / of**2 * groups / (groups - 1)
    apart = share * (1 - share) / variance if variance else of
    return _wilson(hits, of, min(of, max(1.0, apart)))


def _wilson(hits: int, of: int, apart: float) -> ShareEstimate:
    """Wilson's interval, as if the share came of so many things that are independent."""
    if of == 0:
        return ShareEstimate(0, 0, 0.0, 1.0)
    share, spread = hits / of, Z * Z / apart
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / apart + spread / (4 * apart)) / (1 + spread)
    # At the ends the interval is exact; rounding would leave a trace.
    low = 0.0 if hits == 0 else centre - half
    return ShareEstimate(hits, of, low, 1.0 if hits == of else centre + half)


def estimate_excess(table: PairCounts) -> Excess:
    """Estimate the difference of two paired shares by Newcombe's score method.

    (R. G. Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10.) The two Wilson
    intervals are squared and added, less what the pairs have in common: φ, corrected for
    continuity where it is positive, says how far the two ways strike the same things.

    Things are taken as independent. Fields of one block are not quite, so for schemas whose fields
    fail together the true interval is somewhat wider.
    """
    total = table.all
    one = estimate_share(table.both + table.first, total)
    two = estimate_share(table.both + table.second, total)
    if total == 0:
        return Excess(0.0, -1.0, 1.0)
    difference, common = one.share - two.share, _phi(table)
    below = _reach(one.share - one.low, two.high - two.share, common)
    above = _reach(one.high - one.share, two.share - two.low, common)
    return Excess(difference, difference - below, difference + above)


def least_sample(tolerance: float) -> int | None:
    """Say how many things that all agree it takes to show a share within tolerance; None: never."""
    return math.ceil(Z * Z * (1 - tolerance) / tolerance) if tolerance > 0 else None


def _phi(table: PairCounts) -> float:
    both, first, second, neither = table
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    if margins == 0:
        return 0.0
    product = both * neither - first * second
    corrected = max(product - table.all / 2, 0.0) if product > 0 else product
    return corrected / math.sqrt(margins)


def _reach(one: float, two: float, common: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * common * one * two + two * two))


EXACT_PAIRS = 2_000  # up to so many the test of McNemar is exact; beyond, its normal form agrees


def paired_p_value(first: int, second: int) -> float:
    """How probable at least such a difference is where two ways strike equally often (McNemar's).

    Only things that one way alone struck tell anything; where both are alike, each of them is as
    probable in the first way as in the second.
    """
    pairs, fewer = first + second, min(first, second)
    if pairs == 0:
        return 1.0
    if pairs > EXACT_PAIRS:
        return math.erfc((abs(first - second) - 1) / math.sqrt(2 * pairs))
    tail = sum(math.comb(pairs, count) for count in range(fewer + 1))
    return min(1.0, tail / (1 << (pairs - 1)))


def holm_p_values(values: Sequence[float]) -> list[float]:
    """The same for several tests at once (Holm's), so that one of many is not taken for a find."""
    adjusted = [0.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = largest
    return adjusted
