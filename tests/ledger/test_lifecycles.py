"""The ledger moves rows exactly as the lifecycles say, and its constraints know the same states."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.errors import IllegalMove
from quire.domain.reasons import HoldKind
from quire.domain.requests import RequestKind
from quire.domain.states import (
    ATTEMPT,
    BATCH,
    CREDENTIAL,
    LIFECYCLES,
    REQUEST,
    REVIEW,
    RUN,
    STAGE,
    TASK,
    CredentialState,
    Lifecycle,
    RunMove,
    RunState,
    TaskMove,
    TaskState,
)
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.statements import migrations
from tests.ledger.factories import (
    NOW,
    add_credential,
    request_of,
    run_with_ready_tasks,
    send_all,
    tasks_of,
)
from tests.ledger.raw import Raw

TABLES = {"batch": "batches", "review": "results"}
TABLES |= {noun: f"{noun}s" for noun in ("run", "stage", "task", "request", "attempt")}
TABLES |= {"credential": "credentials"}
MOVING = (RUN, STAGE, TASK, REQUEST, ATTEMPT, BATCH, CREDENTIAL)
Life = Lifecycle[Any, Any]
Move = Callable[[Transaction, Any, Any], object]

MOVES: dict[str, Move] = {
    "run": lambda tx, name, row: tx.runs.move_run(name, row, NOW),
    "stage": lambda tx, name, row: tx.runs.move_stage(name, row),
    "task": lambda tx, name, row: tx.tasks.move_tasks(name, [row]),
    "request": lambda tx, name, row: tx.requests.move_requests(name, [row]),
    "attempt": lambda tx, name, row: tx.attempts.move_attempts(name, [row]),
    "batch": lambda tx, name, row: tx.batches.move_batch(name, row),
    "credential": lambda tx, name, row: tx.credentials.move_credentials(name, [row], "why", NOW),
}


@pytest.mark.parametrize("life", MOVING, ids=lambda item: item.noun)
def test_the_ledger_allows_exactly_the_listed_moves(life: Life, ledger: Ledger, raw: Raw) -> None:
    row = _row_of(life, ledger)
    seen = {}
    for state in life.states:
        for name in life.targets:
            _put(raw, life, row, state)
            with ledger.transaction() as tx:
                moved = bool(MOVES[life.noun](tx, name, row))
            seen[state, name] = (moved, _state(raw, life, row))

    assert seen == {
        (state, name): (True, life.targets[name]) if life.allows(state, name) else (False, state)
        for state in life.states
        for name in life.targets
    }


def test_a_stage_of_tasks_moves_exactly_as_its_tasks_would(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger, ["one"])
    row = raw.one("SELECT id FROM tasks")
    seen = {}
    for state in TASK.states:
        for name in TASK.targets:
            _put(raw, TASK, row, state)
            with ledger.transaction() as tx:
                seen[state, name] = tx.tasks.move_tasks_of_stage(name, place.stage) == 1

    assert seen == {
        (state, name): TASK.allows(state, name) for state in TASK.states for name in TASK.targets
    }


def test_a_group_of_tasks_moves_only_from_the_state_it_is_said_to_be_in(
    ledger: Ledger, raw: Raw
) -> None:
    place = run_with_ready_tasks(ledger, ["one"])
    row = raw.one("SELECT id FROM tasks")
    seen = set()
    for state in TASK.states:
        for name, sources in TASK.sources.items():
            for source in sources:
                _put(raw, TASK, row, state)
                with ledger.transaction() as tx:
                    if tx.tasks.move_task_group(name, place.stage, [row], source) == 1:
                        seen.add((state, name, source))

    assert seen == {(text, name, text) for name in TASK.sources for text in TASK.sources[name]}


def test_a_group_of_tasks_of_another_stage_does_not_move(ledger: Ledger) -> None:
    place, other = run_with_ready_tasks(ledger, name="a"), run_with_ready_tasks(ledger, name="b")
    with ledger.transaction() as tx:
        assert (
            tx.tasks.move_task_group(
                TaskMove.PACK, place.stage, tasks_of(tx, other), TaskState.READY
            )
            == 0
        )


def test_a_move_from_a_state_that_the_lifecycle_does_not_list_is_an_error(ledger: Ledger) -> None:
    run_with_ready_tasks(ledger, ["one"])

    with ledger.transaction() as tx, pytest.raises(IllegalMove, match="cannot pack when it is don"):
        tx.tasks.move_tasks(TaskMove.PACK, [1], [TaskState.DONE])  # type: ignore[list-item]


def test_a_move_from_fewer_states_leaves_the_others_where_they_are(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        first, second, third = tasks_of(tx, place)
        tx.tasks.move_tasks(TaskMove.PACK, [second])

        assert (
            tx.tasks.move_tasks(TaskMove.GIVE_UP, [first, second, third], [TaskState.PACKED]) == 1
        )
        assert tx.tallies.recount_tasks(place.stage) == {"ready": 2, "failed": 1}


def test_an_ended_run_knows_when_and_a_reopened_one_forgets(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        tx.runs.move_run(RunMove.FINISH, place.run, NOW)
        ended = tx.runs.get_run(place.run)
        tx.runs.move_run(RunMove.REOPEN, place.run, NOW)
        reopened = tx.runs.get_run(place.run)

    assert ended
    assert ended.ended_at == NOW
    assert reopened
    assert reopened.ended_at is None


def test_a_retry_grants_fresh_tries_and_calls(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger, ["one"])
    raw.rows("UPDATE tasks SET state = 'failed', tries = 3, calls = 5, pack_cap = 2")

    with ledger.transaction() as tx:
        tx.tasks.move_tasks_of_stage(TaskMove.RETRY, place.stage)

    assert raw.rows("SELECT state, tries, calls, pack_cap FROM tasks") == [("ready", 0, 0, 2)]


@pytest.mark.parametrize("life", LIFECYCLES, ids=lambda item: item.noun)
@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_table_accepts_exactly_the_states_of_its_lifecycle(dialect: str, life: Life) -> None:
    column = "review_state" if life is REVIEW else "state"

    assert _values_in_check(dialect, TABLES[life.noun], column) == set(life.states)


@pytest.mark.parametrize(("table", "kinds"), [("holds", HoldKind), ("requests", RequestKind)])
def test_a_table_accepts_exactly_the_kinds_we_know(
    table: str, kinds: type[HoldKind] | type[RequestKind]
) -> None:
    assert _values_in_check("sqlite", table, "kind") == {kind.value for kind in kinds}


@pytest.mark.parametrize("life", MOVING, ids=lambda item: item.noun)
def test_the_database_refuses_a_state_that_nobody_knows(
    life: Life, ledger: Ledger, raw: Raw
) -> None:
    row = _row_of(life, ledger)

    with pytest.raises(Exception, match=r"(?i)check constraint"):
        raw.rows(f"UPDATE {TABLES[life.noun]} SET state = 'lost in space' WHERE id = :id", id=row)


def _row_of(life: Life, ledger: Ledger) -> int:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        rows = {
            "credential": add_credential(tx),
            "run": place.run,
            "stage": place.stage,
            "task": tasks_of(tx, place)[0],
            "request": request_of(tx, attempt),
            "attempt": attempt,
            "batch": tx.batches.add_batch(place.lane, NOW),
        }
    return rows[life.noun]


def _put(raw: Raw, life: Life, row: int, state: str) -> None:
    with_it = ""  # columns that a CHECK ties to the state
    if life is RUN:
        with_it = f", ended_at = {'NULL' if state == RunState.RUNNING else '1'}"
    if life is CREDENTIAL:
        reason, at = ("NULL", "NULL") if state == CredentialState.VALID else ("'because'", "1")
        with_it = f", reason = {reason}, marked_at = {at}"
    table = TABLES[life.noun]
    raw.rows(f"UPDATE {table} SET state = :state{with_it} WHERE id = :id", state=state, id=row)


def _state(raw: Raw, life: Life, row: int) -> str:
    state: str = raw.one(f"SELECT state FROM {TABLES[life.noun]} WHERE id = :id", id=row)
    return state


def _values_in_check(dialect: str, table: str, column: str) -> set[str]:
    script = "\n".join(migrations(dialect).values())
    *_, body = re.findall(rf"CREATE TABLE {table} \((.*?)\n\)", script, re.DOTALL)  # made last
    check = re.search(rf"CHECK \({column} ([^)]*)\)", body)
    assert check
    return set(re.findall(r"'(\w+)'", check[1]))
