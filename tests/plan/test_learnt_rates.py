"""A server that says only 429 is kept busy, and is seldom asked in vain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import json_object
from quire.plan.learnt_rates import (
    LAPSE,
    LEAST_RATE,
    SECOND,
    LearntRate,
    SentSoFar,
    a_minute,
    add_sent,
    current_rate,
    first_rate,
    has_lapsed,
    holds_back,
    let_go,
    note_refused,
    note_sent,
    rate_from_json,
    rate_to_json,
    seconds_until_free,
)
from tests.plan.limited_server import BEGIN, Bucket, Crowd, Outcome, Windows

LEAST_BUSY, MOST_IN_VAIN = 0.95, 0.05
MINUTES = {60: 20, 1_200: 12, 6_000: 12}
SERVERS = {"steady": Bucket, "windows": Windows}


def learn(
    kind: str, limit: int, workers: int = 1, change: int | None = None, minutes: float = 0
) -> Outcome:
    """Let workers call a server that says only no."""
    crowd = Crowd(SERVERS[kind](limit), workers)
    return crowd.work(minutes or MINUTES[limit], change)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("factor", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("limit", [60, 1_200, 6_000])
@pytest.mark.parametrize("kind", ["steady", "windows"])
def test_a_silent_server_is_kept_busy_and_seldom_asked_in_vain(
    kind: str, limit: int, factor: float, workers: int
) -> None:
    came = learn(kind, limit, workers, None if factor == 1 else round(limit * factor))

    assert came.busy >= LEAST_BUSY
    assert came.in_vain <= MOST_IN_VAIN


@pytest.mark.parametrize("seconds", [1.0, 10.0])
def test_a_server_with_a_small_bucket_is_found_out_too(seconds: float) -> None:
    came = Crowd(Bucket(1_200, seconds), 2).work(12)

    assert came.busy >= LEAST_BUSY
    assert came.in_vain <= MOST_IN_VAIN


def refused_once(calls: int = 1_200, seconds: float = 4.0) -> LearntRate:
    """What is known after a burst that ended in a refusal."""
    at = BEGIN + round(seconds * SECOND)
    return first_rate(SentSoFar(BEGIN, at, calls + 1), [at - SECOND // 5], at)


def test_a_burst_before_the_first_refusal_is_thought_to_have_emptied_a_minute_s_bucket() -> None:
    assert a_minute(refused_once(1_200 + 80, 4.0)) == 1_200


def test_what_another_worker_sent_before_the_first_refusal_counts_when_it_is_told() -> None:
    alone = refused_once(640, 4.0)

    assert a_minute(alone) == 600
    assert a_minute(add_sent(alone, SentSoFar(BEGIN, BEGIN, 640))) == 1_200


def test_nothing_goes_right_after_a_refusal_then_a_single_call_feels_out_the_server() -> None:
    rate = refused_once()

    assert let_go(rate, 50, rate.free_at - 1)[0] == 0
    count, rate = let_go(rate, 50, rate.free_at)
    assert count == 1
    assert let_go(rate, 50, rate.probe_at + SECOND // 100)[0] == 0
    assert let_go(rate, 50, rate.probe_at + 2 * SECOND)[0] > 10  # it was not refused
    assert seconds_until_free(rate, 50, rate.probe_at) > 0


def test_calls_refused_together_count_once() -> None:
    rate = refused_once()
    sent = [rate.heard_at - SECOND // 10] * 40

    later = note_refused(rate, sent, rate.heard_at + SECOND // 20)

    assert later.free_at == rate.free_at
    assert later.accepted == rate.accepted - 40
    assert len(later.empties) == 1


def test_calls_that_nothing_held_back_do_not_make_it_bolder() -> None:
    rate, at = refused_once(), BEGIN + 20 * SECOND
    for _ in range(500):
        at += 10 * SECOND
        _, rate = let_go(rate, 1, at)

    assert rate.grown == 0
    assert current_rate(rate) == rate.rate


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 30), st.integers(0, 5)), max_size=60))
def test_whatever_happens_calls_go_in_the_end(steps: list[tuple[int, int, int]]) -> None:
    rate, at = refused_once(), BEGIN + 4 * SECOND
    for pause, wanted, refused in steps:
        at += pause * SECOND
        count, rate = let_go(rate, wanted, at)
        if refused and count:
            rate = note_refused(rate, [at] * min(refused, count), at + SECOND // 4)
    assert rate.rate >= LEAST_RATE

    went = 0
    for _ in range(50):
        at += 10 * SECOND
        count, rate = let_go(rate, 5, at)
        went += count
    assert went > 0


def test_a_clock_that_was_far_ahead_stops_nobody_for_long() -> None:
    rate = refused_once()
    now = rate.at - 3_600 * SECOND
    _, rate = let_go(rate, 5, now)

    assert let_go(rate, 5, now + 10 * SECOND)[0] > 0


def test_it_is_kept_as_json_and_forgotten_after_an_hour_without_a_call() -> None:
    rate = note_refused(refused_once(), [BEGIN + 60 * SECOND], BEGIN + 61 * SECOND)

    assert rate_from_json(rate_to_json(rate)) == rate
    assert rate_from_json(json_object(b'{"rate": 5}') or {}) is None
    assert holds_back(rate)
    assert not has_lapsed(rate, rate.at + LAPSE)
    assert has_lapsed(rate, rate.at + LAPSE + 1)


def test_calls_sent_a_while_ago_are_forgotten_before_the_first_refusal() -> None:
    minute = 60 * SECOND

    assert note_sent(SentSoFar(0, 0, 5), 7, minute) == SentSoFar(minute, minute, 7)
    assert note_sent(SentSoFar(0, 0, 5), 7, minute - 1) == SentSoFar(0, minute - 1, 12)
    long = note_sent(SentSoFar(0, 12 * minute - SECOND, 1_000), 10, 12 * minute)
    assert long == SentSoFar(6 * minute, 12 * minute, 510)
