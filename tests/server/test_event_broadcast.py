"""The event broadcast: two hundred follow a run, and the ledger is asked as for one."""

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from quire.domain.errors import LedgerUnavailable
from quire.domain.ids import RunId
from quire.engine import Engine
from quire.engine.status_json import run_json
from quire.server.event_broadcast import KEPT, EventBroadcast, Topic
from quire.server.site import Site
from tests.server.counted_statements import counted_statements
from tests.server.server_process import send, start_server
from tests.server.sites import SCHEMA, TEXT, open_site, start_run, upload
from tests.time_limits import wait_until

FOLLOWERS = 200
PAUSES = 15  # each with its resumption
SOON = 0.01  # seconds between two looks
MOST_MEMORY = 3 * 1024  # kilobytes for one who follows


class FollowedRun:
    """A run that is followed while somebody pauses it and lets it go on."""

    def __init__(self, engine: Engine, run: int) -> None:
        """Follow this run, of this ledger."""
        self.engine, self.run, self.looks = engine, RunId(run), 0
        self.broadcast = EventBroadcast(self._look, look_every=SOON)

    def _look(self, engine: Engine, run: RunId) -> object:
        self.looks += 1
        return run_json(engine, run)

    def pause_and_resume(self, times: int = PAUSES) -> None:
        """Make two events, so many times."""
        for _ in range(times):
            self.engine.commands.pause(self.run)
            self.engine.commands.resume(self.run)

    def events(self) -> list[int]:
        """The numbers of all that happened."""
        return [event.id for event in self.engine.queries.events(self.run, 10_000)]

    async def follow(
        self, seen: list[int], until: asyncio.Event, leave_every: int = 0, after: int = 0
    ) -> None:
        """Write down the events that come, as a browser does: whoever is cut off comes back."""
        while not until.is_set():
            last, met = max([after, *seen]), 0
            stream = self.broadcast.follow(Topic("local", self.run), self.engine, last)
            async with aclosing(stream):
                async for message in stream:
                    if found := re.match(rb"id: (\d+)\n", message):
                        seen.append(int(found[1]))
                        met += 1
                    if until.is_set() or met == leave_every > 0:
                        break


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[FollowedRun]:
    with open_site(tmp_path) as client:
        upload(client)
        run = start_run(client)
        site: Site = client.app.state.site  # type: ignore[attr-defined]  # it is ours
        yield FollowedRun(site.engine("local"), run)


async def follow_together(
    followed: FollowedRun, count: int, leave_every: int = 0
) -> list[list[int]]:
    """What so many see of the same history, each tenth of whom may go away and come back."""
    over = asyncio.Event()
    seen: list[list[int]] = [[] for _ in range(count)]
    tasks = [
        asyncio.create_task(followed.follow(events, over, 0 if no % 10 else leave_every))
        for no, events in enumerate(seen)
    ]
    await asyncio.to_thread(wait_until, lambda: all(seen))
    await asyncio.to_thread(followed.pause_and_resume)
    newest = followed.events()[-1]
    await asyncio.to_thread(wait_until, lambda: all(events[-1] == newest for events in seen))
    over.set()  # asyncio.wait_for of Python 3.11 may lose a cancellation to news that comes with it
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
    return seen


@pytest.mark.parametrize("count", [1, FOLLOWERS])
def test_each_is_told_all_once_in_order_and_the_ledger_is_asked_once_a_look(
    followed: FollowedRun, count: int
) -> None:
    with counted_statements() as asked:
        seen = asyncio.run(follow_together(followed, count))

    assert seen == [followed.events()] * count
    assert len(seen[0]) > 2 * PAUSES
    # the first look reads what was before; who comes later is told it without another
    assert asked.count("events_after") - followed.looks in {0, 1}
    assert asked.count("events_of_run") == 2  # one of them ours


def test_who_comes_back_is_told_exactly_what_was_missed(followed: FollowedRun) -> None:
    with counted_statements() as asked:
        seen = asyncio.run(follow_together(followed, FOLLOWERS, leave_every=3))

    assert seen == [followed.events()] * FOLLOWERS
    assert asked.count("events_after") - followed.looks in {0, 1}


def test_who_missed_more_than_is_kept_is_told_all_of_it(followed: FollowedRun) -> None:
    followed.pause_and_resume(KEPT)

    seen = asyncio.run(follow_together(followed, 3))

    assert seen == [followed.events()] * 3
    assert len(seen[0]) > 2 * KEPT


def test_a_ledger_that_does_not_answer_for_a_while_is_asked_again(followed: FollowedRun) -> None:
    failures = iter(range(3))

    def fail_at_first(engine: Engine, run: RunId) -> object:
        if next(failures, None) is not None:
            raise LedgerUnavailable("the database did not answer")
        return run_json(engine, run)

    followed.broadcast = EventBroadcast(fail_at_first, look_every=SOON)
    seen = asyncio.run(follow_together(followed, 3))

    assert seen == [followed.events()] * 3


def test_who_follows_what_cannot_be_read_is_let_go(followed: FollowedRun) -> None:
    def fail(engine: Engine, run: RunId) -> object:
        raise ValueError("a mistake of ours")

    async def follow() -> list[bytes]:
        stream = broadcast.follow(Topic("local", followed.run), followed.engine)
        return [message async for message in stream]

    broadcast = EventBroadcast(fail, look_every=SOON)
    with pytest.raises(ValueError, match="a mistake of ours"):
        asyncio.run(follow())


def test_who_follows_takes_little_memory(tmp_path: Path) -> None:
    options = ("--ledger", "a.db", "serve", "--port", "0", "--workers", "0")
    with start_server(tmp_path, *options) as (process, at):
        files = {"Content-Type": "multipart/form-data; boundary=x"}
        head = 'Content-Disposition: form-data; name="files"; filename="a.md"'
        send(f"{at}/v1/documents", f"--x\r\n{head}\r\n\r\n{TEXT}\r\n--x--\r\n", files)
        order = json.dumps({"schema": SCHEMA, "model": "simulated/small"})
        run = json.loads(send(f"{at}/v1/runs", order))["run"]
        asyncio.run(follow_over_http(at, run, 1))
        before = memory_of(process.pid)
        after = asyncio.run(follow_over_http(at, run, FOLLOWERS, process.pid))

    assert (after - before) / FOLLOWERS < MOST_MEMORY, (before, after)


async def follow_over_http(at: str, run: int, count: int, process: int = 0) -> int:
    """Follow a run over so many connections through a pause; the server's memory meanwhile."""
    host, _, port = at.removeprefix("http://").partition(":")
    heads = (f"GET /v1/runs/{run}/events HTTP/1.1", f"Host: {host}", "Accept: text/event-stream")
    question = "\r\n".join([*heads, "", ""])
    lines = [await asyncio.open_connection(host, int(port)) for _ in range(count)]
    for _, writer in lines:
        writer.write(question.encode())
    for reader, _ in lines:
        await reader.readuntil(b'data: {"status":')
    await asyncio.to_thread(send, f"{at}/v1/runs/{run}/pause", "")
    for reader, _ in lines:
        await reader.readuntil(b'"kind":"paused"')
    memory = memory_of(process) if process else 0
    for _, writer in lines:
        writer.close()
    await asyncio.to_thread(send, f"{at}/v1/runs/{run}/resume", "")
    return memory


def memory_of(process: int) -> int:
    """Kilobytes that a process has in memory."""
    command = ["ps", "-o", "rss=", "-p", str(process)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
