"""Counts what an action costs a database, which says more than its time does.

That is instructions of SQLite's machine; of PostgreSQL the pages and rows that it looked at.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.postgres import PostgresConnection, PostgresDatabase
from quire.ledger.sqlite import SqliteDatabase

READS = """
SELECT sum(pg_stat_get_xact_blocks_fetched(oid) + pg_stat_get_xact_tuples_returned(oid))
FROM pg_class WHERE relnamespace = 'public'::regnamespace"""

Action = Callable[[Transaction], None]


class RolledBack(Exception):
    """Raised at the end of a measurement, so that the next one meets the same ledger."""


def cost_of(ledger: Ledger, action: Action) -> int:
    """Count what an action costs at least: a database at its housekeeping adds to a single look.

    What earlier measurements left, undone as they are, is cleared away first.
    """
    if isinstance(ledger._database, PostgresDatabase):
        with psycopg.connect(ledger.url, autocommit=True) as connection:
            connection.execute("VACUUM")
    return min(cost_once(ledger, action) for _ in range(3))


def cost_once(ledger: Ledger, action: Action) -> int:
    """Count what an action costs; everything it did is undone."""
    counted: list[int] = []
    try:
        with ledger.transaction() as tx:
            with _count_work(ledger, tx, counted):
                action(tx)
            raise RolledBack
    except RolledBack:
        return counted[-1] - counted[0]


@contextmanager
def _count_work(ledger: Ledger, tx: Transaction, counted: list[int]) -> Iterator[None]:
    database, connection = ledger._database, tx.requests._connection
    if isinstance(database, SqliteDatabase):
        counted.extend([0, 0])
        database._writer.set_progress_handler(lambda: _count_up(counted), 1)
        yield
        database._writer.set_progress_handler(None, 0)
        return
    assert isinstance(connection, PostgresConnection)
    counted.append(_count_reads(connection))
    yield
    counted.append(_count_reads(connection))


def _count_up(counted: list[int]) -> int:
    counted[-1] += 1
    return 0  # go on


def _count_reads(connection: PostgresConnection) -> int:
    row = connection._raw.execute(READS).fetchone()
    assert row
    return int(row[0])
