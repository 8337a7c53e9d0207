"""The event broadcast: news of runs, read once for all who follow them.

Each run that somebody follows is looked at by one loop, whatever the number of followers; what it
reads becomes bytes once, which all of them are sent. A follower that is too slow is let go, and
comes back with the number of the last event that it had.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple

from fastapi.concurrency import run_in_threadpool

from quire.domain.errors import LedgerUnavailable
from quire.domain.ids import RunId
from quire.domain.runs import Event
from quire.engine import Engine
from quire.engine.event_reader import EventReader
from quire.engine.json_views.encoding import json_bytes

LOOK_EVERY = 0.5  # seconds between two looks for news
QUIET = 15.0  # seconds after which a follower hears that the line is alive
KEPT = 500  # events of a run that new followers are told without a look into the ledger
BEHIND = 200  # messages that a slow follower may be behind
PAGE = 200  # older events read at a time
ALIVE = b": alive\n\n"

ReadProgress = Callable[[Engine, RunId], object]


class Topic(NamedTuple):
    """A run of a workspace."""

    workspace: str
    run: RunId


class _Message(NamedTuple):
    """What followers are sent."""

    event: int  # its number; 0: how the run stands
    data: bytes


_Follower = asyncio.Queue[_Message | None]  # None: it is let go


class EventBroadcast:
    """All that is followed on a server."""

    def __init__(
        self, read_progress: ReadProgress, look_every: float = LOOK_EVERY, quiet: float = QUIET
    ) -> None:
        """Tell also how a run stands, as `read_progress` reads it."""
        self._read_progress, self._look_every, self._quiet = read_progress, look_every, quiet
        self._watches: dict[Topic, _Watch] = {}
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def follow(
        self, topic: Topic, engine: Engine, after: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """What happens to a run from now on, or after an event, as a stream's messages."""
        self._loop = asyncio.get_running_loop()
        watch = self._watches.get(topic)
        if watch is None or watch.task.done():
            watch = self._watches[topic] = _Watch(engine, topic.run, self._read_progress)
            watch.task = asyncio.create_task(watch.look(self._look_every))
        follower: _Follower = asyncio.Queue(BEHIND)
        watch.waiting += 1
        try:
            for message in await watch.begin(follower, after):
                yield message.data
            async for data in self._news(follower):
                yield data
        finally:
            watch.waiting -= 1
            watch.followers.discard(follower)
            if not watch.waiting and self._watches.get(topic) is watch:
                del self._watches[topic]
                watch.task.cancel()

    async def _news(self, follower: _Follower) -> AsyncIterator[bytes]:
        while not self._closed:
            try:
                message = await asyncio.wait_for(follower.get(), self._quiet)
            except TimeoutError:
                yield ALIVE
                continue
            if message is None:
                return
            yield message.data

    def close_soon(self) -> None:
        """Let all followers go; from any thread, and from a signal."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close)
        self._closed = True

    def _close(self) -> None:
        self._closed = True
        for watch in self._watches.values():
            for follower in tuple(watch.followers):
                watch.let_go(follower)


class _Watch:
    """One run that is looked at, for all who follow it."""

    task: "asyncio.Task[None]"

    def __init__(self, engine: Engine, run: RunId, read_progress: ReadProgress) -> None:
        self._engine, self._run, self._read_progress = engine, run, read_progress
        self.waiting = 0  # who follow it, or are about to
        self.followers: set[_Follower] = set()
        self._kept: deque[_Message] = deque(maxlen=KEPT)
        self._progress = b""
        self._begun = asyncio.Event()

    async def look(self, every: float) -> None:
        """Look for news again and again; what cannot be told any more lets all followers go."""
        try:
            reader = None
            while True:
                with suppress(LedgerUnavailable):  # what it cannot say now, it says later
                    reader = reader or await self._begin_reading()
                    await self._tell_news(reader)
                    self._begun.set()
                await asyncio.sleep(every)
        finally:
            for follower in tuple(self.followers):
                self.let_go(follower)
            self._begun.set()

    async def _begin_reading(self) -> EventReader:
        earlier = await run_in_threadpool(self._engine.queries.events, self._run, KEPT)
        self._kept.extend(map(_event_message, earlier))
        newest = earlier[-1].id if earlier else 0
        return self._engine.queries.read_events(self._run, newest)

    async def _tell_news(self, reader: EventReader) -> None:
        for event in await run_in_threadpool(reader.read_news):
            message = _event_message(event)
            self._kept.append(message)
            self._send(message)
        progress = await run_in_threadpool(self._read_progress, self._engine, self._run)
        data = json_bytes(progress)
        if data != self._progress:
            self._progress = data
            self._send(self._progress_message)

    async def begin(self, follower: _Follower, after: int | None) -> list[_Message]:
        """How the run stands and what was missed; from then on the follower is told."""
        await self._begun.wait()
        if self.task.done():
            self.task.result()  # says what is wrong
        missed: list[_Message] = []
        oldest = self._kept[0].event if len(self._kept) == KEPT else 0
        if after is not None and after < oldest:
            missed = await run_in_threadpool(self._read_missed, after, oldest)
        # nothing is awaited from here on: no news is told twice, and none is lost
        last = missed[-1].event if missed else after
        if last is not None:
            missed += [message for message in self._kept if message.event > last]
        self.followers.add(follower)
        return [self._progress_message, *missed]

    def _read_missed(self, after: int, before: int) -> list[_Message]:
        found: list[_Message] = []
        while after < before:
            events = self._engine.queries.events_after(self._run, after, PAGE)
            found += [_event_message(event) for event in events if event.id < before]
            if not events:
                break
            after = events[-1].id
        return found

    @property
    def _progress_message(self) -> _Message:
        return _Message(0, b'data: {"status":' + self._progress + b"}\n\n")

    def _send(self, message: _Message) -> None:
        for follower in tuple(self.followers):
            try:
                follower.put_nowait(message)
            except asyncio.QueueFull:
                self.let_go(follower)

    def let_go(self, follower: _Follower) -> None:
        """Tell one nothing more; it may come back."""
        self.followers.discard(follower)
        while not follower.empty():
            follower.get_nowait()
        follower.put_nowait(None)


def _event_message(event: Event) -> _Message:
    head = f"id: {event.id}\ndata: ".encode()
    return _Message(event.id, head + json_bytes(event) + b"\n\n")
