"""Plain SQL on a ledger, beside its tables: to set rows up and to look at them."""

import re
import sqlite3
from typing import Any

import psycopg

REFUSED = (sqlite3.IntegrityError, psycopg.errors.IntegrityError)

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


class Raw:
    """A connection of its own, which commits every statement."""

    def __init__(self, url: str) -> None:
        """Connect to the database of a ledger."""
        self.url = url
        self.dialect = "postgres" if url.startswith("postgresql://") else "sqlite"
        self._connection: Any = (
            psycopg.connect(url, autocommit=True, prepare_threshold=None)
            if self.dialect == "postgres"
            else sqlite3.connect(url, isolation_level=None, timeout=30)
        )
        if self.dialect == "sqlite":
            self._connection.execute("PRAGMA foreign_keys = ON")

    def rows(self, text: str, **values: object) -> list[tuple[Any, ...]]:
        """Carry out a statement whose parameters are written `:name`."""
        if self.dialect == "postgres":
            text = _PARAMETER.sub(r"%(\1)s", text)
        cursor = self._connection.execute(text, values)
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        return found

    def one(self, text: str, **values: object) -> Any:
        """The first column of the only row."""
        ((value, *_),) = self.rows(text, **values)
        return value

    def bytes_of(self, expression: str) -> str:
        """SQL that turns a text expression into bytes."""
        if self.dialect == "postgres":
            return f"convert_to({expression}, 'UTF8')"
        return f"CAST({expression} AS BLOB)"

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()
