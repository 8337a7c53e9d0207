"""Shares of a sample and how far they may be off: intervals in closed form, at 95 %."""

import math
from typing import NamedTuple

Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations


class Rate(NamedTuple):
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


class Paired(NamedTuple):
    """The same things looked at in two ways: how many struck in both, one, or neither."""

    both: int
    first: int  # in the first way only
    second: int  # in the second way only
    neither: int

    @property
    def all(self) -> int:
        """How many things there are."""
        return sum(self)


def rate(hits: int, of: int) -> Rate:
    """Estimate a share by Wilson's score interval, which holds for few and for none as well."""
    if of == 0:
        return Rate(0, 0, 0.0, 1.0)
    share, spread = hits / of, Z * Z / of
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    # At the ends the interval is exact; rounding would leave a trace.
    low = 0.0 if hits == 0 else centre - half
    return Rate(hits, of, low, 1.0 if hits == of else centre + half)


def excess(table: Paired) -> Excess:
    """Estimate the difference of two paired shares by Newcombe's score method.

    (R. G. Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10.) The two Wilson
    intervals are squared and added, less what the pairs have in common: φ, corrected for
    continuity where it is positive, says how far the two ways strike the same things.

    Things are taken as independent. Fields of one block are not quite, so for schemas whose fields
    fail together the true interval is somewhat wider.
    """
    total = table.all
    one = rate(table.both + table.first, total)
    two = rate(table.both + table.second, total)
    if total == 0:
        return Excess(0.0, -1.0, 1.0)
    difference, common = one.share - two.share, _phi(table)
    below = _reach(one.share - one.low, two.high - two.share, common)
    above = _reach(one.high - one.share, two.share - two.low, common)
    return Excess(difference, difference - below, difference + above)


def least_sample(tolerance: float) -> int | None:
    """Say how many things that all agree it takes to show a share within tolerance; None: never."""
    return math.ceil(Z * Z * (1 - tolerance) / tolerance) if tolerance > 0 else None


def _phi(table: Paired) -> float:
    both, first, second, neither = table
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    if margins == 0:
        return 0.0
    product = both * neither - first * second
    corrected = max(product - table.all / 2, 0.0) if product > 0 else product
    return corrected / math.sqrt(margins)


def _reach(one: float, two: float, common: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * common * one * two + two * two))
