"""Workers: one heartbeat each, which is the lease of everything they have out."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import RunId, WorkerId
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table


class EndedWorker(NamedTuple):
    """A worker that has just ended."""

    id: WorkerId
    run_id: RunId | None  # the only one that it served; None: it served all
    has_slices: int  # of runs' money


class Workers(Table):
    """Everyone who sends. Each works for one workspace; who dies is cleared up after by any."""

    def add_worker(
        self, host: str, pid: int, version: str, now: datetime, run: RunId | None = None
    ) -> WorkerId:
        """Begin to work, for every run or for one."""
        rows = self._run(
            "add_worker", host=host, pid=pid, version=version, run_id=run, now=to_micros(now)
        )
        return WorkerId(rows[0][0])

    def beat_worker(self, worker: WorkerId, now: datetime) -> bool:
        """Renew the lease; false if it was taken away in the meantime."""
        return self._connection.change("beat_worker", id=worker, now=to_micros(now)) > 0

    def is_worker_alive(self, worker: WorkerId) -> bool:
        """Whether nobody has declared a worker dead."""
        return bool(self._connection.run("is_worker_alive", id=worker))

    def end_workers(self, workers: Sequence[WorkerId], now: datetime) -> list[EndedWorker]:
        """Stop working, or declare dead; returns those that were not ended yet."""
        rows = self._connection.run("end_workers", ids=workers, now=to_micros(now))
        return [EndedWorker(*row) for row in rows]

    def silent_workers(self, before: datetime) -> list[WorkerId]:
        """Workers not heard of since then, and ended ones with calls still out."""
        rows = self._connection.run("silent_workers", before=to_micros(before))
        return sorted(row[0] for row in rows)

    def workers_on_host(self, host: str) -> list[tuple[WorkerId, int]]:
        """Workers said to be alive on a host, with their process ids."""
        return [(row[0], row[1]) for row in self._connection.run("workers_on_host", host=host)]

    def live_workers(self, since: datetime, run: RunId | None = None) -> list[WorkerId]:
        """Workers of this workspace heard of since then: all, or those that serve a run."""
        rows = self._run("live_workers", since=to_micros(since))
        return [id for id, serves in rows if run is None or serves in (None, run)]
