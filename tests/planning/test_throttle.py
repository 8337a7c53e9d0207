"""How many calls may be out is felt out: doubled until the first push-back, then with care."""

import heapq
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.planning.provider_limits import (
    FIRST_WINDOW,
    FIRST_WINDOW_OF_OWN_SERVERS,
    LONGEST_TIMEOUT,
    PUSHBACK_MERGE_SECONDS,
    AnswerTimes,
    Throttle,
)
from tests.world import NOW

MOST = 64
MERGED = timedelta(seconds=PUSHBACK_MERGE_SECONDS)


def limit(throttle: Throttle, most: int = MOST) -> int:
    """How many calls may be out under a policy that allows so many."""
    throttle.note_concurrency(most)
    return throttle.limit


def answer(throttle: Throttle, times: int, most: int = MOST) -> int:
    """Let so many calls be answered; returns how many may be out then."""
    for _ in range(times):
        throttle.note_answer()
    return limit(throttle, most)


def test_it_begins_small_and_doubles_with_every_window_of_answers() -> None:
    throttle = Throttle()

    assert limit(throttle) == FIRST_WINDOW
    assert answer(throttle, FIRST_WINDOW - 1) == FIRST_WINDOW
    assert answer(throttle, 1) == 2 * FIRST_WINDOW
    assert answer(throttle, 2 * FIRST_WINDOW) == 4 * FIRST_WINDOW


def test_it_never_allows_more_than_the_policy() -> None:
    throttle = Throttle()

    assert limit(throttle, 3) == 3
    assert answer(throttle, 1_000, most=3) == 3


def test_a_push_back_takes_a_quarter_away_and_ends_the_doubling() -> None:
    throttle = Throttle()
    answer(throttle, FIRST_WINDOW)

    throttle.note_pushback(NOW)

    assert limit(throttle) == 12
    assert answer(throttle, 12) == 13  # one more for a whole window
    assert answer(throttle, 13) == 14


def test_calls_pushed_back_together_count_once() -> None:
    throttle = Throttle()

    for _ in range(FIRST_WINDOW):
        throttle.note_pushback(NOW)
    throttle.note_pushback(NOW + MERGED / 2)

    assert limit(throttle) == 6


def test_one_that_is_pushed_back_later_counts_again() -> None:
    throttle = Throttle()

    throttle.note_pushback(NOW)
    throttle.note_pushback(NOW + MERGED)

    assert limit(throttle) == 4


@given(st.lists(st.booleans(), max_size=300))
def test_whatever_happens_one_call_may_always_go(pushed: list[bool]) -> None:
    throttle, now = Throttle(), NOW
    for item in pushed:
        now += timedelta(seconds=2)
        if item:
            throttle.note_pushback(now)
        else:
            throttle.note_answer()

    assert 1 <= limit(throttle) <= MOST


def test_it_finds_its_way_back_after_a_bad_time() -> None:
    throttle, now = Throttle(), NOW
    for _ in range(50):
        now += timedelta(seconds=2)
        throttle.note_pushback(now)
    assert limit(throttle) == 1

    assert answer(throttle, 10_000) == MOST


def test_a_lost_call_takes_half_away_and_ends_the_doubling() -> None:
    throttle = Throttle()
    answer(throttle, FIRST_WINDOW)

    throttle.note_loss(NOW, NOW + 2 * MERGED)
    throttle.note_loss(NOW + MERGED, NOW + 9 * MERGED)  # was sent before the window shrank

    assert limit(throttle) == FIRST_WINDOW
    assert answer(throttle, FIRST_WINDOW) == FIRST_WINDOW + 1
    for number in range(3, 12):
        throttle.note_loss(NOW + number * MERGED, NOW + number * MERGED)
    assert limit(throttle) == 1


def test_the_window_is_slower_to_be_as_wide_again_as_when_calls_were_lost() -> None:
    throttle = Throttle(4)
    throttle.note_loss(NOW, NOW)

    assert answer(throttle, 2) == 3
    assert answer(throttle, 3) == 3
    assert answer(throttle, 3) == 4
    assert [answer(throttle, 8), answer(throttle, 5), answer(throttle, 6)] == [5, 6, 7]


def test_the_timeout_grows_with_what_answers_take_and_not_without_bound() -> None:
    times = AnswerTimes()
    assert times.timeout(120.0) == 120.0

    times.note_answer(100.0)
    assert times.timeout(120.0) == 300.0
    times.note_timeout(300.0)
    assert times.timeout(120.0) == 600.0
    times.note_timeout(5_000.0)
    assert times.timeout(120.0) == 120.0 * LONGEST_TIMEOUT


def test_slow_answers_are_forgotten_after_many_quick_ones() -> None:
    times = AnswerTimes()
    times.note_answer(100.0)

    for _ in range(200):
        times.note_answer(1.0)

    assert times.timeout(120.0) == 120.0


def calls_to_one_slot(tasks: int, seconds: float, timeout: float) -> int:
    """Ask a server with one slot, which never notices that we went away; returns how often."""
    throttle, times = Throttle(FIRST_WINDOW_OF_OWN_SERVERS), AnswerTimes()
    throttle.note_concurrency(16)
    now = free_at = 0.0
    calls, out = 0, list[tuple[float, float, bool]]()  # when it comes back, was sent, is answered
    while tasks or out:
        while tasks and len(out) < throttle.limit:
            free_at = max(free_at, now) + seconds
            wait = times.timeout(timeout)
            heapq.heappush(out, (min(free_at, now + wait), now, free_at <= now + wait))
            tasks, calls = tasks - 1, calls + 1
        now, sent, answered = heapq.heappop(out)
        if answered:
            throttle.note_answer()
            times.note_answer(now - sent)
        else:
            throttle.note_loss(NOW + timedelta(seconds=sent), NOW + timedelta(seconds=now))
            times.note_timeout(now - sent)
            tasks += 1
    return calls


@pytest.mark.parametrize(("seconds", "timeout"), [(3.0, 10.0), (3.0, 4.0), (3.0, 2.0), (300, 120)])
def test_a_server_with_one_slot_that_ignores_disconnects_is_seldom_asked_in_vain(
    seconds: float, timeout: float
) -> None:
    assert calls_to_one_slot(60, seconds, timeout) <= 60 + 15
