"""The rehearsal server beside a program that is not asynchronous: in a thread of its own."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

from quire.rehearsal.clock import Clock
from quire.rehearsal.counting import Entry
from quire.rehearsal.memory import Scene
from quire.rehearsal.server import Rehearsal

T = TypeVar("T")
_PATIENCE = 30.0  # seconds to start, to stop, to answer a question


class Rehearsing:
    """A server that runs in another thread, and what may be asked of it meanwhile."""

    def __init__(self, rehearsal: Rehearsal, loop: asyncio.AbstractEventLoop) -> None:
        """Hold a server that listens."""
        self._rehearsal = rehearsal
        self._loop = loop
        self.url = rehearsal.url

    def stats(self) -> dict[str, Any]:
        """What the requests add up to."""
        return self._settled(lambda: self._rehearsal.stats)

    def log(self) -> list[dict[str, Any]]:
        """Every request so far."""
        return self._settled(lambda: [entry.as_json() for entry in self._rehearsal.log])

    def entries(self) -> list[Entry]:
        """Every request so far, as it is kept."""
        return self._settled(lambda: list(self._rehearsal.log))

    def batches(self) -> list[dict[str, Any]]:
        """Every batch that was made, in that order."""
        return self._settled(lambda: self._rehearsal.batches)

    def change_faults(self, script: str) -> None:
        """Follow another script from now on."""
        self._inside(lambda: self._rehearsal.memory.change_faults(script))

    def advance(self, seconds: float) -> None:
        """Move the server's clock on."""
        self._inside(lambda: self._rehearsal.memory.clock.advance(seconds))

    def reset(self) -> None:
        """Forget what was seen, kept and taken."""
        self._inside(self._rehearsal.memory.reset)

    def settle(self) -> None:
        """Wait until the batches that are due have ended."""
        self._settled(lambda: None)

    def _settled(self, ask: Callable[[], T]) -> T:
        async def asked() -> T:
            await self._rehearsal.settle()
            return ask()

        return asyncio.run_coroutine_threadsafe(asked(), self._loop).result(_PATIENCE)

    def _inside(self, ask: Callable[[], T]) -> T:
        async def asked() -> T:
            return ask()

        return asyncio.run_coroutine_threadsafe(asked(), self._loop).result(_PATIENCE)


@contextmanager
def rehearsing(
    *, host: str = "127.0.0.1", port: int = 0, clock: Clock | None = None, **scene: Any
) -> Iterator[Rehearsing]:
    """Run a server while the block runs; what else is given is the Scene's."""
    told = Scene(**scene)
    ready: Future[Rehearsing] = Future()
    stop = asyncio.Event()

    async def play() -> None:
        rehearsal = Rehearsal(told, clock)
        try:
            await rehearsal.start(host, port)
            ready.set_result(Rehearsing(rehearsal, asyncio.get_running_loop()))
            await stop.wait()
        finally:
            await rehearsal.stop()

    def run() -> None:
        try:
            asyncio.run(play())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = Thread(target=run, name="rehearsal", daemon=True)
    thread.start()
    server = ready.result(_PATIENCE)
    try:
        yield server
    finally:
        server._loop.call_soon_threadsafe(stop.set)
        thread.join(_PATIENCE)
