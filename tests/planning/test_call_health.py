"""Whose fault a failed call is: told by what became of the others."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quire.domain.ids import LaneId, RequestId, TaskId
from quire.planning.call_health import (
    MANY_FAILURES,
    MOST_UNPROVEN_TASKS,
    REMEMBERED,
    VERY_MANY_FAILURES,
    CallHealth,
    SentCall,
)
from tests.planning.failing_server import FailingServer, Run

TRIES = 3


def sent(request: int, no: int = 1, tasks: int = 10) -> SentCall:
    """One sending of a request."""
    return SentCall(RequestId(request), LaneId(1), tasks, no)


def members(call: SentCall) -> list[TaskId]:
    """Tasks that no other call carries."""
    return [TaskId(100 * call.request + task) for task in range(call.tasks)]


def fail(health: CallHealth, call: SentCall) -> bool:
    """Let a call fail; says whether what it carries is to blame."""
    health.note_failure(call, members(call))
    return health.is_culprit(call, TRIES)


def test_a_pack_that_fails_while_others_are_answered_is_to_blame_after_a_few_failures() -> None:
    health = CallHealth()

    blamed = []
    for no in range(1, 6):
        blamed.append(fail(health, sent(1, no)))
        for request in range(10 * no, 10 * no + 5):
            health.note_answer(sent(request))

    assert blamed == [False, False, False, True, True]
    assert health.stuck_tasks([LaneId(1)]) == 10
    assert health.stuck_tasks([LaneId(2)]) == 0


def test_a_pack_that_failed_among_answers_of_its_batch_is_to_blame_though_it_goes_alone_then() -> (
    None
):
    told, silent = CallHealth(), CallHealth()
    for request in range(100, 110):
        told.note_answer(sent(request))
    told.note_failure(sent(1), members(sent(1)), among_answers=True)

    blamed = [[fail(health, sent(1, no)) for no in range(2, 5)] for health in (told, silent)]

    assert blamed == [[False, True, True], [False, False, False]]


def test_nobody_is_to_blame_in_an_outage_however_long_it_is() -> None:
    health = CallHealth()
    for request in range(100, 150):
        health.note_answer(sent(request))

    for no in range(1, 3 * MANY_FAILURES):
        assert not any(fail(health, sent(request, no, tasks=1)) for request in range(12))


def test_where_nothing_is_answered_any_more_one_pack_is_halved_to_find_out() -> None:
    health = CallHealth()
    health.note_answer(sent(100))

    blamed = Counter(
        request
        for no in range(1, 3 * MANY_FAILURES)
        for request in range(12)
        if fail(health, sent(request, no))
    )

    assert len(blamed) == 1
    assert health.stuck_tasks([LaneId(1)]) == 10 + MOST_UNPROVEN_TASKS  # others go meanwhile


def test_where_nothing_was_ever_answered_nobody_is_to_blame() -> None:
    health = CallHealth()

    assert not any(fail(health, sent(1, no)) for no in range(1, 200))


def test_lost_calls_count_together_until_anything_is_answered() -> None:
    health = CallHealth()

    for request in range(5):
        health.note_failure(sent(request), lost=True)
        health.note_failure(sent(request, no=2))  # nobody bills for a definite error
    lost = [health.lost_unheard]
    health.forget_losses()
    health.note_failure(sent(9), lost=True)
    lost.append(health.lost_unheard)
    health.note_answer(sent(9, no=2))
    health.note_failure(sent(10), lost=True)
    lost.append(health.lost_unheard)

    assert lost == [5, 1, 0]


def test_the_last_task_of_all_fails_after_many_sendings_in_vain() -> None:
    health = CallHealth()
    for request in range(100, 100 + REMEMBERED):
        health.note_answer(sent(request, tasks=1))

    blamed = [fail(health, sent(1, no, tasks=1)) for no in range(1, 2 * MANY_FAILURES)]

    assert blamed.index(True) in range(MANY_FAILURES, MANY_FAILURES + 10)


def test_the_last_of_a_halved_pack_is_to_blame_once_its_neighbours_were_answered() -> None:
    health = CallHealth()
    pack = sent(120, tasks=2)
    first, last = members(pack)
    for request in range(100, 105):
        fail(health, pack)
        health.note_answer(sent(request))
    health.note_split(pack, [first, last])
    lone = [SentCall(RequestId(122), LaneId(1), 1, no) for no in range(1, 15)]
    for call in lone:
        health.note_failure(call, [last])
        assert not health.is_culprit(call, TRIES)
    assert health.seeks_culprit

    health.note_answer(sent(121, tasks=1), [first])

    for call in lone[:9]:
        health.note_failure(call, [last])
    assert health.is_culprit(lone[8], TRIES)
    health.note_split(lone[0], [last])
    assert not health.seeks_culprit


def test_two_culprits_that_are_left_of_a_halved_pack_are_told_from_an_outage() -> None:
    health = CallHealth()
    pack, (first, second) = sent(1, tasks=2), (sent(2, tasks=1), sent(3, tasks=1))
    for request in range(100, 120):
        health.note_failure(pack, members(pack))
        health.note_answer(sent(request))
    health.note_split(pack, members(pack))
    for lone, task in zip((first, second), members(pack), strict=True):
        health.note_failure(lone, [task])
    assert not health.is_alone_in_failing(first)
    health.note_answer(sent(120))  # the last that can be

    for no in range(2, 12):
        health.note_failure(first._replace(no=no))
        health.note_failure(second._replace(no=no))

    assert health.is_alone_in_failing(first)
    assert health.is_alone_in_failing(second)


@pytest.mark.parametrize("pack_size", [1, 10])
@pytest.mark.parametrize("concurrency", [1, 4, 16])
def test_many_poisons_at_once_end_and_cost_nobody_else(pack_size: int, concurrency: int) -> None:
    poisons = frozenset({3, 17, 18, 40, 77, 99})

    for seed in range(8):
        run = Run(FailingServer(poisons=poisons), 100, pack_size, concurrency, seed).go(4000)
        assert (run.failed, len(run.done)) == (set(poisons), 94)


@pytest.mark.parametrize("poisons", [range(2), range(3), range(3, 7), range(10), [0, 2, 5, 9]])
def test_poisons_that_sit_side_by_side_end_although_none_clears_another(poisons: list[int]) -> None:
    for seed in range(4):
        run = Run(FailingServer(poisons=frozenset(poisons)), seed=seed).go(8000)
        assert (run.failed, len(run.done)) == (set(poisons), 100 - len(poisons))
        assert run.sendings <= 100 + (VERY_MANY_FAILURES + 100) * len(poisons)


@given(
    chance=st.floats(0, 0.5),
    outages=st.lists(st.tuples(st.floats(1, 30), st.floats(1, 600)), max_size=3),
    poisons=st.frozensets(st.integers(10, 99), max_size=6),
    pack_size=st.sampled_from([1, 2, 5, 10]),
    concurrency=st.sampled_from([1, 4, 16]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_whatever_a_server_does_the_poisons_end_and_nobody_else_fails(
    chance: float,
    outages: list[tuple[float, float]],
    poisons: frozenset[int],
    pack_size: int,
    concurrency: int,
    seed: int,
) -> None:
    begin, down = 0.0, []
    for calm, outage in outages:
        down.append((begin + calm, begin + calm + outage))
        begin = down[-1][1]
    server = FailingServer(poisons=poisons, chance=chance, outages=down)

    run = Run(server, 100, pack_size, concurrency, seed).go(40_000)

    assert (run.failed, len(run.done)) == (set(poisons), 100 - len(poisons))


def test_in_an_outage_at_most_one_pack_is_halved_however_long_it_is() -> None:
    run = Run(FailingServer(outages=[(2.0, 1e9)]), pack_size=10).go(5000)

    assert run.halved <= 9  # down to lone tasks
    assert not run.failed


@pytest.mark.parametrize("minutes", [1, 10, 60])
def test_after_an_outage_a_poison_keeps_its_neighbours_waiting_no_longer(minutes: int) -> None:
    outage = (1.0, 1.0 + 60 * minutes)

    for seed in range(5):
        run = Run(FailingServer(poisons=frozenset({55}), outages=[outage]), seed=seed)
        run.go(100_000, until=lambda run: len(run.done) == 99)
        assert run.now - outage[1] < 30 * 60
        run.go(100_000)
        assert run.failed == {55}


def test_many_lone_tasks_outlive_an_outage_of_hours_after_a_server_that_came_and_went() -> None:
    outages = [(0.0, 468.0), (478.0, 20_000.0)]

    for seed in range(3):
        run = Run(FailingServer(chance=0.1, outages=outages), 30, 1, 2, seed).go(40_000)
        assert (run.failed, len(run.done)) == (set(), 30)


@pytest.mark.parametrize("left", [1, 2, 3, 5])
def test_a_few_culprits_that_are_left_end_though_nothing_was_answered_since(left: int) -> None:
    poisons = frozenset(range(10 - left, 10))

    for seed in range(4):
        run = Run(FailingServer(poisons=poisons), 10, 1, 1, seed).go(8000)
        assert (run.failed, len(run.done)) == (set(poisons), 10 - left)


def test_a_server_that_fails_half_of_all_calls_by_chance_costs_no_task() -> None:
    chance, health = random.Random(1), CallHealth()
    waiting, new = {request: 1 for request in range(8)}, 8

    for _ in range(20_000):
        request = chance.choice([*waiting])
        no = waiting.pop(request)
        if chance.random() < 0.5:
            assert not fail(health, sent(request, no, tasks=1))
            waiting[request] = no + 1
        else:
            health.note_answer(sent(request, no, tasks=1))
            waiting[new] = 1
            new += 1
