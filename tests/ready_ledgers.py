"""Ledgers that are ready at once: a new SQLite file gets its tables copied, not migrated.

The copy is of one that the migrations made, in this process. Tests about making ledgers ask for
`migrated_ledgers`, and get what everybody else gets.
"""

import sqlite3
from functools import cache
from threading import Lock

from quire.ledger import ledger
from quire.ledger.sqlite import SqliteDatabase
from quire.ledger.statements import migrations

_COPYING = Lock()  # the model is one connection, and a file is empty or not


class ReadySqlite(SqliteDatabase):
    """One ledger file, which never has to be migrated when it is new."""

    def migrate(self, scripts: dict[int, str]) -> None:
        """Copy the model into an empty file; any other is brought up to date as always."""
        if scripts is migrations("sqlite"):
            with _COPYING:
                if not self._writer.execute("PRAGMA schema_version").fetchone()[0]:
                    _model().backup(self._writer)
        super().migrate(scripts)


def use_ready_ledgers() -> None:
    """From now on, and in this process."""
    ledger.SqliteDatabase = ReadySqlite  # type: ignore[attr-defined]  # it is one


@cache
def _model() -> sqlite3.Connection:
    model = SqliteDatabase(":memory:")
    model.migrate(migrations("sqlite"))
    return model._writer
