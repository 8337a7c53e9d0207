"""The ledger moves rows exactly as the lifecycles say, and its constraints know the same states."""

import re
from collections.abc import Callable

import pytest

from quire.domain.errors import IllegalMove
from quire.domain.requests import Kind
from quire.domain.runs import HoldKind
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
)
from quire.domain.states import Lifecycle as Life
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.statements import migrations
from tests.ledger.making import NOW, add_credential, owing, request_of, sent, tasks_of
from tests.ledger.raw import Raw

TABLES = {"batch": "batches", "review": "results"}
TABLES |= {noun: f"{noun}s" for noun in ("run", "stage", "task", "request", "attempt")}
TABLES |= {"credential": "credentials"}
MOVING = (RUN, STAGE, TASK, REQUEST, ATTEMPT, BATCH, CREDENTIAL)
Move = Callable[[Transaction, str, int], object]

MOVES: dict[str, Move] = {
    "run": lambda tx, name, row: tx.runs.move(name, row, NOW),  # type: ignore[arg-type]
    "stage": lambda tx, name, row: tx.runs.move_stage(name, row),  # type: ignore[arg-type]
    "task": lambda tx, name, row: tx.tasks.move(name, [row]),  # type: ignore[list-item]
    "request": lambda tx, name, row: tx.requests.move(name, [row]),  # type: ignore[list-item]
    "attempt": lambda tx, name, row: tx.attempts.move(name, [row]),  # type: ignore[list-item]
    "batch": lambda tx, name, row: tx.batches.move(name, row),  # type: ignore[arg-type]
    "credential": lambda tx, name, row: tx.credentials.move(name, [row], "why", NOW),  # type: ignore[list-item]
}


@pytest.mark.parametrize("life", MOVING, ids=lambda each: each.noun)
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
    place = owing(ledger, ["one"])
    row = raw.one("SELECT id FROM tasks")
    seen = {}
    for state in TASK.states:
        for name in TASK.targets:
            _put(raw, TASK, row, state)
            with ledger.transaction() as tx:
                seen[state, name] = tx.tasks.move_stage(name, place.stage) == 1

    assert seen == {
        (state, name): TASK.allows(state, name) for state in TASK.states for name in TASK.targets
    }


def test_a_group_of_tasks_moves_only_from_the_state_it_is_said_to_be_in(
    ledger: Ledger, raw: Raw
) -> None:
    place = owing(ledger, ["one"])
    row = raw.one("SELECT id FROM tasks")
    seen = set()
    for state in TASK.states:
        for name, sources in TASK.sources.items():
            for source in sources:
                _put(raw, TASK, row, state)
                with ledger.transaction() as tx:
                    if tx.tasks.move_group(name, place.stage, [row], source) == 1:
                        seen.add((state, name, source))

    assert seen == {(each, name, each) for name in TASK.sources for each in TASK.sources[name]}


def test_a_group_of_tasks_of_another_stage_does_not_move(ledger: Ledger) -> None:
    place, other = owing(ledger, name="a"), owing(ledger, name="b")
    with ledger.transaction() as tx:
        assert tx.tasks.move_group("pack", place.stage, tasks_of(tx, other), "ready") == 0


def test_a_move_from_a_state_that_the_lifecycle_does_not_list_is_an_error(ledger: Ledger) -> None:
    owing(ledger, ["one"])

    with ledger.transaction() as tx, pytest.raises(IllegalMove, match="cannot pack when it is don"):
        tx.tasks.move("pack", [1], ["done"])  # type: ignore[list-item]


def test_a_move_from_fewer_states_leaves_the_others_where_they_are(ledger: Ledger) -> None:
    place = owing(ledger)
    with ledger.transaction() as tx:
        first, second, third = tasks_of(tx, place)
        tx.tasks.move("pack", [second])

        assert tx.tasks.move("give_up", [first, second, third], ["packed"]) == 1
        assert tx.tallies.recount(place.stage) == {"ready": 2, "failed": 1}


def test_an_ended_run_knows_when_and_a_reopened_one_forgets(ledger: Ledger) -> None:
    place = owing(ledger)
    with ledger.transaction() as tx:
        tx.runs.move("finish", place.run, NOW)
        ended = tx.runs.get(place.run)
        tx.runs.move("reopen", place.run, NOW)
        reopened = tx.runs.get(place.run)

    assert ended
    assert ended.ended_at == NOW
    assert reopened
    assert reopened.ended_at is None


def test_a_retry_grants_fresh_tries_and_calls(ledger: Ledger, raw: Raw) -> None:
    place = owing(ledger, ["one"])
    raw.rows("UPDATE tasks SET state = 'failed', tries = 3, calls = 5, pack_cap = 2")

    with ledger.transaction() as tx:
        tx.tasks.move_stage("retry", place.stage)

    assert raw.rows("SELECT state, tries, calls, pack_cap FROM tasks") == [("ready", 0, 0, 2)]


@pytest.mark.parametrize("life", LIFECYCLES, ids=lambda each: each.noun)
@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_table_accepts_exactly_the_states_of_its_lifecycle(dialect: str, life: Life) -> None:
    column = "review_state" if life is REVIEW else "state"

    assert _checked(dialect, TABLES[life.noun], column) == set(life.states)


@pytest.mark.parametrize(("table", "kinds"), [("holds", HoldKind), ("requests", Kind)])
def test_a_table_accepts_exactly_the_kinds_we_know(
    table: str, kinds: type[HoldKind] | type[Kind]
) -> None:
    assert _checked("sqlite", table, "kind") == {each.value for each in kinds}


@pytest.mark.parametrize("life", MOVING, ids=lambda each: each.noun)
def test_the_database_refuses_a_state_that_nobody_knows(
    life: Life, ledger: Ledger, raw: Raw
) -> None:
    row = _row_of(life, ledger)

    with pytest.raises(Exception, match=r"(?i)check constraint"):
        raw.rows(f"UPDATE {TABLES[life.noun]} SET state = 'lost in space' WHERE id = :id", id=row)


def _row_of(life: Life, ledger: Ledger) -> int:
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        rows = {
            "credential": add_credential(tx),
            "run": place.run,
            "stage": place.stage,
            "task": tasks_of(tx, place)[0],
            "request": request_of(tx, attempt),
            "attempt": attempt,
            "batch": tx.batches.add(place.lane, NOW),
        }
    return rows[life.noun]


def _put(raw: Raw, life: Life, row: int, state: str) -> None:
    with_it = ""  # columns that a CHECK ties to the state
    if life is RUN:
        with_it = f", ended_at = {'NULL' if state == 'running' else '1'}"
    if life is CREDENTIAL:
        reason, at = ("NULL", "NULL") if state == "valid" else ("'because'", "1")
        with_it = f", reason = {reason}, marked_at = {at}"
    table = TABLES[life.noun]
    raw.rows(f"UPDATE {table} SET state = :state{with_it} WHERE id = :id", state=state, id=row)


def _state(raw: Raw, life: Life, row: int) -> str:
    state: str = raw.one(f"SELECT state FROM {TABLES[life.noun]} WHERE id = :id", id=row)
    return state


def _checked(dialect: str, table: str, column: str) -> set[str]:
    script = "\n".join(migrations(dialect).values())
    *_, body = re.findall(rf"CREATE TABLE {table} \((.*?)\n\)", script, re.DOTALL)  # made last
    check = re.search(rf"CHECK \({column} ([^)]*)\)", body)
    assert check
    return set(re.findall(r"'(\w+)'", check[1]))
