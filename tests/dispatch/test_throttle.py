"""How many calls may be out is felt out: doubled until the first push-back, then with care."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from quire.dispatch.courier import FIRST_WINDOW, PUSHBACK_PAUSE, Throttle
from tests.world import NOW

MOST = 64


def answer(throttle: Throttle, times: int, most: int = MOST) -> int:
    """Let so many calls be answered; returns how many may be out then."""
    for _ in range(times):
        throttle.note_answer()
    return throttle.limit(most)


def test_it_begins_small_and_doubles_with_every_window_of_answers() -> None:
    throttle = Throttle()

    assert throttle.limit(MOST) == FIRST_WINDOW
    assert answer(throttle, FIRST_WINDOW - 1) == FIRST_WINDOW
    assert answer(throttle, 1) == 2 * FIRST_WINDOW
    assert answer(throttle, 2 * FIRST_WINDOW) == 4 * FIRST_WINDOW


def test_it_never_allows_more_than_the_policy() -> None:
    throttle = Throttle()

    assert throttle.limit(3) == 3
    assert answer(throttle, 1_000, most=3) == 3


def test_a_push_back_takes_a_quarter_away_and_ends_the_doubling() -> None:
    throttle = Throttle()
    answer(throttle, FIRST_WINDOW)

    throttle.note_pushback(NOW)

    assert throttle.limit(MOST) == 12
    assert answer(throttle, 12) == 13  # one more for a whole window
    assert answer(throttle, 13) == 14


def test_calls_pushed_back_together_count_once() -> None:
    throttle = Throttle()

    for _ in range(FIRST_WINDOW):
        throttle.note_pushback(NOW)
    throttle.note_pushback(NOW + PUSHBACK_PAUSE / 2)

    assert throttle.limit(MOST) == 6


def test_one_that_is_pushed_back_later_counts_again() -> None:
    throttle = Throttle()

    throttle.note_pushback(NOW)
    throttle.note_pushback(NOW + PUSHBACK_PAUSE)

    assert throttle.limit(MOST) == 4


@given(st.lists(st.booleans(), max_size=300))
def test_whatever_happens_one_call_may_always_go(pushed: list[bool]) -> None:
    throttle, now = Throttle(), NOW
    for item in pushed:
        now += timedelta(seconds=2)
        if item:
            throttle.note_pushback(now)
        else:
            throttle.note_answer()

    assert 1 <= throttle.limit(MOST) <= MOST


def test_it_finds_its_way_back_after_a_bad_time() -> None:
    throttle, now = Throttle(), NOW
    for _ in range(50):
        now += timedelta(seconds=2)
        throttle.note_pushback(now)
    assert throttle.limit(MOST) == 1

    assert answer(throttle, 10_000) == MOST
