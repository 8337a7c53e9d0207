"""The runtime: clock, chance, sleep, threads, and the points where a process may die."""

import asyncio
import base64
import os
import random
import secrets
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from quire.domain.errors import LedgerBusy
from quire.ledger.ledger import Ledger, Transaction

P = ParamSpec("P")
T = TypeVar("T")

# Where a process may die; a test kills it at each, and everything must still come right.
POINTS = (
    "after_start",
    "after_expand",
    "after_claim",
    "after_send",
    "before_record",
    "after_record",
    "before_settle",
    "after_settle",
)
BATCH_POINTS = (  # and these, where calls travel in batches
    "after_draft",
    "after_intent",
    "after_spool",
    "after_upload",
    "before_create",
    "after_create",
    "after_confirm",
    "after_poll",
    "after_end",
    "after_rows",
    "before_collect",
    "after_collect",
)


class Runtime:
    """The real world; a test may put another in its place."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - the one place where the clock is read

    def jitter(self) -> float:
        """A number from [0, 1), so that those who wait do not all come back at once."""
        return random.random()  # noqa: S311 - spreads load, guards nothing

    def nonce(self) -> str:
        """A new name for what must be found again among things of others."""
        return "q" + base64.b32encode(secrets.token_bytes(7)).decode().lower()[:10]

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    def reach(self, point: str) -> None:
        """Pass a point where a process may die."""


class LedgerThread:
    """One thread for the ledger: verbs are synchronous and the loop must not wait for a disk.

    Steps are carried out in the order in which they were asked for. One may be carried out on the
    loop's own thread, which saves two switches, but only while nothing is queued: overtaking what
    waits would, say, let an old renewal take back a lease that was returned in the meantime.
    """

    def __init__(self, ledger: Ledger) -> None:
        """Start without a thread; the first call makes it."""
        self.ledger = ledger
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="quire-ledger")
        self._queued: set[Future[Any]] = set()  # what the thread has not done yet
        # true where nothing else needs the loop just now
        self.may_block_loop: Callable[[], bool] = lambda: False

    async def transact(
        self, verb: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Carry out a verb in one transaction of its own."""

        def step() -> T:
            with self.ledger.transaction() as tx:
                return verb(tx, *args, **kwargs)

        return await self.run(step)

    async def read(self, query: Callable[[Transaction], T]) -> T:
        """Ask for something as it stands at one moment, in nobody's way."""

        def step() -> T:
            with self.ledger.snapshot() as tx:
                return query(tx)

        return await self.run(step)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out a synchronous function beside the loop, or at once where nobody else waits."""
        if not self._queued and self.may_block_loop():
            # unless somebody else writes: then the loop does not wait for that
            with suppress(LedgerBusy), self.ledger.fail_if_busy():
                return function(*args, **kwargs)
        return await self.in_thread(function, *args, **kwargs)

    async def in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out a synchronous function beside the loop, however long it takes."""
        future = self._executor.submit(function, *args, **kwargs)
        self._queued.add(future)
        future.add_done_callback(self._queued.discard)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let the thread end."""
        self._executor.shutdown(wait=False)


def host_name() -> str:
    """Name this machine and its process namespace: process ids mean something only inside it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def is_process_alive(pid: int) -> bool:
    """Whether a process of this host still exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
