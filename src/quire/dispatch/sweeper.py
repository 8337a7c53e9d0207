"""The sweeper: keeps the lease, takes over from the dead, expands and ends runs."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from quire.dispatch.outside import LedgerThread, Outside, host_name, process_alive
from quire.domain.ids import AttemptId, RunId, WorkerId
from quire.domain.version import VERSION
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.advance import advance
from quire.pipeline.contexts import Contexts
from quire.pipeline.record import lose, take_back
from quire.pipeline.rescue import rescue


class Sweeper:
    """Keeps one worker alive in the ledger, and the ledger free of stalls."""

    def __init__(
        self,
        ledger: Ledger,
        contexts: Contexts,
        outside: Outside,
        thread: LedgerThread,
        lease: float,
    ) -> None:
        """Start unregistered."""
        self._ledger = ledger
        self._contexts = contexts
        self._outside = outside
        self._thread = thread
        self._lease = timedelta(seconds=lease)
        self._host = host_name()
        self._began = datetime.min.replace(tzinfo=UTC)  # of the beat that holds now
        self._next_beat: datetime | None = None
        self.worker = WorkerId(0)
        self.serves: RunId | None = None  # the only run that this worker spends for

    async def begin(self, now: datetime) -> None:
        """Register, and take over at once from workers of this host that have died."""
        await self._thread.run(self._begin, now)
        self._outside.reach("after_start")

    async def step(self, now: datetime, holds: Callable[[AttemptId], bool]) -> int:
        """Keep the lease, rescue, expand, close; returns how much moved."""
        beaten = self._next_beat is not None and now < self._next_beat
        if not beaten or now < self._began:  # the clock may have been set back
            await self._thread.run(self._keep_alive, holds, now)
        moved = await self._thread.run(self._advance, now)
        if moved:
            self._outside.reach("after_expand")
        return moved

    async def end(self, now: datetime) -> int:
        """Sign off; what is still out is lost, and goes again. Returns how many calls that are."""
        return await self._thread.run(self._end, now)

    def _begin(self, now: datetime) -> None:
        with self._ledger.transaction() as tx:
            self.worker = tx.workers.add(self._host, os.getpid(), VERSION, now, self.serves)
            rescue(tx, self._lease, now, self._dead(tx))
        self._began, self._next_beat = now, now + self._lease / 3

    def _keep_alive(self, holds: Callable[[AttemptId], bool], now: datetime) -> None:
        self._ledger.check_version()
        with self._ledger.transaction() as tx:
            if not tx.workers.beat(self.worker, now):  # declared dead while we were stuck
                self.worker = tx.workers.add(self._host, os.getpid(), VERSION, now, self.serves)
            mine = tx.attempts.open_of([self.worker])
            take_back(tx, [row for row in mine if not holds(row.id)], now)
            rescue(tx, self._lease, now, self._dead(tx))
        self._began, self._next_beat = now, now + self._lease / 3

    def _dead(self, tx: Transaction) -> list[WorkerId]:
        return dead_neighbours(tx, self._host)

    def _advance(self, now: datetime) -> int:
        with self._ledger.transaction() as tx:
            advanced = advance(tx, self._contexts, now)
        return advanced.expanded + len(advanced.ended)

    def _end(self, now: datetime) -> int:
        with self._ledger.transaction() as tx:
            lost = lose(tx, tx.attempts.open_of([self.worker]), "interrupted", now)
            tx.workers.end([self.worker], now)
        return lost


def dead_neighbours(tx: Transaction, host: str) -> list[WorkerId]:
    """Workers of this host that never signed off, and whose process is gone."""
    neighbours = tx.workers.neighbours(host)
    return [worker for worker, pid in neighbours if not process_alive(pid)]


def living_workers(tx: Transaction, since: datetime, run: RunId | None = None) -> int:
    """How many workers, of all or of a run, were heard of since then and are not known dead."""
    return len(set(tx.workers.alive(since, run)) - set(dead_neighbours(tx, host_name())))
