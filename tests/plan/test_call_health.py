"""Whose fault a failed call is: told by what became of the others."""

import random

from quire.domain.ids import LaneId, RequestId, TaskId
from quire.plan.call_health import MANY_FAILURES, REMEMBERED, CallHealth, SentCall

TRIES = 3
MEMBERS = [TaskId(1)]


def sent(request: int, no: int = 1, tasks: int = 10) -> SentCall:
    """One sending of a request."""
    return SentCall(RequestId(request), LaneId(1), tasks, no)


def fail(health: CallHealth, call: SentCall) -> bool:
    """Let a call fail; says whether what it carries is to blame."""
    return health.is_culprit(health.note_failure(call, MEMBERS), call.tasks, TRIES)


def test_a_pack_that_fails_while_others_are_answered_is_to_blame_after_a_few_failures() -> None:
    health = CallHealth()

    blamed = []
    for no in range(1, 6):
        blamed.append(fail(health, sent(1, no)))
        for request in range(10 * no, 10 * no + 5):
            health.note_answer(sent(request))

    assert blamed == [False, False, False, True, True]
    assert health.stuck_tasks(LaneId(1)) == 10
    assert health.stuck_tasks(LaneId(2)) == 0


def test_nobody_is_to_blame_in_an_outage_however_long_it_is() -> None:
    health = CallHealth()
    for request in range(100, 150):
        health.note_answer(sent(request))

    for no in range(1, 3 * MANY_FAILURES):
        assert not any(fail(health, sent(request, no)) for request in range(12))

    assert health.stuck_tasks(LaneId(1)) == 0


def test_where_nothing_was_ever_answered_nobody_is_to_blame() -> None:
    health = CallHealth()

    assert not any(fail(health, sent(1, no)) for no in range(1, 200))


def test_the_last_task_of_all_fails_after_many_sendings_in_vain() -> None:
    health = CallHealth()
    for request in range(100, 100 + REMEMBERED):
        health.note_answer(sent(request, tasks=1))

    blamed = [fail(health, sent(1, no, tasks=1)) for no in range(1, 2 * MANY_FAILURES)]

    assert blamed.index(True) in range(MANY_FAILURES, MANY_FAILURES + 10)


def test_a_lone_task_split_from_a_pack_is_to_blame_once_its_neighbours_were_answered() -> None:
    health = CallHealth()
    for request in range(100, 110):
        health.note_answer(sent(request))
    health.note_split(sent(120, tasks=2), MEMBERS)
    assert not any(fail(health, sent(122, no, tasks=1)) for no in range(1, 9))

    health.note_answer(sent(121, tasks=1))

    assert any(fail(health, sent(122, no, tasks=1)) for no in range(9, 18))


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
