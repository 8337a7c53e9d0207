"""How many calls may be out is felt out: doubled until the first push-back, then with care."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from quire.plan.provider_limits import FIRST_WINDOW, PUSHBACK_MERGE_SECONDS, Throttle
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
