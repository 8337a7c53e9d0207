"""Confidence sequences: intervals that hold at every look, so that one may stop when one likes.

An interval for a fixed number of things misses its promise if somebody looks after each and stops
when it pleases. The sequence here keeps it at all looks together. It is the prior-posterior-ratio
martingale of I. Waudby-Smith and A. Ramdas (“Confidence sequences for sampling without
replacement”, NeurIPS 2020), for a share of a population of known size that is drawn from without
replacement, with all counts equally probable before.

Of N things n are wrong, and t were looked at, of which s were wrong. In the order they came this
has the probability [n]ₛ [N-n]ₜ₋ₛ / [N]ₜ, where [x]ₖ = x(x-1)…(x-k+1). With every n from 0 to N
equally probable it would have 1 / ((t+1) C(t,s)). The ratio of the second to the first is a
martingale for the true n, so that by Ville's inequality it ever reaches 1/α with a probability of
at most α. The counts n at which it is below 1/α are the interval; they lie side by side, because
the first probability rises up to its mode and falls after it.

All looks hold together, so that what one of them ruled out stays ruled out: the bounds so far are
the intersection of those of every look. One more thing that is right raises neither bound, one more
that is wrong lowers neither, so that only the ends of rows of equal things have to be looked at.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

ALPHA = 0.05


class ShareBounds(NamedTuple):
    """The shares that are still believed."""

    low: float
    high: float


@lru_cache(maxsize=1 << 16)
def bound_share(hits: int, looked_at: int, population: int, alpha: float = ALPHA) -> ShareBounds:
    """The shares of a population that what was seen so far does not rule out, at any look."""
    if looked_at == 0 or population == 0:
        return ShareBounds(0.0, 1.0)
    least, most = hits, population - (looked_at - hits)  # what is possible at all

    def is_believed(count: int) -> bool:
        return _log_ratio(count, hits, looked_at, population) < -math.log(alpha)

    mode = min(most, max(least, round(population * hits / looked_at)))
    low = least if is_believed(least) else _edge(is_believed, least, mode)
    high = most if is_believed(most) else _edge(is_believed, most, mode)
    return ShareBounds(low / population, high / population)


def bound_share_so_far(
    surely: Sequence[int], possibly: Sequence[int], looked_at: int, population: int
) -> ShareBounds:
    """The shares that no look so far has ruled out.

    `surely` and `possibly` tell the looks, counted from 1, at which something was wrong for the
    lower and for the upper bound: what one is unsure of counts in the second only.
    """
    first, second = set(surely), set(possibly)
    lows = [
        (look, bound_share(hits, look, population).low, False)
        for hits, look in enumerate(surely, 1)
        if look + 1 not in first
    ]
    highs = [
        (look - 1, bound_share(hits, look - 1, population).high, True)
        for hits, look in enumerate((*possibly, looked_at + 1))
        if look - 1 not in second
    ]
    low, high = 0.0, 1.0
    for _, bound, is_high in sorted(lows + highs):
        if is_high:
            high = max(low, min(high, bound))  # where nothing is left, what was said first stays
        else:
            low = min(high, max(low, bound))
    least, most = len(surely) / population, 1 - (looked_at - len(possibly)) / population
    return ShareBounds(min(max(low, least), most), max(min(high, most), least))


def _edge(is_believed: Callable[[int], bool], refused: int, believed: int) -> int:
    """The last count that is believed on the way from one that is to one that is not."""
    while abs(refused - believed) > 1:
        middle = (refused + believed) // 2
        if is_believed(middle):
            believed = middle
        else:
            refused = middle
    return believed


def _log_ratio(count: int, hits: int, looked_at: int, population: int) -> float:
    """How much more probable what was seen is with every count than with this one, as a log."""
    mixed = -math.log(looked_at + 1) - _log_choose(looked_at, hits)
    alone = (
        _log_falling(count, hits)
        + _log_falling(population - count, looked_at - hits)
        - _log_falling(population, looked_at)
    )
    return mixed - alone


def _log_falling(value: int, factors: int) -> float:
    return math.lgamma(value + 1) - math.lgamma(value - factors + 1)


def _log_choose(total: int, chosen: int) -> float:
    return _log_falling(total, chosen) - math.lgamma(chosen + 1)
