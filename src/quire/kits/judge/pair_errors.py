"""Errors of figures that are means over pairs of samples, as alphas are.

The jackknife leaves out one sample at a time. Of a mean over pairs of samples it counts twice what
a pair has of its own, beyond what its two samples bring to all their pairs: with few samples that
are much alike its intervals are too long (Efron and Stein 1981). What pairs have of their own is
what is left of the disagreement of each two samples once each sample's own part is taken away.
Half of its excess is taken off: all of it would be right on average, but is itself so uncertain
with few samples that intervals become too short.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from quire.kits.judge.intervals import AT_MOST_ONE, Estimate, estimate_left_out

_TAKEN_OFF = 0.5  # of the excess
_LEAST_SAMPLES = 4  # with three, sums of samples leave nothing of the pairs

Pairs = Mapping[tuple[int, int], float]  # by two samples, the smaller first


def estimate_over_pairs(
    value: float | None, without: Sequence[float | None], excess: float, observations: int
) -> Estimate:
    """A figure of at most 1 over pairs of samples: its interval, about where it is unbiased."""
    known = [item for item in without if item is not None]
    found = estimate_left_out(value, without, observations, AT_MOST_ONE)
    if value is None or found.low is None or found.high is None:
        return found
    count = len(known)
    middle = count * value - (count - 1) * sum(known) / count
    variance = _jackknife_variance(known)
    kept = max(1 - _TAKEN_OFF, 1 - _TAKEN_OFF * excess / variance)
    narrow = [middle + kept**0.5 * (item - value) for item in known]
    if middle >= 1:
        return found
    centred = estimate_left_out(middle, narrow, observations, AT_MOST_ONE)
    if centred.low is None or centred.high is None:
        return found
    return found._replace(low=min(centred.low, value), high=max(centred.high, value))


def _jackknife_variance(without: Sequence[float]) -> float:
    centre, count = sum(without) / len(without), len(without)
    return (count - 1) / count * sum((item - centre) ** 2 for item in without)


def pair_excess(samples: Sequence[int], shares: Pairs) -> float:
    """What the jackknife's variance has too much: `shares` are what pairs add to the figure."""
    count = len(samples)
    if count < _LEAST_SAMPLES:
        return 0.0
    sums = dict.fromkeys(samples, 0.0)
    for (one, other), share in shares.items():
        sums[one] += share
        sums[other] += share
    mean = sum(sums.values()) / (count * (count - 1))
    own = {sample: (total - (count - 1) * mean) / (count - 2) for sample, total in sums.items()}
    squares = sum(
        (shares.get((one, other), 0.0) - mean - own[one] - own[other]) ** 2
        for one, other in combinations(samples, 2)
    )
    freedom = count * (count - 3) / 2
    return count * (count - 1) / 2 * squares / freedom
