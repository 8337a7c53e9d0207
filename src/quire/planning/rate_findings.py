"""Rate findings: what moments say of a rate, each with how much had been accepted by then."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import NamedTuple

from quire.planning.first_calls import SECOND, WINDOW

INEXACT = 0.03  # of what was accepted in a span, because calls are under way for a while


class Mark(NamedTuple):
    """A moment, and how many calls, and bytes of prompts, had been accepted by then."""

    at: int
    calls: float
    size: float

    def amount(self, *, by_size: bool) -> float:
        """What had been accepted, in one of the units."""
        return self.size if by_size else self.calls


class RateFinding(NamedTuple):
    """What one refusal showed of the rate, in both units."""

    calls: float
    size: float


def rate_between(empties: Sequence[Mark], call: float, *, by_size: bool) -> tuple[float, int]:
    """The rate that fits the spans back from the last moment, and how many of them agree."""
    last = empties[-1]
    low, high, spans = 0.0, float("inf"), 0
    for empty in reversed(empties[:-1]):
        seconds = max(0.001, (last.at - empty.at) / SECOND)
        amount = last.amount(by_size=by_size) - empty.amount(by_size=by_size)
        slack = call + INEXACT * amount
        lowest, highest = (amount - slack) / seconds, (amount + slack) / seconds
        if lowest > high or highest < low:
            break  # the limit was another then
        low, high, spans = max(low, lowest), min(high, highest), spans + 1
    return max(0.0, low + high) / 2, spans


def last_minute(marks: Sequence[Mark], end: Mark) -> RateFinding | None:
    """What was accepted in the sixty seconds before, a second; None where that is not known."""
    begin = end.at - WINDOW
    older = [mark for mark in marks if mark.at <= begin]
    if not older:
        return None
    first, then = older[-1], next((mark for mark in marks if mark.at > begin), end)
    part = (begin - first.at) / max(1, then.at - first.at)
    calls = first.calls + part * (then.calls - first.calls)
    size = first.size + part * (then.size - first.size)
    return RateFinding((end.calls - calls) / 60, (end.size - size) / 60)


def oldest_call(marks: Sequence[Mark], at: int) -> int:
    """When the first of the calls was accepted that went in the last minute, about."""
    begin = at - WINDOW
    newer = [mark for mark in marks if mark.at > begin]
    for mark, then in pairwise(newer):
        if then.calls > mark.calls:
            return mark.at
    return begin


def spread(rates: Sequence[float]) -> float:
    """How far rates are from each other, as a share of them."""
    return pstdev(rates) / max(1e-9, fmean(rates))
