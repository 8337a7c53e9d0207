"""Checks: what the database says of itself, and whether the tallies are what they should be."""

import sqlite3
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import RunId, StageId, WorkerId
from quire.ledger.stored_values import from_micros, from_micros_or_none
from quire.ledger.tables.table import Table

SQLITE_VERSION = sqlite3.sqlite_version
OLDEST_SQLITE = "3.37.0"  # the first with STRICT tables

_CORRECTION_LOCK = b"tallies!"  # a name for those who correct them to queue by


class DatabaseFacts(NamedTuple):
    """What a database says of itself."""

    version: str
    tables_version: int
    bytes: int  # on disk
    clock: datetime | None  # None: it has none of its own
    connections: int | None  # of everybody
    most_connections: int | None


class UnendedWorker(NamedTuple):
    """A worker that never signed off, alive or not."""

    id: WorkerId
    host: str
    pid: int
    version: str
    seen_at: datetime
    calls_out: int


class Miscount(NamedTuple):
    """A sum of tallies that is not what it counts."""

    run_id: RunId
    stage_id: StageId
    what: str
    tallied: int
    truth: int


class Checks(Table):
    """What can be found wrong with a ledger."""

    def database_facts(self) -> DatabaseFacts:
        """What the database says of itself."""
        version, tables, size, clock, used, most = self._connection.run("database_facts")[0]
        return DatabaseFacts(version, tables or 0, size, from_micros_or_none(clock), used, most)

    def file_damages(self) -> list[str]:
        """What is wrong with the file; reads all of it."""
        return [row[0] for row in self._connection.run("file_damages") if row[0] != "ok"]

    def unended_workers(self) -> list[UnendedWorker]:
        """Workers that never signed off."""
        return [
            UnendedWorker._make((*row[:4], from_micros(row[4]), row[5]))
            for row in self._connection.run("unended_workers")
        ]

    def last_activity(self, run: RunId) -> datetime | None:
        """When a run's calls last went out or came back; None if there were none."""
        rows = self._run("last_activity", run=run)
        moments = [row for row in rows[0] if row is not None]
        return from_micros(max(moments)) if moments else None

    def miscounts(self) -> list[Miscount]:
        """Recount everything, and compare; reads all tasks and attempts."""
        return self._list(Miscount, "miscounts")

    def correct_tallies(self) -> list[Miscount]:
        """Append what is missing in the tallies; others may count on meanwhile."""
        key = int.from_bytes(_CORRECTION_LOCK, "big", signed=True)
        self._connection.run("lock_key", key=key)  # of two who correct, one finds nothing left
        found = self.miscounts()
        rows = [
            (miscount.stage_id, miscount.what, miscount.truth - miscount.tallied)
            for miscount in found
        ]
        self._connection.run_many("add_tallies", rows)
        return found

    def unbalanced_wallets(self) -> list[tuple[str, int, int]]:
        """Wallets that are not the sum of their entries: what they hold, and that sum."""
        return [(row[0], row[1], row[2]) for row in self._run("unbalanced_wallets")]

    def unbalanced_runs(self) -> list[tuple[RunId, int, int, int]]:
        """Runs that were not granted what their slices were, or what their wallet gave."""
        return [(row[0], row[1], row[2], row[3]) for row in self._run("unbalanced_runs")]

    def unbalanced_slices(self) -> list[tuple[int, RunId, int, int]]:
        """Slices that have not used what their attempts come to; reads all attempts."""
        return [(row[0], row[1], row[2], row[3]) for row in self._run("unbalanced_slices")]
