"""What both databases offer the tables: named statements, for one set of values or many rows."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]  # a row as a driver returns it; becomes a domain value in `tables`


class Connection(Protocol):
    """One open transaction on one database."""

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Carry out a statement and return its rows, if it has any."""
        ...

    def change(self, name: str, /, **values: object) -> int:
        """Carry out a statement and return how many rows it touched."""
        ...

    def run_many(self, name: str, rows: Sequence[Row], /, **same: object) -> int:
        """Carry out a statement for each row, some values the same for all; returns how many."""
        ...

    def insert_many(self, name: str, rows: Sequence[Row], /, **same: object) -> None:
        """Insert many rows the fastest way there is; values that all share stand last in each."""
        ...

    def stream(self, name: str, /, **values: object) -> Iterator[Row]:
        """Read rows one by one, without holding them all."""
        ...

    def take_ids(self, table: str, count: int) -> Sequence[int]:
        """Set aside new keys for a table, ascending."""
        ...

    def notify(self) -> None:
        """Wake those who wait, once this transaction is committed."""
        ...


class Database(Protocol):
    """One database: transactions, migrations, and waiting for news."""

    dialect: str
    url: str
    is_new: bool  # it was made when it was opened

    def transaction(self) -> AbstractContextManager[Connection]:
        """Open a transaction that may write; commits at the end, rolls back on an error."""
        ...

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Open a transaction that only reads and sees one moment."""
        ...

    def migrate(self, scripts: dict[int, str]) -> None:
        """Bring the tables up to date, one process at a time; refuse a newer ledger."""
        ...

    def fail_if_busy(self) -> AbstractContextManager[None]:
        """On this thread, raise LedgerBusy rather than wait until others have written."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait for news from another process, at most this long."""
        ...

    def scrub(self) -> None:
        """Overwrite what deleted rows left behind on disk."""
        ...

    def close(self) -> None:
        """Let go of every connection."""
        ...
