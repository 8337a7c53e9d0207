"""A run's history tells who stopped it and who goes on, and its cost what was cut off meanwhile."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quire.domain.runs import Event, Progress
from quire.engine import RunHandle
from tests.dispatch.kills import kill_newest_worker
from tests.time_limits import wait_until
from tests.world import OneProvider, World, sentences

BLOCKS = 12
HANG = """
import sys
from tests.world import World
World(sys.argv[1], "hang=1").engine.get(1).wait()
"""


def started(url: str) -> tuple[World, RunHandle]:
    """A world with a run that takes a call a block, two at a time."""
    here = World(url)
    here.ingest(sentences(BLOCKS))
    return here, here.start(pack_size=1, concurrency=2)


def history(here: World, run: RunHandle) -> list[Event]:
    """What was told of a run after its start."""
    events = here.engine.queries.events(run.id)
    return [event for event in events if event.kind in ("stopped", "worker_lost", "went_on")]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, "by Ctrl-C; no call was cut off"),
        (signal.SIGTERM, "by a signal to end (SIGTERM); no call was cut off"),
        (signal.SIGHUP, "by the end of its terminal (SIGHUP); no call was cut off"),
    ],
)
def test_a_stop_is_told_and_so_is_who_goes_on(
    tmp_path: Path, number: signal.Signals, words: str
) -> None:
    here, run = started(str(tmp_path / "quire.db"))
    pressed: list[int] = []

    def press(now: Progress) -> None:
        if not pressed:
            pressed.append(now.done)
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        run.wait(press)
    stopped = history(here, run)
    run.wait()

    assert [(event.kind, event.detail) for event in stopped] == [("stopped", words)]
    assert [event.kind for event in history(here, run)] == ["stopped", "went_on"]
    here.close()


def test_a_closed_terminal_stops_nothing_that_was_told_to_ignore_it(tmp_path: Path) -> None:
    here, run = started(str(tmp_path / "quire.db"))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        done = run.wait(lambda now: os.kill(os.getpid(), signal.SIGHUP)).done
        after = signal.getsignal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert (done, after, history(here, run)) == (BLOCKS, signal.SIG_IGN, [])
    here.close()


def test_a_run_that_ends_by_itself_was_not_stopped(tmp_path: Path) -> None:
    here, run = started(str(tmp_path / "quire.db"))
    run.wait()

    assert history(here, run) == []
    here.close()


def test_an_engine_that_is_told_to_stop_says_so(tmp_path: Path) -> None:
    here, run = started(str(tmp_path / "quire.db"))
    here.engine.drive(run.id, lambda now: here.engine.stop())

    assert [event.fields["cause"] for event in history(here, run)] == ["program"]
    here.close()


class Impatient(OneProvider):
    """Tells the engine to stop while it makes its worker."""

    def __init__(self, here: World) -> None:
        """Stop this one."""
        super().__init__(here.model)
        self.here = here

    def __getattribute__(self, name: str) -> Any:
        """Stop when a worker is told who carries its batches."""
        if name == "batch_api":
            self.here.engine.stop()
        return super().__getattribute__(name)


def test_a_stop_while_the_worker_is_made_is_heard(tmp_path: Path) -> None:
    here, run = started(str(tmp_path / "quire.db"))
    here.engine.context.providers = Impatient(here)
    here.engine.drive(run.id)
    here.engine.context.providers = OneProvider(here.model)

    assert run.progress().calls == 0
    assert run.wait().done == BLOCKS  # a later one works
    here.close()


def test_interrupted_again_it_tells_at_once_what_was_cut_off(tmp_path: Path) -> None:
    here, run = started(str(tmp_path / "quire.db"))
    here.model.hold = lambda number: True
    messages: list[str] = []

    def tell(message: str) -> None:
        messages.append(message)
        os.kill(os.getpid(), signal.SIGINT)

    async def notebook() -> None:
        def press(now: Progress) -> None:
            if now.in_flight == 2:
                os.kill(os.getpid(), signal.SIGINT)

        here.engine.drive(run.id, press, tell=tell)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(notebook())
    [told] = history(here, run)

    assert (told.kind, told.fields["cause"], told.fields["calls"]) == ("stopped", "interrupt", 2)
    assert "2 calls in flight were cut off; up to $" in told.detail
    assert [message.split(":")[0] for message in messages] == ["stopping"]  # nothing goes again
    assert told.fields["presumed"] == run.progress().presumed_pico > 0
    here.close()


def test_what_a_killed_worker_had_out_is_counted_at_once_and_told_by_the_next(
    tmp_path: Path, warm: list[str]
) -> None:
    here, run = started(str(tmp_path / "quire.db"))
    with subprocess.Popen([*warm, "-c", HANG, here.url]) as worker:
        wait_until(lambda: run.progress().in_flight == 2, lambda: worker.poll() is None)
        kill_newest_worker(here.url)

    cut = run.progress()
    run.wait()
    lost, went_on = history(here, run)

    assert (cut.in_flight, cut.cut_off) == (0, 2)
    assert cut.presumed_pico == lost.fields["presumed"] == run.progress().presumed_pico > 0
    assert (lost.kind, lost.fields["calls"], went_on.kind) == ("worker_lost", 2, "went_on")
    here.close()
