"""A server that says only 429 is kept busy, and is seldom asked in vain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import json_object
from quire.planning.first_calls import (
    HEARING,
    LEAST_UNHEARD,
    SECOND,
    UNHEARD_PART,
    SentSoFar,
    count_unheard_room,
    note_accepted,
    note_sent,
    seconds_until_heard,
)
from quire.planning.learnt_rates import (
    LAPSE,
    LEAST_RATE,
    LearntRate,
    RefusedCall,
    a_minute,
    add_sent,
    current_rate,
    first_rate,
    has_lapsed,
    holds_back,
    let_go,
    note_refused,
    rate_from_json,
    rate_to_json,
    seconds_until_free,
)
from tests.planning.limited_server import (
    BEGIN,
    SERVERS,
    Bucket,
    Case,
    Crowd,
    drifting_sizes,
    learn,
    unequal_sizes,
)

LEAST_BUSY, MOST_IN_VAIN = 0.95, 0.05
SIZE = 1_000  # bytes of a call's prompt


def keeps_to_the_goal(case: Case) -> bool:
    """Whether a server is used as much as it allows, and seldom refuses."""
    came = learn(case)
    return came.busy >= LEAST_BUSY and came.in_vain <= MOST_IN_VAIN


@pytest.mark.parametrize("limit", [60, 600])
@pytest.mark.parametrize("kind", SERVERS)
def test_a_silent_server_is_kept_busy_and_seldom_asked_in_vain(kind: str, limit: int) -> None:
    assert keeps_to_the_goal(Case(kind, limit, minutes=10))


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        ("bucket", 0.5),
        ("bucket", 2.0),
        ("windows", 0.5),
        ("sliding", 2.0),
        pytest.param("windows", 2.0, marks=pytest.mark.soak),  # found as by the others
        pytest.param("sliding", 0.5, marks=pytest.mark.soak),
    ],
)
def test_a_limit_that_changes_is_found_by_two_workers_together(kind: str, factor: float) -> None:
    assert keeps_to_the_goal(Case(kind, 600, factor, workers=2, minutes=16))


@pytest.mark.parametrize("kind", SERVERS)
def test_a_limit_of_tokens_is_told_from_one_of_calls(kind: str) -> None:
    case = Case(kind, 600, minutes=10, sizes=drifting_sizes)

    assert keeps_to_the_goal(case)


def test_calls_of_unequal_size_are_counted_by_what_the_server_counts() -> None:
    by_size = Crowd(Bucket(600_000), 1, sizes=unequal_sizes(), by_size=True)
    by_calls = Crowd(Bucket(600), 1, sizes=unequal_sizes())
    by_size.work(5)
    by_calls.work(5)

    assert by_size.rate is not None
    assert by_size.rate.by_size
    assert 500 < a_minute(by_size.rate) < 700
    assert by_calls.rate is not None
    assert not by_calls.rate.by_size


@pytest.mark.soak
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("factor", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("limit", [600, 1_200, 6_000])
@pytest.mark.parametrize("kind", SERVERS)
def test_fast_servers_are_kept_busy_whatever_becomes_of_the_limit(
    kind: str, limit: int, factor: float, workers: int
) -> None:
    assert keeps_to_the_goal(Case(kind, limit, factor, workers, minutes=16))


def test_a_first_refusal_costs_few_calls() -> None:
    crowd = Crowd(Bucket(60), 1, concurrency=64)
    crowd.work(0.5)

    assert 0 < crowd.refused <= 8


def test_a_first_refusal_of_a_short_run_costs_few_calls_where_many_are_out() -> None:
    assert keeps_to_the_goal(Case("bucket", 1_200, minutes=2))


@pytest.mark.parametrize("seconds", [1.0, 10.0])
def test_a_server_with_a_small_bucket_is_found_out_too(seconds: float) -> None:
    came = Crowd(Bucket(1_200, seconds), 2).work(12)

    assert came.busy >= LEAST_BUSY
    assert came.in_vain <= MOST_IN_VAIN


def refused_once(calls: int = 1_200, seconds: float = 4.0) -> LearntRate:
    """What is known after a burst that ended in a refusal."""
    at = BEGIN + round(seconds * SECOND)
    sofar = SentSoFar(BEGIN, at, calls + 1, (calls + 1) * SIZE)
    return first_rate(sofar, [RefusedCall(at - SECOND // 5, SIZE)], at)


def test_a_burst_before_the_first_refusal_is_thought_to_have_emptied_a_minute_s_bucket() -> None:
    assert a_minute(refused_once(1_200 + 80, 4.0)) == 1_200


def test_what_another_worker_sent_before_the_first_refusal_counts_when_it_is_told() -> None:
    alone = refused_once(640, 4.0)

    assert a_minute(alone) == 600
    assert a_minute(add_sent(alone, SentSoFar(BEGIN, BEGIN, 640, 640 * SIZE))) == 1_200


def test_nothing_goes_right_after_a_refusal_then_a_single_call_feels_out_the_server() -> None:
    rate = refused_once()

    assert let_go(rate, [SIZE] * 50, rate.free_at - 1)[0] == 0
    count, rate = let_go(rate, [SIZE] * 50, rate.free_at)
    assert count == 1
    assert let_go(rate, [SIZE] * 50, rate.probe_at + SECOND // 100)[0] == 0
    assert let_go(rate, [SIZE] * 50, rate.probe_at + 2 * SECOND)[0] > 10  # it was not refused
    assert seconds_until_free(rate, [SIZE] * 50, rate.probe_at) > 0


def test_calls_refused_together_count_once() -> None:
    rate = refused_once()
    sent = [RefusedCall(rate.heard_at - SECOND // 10, SIZE)] * 40

    later = note_refused(rate, sent, rate.heard_at + SECOND // 20)

    assert later.free_at == rate.free_at
    assert later.calls == rate.calls - 40
    assert len(later.empties) == 1


def test_calls_that_nothing_held_back_do_not_make_it_bolder() -> None:
    rate, at = refused_once(), BEGIN + 20 * SECOND
    for _ in range(500):
        at += 10 * SECOND
        _, rate = let_go(rate, [SIZE], at)

    assert rate.grown == 0
    assert current_rate(rate) == rate.rate


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 30), st.integers(0, 5)), max_size=60))
def test_whatever_happens_calls_go_in_the_end(steps: list[tuple[int, int, int]]) -> None:
    rate, at = refused_once(), BEGIN + 4 * SECOND
    for pause, wanted, refused in steps:
        at += pause * SECOND
        count, rate = let_go(rate, [SIZE] * wanted, at)
        if refused and count:
            rate = note_refused(
                rate, [RefusedCall(at, SIZE)] * min(refused, count), at + SECOND // 4
            )
    assert rate.rate >= LEAST_RATE

    went = 0
    for _ in range(50):
        at += 10 * SECOND
        count, rate = let_go(rate, [SIZE] * 5, at)
        went += count
    assert went > 0


def test_a_clock_that_was_far_ahead_stops_nobody_for_long() -> None:
    rate = refused_once()
    now = rate.at - 3_600 * SECOND
    _, rate = let_go(rate, [SIZE] * 5, now)

    assert let_go(rate, [SIZE] * 5, now + 10 * SECOND)[0] > 0


def test_it_is_kept_as_json_and_forgotten_after_an_hour_without_a_call() -> None:
    rate = note_refused(
        refused_once(), [RefusedCall(BEGIN + 60 * SECOND, SIZE)], BEGIN + 61 * SECOND
    )

    assert rate_from_json(rate_to_json(rate)) == rate
    assert rate_from_json(json_object(b'{"rate": 5}') or {}) is None
    assert holds_back(rate)
    assert not has_lapsed(rate, rate.at + LAPSE)
    assert has_lapsed(rate, rate.at + LAPSE + 1)


def test_calls_sent_a_while_ago_are_forgotten_before_the_first_refusal() -> None:
    minute = 60 * SECOND

    anew = note_sent(SentSoFar(0, 0, 5, 50), [1] * 7, minute)
    assert anew == SentSoFar(minute, minute, 7, 7, 7, minute)
    more = note_sent(SentSoFar(0, 0, 5, 50), [1] * 7, minute - 1)
    assert more[:4] == (0, minute - 1, 12, 57)
    long = note_sent(SentSoFar(0, 12 * minute - SECOND, 1_000, 8_000), [1] * 10, 12 * minute)
    assert long[:4] == (6 * minute, 12 * minute, 510, 4_010)


def test_while_nothing_is_known_few_calls_go_before_a_refusal_could_be_heard() -> None:
    assert count_unheard_room(None, BEGIN) == LEAST_UNHEARD

    sofar = note_sent(None, [SIZE] * LEAST_UNHEARD, BEGIN)
    assert count_unheard_room(sofar, BEGIN + 1) == 0
    assert seconds_until_heard(sofar, BEGIN) == HEARING / SECOND
    assert count_unheard_room(note_accepted(sofar, BEGIN), BEGIN + 1) == 1
    assert note_accepted(sofar, BEGIN, LEAST_UNHEARD + 1).unheard == 0
    assert count_unheard_room(sofar, BEGIN + HEARING) == LEAST_UNHEARD

    many = sofar._replace(calls=1_200)
    assert count_unheard_room(many, BEGIN + HEARING) == 100
    assert note_accepted(many, BEGIN - 1) == many  # that one had been heard of


@pytest.mark.parametrize("step", range(6))
def test_wherever_a_moment_begins_no_more_goes_in_it_than_that_part(step: int) -> None:
    wide = BEGIN + 30 * SECOND + step * SECOND // 20  # the window of calls in flight widens
    sofar: SentSoFar | None = None
    sent: list[tuple[int, int]] = []
    for at in range(BEGIN, wide + SECOND, SECOND // 20):
        most = 1_000 if at >= wide else 2
        if count := min(most, count_unheard_room(sofar, at)):
            sofar = note_sent(sofar, [SIZE] * count, at)
            sent.append((at, count))

    for begin, _ in sent:
        went = sum(count for at, count in sent if begin <= at < begin + HEARING // 2)
        before = sum(count for at, count in sent if at < begin + HEARING // 2)
        assert went <= max(LEAST_UNHEARD, before // UNHEARD_PART)
