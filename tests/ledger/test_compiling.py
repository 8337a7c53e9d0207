"""SQLite compiles the statements of every round once, whatever values they are carried out with."""

import sqlite3
from pathlib import Path

import pytest

from quire.ledger.sqlite import SqliteDatabase
from quire.ledger.statements import load, migrations

MOVES = {
    "move_tasks": ["ready", "packed"],
    "move_task_group": ["ready", "packed"],
    "move_requests": ["queued", "out"],
    "move_request_group": ["queued", "out"],
    "claim_requests": ["queued", "out"],
    "move_attempts": ["open", "answered"],
    "move_attempt_group": ["open", "answered"],
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("keys", [[1, 2, 3], [1, 2, 7]], ids=["dense", "with gaps"])
def test_a_move_is_compiled_once_for_all_states(name: str, keys: list[int], tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "ledger.db"))
    database.migrate(migrations("sqlite"))
    compiled: list[str] = []

    def authorise(
        action: int, first: str | None, second: str | None, *_: str | None
    ) -> int:  # asked only while a statement is compiled
        compiled.append(f"{action} {first} {second}")
        return sqlite3.SQLITE_OK

    values = {"workspace": "local", "stage": 1, "calls": 0, "target": MOVES[name][1]}
    with database.transaction() as connection:
        wanted = {text: values[text] for text in values if f":{text}" in load("sqlite")[name].text}
        database._writer.set_authorizer(authorise)
        connection.run(name, ids=keys, source=MOVES[name][0], **wanted)
        assert compiled
        compiled.clear()
        connection.run(name, ids=keys, source=MOVES[name][1], **wanted)
        database._writer.set_authorizer(None)
    database.close()

    assert compiled == []
