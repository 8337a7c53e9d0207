"""What SQLite's errors mean, and what to do about them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from quire.domain.errors import LedgerError, LedgerUnavailable

_REMEDIES = {
    "database is locked": "another process has kept the ledger busy; try again",
    "database or disk is full": "the disk is full; free some space and it goes on",
    "readonly database": "the ledger is read-only; give this user write access to it",
    "unable to open database file": "it cannot be opened; does its folder exist, and is it yours?",
    "file is not a database": "this file is not a Quire ledger",
    "disk I/O error": "the disk failed or is full; check it and try again",
}
_MAY_PASS = ("database is locked", "database or disk is full", "disk I/O error")


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise our own errors in the place of the driver's."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise LedgerError(f"{path}: refused by the ledger's own rules: {error}") from error
    except sqlite3.DatabaseError as error:
        message = str(error)
        remedy = next((say for part, say in _REMEDIES.items() if part in message), message)
        kind = LedgerUnavailable if any(part in message for part in _MAY_PASS) else LedgerError
        raise kind(f"{path}: {remedy}") from error
