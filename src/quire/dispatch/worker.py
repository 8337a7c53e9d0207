"""The worker: one process's round of its seven loops, until there is nothing left to do."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from quire.dispatch.batch_leases import BatchLeases
from quire.dispatch.compressor import Compressor
from quire.dispatch.courier import Courier
from quire.dispatch.ledger_thread import LedgerThread
from quire.dispatch.loop_context import LoopContext, ProviderLookup, WorkerAccounts
from quire.dispatch.notifier import Notifier
from quire.dispatch.poller import Poller
from quire.dispatch.rare_collections import rare_collections
from quire.dispatch.runtime import Runtime
from quire.dispatch.settler import Settler
from quire.dispatch.stop_signals import stop_causes
from quire.dispatch.submitter import Submitter
from quire.dispatch.sweeper import Sweeper
from quire.domain.errors import Error, LedgerUnavailable
from quire.domain.ids import RunId
from quire.domain.quantities import quantity
from quire.domain.reasons import StopCause
from quire.ledger.ledger import Ledger
from quire.pipeline.calls.prepare import REFILL_AFTER
from quire.pipeline.calls.rescue import WorkerStop
from quire.pipeline.contexts import Contexts

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker waits."""

    lease: float = 30.0  # seconds without a heartbeat until others take over
    grace: float = 10.0  # seconds that calls in flight may take when we are asked to stop
    idle: float = 0.25  # seconds between looks when there is nothing to do
    sweep: float = 0.25  # seconds between sweeps when there is
    leave: float = 1.0  # seconds to write down what is cut off when we are asked once more
    poll: float | None = None  # seconds between looks at a batch; None = as its vendor likes it


class Worker:
    """Works on every run of the workspace until told to stop, or until a condition holds."""

    def __init__(
        self,
        ledger: Ledger,
        providers: ProviderLookup,
        accounts: WorkerAccounts,
        runtime: Runtime,
        settings: WorkerSettings,
        tell: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Wire the loops together."""
        self._ledger = ledger
        self._runtime = runtime
        self._settings = settings
        self._tell = tell
        self._thread = LedgerThread(ledger)
        self.contexts = Contexts()
        context = LoopContext(self.contexts, providers, accounts, runtime, self._thread)
        lease = timedelta(seconds=settings.lease)
        self.courier = Courier(context)
        self.courier.tell = tell
        self.settler = Settler(context)
        self.sweeper = Sweeper(context, lease)
        self.notifier = Notifier(context)
        self.batch_leases = BatchLeases(self._thread, lease)
        self.batch_leases.done = self.courier.returned  # whatever comes back, a rest is over
        self.compressor = Compressor(context, self.courier.returned)
        self.submitter = Submitter(context, self.batch_leases)
        self.poller = Poller(context, self.batch_leases)
        self.submitter.poll = self.poller.poll = settings.poll
        if ledger.dialect == "sqlite":  # a file answers at once; a server may take its time
            self._thread.may_block_loop = lambda: not self._in_flight()
        self._stopping = False  # nothing more goes out
        self._deadline: datetime | None = None  # until when somebody in a hurry waits for the rest
        self.interrupted = False
        self._cause: StopCause | None = None  # why it stops before it is through
        self.last_act: Callable[[], None] = lambda: None  # before a process ends in our midst
        self._exit_timer: threading.Timer | None = None
        self._next_sweep: datetime | None = None
        # answers stored since the settler last looked; it found nothing, and nothing happened since
        self._unsettled, self._settled = 0, False

    def stop(self, cause: StopCause = StopCause.PROGRAM) -> None:
        """Claim nothing more; finish what is out, within the grace. From any thread."""
        self._stopping = True
        self.courier.sends_again = False
        self._cause = self._cause or cause
        if self._deadline is None:
            self._deadline = self._runtime.now() + timedelta(seconds=self._settings.grace)

    def interrupt(self, cause: StopCause = StopCause.INTERRUPT) -> None:
        """Stop at a person's wish; asked again, wait for nothing more. From any thread."""
        if self.interrupted:
            self._deadline = self._runtime.now()
            return
        self.interrupted = True
        self.stop(cause)
        with suppress(OSError):  # whoever listened may be gone
            self._tell("stopping: waiting for the calls in flight (Ctrl-C again to leave at once)")

    def serve_only(self, run: RunId | None) -> None:
        """Spend for one run only; what belongs to others is still judged and swept."""
        self.courier.only = self.settler.only = self.submitter.only = self.sweeper.serves = run
        self.compressor.only = run

    async def run(self, done: Callable[[], bool], *, signals: bool = False) -> None:
        """Work until `done` says so or somebody asks to stop; what is out is waited for."""
        failure: Exception | None = None
        with self._handle_signals() if signals else nullcontext(), rare_collections():
            async with asyncio.TaskGroup() as group:
                try:
                    await self._retry_ledger(lambda: self.sweeper.register(self._runtime.now()))
                    await self._retry_ledger(self.settler.decode_again)
                    await self._work(group, done)
                except Exception as error:  # noqa: BLE001 - raised below, once the answers are safe
                    failure = error
                    self.stop(StopCause.ERROR)
                try:
                    await self._wait_for_calls(group)
                    await self._finish(group)
                except Error as error:
                    failure = failure or error
                finally:
                    self.courier.abandon()
                    self.batch_leases.abandon()
                    self.notifier.abandon()
                    await self.courier.wait_until_idle()
        await self.notifier.close()
        self.submitter.close()
        self._thread.close()
        if failure is not None:
            raise failure

    async def step(self, group: asyncio.TaskGroup, now: datetime) -> int:
        """One round: exchange; settle and pack, and sweep, when due; returns how much was done."""
        going = not self._stopping
        exchanged = await self.courier.step(self.sweeper.worker, now, sending=going)
        moved = exchanged.stored + exchanged.sent
        self._unsettled += exchanged.stored
        due = self._next_sweep is None or now >= self._next_sweep
        await asyncio.sleep(0)  # let the new calls go out before anything is judged
        if due or self._must_settle(short=exchanged.short):
            moved += await self._settle(now)
        if due or (moved == 0 and self.courier.is_idle):
            moved += await self._sweep(group, now)
        return moved

    async def _settle(self, now: datetime) -> int:
        """Judge and pack; returns how much was done."""
        self._settled = False
        moved = await self.settler.step(now, packing=not self._stopping)
        self._unsettled, self._settled = 0, moved == 0
        return moved

    async def _sweep(self, group: asyncio.TaskGroup, now: datetime) -> int:
        """Move runs on, look after batches, tell and compress; returns how much was done."""
        going = not self._stopping
        moved = await self.sweeper.step(now, self.courier.has_call)
        moved += await self._step_batches(group, now)
        if going:
            await self.notifier.step(group, now)
        moved += await self.compressor.step(group, self.sweeper.worker, now, going=going)
        self._next_sweep = now + timedelta(seconds=self._settings.sweep)
        self._settled = self._settled and moved == 0
        return moved

    async def _step_batches(self, group: asyncio.TaskGroup, now: datetime) -> int:
        worker = self.sweeper.worker
        await self.batch_leases.renew(worker, now)
        moved = self.batch_leases.take_moved()
        if self._stopping:
            return moved
        moved += await self.submitter.step(group, worker, now)
        return moved + await self.poller.step(group, worker, now)

    def _must_settle(self, *, short: bool) -> bool:
        """Settle as many answers at once as the queues allow: that is when they are refilled."""
        if self._settled and not self._unsettled:  # nothing happened since nothing was found
            return False
        waiting = not self.courier.is_idle and not self._stopping
        return short or not waiting or self._unsettled >= REFILL_AFTER * self.courier.most

    async def _work(self, group: asyncio.TaskGroup, done: Callable[[], bool]) -> None:
        async def is_done() -> bool:
            self.sweeper.ended = False
            return await self._retry_ledger(lambda: self._thread.run(done))

        await self._retry_ledger(lambda: self._begin(group, self._runtime.now()))
        over, checked = await is_done(), self._runtime.now()
        while not self._stopping and not over:
            now = self._runtime.now()
            self.courier.returned.clear()
            moved = await self._retry_ledger(lambda: self.step(group, self._runtime.now()))
            idle = moved == 0 and self.courier.is_idle
            late = now >= checked + timedelta(seconds=self._settings.idle)
            if idle or late or self.sweeper.ended:
                over, checked = await is_done(), now
            if moved == 0 and not over:
                await self._wait_for_news()
                self._settled = False  # others may have been at work

    async def _begin(self, group: asyncio.TaskGroup, now: datetime) -> int:
        """Make what was asked for ready to go: before that, there is nothing to look for."""
        return await self._sweep(group, now) + await self._settle(now)

    async def _wait_for_news(self) -> None:
        """Wait for a call to come back, or with none out for news from another process.

        That keeps the ledger's thread, which whoever looks after a batch needs.
        """
        if not self._in_flight() and self.courier.is_idle:
            rest, wait = self._runtime.rest, self._ledger.wait
            await self._thread.in_thread(rest, wait, self._settings.idle)
            return
        try:
            async with asyncio.timeout(self._settings.idle):
                await self.courier.returned.wait()
        except TimeoutError:
            pass

    async def _wait_for_calls(self, group: asyncio.TaskGroup) -> None:
        """Let calls in flight finish, recording as they come; in a hurry, within the grace."""
        self._stopping = True
        while self._in_flight() and not self._is_late():
            self.courier.returned.clear()
            if await self._retry_ledger(lambda: self.step(group, self._runtime.now())) == 0:
                await self._wait_for_news()

    def _in_flight(self) -> int:
        return self.courier.in_flight + self.batch_leases.leased_count + self.compressor.busy

    async def _finish(self, group: asyncio.TaskGroup) -> None:
        """Record and judge the last answers, and sign off; what is still out is abandoned."""
        cut_off = self.courier.abandon()
        self.batch_leases.abandon()
        await asyncio.sleep(0)  # let what was abandoned say so
        while await self._retry_ledger(lambda: self.step(group, self._runtime.now())):
            pass
        stop = WorkerStop(self._cause, cut_off)
        await self._retry_ledger(lambda: self.sweeper.sign_off(stop, self._runtime.now()))
        if self._cause is None:
            await self.notifier.finish()

    def _is_late(self) -> bool:
        return self._deadline is not None and self._runtime.now() >= self._deadline

    async def _retry_ledger(self, step: Callable[[], Awaitable[T]]) -> T:
        """Try a step until the ledger answers: what came back stays in memory meanwhile."""
        wait = 0.1
        while True:
            try:
                return await step()
            except LedgerUnavailable as error:
                if self._is_late():
                    lost = self.courier.unrecorded_calls
                    raise LedgerUnavailable(
                        f"{error}; {quantity(lost, 'call')} that came back could not be stored"
                    ) from error
                self._tell(f"{error}; nothing is lost, trying again")
                await self._runtime.sleep(wait)
                wait = min(wait * 2, 5.0)

    def _leave(self) -> None:
        """Write down which calls are cut off, and go; where that takes long, go without."""
        if self._exit_timer is not None:  # pressed once more
            self._exit()
        self._exit_timer = threading.Timer(self._settings.leave, self._exit)
        self._exit_timer.daemon = True
        self._exit_timer.start()
        self.interrupt()
        with suppress(OSError):
            self._tell("left at once: calls in flight are presumed lost")

    def _exit(self) -> None:
        with suppress(Exception):  # whatever it is: nothing may keep us here
            self.last_act()
        os._exit(130)

    @contextmanager
    def _handle_signals(self) -> Iterator[None]:
        """The first signal stops cleanly; a second Ctrl-C waits for no call, nor long for us."""
        loop, causes = asyncio.get_running_loop(), stop_causes()

        def on_signal(by: signal.Signals) -> None:
            if not self.interrupted:
                self.interrupt(causes[by])
            elif by is signal.SIGINT:  # supervisors send SIGTERM twice and mean it once
                self._leave()

        for item in causes:
            loop.add_signal_handler(item, on_signal, item)
        try:
            yield
        finally:
            for item in causes:
                loop.remove_signal_handler(item)
            if self._exit_timer is not None:
                self._exit_timer.cancel()
