"""Interval charts: an error rate with its intervals on a line, as numbers for SVG.

Error rates that matter are small, and early intervals are wide. So the line shows square roots:
half of it is for what is below one quarter, a seventh for what is below two per cent.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from quire.domain.audits import FieldRate
from quire.web.page_words import percent

WIDTH = 360
TICKS = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)


class ChartTick(NamedTuple):
    """A rate that the line names."""

    x: float
    words: str


class RateBar(NamedTuple):
    """One field's rate on the line."""

    rate: FieldRate
    low: float
    width: float
    sequence_low: float
    sequence_width: float
    at: float | None  # of the rate itself


class IntervalChart(NamedTuple):
    """The rates of all fields, on lines of the same scale."""

    bars: tuple[RateBar, ...]
    tolerance: float
    ticks: tuple[ChartTick, ...]
    width: int = WIDTH


def place(rate: float) -> float:
    """Where a rate stands on the line."""
    return round(WIDTH * sqrt(max(0.0, min(1.0, rate))), 1)


def make_chart(rates: Sequence[FieldRate], tolerance: float) -> IntervalChart:
    """Lay the rates of fields out."""
    return IntervalChart(
        bars=tuple(_bar(rate) for rate in rates),
        tolerance=place(tolerance),
        ticks=tuple(ChartTick(place(tick), percent(tick)) for tick in TICKS),
    )


def _bar(rate: FieldRate) -> RateBar:
    low, first = place(rate.low), place(rate.sequence_low)
    return RateBar(
        rate=rate,
        low=low,
        width=max(2.0, round(place(rate.high) - low, 1)),
        sequence_low=first,
        sequence_width=max(2.0, round(place(rate.sequence_high) - first, 1)),
        at=None if rate.rate is None else place(rate.rate),
    )
