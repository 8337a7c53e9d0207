"""SQLite: one file, many processes, one writer at a time, and what its errors mean."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from time import monotonic, sleep

import orjson

from quire.domain.errors import LedgerBusy, LedgerError, LedgerUnavailable, NewerLedger
from quire.domain.ids import hash_number
from quire.ledger.connection import Row
from quire.ledger.statements import (
    ROWS_PER_INSERT,
    Statement,
    load,
    migrations,
    whole_schema,
)
from quire.ledger.view_scripts import create_views, drop_views

PAGE_BYTES = 8192  # a commit writes half as many pages as with 4096, and takes a quarter less
CHECKPOINT_PAGES = 4000  # of the log; a page that changed often is then copied once
APPLICATION_ID = 0x51554952  # "QUIR": marks the file as ours, whatever its user_version
BUSY_SECONDS = 30  # how long a writer waits for another process's transaction
RETRY_SECONDS = 0.005  # seconds between two tries


class SqliteConnection:
    """A transaction on SQLite."""

    def __init__(self, raw: sqlite3.Connection, statements: dict[str, Statement]) -> None:
        """Use an open connection."""
        self._raw = raw
        self._statements = statements

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Carry out a statement and return its rows, if it has any."""
        return self._raw.execute(*_bind_values(self._statements[name], values)).fetchall()

    def change(self, name: str, /, **values: object) -> int:
        """Carry out a statement and return how many rows it touched."""
        return self._raw.execute(*_bind_values(self._statements[name], values)).rowcount

    def run_many(self, name: str, rows: Sequence[Row], /, **same: object) -> int:
        """Carry out a statement for each row, some values the same for all; returns how many."""
        statement = self._statements[name]
        shared = tuple([same[text] for text in statement.same])
        touched = done = 0
        while statement.wide and len(rows) - done >= ROWS_PER_INSERT:
            values = _flatten_rows(rows[done : done + ROWS_PER_INSERT], statement)
            values += shared
            touched += self._raw.execute(statement.wide, values).rowcount
            done += ROWS_PER_INSERT
        if done < len(rows):
            rest = [(*row, *shared) for row in rows[done:]] if shared else rows[done:]
            touched += self._raw.executemany(statement.text, rest).rowcount
        return touched

    def insert_many(self, name: str, rows: Sequence[Row], /, **same: object) -> None:
        """Insert many rows: on SQLite the ordinary way is the fastest."""
        self.run_many(name, rows, **same)

    def stream(self, name: str, /, **values: object) -> Iterator[Row]:
        """Read rows one by one."""
        return self._raw.execute(*_bind_values(self._statements[name], values))

    def take_ids(self, table: str, count: int) -> Sequence[int]:
        """Take the keys after the largest: safe, because a transaction is the only writer."""
        last: int = self._raw.execute(self._statements[f"last_{table}_id"].text).fetchone()[0]
        return range(last + 1, last + 1 + count)

    def notify(self) -> None:
        """Nothing to do: others look at the file often."""


class SqliteDatabase:
    """One ledger file; one writer connection and short-lived readers."""

    dialect = "sqlite"

    def __init__(self, path: str, *, durable: bool = True, must_exist: bool = False) -> None:
        """Open or create the file; `durable` syncs every commit to disk."""
        self.url, self.is_new = path, _check_place(path, must_exist=must_exist)
        self._durable = durable
        self._lock = threading.Lock()
        self._hurry = threading.local()
        self._readers: list[sqlite3.Connection] = []  # idle ones, kept for the next snapshot
        self._statements = load(self.dialect)
        with translate_errors(path):
            self._writer = self._connect()
            self._writing = SqliteConnection(self._writer, self._statements)
            try:
                self._refuse_other_databases()
                self._enable_write_ahead_log()
                self._writer.execute("PRAGMA busy_timeout = 0")  # `_begin` does the waiting
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def transaction(self) -> Iterator[SqliteConnection]:
        """Write under BEGIN IMMEDIATE: read-then-write never meets a lock error half-way."""
        with self._lock_writer(), translate_errors(self.url):
            self._begin_immediate()
            try:
                yield self._writing
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def fail_if_busy(self) -> Iterator[None]:
        """On this thread, raise LedgerBusy where a transaction would wait for somebody else's."""
        self._hurry.on = True
        try:
            yield
        finally:
            self._hurry.on = False

    @contextmanager
    def _lock_writer(self) -> Iterator[None]:
        """Have the writing connection to oneself."""
        if not self._lock.acquire(blocking=not self._must_not_wait):
            raise LedgerBusy(f"{self.url}: another thread writes")
        try:
            yield
        finally:
            self._lock.release()

    @property
    def _must_not_wait(self) -> bool:
        return getattr(self._hurry, "on", False)

    def _begin_immediate(self) -> None:
        """Begin to write as soon as no other process does; in a hurry, now or not at all."""
        ends = 0.0
        while True:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if _primary_code(error) not in _LOCKED:
                    raise
                if self._must_not_wait:
                    raise LedgerBusy(f"{self.url}: another process writes") from error
                ends = ends or monotonic() + BUSY_SECONDS
                if monotonic() > ends:
                    raise
            sleep(RETRY_SECONDS)

    @contextmanager
    def snapshot(self) -> Iterator[SqliteConnection]:
        """Read on a connection of its own: readers never wait for the writer."""
        with translate_errors(self.url):
            reader = self._readers.pop() if self._readers else self._connect(query_only=True)
            reader.execute("BEGIN")
            try:
                yield SqliteConnection(reader, self._statements)
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")
                self._readers.append(reader)

    def migrate(self, scripts: dict[int, str]) -> None:
        """Bring the tables up to date, one process at a time; refuse a newer ledger."""
        newest = max(scripts)
        with translate_errors(self.url):
            if self._read_version(newest) == newest:
                return
        with self._lock, translate_errors(self.url):
            self._writer.create_function("hash_number", 1, hash_number, deterministic=True)
            self._begin_immediate()
            try:
                self._change_tables(scripts, self._read_version(newest))
                self._writer.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
                self._writer.execute(f"PRAGMA user_version = {newest:d}")
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _change_tables(self, scripts: dict[int, str], version: int) -> None:
        version = version or self._make_tables(max(scripts))
        later = sorted(number for number in scripts if number > version)
        tables = chain.from_iterable(split_script(scripts[number]) for number in later)
        whole = max(scripts) >= max(migrations(self.dialect))  # older tables have no views
        for statement in chain(drop_views(), tables, create_views(self.dialect) if whole else ()):
            self._writer.execute(statement)

    def _make_tables(self, newest: int) -> int:
        """Make all tables of a new ledger at once, not as their history has it; returns which."""
        version, script = whole_schema()
        if version > newest:  # somebody wants an older ledger
            return 0
        for statement in split_script(script):
            self._writer.execute(statement)
        return version

    def wait(self, seconds: float) -> None:
        """Look again after a moment."""
        threading.Event().wait(min(seconds, 0.2))

    def scrub(self) -> None:
        """Rewrite the file without its free space, fold the log into it and truncate that."""
        with self._lock, translate_errors(self.url):
            self._writer.execute(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS:d}")
            try:
                self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._writer.execute("PRAGMA busy_timeout = 0")

    def close(self) -> None:
        """Close every connection."""
        self._writer.close()
        while self._readers:
            self._readers.pop().close()

    def _enable_write_ahead_log(self) -> None:
        """Keep a log beside the file; several processes may be turning to that at once.

        SQLite does not wait for the lock that this takes, as it does for any other.
        """
        ends = monotonic() + BUSY_SECONDS
        while self._writer.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                self._writer.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if _primary_code(error) not in _LOCKED or monotonic() > ends:
                    raise
                sleep(RETRY_SECONDS)

    def _read_version(self, newest: int) -> int:
        version: int = self._writer.execute("PRAGMA user_version").fetchone()[0]
        if version > newest:
            raise NewerLedger(
                f"{self.url} was written by a newer Quire (version {version}, this one knows"
                f" {newest})",
                "upgrade Quire to use it",
            )
        return version

    def _refuse_other_databases(self) -> None:
        """Refuse somebody else's database before anything about it is changed."""
        self._writer.execute("BEGIN")  # one moment of a file that somebody may be making
        ours = self._writer.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        others = not ours and self._writer.execute("SELECT 1 FROM sqlite_schema").fetchone()
        self._writer.execute("ROLLBACK")
        if others:
            raise LedgerError(f"{self.url} is a SQLite database, but not a Quire ledger")

    def _connect(self, *, query_only: bool = False) -> sqlite3.Connection:
        raw = sqlite3.connect(
            self.url,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        raw.execute(f"PRAGMA page_size = {PAGE_BYTES:d}")  # of a new file
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute(f"PRAGMA query_only = {query_only:d}")
        raw.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        raw.execute("PRAGMA cache_size = -65536")
        raw.execute("PRAGMA secure_delete = OFF")  # some builds blank every old row; a purge scrubs
        raw.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES:d}")
        return raw


def _check_place(path: str, *, must_exist: bool) -> bool:
    """Whether the file is to be made; refuses a place where no ledger is or can be."""
    file = Path(path)
    try:
        is_folder, is_there, has_folder = file.is_dir(), file.exists(), file.parent.is_dir()
    except OSError:  # who may not look gets the driver's own word
        return False
    if is_folder:
        raise LedgerError(f"{path} is a folder", f"name a file in it, such as {file / 'quire.db'}")
    if not has_folder:
        raise LedgerError(f"{path}: there is no folder {file.parent}", "make it first")
    if must_exist and not is_there:
        near = "".join(f"did you mean {other}? " for other in similar_files(path))
        raise LedgerError(f"there is no ledger at {path}", f"{near}`quire init` makes one here")
    return not is_there


def similar_files(path: str) -> list[str]:
    """The file beside a path for which it may be a slip, if there is one."""
    from difflib import get_close_matches  # takes a while to import

    file = Path(path)
    beside = [other.name for other in file.parent.glob(f"*{file.suffix}") if other != file]
    return [str(file.with_name(name)) for name in get_close_matches(file.name, beside, n=1)]


def _flatten_rows(rows: Sequence[Row], statement: Statement) -> list[object]:
    """The values of many rows, one after the other.

    The driver looks for somebody to adapt `bytes` and finds nobody, each time: a `bytearray` it
    takes as it is, which costs less than half, the copy included.
    """
    values = list(chain.from_iterable(rows))
    width = len(statement.columns)
    for at in statement.blobs:
        column = values[at::width]
        if None not in column:
            values[at::width] = map(bytearray, column)
    return values


def _bind_values(statement: Statement, values: dict[str, object]) -> tuple[str, dict[str, object]]:
    """Give lists a form that SQLite takes: keys without gaps as a range, others as JSON."""
    for name, value in values.items():
        if isinstance(value, (list, tuple, range)):
            if statement.dense and _is_dense(value):
                return statement.dense, {
                    **values,
                    f"{name}_first": value[0],
                    f"{name}_last": value[-1],
                }
            values[name] = orjson.dumps(list(value)).decode()
    return statement.text, values


def _is_dense(keys: Sequence[object]) -> bool:
    first = keys[0] if keys else None
    return isinstance(first, int) and list(keys) == list(range(first, first + len(keys)))


def split_script(script: str) -> Iterator[str]:
    """Split a script by hand: executescript() would commit between statements."""
    lines = [line.split("--")[0].rstrip() for line in script.splitlines()]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield statement


# What happened and what to do, by SQLite's primary result codes.
_REMEDIES = {
    sqlite3.SQLITE_BUSY: ("another process has kept the ledger busy", "try again"),
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space and it goes on"),
    sqlite3.SQLITE_READONLY: ("the ledger is read-only", "give this user write access to it"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "does its folder exist, and is it yours?"),
    sqlite3.SQLITE_NOTADB: ("this file is not a Quire ledger", ""),
    sqlite3.SQLITE_IOERR: ("the disk failed or is full", "check it and try again"),
}
_MAY_PASS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's own code; what Python's module raises by itself has none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Raise our own errors in the place of the driver's."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise LedgerError(f"{path}: refused by the ledger's own rules: {error}") from error
    except sqlite3.DatabaseError as error:
        code = _primary_code(error)
        said, fix = _REMEDIES.get(code or 0, (str(error), ""))
        kind = LedgerUnavailable if code in _MAY_PASS else LedgerError
        raise kind(f"{path}: {said}", fix) from error
