"""Counts what a SQLite ledger is asked."""

from collections.abc import Iterator
from contextlib import contextmanager

from quire.ledger.sqlite import SqliteConnection


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """The names of all statements that run meanwhile."""
    asked: list[str] = []
    run = SqliteConnection.run

    def count(self: SqliteConnection, name: str, /, **values: object) -> object:
        asked.append(name)
        return run(self, name, **values)

    SqliteConnection.run = count  # type: ignore[method-assign,assignment]
    try:
        yield asked
    finally:
        SqliteConnection.run = run  # type: ignore[method-assign]
