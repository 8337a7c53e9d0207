"""Estimates: a figure with the interval that chance alone would leave it in."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import log2, sqrt
from typing import NamedTuple

from quire.domain.data import Json
from quire.kits.judge.seeding import mulberry32

RESAMPLES = 1_000
_DRAWS = 2_000_000  # at most, for one estimate
_NORMAL = 1.959963984540054  # 95 %

Totals = tuple[float, ...]


class Estimate(NamedTuple):
    """A figure, its 95 % interval, and how many observations it rests on."""

    value: float | None  # None: there was nothing to observe
    low: float | None = None
    high: float | None = None
    observations: int = 0

    def as_json(self) -> dict[str, Json]:
        """All four by name."""
        return dict(self._asdict())


def share(hits: int, count: int) -> Estimate:
    """A share, with Wilson's interval, which stays between 0 and 1."""
    if not count:
        return Estimate(None)
    portion, spread = hits / count, _NORMAL**2 / count
    middle = (portion + spread / 2) / (1 + spread)
    margin = _NORMAL * sqrt(portion * (1 - portion) / count + spread / (4 * count)) / (1 + spread)
    low = 0.0 if hits == 0 else max(0.0, middle - margin)
    high = 1.0 if hits == count else min(1.0, middle + margin)
    return Estimate(portion, low, high, count)


def resampled(
    clusters: Sequence[Totals], statistic: Callable[[Totals], float | None], count: int, seed: int
) -> Estimate:
    """A statistic of totals, with a percentile interval from drawing whole clusters again.

    Scores of one sample share a rubric, so that samples are drawn, not scores.
    """
    value = statistic(_sum(clusters)) if clusters else None
    if value is None or len(clusters) < 2:
        return Estimate(value, observations=count)
    drawn = (
        statistic(_sum([clusters[each] for each in chosen]))
        for chosen in _resamples(len(clusters), seed)
    )
    found = sorted(each for each in drawn if each is not None)
    tail = len(found) // 40
    return Estimate(value, found[tail], found[-1 - tail], count)


def ratio(totals: Totals) -> float | None:
    """The first total over the second."""
    return totals[0] / totals[1] if totals[1] else None


def shares(totals: Totals) -> Totals:
    """Totals as parts of 1; all 0 where there are none."""
    whole = sum(totals)
    return tuple(each / whole if whole else 0.0 for each in totals)


def entropy(totals: Totals) -> float | None:
    """Shannon's entropy in bits: 0 where one stage takes all."""
    if not sum(totals):
        return None
    return sum(-each * log2(each) for each in shares(totals) if each) or 0.0


def divergence(one: Totals, other: Totals) -> float | None:
    """Jensen and Shannon's divergence in bits: 0 for the same distribution, 1 for disjoint ones."""
    if not sum(one) or not sum(other):
        return None
    left, right = shares(one), shares(other)
    between = tuple((a + b) / 2 for a, b in zip(left, right, strict=True))
    mixed, mine, theirs = (entropy(each) or 0.0 for each in (between, left, right))
    return min(1.0, max(0.0, mixed - (mine + theirs) / 2))


def _sum(clusters: Sequence[Totals]) -> Totals:
    return tuple(map(sum, zip(*clusters, strict=True)))


@lru_cache(maxsize=8)
def _resamples(size: int, seed: int) -> tuple[tuple[int, ...], ...]:
    drawn = mulberry32(seed)
    times = max(40, min(RESAMPLES, _DRAWS // size))
    return tuple(tuple(next(drawn) * size >> 32 for _ in range(size)) for _ in range(times))
