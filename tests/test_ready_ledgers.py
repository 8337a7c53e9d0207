"""A ledger whose tables were copied is the one that the migrations make."""

import sqlite3
from contextlib import closing
from pathlib import Path

from quire.ledger.sqlite import SqliteDatabase
from quire.ledger.statements import migrations
from tests.ready_ledgers import ReadySqlite

KEPT = ("user_version", "application_id", "journal_mode", "page_size")


def test_a_copied_ledger_is_like_a_migrated_one(tmp_path: Path) -> None:
    made = [
        _made_by(kind, tmp_path / f"{kind.__name__}.db") for kind in (SqliteDatabase, ReadySqlite)
    ]

    assert made[0] == made[1]


def test_a_ledger_that_holds_something_is_not_copied_over(tmp_path: Path) -> None:
    path = tmp_path / "quire.db"
    _made_by(ReadySqlite, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as ours:
        ours.execute("CREATE TABLE mine (id)")

    assert "CREATE TABLE mine (id);" in _made_by(ReadySqlite, path)


def _made_by(kind: type[SqliteDatabase], path: Path) -> list[object]:
    with closing(kind(str(path))) as database:
        database.migrate(migrations("sqlite"))
    with closing(sqlite3.connect(path)) as made:
        return [*made.iterdump(), *(made.execute(f"PRAGMA {name}").fetchone() for name in KEPT)]
