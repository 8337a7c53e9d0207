"""The sweeper: keeps the worker's lease, takes over from the dead, expands and ends runs.

The lease is the heartbeat: written at a third of it, and read by everybody else. A worker that is
silent for longer has its calls rescued by others, and on the same host at once, where its process
is gone. One that was declared dead while it was stuck signs on under a new name, and its old one
claims nothing more.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from quire.dispatch.loop_context import LoopContext
from quire.dispatch.runtime import dead_neighbours, host_name
from quire.domain.ids import AttemptId, RunId, WorkerId
from quire.domain.version import VERSION
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.notifications import tell_progress
from quire.pipeline.calls.record import requeue_uncharged
from quire.pipeline.calls.rescue import WorkerStop, reclaim_expired_leases, sign_off, sign_on
from quire.pipeline.stages.advance import SweepResult, advance

TELL_EVERY = timedelta(seconds=2)  # between two looks at how far runs are


class Sweeper:
    """Keeps one worker alive in the ledger, and the ledger free of stalls."""

    def __init__(self, context: LoopContext, lease: timedelta) -> None:
        """Start unregistered."""
        self._contexts, _, _, self._runtime, self._thread = context
        self._lease = lease
        self._host = host_name()
        self._beat_at = datetime.min.replace(tzinfo=UTC)  # of the beat that holds now
        self._looked_at = self._beat_at  # when runs were last looked at for a step to be told
        self.worker = WorkerId(0)
        self.serves: RunId | None = None  # the only run that this worker spends for
        self.ended = False  # a run did, which somebody may be waiting for

    async def register(self, now: datetime) -> None:
        """Register, and take over at once from workers of this host that have died."""
        await self._keep_alive(lambda attempt: False, now)
        self._runtime.reach("after_start")

    async def step(self, now: datetime, has_call: Callable[[AttemptId], bool]) -> int:
        """Keep the lease, rescue, expand, close; returns how much moved."""
        # the clock may have been set back
        if not self._beat_at <= now < self._beat_at + self._lease / 3:
            await self._thread.run(self._thread.ledger.check_version)
            await self._keep_alive(has_call, now)
        moved, closed = 0, 1
        while closed:  # what follows a stage begins at once, in a transaction of its own
            _, swept, closed, ended = await self._thread.transact(self._sweep, now)
            moved += swept
            self.ended = self.ended or bool(ended)
            if swept:
                self._runtime.reach("after_expand")
        return moved

    def _sweep(self, tx: Transaction, now: datetime) -> SweepResult:
        result = advance(tx, self._contexts, now)
        if not self._looked_at <= now < self._looked_at + TELL_EVERY:
            tell_progress(tx, now)
            self._looked_at = now
        return result

    async def sign_off(self, stop: WorkerStop, now: datetime) -> None:
        """Sign off; what is still out is lost, and goes again."""
        await self._thread.transact(sign_off, self.worker, stop, self._lease, now)

    async def _keep_alive(self, has_call: Callable[[AttemptId], bool], now: datetime) -> None:
        self.worker = await self._thread.transact(self._beat, has_call, now)
        self._beat_at = now

    def _beat(
        self, tx: Transaction, has_call: Callable[[AttemptId], bool], now: datetime
    ) -> WorkerId:
        worker = self.worker
        if is_known := tx.workers.beat_worker(worker, now):
            mine = tx.attempts.open_attempts_of_workers([worker])
            # a commit of unknown outcome had gone through after all
            never_sent = [row for row in mine if not has_call(row.id)]
            requeue_uncharged(tx, never_sent, "claimed, but never sent", now)
        reclaim_expired_leases(tx, self._lease, now, dead_neighbours(tx, self._host))
        if is_known:
            return worker
        # new, or declared dead while we were stuck
        return sign_on(tx, self._host, os.getpid(), VERSION, now, self.serves)
