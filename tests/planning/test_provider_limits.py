"""Limits fill up with time, calls take of them, and no minute ever holds more than the limit."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.accounts import Level, Need
from quire.domain.models import Limits
from quire.planning.provider_limits import (
    BURST_PERCENT,
    MINUTE,
    PARTS,
    STEADY_PERCENT,
    admit,
    full_level,
    is_limited,
    narrowest_limits,
    refill,
    return_calls,
    seconds_until_admitted,
)

SECOND = MINUTE // 60
ONE = Need(1, 0, 0)
requests = st.integers(1, 10_000)


def refund(level: Level, limits: Limits, unused: Need) -> Level:
    """What is left once one call gave back what it did not take."""
    return return_calls(level, limits, unused)


def admitted_calls(
    limits: Limits, steps: list[tuple[int, int]], need: Need = ONE
) -> list[tuple[int, int]]:
    """Ask for calls at some moments, given as pauses; returns each moment and how many went."""
    level = full_level(limits, 0)
    went = []
    moments = accumulate(pause for pause, _ in steps)
    for at, (_, wanted) in zip(moments, steps, strict=True):
        count, level = admit(refill(level, limits, at), limits, [need] * wanted)
        went.append((at, count))
    return went


def fullest(went: list[tuple[int, int]]) -> int:
    """The most that went in any minute."""
    return max(
        sum(count for at, count in went if start <= at < start + MINUTE) for start, _ in went
    )


@given(
    limit=st.integers(20, 2_000),
    steps=st.lists(st.tuples(st.integers(0, 20 * SECOND), st.integers(0, 300)), min_size=1),
)
def test_no_minute_holds_more_requests_than_the_limit(
    limit: int, steps: list[tuple[int, int]]
) -> None:
    went = admitted_calls(Limits(requests=limit), steps)

    assert fullest(went) <= limit


@given(
    limit=st.integers(1_000, 100_000),
    size=st.integers(1, 100),
    steps=st.lists(st.tuples(st.integers(0, 20 * SECOND), st.integers(0, 300)), min_size=1),
)
def test_no_minute_holds_more_tokens_than_the_limit(
    limit: int, size: int, steps: list[tuple[int, int]]
) -> None:
    went = admitted_calls(Limits(total=limit), steps, Need(1, size, 0))

    assert fullest(went) * size <= limit


def test_a_part_of_the_limit_is_kept_for_calls_that_arrive_late() -> None:
    assert BURST_PERCENT + STEADY_PERCENT < 100


def test_what_is_asked_for_all_the_time_goes_at_the_steady_rate() -> None:
    steps = [(SECOND, 100) for _ in range(600)]

    went = sum(count for _, count in admitted_calls(Limits(requests=600), steps))

    assert went == 600 * BURST_PERCENT // 100 + 599 * 600 * STEADY_PERCENT // 100 // 60


def test_a_limit_of_one_a_minute_lets_one_go_about_every_minute() -> None:
    went = admitted_calls(Limits(requests=1), [(SECOND, 5) for _ in range(600)])

    moments = [at for at, count in went if count]
    assert [count for _, count in went if count] == [1] * len(moments)
    assert len(moments) == 9  # of ten minutes
    assert min(b - a for a, b in pairwise(moments)) > MINUTE


def test_a_call_larger_than_what_may_go_at_once_goes_when_all_is_there_and_leaves_a_debt() -> None:
    limits, large = Limits(input=1_000), Need(1, 700, 0)

    count, level = admit(full_level(limits, 0), limits, [large, large])
    later, _ = admit(refill(level, limits, 30 * SECOND), limits, [large])
    paid, _ = admit(refill(level, limits, 60 * SECOND), limits, [large])

    assert (count, level.input) == (1, (100 - 700) * PARTS)
    assert (later, paid) == (0, 1)


def test_calls_go_in_order_and_the_first_that_must_wait_stops_the_rest() -> None:
    limits = Limits(input=1_000)

    count, _ = admit(full_level(limits, 0), limits, [Need(1, 60, 0), Need(1, 60, 0), Need(1, 1, 0)])

    assert count == 1


def test_the_narrowest_of_several_limits_decides() -> None:
    limits = Limits(requests=100, input=1_000, output=1_000, total=1_500)

    count, _ = admit(full_level(limits, 0), limits, [Need(1, 10, 40)] * 10)

    assert count == 2  # of output, a hundred may go at once


def test_what_a_call_did_not_take_is_given_back_up_to_what_may_go_at_once() -> None:
    limits = Limits(output=1_000)
    _, level = admit(full_level(limits, 0), limits, [Need(1, 0, 90)])

    assert refund(level, limits, Need(0, 0, 50)).output == 60 * PARTS
    assert refund(level, limits, Need(0, 0, 5_000)).output == 100 * PARTS
    assert refund(level, limits, Need(0, 0, -50)).output == -40 * PARTS  # it took more


@given(limit=requests, seconds=st.integers(0, 10**9))
def test_time_never_fills_more_than_what_may_go_at_once(limit: int, seconds: int) -> None:
    limits = Limits(requests=limit)
    empty = Level(0, 0, 0, 0, 0)

    level = refill(empty, limits, seconds)

    assert 0 <= level.requests <= full_level(limits, 0).requests


@given(limit=requests, back=st.integers(0, MINUTE))
def test_a_clock_that_is_a_little_behind_fills_nothing_and_is_not_believed(
    limit: int, back: int
) -> None:
    limits, level = Limits(requests=limit), Level(10**12, 5, 0, 0, 0)

    assert refill(level, limits, 10**12 - back) == level


def test_a_clock_that_was_ahead_by_hours_stops_nobody_for_hours() -> None:
    limits, level = Limits(requests=60), Level(10**12, 0, 0, 0, 0)
    now = 10**12 - 120 * MINUTE

    begun = refill(level, limits, now)

    assert begun == level._replace(at=now)
    assert refill(begun, limits, now + MINUTE).requests == full_level(limits, now).requests


def test_a_debt_is_never_more_than_a_minute_s_worth() -> None:
    limits = Limits(output=1_000)
    taken = refund(full_level(limits, 0), limits, Need(0, 0, -(10**12)))

    assert taken.output == -1_000 * PARTS


def test_a_run_without_a_limit_leaves_that_of_others_alone() -> None:
    limited, free = Limits(requests=60), Limits(input=10**9)
    level = full_level(limited, 0)

    _, after = admit(refill(level, free, 1_000), free, [Need(1, 10, 10)] * 50)

    assert after.requests == level.requests


@pytest.mark.parametrize("limit", [1, 5, 60, 500])
@pytest.mark.parametrize(
    "pause", [pytest.param(1_000, marks=pytest.mark.soak), 7_000, 50_000, 250_000]
)
def test_however_often_one_looks_a_slow_limit_fills_up(limit: int, pause: int) -> None:
    minutes = 3 if limit < 60 else 1
    steps = [(pause, 5) for _ in range(minutes * MINUTE // pause)]

    went = sum(count for _, count in admitted_calls(Limits(requests=limit), steps))

    assert went >= int(limit * minutes * STEADY_PERCENT / 100 * 0.94)


def test_filling_up_in_small_steps_or_at_once_is_the_same() -> None:
    limits, level = Limits(requests=60), Level(0, 0, 0, 0, 0)
    at_once = refill(level, limits, 5 * SECOND)

    for moment in range(0, 5 * SECOND + 1, SECOND // 4):
        level = refill(level, limits, moment)

    assert (
        abs(at_once.requests - level.requests) <= 20 * 2
    )  # thousandths lost to rounding, or not counted yet


def test_the_provider_is_believed_where_it_says_that_less_is_left() -> None:
    level = Level(0, 60 * PARTS, 500 * PARTS, 0, 0)
    reported = [Limits(requests=5), Limits(requests=3, input=10_000), Limits(requests=4)]

    assert return_calls(level, Limits(), Need(0, 0, 0), reported) == Level(
        0, 3 * PARTS, 500 * PARTS, 0, 0
    )


@given(
    st.lists(st.tuples(*[st.integers(0, 50)] * 3), max_size=8),
    st.tuples(*[st.integers(-100, 100)] * 4),
)
def test_calls_are_admitted_together_as_they_would_be_one_by_one(
    parts: list[tuple[int, int, int]], left: tuple[int, int, int, int]
) -> None:
    limits, needs = Limits(requests=200, input=900, total=1_000), [Need(*part) for part in parts]
    level = refill(Level(0, *(part * PARTS for part in left)), limits, MINUTE // 100)
    one_by_one, count = level, 0
    for need in needs:
        went, one_by_one = admit(one_by_one, limits, [need])
        if not went:
            break
        count += 1

    assert admit(level, limits, needs) == (count, one_by_one)


def test_the_smallest_number_that_anybody_states_holds() -> None:
    told = Limits(requests=100, input=5_000)
    learnt = Limits(requests=50, total=9_000)

    assert narrowest_limits(told, learnt) == Limits(requests=50, input=5_000, total=9_000)
    assert narrowest_limits(Limits(), Limits()) == Limits()
    assert narrowest_limits(Limits(), Limits(requests=0)) == Limits()  # or nothing would ever go


def test_where_nothing_is_stated_nothing_is_limited() -> None:
    assert not is_limited(Limits())
    assert is_limited(Limits(output=1))
    assert admit(full_level(Limits(), 0), Limits(), [Need(1, 10**9, 10**9)] * 3)[0] == 3


def test_the_wait_for_a_group_of_calls_is_as_long_as_their_limit_takes_to_fill() -> None:
    limits = Limits(requests=600, total=60_000)
    calls = [Need(1, 100, 100)] * 8
    count, level = admit(full_level(limits, 0), limits, calls * 8)

    wait = seconds_until_admitted(level, limits, calls)
    early, late = (refill(level, limits, round((wait + error) * 1e6)) for error in (-0.01, +0.01))

    assert count == 30  # by tokens: a tenth of them at once
    assert admit(early, limits, calls)[0] == 7
    assert admit(late, limits, calls)[0] == 8
    assert wait > 1
