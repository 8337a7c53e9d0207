"""PostgreSQL: many workers on many machines share one ledger."""

import logging
import select
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import psycopg
import psycopg_pool

from quire.domain.errors import LedgerError, LedgerUnavailable, NewerLedger
from quire.ledger.connection import Row
from quire.ledger.statements import Statement, load, migrations
from quire.ledger.view_scripts import create_views, drop_views

CHANNEL = "quire"
MIGRATION_LOCK = 7_183_047  # any number, the same in every process
MAX_CONNECTIONS = 6
CONNECT_SECONDS = 3.0  # then the caller is told, and waits by itself
# The pool would wait ever longer between its tries, up to minutes, after an outage that is over.
RECONNECT_SECONDS = 1.0
PLANNER_SETTINGS = (
    "SET random_page_cost = 1.1",  # what is asked for all the time is in memory
    "SET plan_cache_mode = force_custom_plan",  # one made for an empty table would read a full one
)
TABLES_WITH_TEXT = (
    "attempts",
    "batch_lines",
    "blocks",
    "documents",
    "extracts",
    "requests",
    "request_tasks",
    "responses",
    "results",
    "reviews",
    "tasks",
    "sources",
)

_RACES = (  # another process wrote between our look and our write: the next look sees it
    psycopg.errors.UniqueViolation,
    psycopg.errors.ForeignKeyViolation,
)
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # the caller says it, once

_RETRYABLE = (
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.AdminShutdown,
    psycopg.errors.DiskFull,
)


class PostgresConnection:
    """A transaction on PostgreSQL."""

    def __init__(self, raw: "psycopg.Connection[Row]", statements: dict[str, Statement]) -> None:
        """Use an open connection."""
        self._raw = raw
        self._statements = statements

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Carry out a statement and return its rows, if it has any."""
        cursor = self._raw.execute(self._text(name), _bind_values(values))
        found = cursor.pgresult  # its columns, one by one, would cost a tenth of all that we do
        return cursor.fetchall() if found is not None and found.nfields else []

    def change(self, name: str, /, **values: object) -> int:
        """Carry out a statement and return how many rows it touched."""
        return self._raw.execute(self._text(name), _bind_values(values)).rowcount

    def run_many(self, name: str, rows: Sequence[Row], /, **same: object) -> int:
        """Carry out a statement for all rows at once, one array a column."""
        if not rows:
            return 0
        columns = self._statements[name].columns
        values = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
        return self._raw.execute(self._text(name), {**values, **same}).rowcount

    def insert_many(self, name: str, rows: Sequence[Row], /, **same: object) -> None:
        """Insert many rows with COPY."""
        if not rows:
            return
        shared = tuple(same.values())
        with self._raw.cursor() as cursor, cursor.copy(self._statements[name].copy) as copy:
            for row in rows:
                copy.write_row((*row, *shared))

    def stream(self, name: str, /, **values: object) -> Iterator[Row]:
        """Read rows through a cursor that lives in the server."""
        with self._raw.cursor(name=f"stream_{name}") as cursor:
            cursor.itersize = 2000
            yield from cursor.execute(self._text(name), _bind_values(values))

    def take_ids(self, table: str, count: int) -> Sequence[int]:
        """Set keys aside from the table's sequence."""
        if count == 0:
            return []
        return [row[0] for row in self.run("next_ids", sequence=f"{table}_id_seq", count=count)]

    def notify(self) -> None:
        """Wake those who wait, once this transaction is committed."""
        self._raw.execute(f"NOTIFY {CHANNEL}")

    def _text(self, name: str) -> str:
        # every text comes from a file of this package: no value is ever put into one
        return self._statements[name].text


class PostgresDatabase:
    """One database, through a small pool."""

    dialect = "postgres"

    def __init__(self, url: str) -> None:
        """Connect, or say why not."""
        self.url, self.is_new = url, False  # its owner made it
        self._statements = load(self.dialect)
        self._listening: psycopg.Connection[Row] | None = None
        self._listen_lock = threading.Lock()
        self._is_closed = False
        with _translate_errors(url):
            first = psycopg.connect(url, connect_timeout=int(CONNECT_SECONDS))  # or why not
            self._pool = psycopg_pool.ConnectionPool(
                url,
                connection_class=_connections_after(first),
                min_size=1,
                max_size=MAX_CONNECTIONS,
                timeout=CONNECT_SECONDS,
                reconnect_timeout=RECONNECT_SECONDS,
                check=_check_if_input,
                configure=_configure,
                open=True,
            )
            self._pool.wait(CONNECT_SECONDS)  # whoever asks before that has it open another

    @contextmanager
    def transaction(self) -> Iterator[PostgresConnection]:
        """Write; commits at the end, rolls back on an error."""
        with _translate_errors(self.url), self._pool.connection() as raw, raw.transaction():
            yield PostgresConnection(raw, self._statements)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresConnection]:
        """Read one moment."""
        with (
            _translate_errors(self.url),
            self._pool.connection() as raw,
            _reading_one_moment(raw),
            raw.transaction(),
        ):
            yield PostgresConnection(raw, self._statements)

    def migrate(self, scripts: dict[int, str]) -> None:
        """Bring the tables up to date, one process at a time; refuse a newer ledger."""
        newest = max(scripts)
        with _translate_errors(self.url), self._pool.connection() as raw, raw.transaction():
            raw.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            raw.execute("CREATE TABLE IF NOT EXISTS quire_version (version BIGINT NOT NULL)")
            row = raw.execute("SELECT coalesce(max(version), 0) FROM quire_version").fetchone()
            version = row[0] if row else 0
            if version > newest:
                raise NewerLedger(
                    f"this ledger was written by a newer Quire (version {version}, this one"
                    f" knows {newest})",
                    "upgrade Quire to use it",
                )
            if version == newest:
                return
            for statement in drop_views():
                raw.execute(statement)
            for number in sorted(no for no in scripts if no > version):
                raw.execute(scripts[number])
                raw.execute("INSERT INTO quire_version VALUES (%s)", (number,))
            if newest >= max(migrations(self.dialect)):  # older tables have no views
                for statement in create_views(self.dialect):
                    raw.execute(statement)

    def fail_if_busy(self) -> AbstractContextManager[None]:
        """Nothing to do: rows are locked one by one, and never for long."""
        return nullcontext()

    def wait(self, seconds: float) -> None:
        """Wait for a notification; without a connection, just wait."""
        try:
            with self._listen_lock:
                for _ in self._listen().notifies(timeout=seconds, stop_after=1):
                    pass
        except psycopg.Error:
            threading.Event().wait(min(seconds, 0.5))

    def _listen(self) -> "psycopg.Connection[Row]":
        """The connection that hears notifications; nobody opens one for a ledger that is closed."""
        if self._listening is None or (self._listening.closed and not self._is_closed):
            self._listening = psycopg.connect(self.url, autocommit=True)
            self._listening.execute(f"LISTEN {CHANNEL}")
            if self._is_closed:
                self._listening.close()
        return self._listening

    def scrub(self) -> None:
        """Rewrite the tables that held documents, so that no dead row keeps their text."""
        with _translate_errors(self.url), self._pool.connection() as raw:
            raw.autocommit = True
            try:
                raw.execute(f"VACUUM (FULL) {', '.join(TABLES_WITH_TEXT)}")
            finally:
                raw.autocommit = False

    def close(self) -> None:
        """Close the pool and the listener."""
        self._is_closed = True
        self._pool.close()
        if self._listening is not None:
            self._listening.close()


def _connections_after(first: "psycopg.Connection[Row]") -> "type[psycopg.Connection[Row]]":
    """Connections for a pool, of which the first is there already: a server forks for each."""
    open_ones = [first]

    class Pooled(psycopg.Connection[Row]):
        @classmethod
        def connect(cls, *args: Any, **options: Any) -> Any:
            with suppress(IndexError):
                return open_ones.pop()
            return super().connect(*args, **options)

    return Pooled


def _configure(raw: "psycopg.Connection[Row]") -> None:
    for statement in PLANNER_SETTINGS:
        raw.execute(statement)
    raw.commit()


@contextmanager
def _reading_one_moment(raw: "psycopg.Connection[Row]") -> Iterator[None]:
    """Let transactions see one moment: said with their BEGIN, not in a round trip of its own."""
    raw.isolation_level, raw.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
    try:
        yield
    finally:
        if raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:  # else it is dropped
            raw.isolation_level, raw.read_only = None, None


def _check_if_input(raw: "psycopg.Connection[Row]") -> None:
    """Ask a connection whether it still is one, where its server said something unasked.

    One that was closed says so; asking each one before every transaction is a round trip.
    """
    if _has_input(raw.fileno()):
        psycopg_pool.ConnectionPool.check_connection(raw)


def _has_input(file: int) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([file], [], [], 0)[0])
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(0))


def _bind_values(values: dict[str, object]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, (tuple, range)) else value
        for name, value in values.items()
    }


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    where = url.rpartition("@")[2].partition("?")[0]  # never the password
    try:
        yield
    except _RACES as error:
        raise LedgerUnavailable(
            f"PostgreSQL at {where}: another process may have done the same just now",
            f"try again ({_first_line(error)})",
        ) from error
    except (psycopg_pool.PoolTimeout, psycopg.InterfaceError, *_RETRYABLE) as error:
        raise LedgerUnavailable(f"PostgreSQL at {where}: {_first_line(error)}") from error
    except psycopg.OperationalError as error:
        raise LedgerUnavailable(f"PostgreSQL at {where}: {_first_line(error)}") from error
    except psycopg.Error as error:
        raise LedgerError(f"PostgreSQL at {where}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
