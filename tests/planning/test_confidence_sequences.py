"""The confidence sequence: it holds at every look, and narrows to the truth."""

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.planning.confidence_sequences import bound_share, bound_share_so_far
from quire.planning.share_estimates import estimate_exact_share


def is_believed(count: int, hits: int, looked_at: int, population: int) -> bool:
    """The same by whole numbers, from the definition."""
    if hits > count or looked_at - hits > population - count:
        return False
    alone = Fraction(1)
    for step in range(hits):
        alone *= count - step
    for step in range(looked_at - hits):
        alone *= population - count - step
    for step in range(looked_at):
        alone /= population - step
    mixed = Fraction(1, (looked_at + 1) * comb(looked_at, hits))
    return mixed / alone < 20


@pytest.mark.parametrize(
    ("hits", "looked_at", "population"),
    [(0, 5, 50), (1, 20, 60), (3, 30, 40), (10, 25, 100), (30, 30, 90), (2, 40, 40)],
)
def test_the_bounds_are_the_first_and_last_count_that_is_believed(
    hits: int, looked_at: int, population: int
) -> None:
    believed = [
        count for count in range(population + 1) if is_believed(count, hits, looked_at, population)
    ]

    found = bound_share(hits, looked_at, population)

    assert found.low == pytest.approx(believed[0] / population)
    assert found.high == pytest.approx(believed[-1] / population)
    assert believed == list(range(believed[0], believed[-1] + 1))  # side by side


def test_when_all_are_looked_at_the_share_is_known() -> None:
    assert bound_share(7, 100, 100) == (0.07, 0.07)
    assert bound_share(0, 0, 100) == (0.0, 1.0)


def test_the_truth_leaves_the_bounds_in_few_of_many_audits_at_any_look() -> None:
    draw, population, wrong = random.Random(11), 400, 24
    things = [True] * wrong + [False] * (population - wrong)
    left = 0
    for _ in range(300):
        draw.shuffle(things)
        hits = 0
        for looked_at, thing in enumerate(things[:200], 1):
            hits += thing
            low, high = bound_share(hits, looked_at, population)
            if not low <= wrong / population <= high:
                left += 1
                break

    assert left <= 24  # 15 on average at most, with a margin of more than two deviations


def test_it_narrows_as_more_is_seen_of_a_large_population() -> None:
    widths = [
        bound_share(number // 50, number, 1_000_000) for number in (100, 1_000, 10_000, 100_000)
    ]

    spread = [high - low for low, high in widths]
    assert spread == sorted(spread, reverse=True)
    exact = estimate_exact_share(2_000, 100_000)
    assert spread[-1] < 2.5 * (exact.high - exact.low)  # what looking whenever one likes costs


MARKS = st.lists(st.sampled_from("rwu"), min_size=1, max_size=40)  # right, wrong, unsure


@given(marks=MARKS, unseen=st.integers(0, 60))
def test_what_a_look_has_ruled_out_stays_ruled_out_and_nothing_counted_is(
    marks: list[str], unseen: int
) -> None:
    population, low, high = len(marks) + unseen, 0.0, 1.0
    for seen in range(1, len(marks) + 1):
        surely = [look for look, mark in enumerate(marks[:seen], 1) if mark == "w"]
        possibly = [look for look, mark in enumerate(marks[:seen], 1) if mark != "r"]
        now = bound_share(len(surely), seen, population).low
        most = bound_share(len(possibly), seen, population).high
        low, high = max(low, now), min(high, most)  # the intersection of all looks

        found = bound_share_so_far(surely, possibly, seen, population)

        assert len(surely) / population <= found.low <= found.high + 1e-12
        assert found.high <= 1 - (seen - len(possibly)) / population + 1e-12
        if low <= high:
            assert found == pytest.approx((low, high))
