"""The ledger's thread: steps are carried out beside the loop, in the order they were asked for."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

from quire.domain.errors import LedgerBusy
from quire.ledger.ledger import Ledger, Transaction

P = ParamSpec("P")
T = TypeVar("T")


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
