"""The sweeper: keeps the worker's lease, takes over from the dead, expands and ends runs."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from quire.dispatch.runtime import LedgerThread, Runtime, host_name, is_process_alive
from quire.domain.ids import AttemptId, RunId, WorkerId
from quire.domain.version import VERSION
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.calls.record import lose_attempts, reclaim_expired_leases, requeue_never_sent
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance


class Sweeper:
    """Keeps one worker alive in the ledger, and the ledger free of stalls."""

    def __init__(
        self,
        ledger: Ledger,
        contexts: Contexts,
        runtime: Runtime,
        thread: LedgerThread,
        lease: float,
    ) -> None:
        """Start unregistered."""
        self._ledger = ledger
        self._contexts = contexts
        self._runtime = runtime
        self._thread = thread
        self._lease = timedelta(seconds=lease)
        self._host = host_name()
        self._beat_at = datetime.min.replace(tzinfo=UTC)  # of the beat that holds now
        self._next_beat: datetime | None = None
        self.worker = WorkerId(0)
        self.serves: RunId | None = None  # the only run that this worker spends for

    async def register(self, now: datetime) -> None:
        """Register, and take over at once from workers of this host that have died."""
        await self._thread.run(self._register, now)
        self._runtime.reach("after_start")

    async def step(self, now: datetime, has_call: Callable[[AttemptId], bool]) -> int:
        """Keep the lease, rescue, expand, close; returns how much moved."""
        beaten = self._next_beat is not None and now < self._next_beat
        if not beaten or now < self._beat_at:  # the clock may have been set back
            await self._thread.run(self._keep_alive, has_call, now)
        moved = await self._thread.run(self._advance, now)
        if moved:
            self._runtime.reach("after_expand")
        return moved

    async def sign_off(self, now: datetime) -> int:
        """Sign off; what is still out is lost, and goes again. Returns how many calls that are."""
        return await self._thread.run(self._sign_off, now)

    def _register(self, now: datetime) -> None:
        with self._ledger.transaction() as tx:
            self.worker = tx.workers.add_worker(self._host, os.getpid(), VERSION, now, self.serves)
            reclaim_expired_leases(tx, self._lease, now, self._dead_workers(tx))
        self._beat_at, self._next_beat = now, now + self._lease / 3

    def _keep_alive(self, has_call: Callable[[AttemptId], bool], now: datetime) -> None:
        self._ledger.check_version()
        with self._ledger.transaction() as tx:
            if not tx.workers.beat_worker(self.worker, now):  # declared dead while we were stuck
                self.worker = tx.workers.add_worker(
                    self._host, os.getpid(), VERSION, now, self.serves
                )
            mine = tx.attempts.open_attempts_of_workers([self.worker])
            requeue_never_sent(tx, [row for row in mine if not has_call(row.id)], now)
            reclaim_expired_leases(tx, self._lease, now, self._dead_workers(tx))
        self._beat_at, self._next_beat = now, now + self._lease / 3

    def _dead_workers(self, tx: Transaction) -> list[WorkerId]:
        return dead_neighbours(tx, self._host)

    def _advance(self, now: datetime) -> int:
        with self._ledger.transaction() as tx:
            advanced = advance(tx, self._contexts, now)
        return advanced.expanded + len(advanced.ended)

    def _sign_off(self, now: datetime) -> int:
        with self._ledger.transaction() as tx:
            lost = lose_attempts(
                tx, tx.attempts.open_attempts_of_workers([self.worker]), "interrupted", now
            )
            tx.workers.end_workers([self.worker], now)
        return lost


def dead_neighbours(tx: Transaction, host: str) -> list[WorkerId]:
    """Workers of this host that never signed off, and whose process is gone."""
    neighbours = tx.workers.workers_on_host(host)
    return [worker for worker, pid in neighbours if not is_process_alive(pid)]


def living_workers(tx: Transaction, since: datetime, run: RunId | None = None) -> int:
    """How many workers, of all or of a run, were heard of since then and are not known dead."""
    return len(set(tx.workers.live_workers(since, run)) - set(dead_neighbours(tx, host_name())))
