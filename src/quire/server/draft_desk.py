"""The draft desk: schema drafts are carried out by a few threads of their own.

A draft waits for a model, which may take minutes. In the threads that answer requests a few drafts
would keep everybody else waiting, and a server that is stopped would let go of a call that is paid
for. Here few are at work at once, whoever comes then is told so, and the end waits for what is out.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from quire.domain.errors import UsageError
from quire.engine import Engine

MOST_DRAFTS = 3  # at work at once
COME_AGAIN = 5  # seconds
STOP_AGAIN = 0.2  # seconds after which a draft that has begun another call is stopped once more
Drafted = TypeVar("Drafted")


class Busy(UsageError):
    """Too much of this is under way; it may be asked for later."""

    seconds = COME_AGAIN


class DraftDesk:
    """Carries drafts out; safe to use from any thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._at_work: dict[Future[Any], Engine] = {}
        self._ended = False

    async def carry_out(self, engine: Engine, draft: Callable[[], Drafted]) -> Drafted:
        """Carry a draft out, in no thread of whoever waits for it."""
        return await asyncio.wrap_future(self._begin(engine, draft))

    def end(self) -> None:
        """Let what is out come in, and begin nothing more."""
        with self._lock:
            self._ended, threads = True, self._threads
            left = dict(self._at_work)
        while left:
            for engine in left.values():
                engine.stop()
            done, _ = wait(left, timeout=STOP_AGAIN)
            left = {future: engine for future, engine in left.items() if future not in done}
        if threads is not None:
            threads.shutdown()

    def _begin(self, engine: Engine, draft: Callable[[], Drafted]) -> Future[Drafted]:
        with self._lock:
            if self._ended or len(self._at_work) >= MOST_DRAFTS:
                raise Busy(
                    f"{len(self._at_work)} drafts are under way, and more wait for nobody",
                    "ask again in a moment",
                )
            if self._threads is None:
                self._threads = ThreadPoolExecutor(MOST_DRAFTS, "schema draft")
            future = self._threads.submit(draft)
            self._at_work[future] = engine
        future.add_done_callback(self._forget)
        return future

    def _forget(self, future: Future[Drafted]) -> None:
        with self._lock:
            self._at_work.pop(future, None)
