"""Intervals agree with the published examples, and with what a hand can compute."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.planning.share_estimates import (
    Excess,
    PairCounts,
    ShareEstimate,
    estimate_excess,
    estimate_share,
    least_sample,
)

COUNTS = st.integers(min_value=0, max_value=2000)


@pytest.mark.parametrize(  # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I
    ("hits", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_a_share_has_the_published_interval(hits: int, of: int, low: float, high: float) -> None:
    found = estimate_share(hits, of)

    assert (found.share, found.hits, found.of) == (hits / of, hits, of)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_of_nothing_nothing_is_known() -> None:
    assert estimate_share(0, 0) == ShareEstimate(0, 0, 0.0, 1.0)
    assert estimate_share(0, 0).share == 0.0
    assert estimate_excess(PairCounts(0, 0, 0, 0)) == Excess(0.0, -1.0, 1.0)


def test_the_ends_are_exact() -> None:
    assert estimate_share(0, 50).low == 0.0
    assert estimate_share(50, 50).high == 1.0


def test_an_excess_over_silence_is_computed_as_by_hand() -> None:
    """10 of 100 against 0 of 100: Wilson gives 0.0552 to 0.1744, and 0 to 0.0370; φ is 0."""
    found = estimate_excess(PairCounts(0, 10, 0, 90))

    assert found.share == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1 - math.hypot(0.1 - 0.05523, 0.03699), abs=1e-4)
    assert found.high == pytest.approx(0.17437, abs=1e-4)


def test_what_strikes_the_same_things_narrows_the_interval() -> None:
    """30 of 100 against 25 of 100, 20 of them the same: φ = (20·65 - 10·5 - 50) / √(30·70·25·75).

    Wilson gives 0.2189 to 0.3958, and 0.1755 to 0.3430.
    """
    common = 1200 / math.sqrt(30 * 70 * 25 * 75)
    one, two = (0.3 - 0.21895, 0.39585 - 0.3), (0.25 - 0.17547, 0.34304 - 0.25)
    below = math.sqrt(one[0] ** 2 - 2 * common * one[0] * two[1] + two[1] ** 2)
    above = math.sqrt(one[1] ** 2 - 2 * common * one[1] * two[0] + two[0] ** 2)

    found = estimate_excess(PairCounts(20, 10, 5, 65))
    apart = estimate_excess(PairCounts(0, 30, 25, 45))

    assert common == pytest.approx(0.6047, abs=1e-4)
    assert found == pytest.approx((0.05, 0.05 - below, 0.05 + above), abs=1e-4)
    assert apart.share == pytest.approx(0.05)
    assert apart.high - apart.low > found.high - found.low


def test_no_difference_at_all_leaves_the_interval_of_the_sample() -> None:
    found = estimate_excess(PairCounts(0, 0, 0, 150))

    assert found == pytest.approx((0.0, -0.02497, 0.02497), abs=1e-5)


@pytest.mark.parametrize(("tolerance", "least"), [(0.02, 189), (0.05, 73), (0.5, 4)])
def test_so_many_that_agree_show_a_tolerance(tolerance: float, least: int) -> None:
    assert least_sample(tolerance) == least
    assert estimate_share(0, least).high <= tolerance < estimate_share(0, least - 1).high


def test_no_sample_shows_that_nothing_ever_differs() -> None:
    assert least_sample(0) is None


@given(both=COUNTS, first=COUNTS, second=COUNTS, neither=COUNTS)
def test_an_interval_holds_its_estimate_and_mirrors_itself(
    both: int, first: int, second: int, neither: int
) -> None:
    found = estimate_excess(PairCounts(both, first, second, neither))
    mirrored = estimate_excess(PairCounts(both, second, first, neither))

    assert -1 - 1e-9 <= found.low <= found.share <= found.high <= 1 + 1e-9
    assert (-mirrored.high, -mirrored.low) == pytest.approx((found.low, found.high))
