"""Checks: what the database says of itself, and whether the tallies are what they should be."""

import sqlite3
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import RunId, StageId, WorkerId, WorkspaceId
from quire.ledger.connection import Connection
from quire.ledger.moments import from_micros, maybe_moment

SQLITE_VERSION = sqlite3.sqlite_version
OLDEST_SQLITE = "3.37.0"  # the first with STRICT tables

_TALLIES = b"tallies!"  # a name for those who correct them to queue by


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
    told: int
    truth: int


class Checks:
    """What can be found wrong with a ledger."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def facts(self) -> DatabaseFacts:
        """What the database says of itself."""
        version, tables, size, clock, used, most = self._connection.run("database_facts")[0]
        return DatabaseFacts(version, tables or 0, size, maybe_moment(clock), used, most)

    def damages(self) -> list[str]:
        """What is wrong with the file; reads all of it."""
        return [row[0] for row in self._connection.run("damages") if row[0] != "ok"]

    def workers(self) -> list[UnendedWorker]:
        """Workers that never signed off."""
        return [
            UnendedWorker._make((*row[:4], from_micros(row[4]), row[5]))
            for row in self._connection.run("unended_workers")
        ]

    def last_moved(self, run: RunId) -> datetime | None:
        """When a run's calls last went out or came back; None if there were none."""
        rows = self._connection.run("last_moved", workspace=self._workspace, run=run)
        moments = [each for each in rows[0] if each is not None]
        return from_micros(max(moments)) if moments else None

    def miscounts(self) -> list[Miscount]:
        """Recount everything, and compare; reads all tasks and attempts."""
        rows = self._connection.run("miscounts", workspace=self._workspace)
        return [Miscount._make(row) for row in rows]

    def correct(self) -> list[Miscount]:
        """Append what is missing in the tallies; others may count on meanwhile."""
        key = int.from_bytes(_TALLIES, "big", signed=True)
        self._connection.run("lock_key", key=key)  # of two who correct, one finds nothing left
        found = self.miscounts()
        rows = [(each.stage_id, each.what, each.truth - each.told) for each in found]
        self._connection.many("add_tallies", rows)
        return found
