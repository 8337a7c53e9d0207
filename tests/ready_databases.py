"""PostgreSQL databases with the ledger's tables in them: emptied after a test, and lent again.

To make a database and drop it costs ten times what emptying one does. One in which a test changed
more than rows (a table, the planner's figures, who is connected) is dropped, and another is copied
from one that the migrations made.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier

from quire.ledger.ledger import open_ledger
from tests.postgres import Databases

RESTING = 2  # at least: those who were connected to the last one may still be hanging up
FEW_BYTES = 9 * 8192  # a table that never was analysed is planned for as if it had ten pages
VERSION = "quire_version"
# Every change of a table is a new row in one of these, or one less.
STATE = SQL("""
    SELECT
        (SELECT (count(*), max(xmin::text::bigint)) FROM pg_class)::text,
        (SELECT (count(*), max(xmin::text::bigint)) FROM pg_attribute)::text,
        (SELECT (count(*), max(xmin::text::bigint)) FROM pg_constraint)::text,
        (SELECT (count(*), max(xmin::text::bigint)) FROM pg_trigger)::text,
        (SELECT (count(*), max(xmin::text::bigint)) FROM pg_proc)::text,
        (SELECT (count(*), max(xmin::text::bigint)) FROM quire_version)::text,
        (SELECT (sum(relpages), sum(reltuples)) FROM pg_class
         WHERE relnamespace = 'public'::regnamespace)::text
""")
OURS = "ready databases"  # by this name the server knows who empties them
OTHERS = f"""
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND application_name <> '{OURS}'
"""
FILLED = """
    SELECT relname, pg_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0
"""
FROM_ONE_AGAIN = """
    SELECT setval(seqrelid, 1, false) FROM pg_sequence
    WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""


class ReadyDatabases:
    """Lends databases that have the ledger's tables, and nothing in them."""

    def __init__(self, server: Databases, background: ThreadPoolExecutor) -> None:
        """Make the one that the others are copied from."""
        self._server, self._background = server, background
        self._resting = deque[str]()
        self._ours = dict[str, psycopg.Connection]()  # kept: to connect costs more than to empty
        self._original = _new_name()
        open_ledger(server.create_database(self._original)).close()
        with psycopg.connect(server.url_of(self._original)) as connection:
            self._state = connection.execute(STATE).fetchone()

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Lend the URL of one."""
        name = self._empty_one() or self._copy()
        try:
            yield self._server.url_of(name)
        finally:
            self._resting.append(name)

    def drop_all(self) -> None:
        """Drop what was made."""
        for connection in self._ours.values():
            connection.close()
        for name in (*self._resting, self._original):
            self._background.submit(self._server.drop_database, name)

    def _empty_one(self) -> str | None:
        if len(self._resting) < RESTING:
            return None
        name = self._resting.popleft()
        if self._empty(name):
            return name
        if name in self._ours:
            self._ours.pop(name).close()
        self._background.submit(self._server.drop_database, name)
        return None

    def _copy(self) -> str:
        name = _new_name()
        self._server.create_database(name, self._original)
        return name

    def _empty(self, name: str) -> bool:
        """Empty a database, if nothing but its rows was changed; say whether it is as new."""
        try:
            if name not in self._ours:
                self._ours[name] = psycopg.connect(self._server.url_of(name), application_name=OURS)
            with self._ours[name].transaction():
                return self._is_as_made(self._ours[name]) and _delete_rows(self._ours[name])
        except (psycopg.OperationalError, InsufficientPrivilege):  # to pass over foreign keys
            return False

    def _is_as_made(self, connection: psycopg.Connection) -> bool:
        if connection.execute(OTHERS).fetchone():
            return False
        return connection.execute(STATE).fetchone() == self._state


@contextmanager
def ready_databases(server: Databases) -> Iterator[ReadyDatabases]:
    """Databases for one test after the other, dropped at the end."""
    with ThreadPoolExecutor(1) as background:
        databases = ReadyDatabases(server, background)
        yield databases
        databases.drop_all()


def _delete_rows(connection: psycopg.Connection) -> bool:
    filled: dict[str, int] = dict(connection.execute(FILLED).fetchall())
    del filled[VERSION]
    if any(size > FEW_BYTES for size in filled.values()):
        return False
    connection.execute("SET LOCAL session_replication_role = replica")  # in whatever order
    for table in filled:
        connection.execute(SQL("DELETE FROM {}").format(Identifier(table)))
    connection.execute(FROM_ONE_AGAIN)
    return True


def _new_name() -> str:
    return f"quire_{uuid4().hex[:12]}"
