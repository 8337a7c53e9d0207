"""Batch leases: which batches this worker has leased; each is worked on beside the calls.

A batch is looked after for hours, by whichever worker is there, and by one at a time: two that poll
would do no harm, but two that submit would pay twice. So who takes a batch writes its name and a
time into the row, renews it at a third of the lease, and gives it back when it is done, so that
others need not wait. A worker that dies loses its leases to who rescues its calls, or
the lease runs out. What could go wrong is a worker that was only slow: its lease ran out, another
took over, and now it goes on. A lease cannot prevent that, so it is never what keeps a step safe:
each one is fenced by the batch's nonce or state (`pipeline/batches/submit.py`), and a renewal
leases only what is still ours.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from quire.dispatch.ledger_thread import LedgerThread
from quire.domain.accounts import Account
from quire.domain.batches import Batch
from quire.domain.errors import LedgerUnavailable
from quire.domain.ids import BatchId, WorkerId
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import LaneContext
from quire.providers.protocol import BatchApi

MAX_LEASED = 8  # batches in hand at once


class LeasedBatch(NamedTuple):
    """A batch that this worker looks after, and what that needs."""

    batch: Batch
    context: LaneContext
    account: Account
    batch_api: BatchApi


class BatchLeases:
    """One worker's batches in hand."""

    def __init__(self, thread: LedgerThread, lease: timedelta) -> None:
        """Start with nothing in hand."""
        self._thread = thread
        self.lease = lease
        self._tasks: dict[BatchId, asyncio.Task[None]] = {}
        self._next_renewal: datetime | None = None
        self.moved = 0  # things done since somebody last asked
        self.done = asyncio.Event()  # set when something was

    @property
    def free_slots(self) -> int:
        """How many more batches may be taken in hand."""
        return max(0, MAX_LEASED - len(self._tasks))

    @property
    def leased_count(self) -> int:
        """How many are in hand."""
        return len(self._tasks)

    def has_batch(self, batch: BatchId) -> bool:
        """Whether this worker has a batch in hand, even if it was too slow to renew its lease."""
        return batch in self._tasks

    def start_work(
        self,
        group: asyncio.TaskGroup,
        batch: Batch,
        worker: WorkerId,
        work: Coroutine[Any, Any, None],
    ) -> None:
        """Work on a batch in the background, and let go of it at the end."""
        self._tasks[batch.id] = group.create_task(self._work(batch.id, worker, work))

    async def _work(
        self, batch: BatchId, worker: WorkerId, work: Coroutine[Any, Any, None]
    ) -> None:
        try:
            await work
        except LedgerUnavailable:
            pass  # the lease runs out, and whoever comes next begins where this ended
        finally:
            del self._tasks[batch]
            self.moved += 1
            self.done.set()
            with suppress(LedgerUnavailable):  # then the lease runs out by itself
                # interrupted or not: others may go on at once
                await self._thread.transact(lambda tx: tx.batches.end_batch_lease(batch, worker))

    async def renew(self, worker: WorkerId, now: datetime) -> None:
        """Renew the leases of what is in hand."""
        if self._tasks and (self._next_renewal is None or now >= self._next_renewal):
            self._next_renewal = now + self.lease / 3
            await self._thread.transact(self._write_renewals, worker, now)

    def _write_renewals(self, tx: Transaction, worker: WorkerId, now: datetime) -> None:
        for batch in list(self._tasks):  # of those not let go of while this waited for its turn
            tx.batches.lease_batch(batch, worker, now + self.lease, now)

    def abandon(self) -> None:
        """Wait no longer for what is in hand."""
        for task in self._tasks.values():
            task.cancel()

    def take_moved(self) -> int:
        """How much was done since this was last asked."""
        moved, self.moved = self.moved, 0
        return moved
