"""The office: which batches this worker has in hand, each worked on beside the calls, leased."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from quire.dispatch.outside import LedgerThread
from quire.domain.accounts import Account
from quire.domain.batches import Batch
from quire.domain.errors import LedgerUnavailable
from quire.domain.ids import BatchId, WorkerId
from quire.ledger.ledger import Ledger
from quire.pipeline.contexts import LaneContext
from quire.providers.protocol import Batching

DESKS = 8  # batches in hand at once


class InHand(NamedTuple):
    """A batch that this worker looks after, and what that needs."""

    batch: Batch
    context: LaneContext
    account: Account
    vendor: Batching


class Office:
    """One worker's batches in hand."""

    def __init__(self, ledger: Ledger, thread: LedgerThread, lease: timedelta) -> None:
        """Start with nothing in hand."""
        self._ledger = ledger
        self._thread = thread
        self.lease = lease
        self._busy: dict[BatchId, asyncio.Task[None]] = {}
        self._next_renewal: datetime | None = None
        self.moved = 0  # things done since somebody last asked
        self.done = asyncio.Event()  # set when something was

    @property
    def free(self) -> int:
        """How many more batches may be taken in hand."""
        return max(0, DESKS - len(self._busy))

    @property
    def busy(self) -> int:
        """How many are in hand."""
        return len(self._busy)

    def holds(self, batch: BatchId) -> bool:
        """Whether this worker has a batch in hand, even if it was too slow to renew its lease."""
        return batch in self._busy

    def begin(
        self,
        group: asyncio.TaskGroup,
        batch: Batch,
        worker: WorkerId,
        work: Coroutine[Any, Any, None],
    ) -> None:
        """Work on a batch in the background, and let go of it at the end."""
        self._busy[batch.id] = group.create_task(self._work(batch.id, worker, work))

    async def _work(
        self, batch: BatchId, worker: WorkerId, work: Coroutine[Any, Any, None]
    ) -> None:
        try:
            await work
        except LedgerUnavailable:
            pass  # the lease runs out, and whoever comes next begins where this ended
        finally:
            del self._busy[batch]
            self.moved += 1
            self.done.set()
            await self._let_go(batch, worker)  # interrupted or not: others may go on at once

    async def _let_go(self, batch: BatchId, worker: WorkerId) -> None:
        with suppress(LedgerUnavailable):  # the lease runs out by itself
            await self._thread.run(self._free, batch, worker)

    def _free(self, batch: BatchId, worker: WorkerId) -> None:
        with self._ledger.transaction() as tx:
            tx.batches.free(batch, worker)

    async def keep(self, worker: WorkerId, now: datetime) -> None:
        """Renew the leases of what is in hand."""
        if self._busy and (self._next_renewal is None or now >= self._next_renewal):
            self._next_renewal = now + self.lease / 3
            await self._thread.run(self._renew, list(self._busy), worker, now)

    def _renew(self, batches: list[BatchId], worker: WorkerId, now: datetime) -> None:
        with self._ledger.transaction() as tx:
            for batch in batches:
                if batch in self._busy:  # else it was let go of while this waited for its turn
                    tx.batches.lease(batch, worker, now + self.lease, now)

    def abandon(self) -> None:
        """Wait no longer for what is in hand."""
        for task in self._busy.values():
            task.cancel()

    def take_moved(self) -> int:
        """How much was done since this was last asked."""
        moved, self.moved = self.moved, 0
        return moved
