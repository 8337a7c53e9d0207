"""Ctrl-C while another process keeps the ledger: it is heard at once, and nothing is lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from quire.domain.errors import LedgerUnavailable
from quire.domain.runs import Progress
from quire.ledger import sqlite
from tests.time_limits import PATIENCE, wait_until
from tests.world import World, sentences

BLOCKS = 40
MOST = 10  # times that a worker in a hurry may try again
HOLD = """
import sqlite3, sys
ledger = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=900)
ledger.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
WORK = """
import sys
from tests.world import World
here = World(sys.argv[1], "latency=0.3")  # all of it takes a minute
here.engine.drive(here.engine.get(1).id, tell=lambda message: print(message, flush=True))
"""


@contextmanager
def held(url: str) -> Iterator[None]:
    """Have another process keep the ledger to itself."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.communicate(timeout=PATIENCE)


def test_the_grace_begins_with_ctrl_c_also_while_another_process_keeps_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    here = World(str(tmp_path / "quire.db"), "latency=0.01", grace=0.5)
    here.ingest(sentences(BLOCKS))
    run = here.start(pack_size=1, concurrency=2)
    messages: list[str] = []

    with ExitStack() as others:

        def hold(progress: Progress) -> None:
            assert progress.done < BLOCKS  # it looks after the first step
            if not messages:
                others.enter_context(held(here.url))
                messages.append("held")

        def tell(message: str) -> None:
            messages.append(message)
            if len(messages) == 2:
                os.kill(os.getpid(), signal.SIGINT)
            elif len(messages) > MOST:
                others.close()  # it would go on for as long as the ledger is kept

        with pytest.raises(LedgerUnavailable, match="came back could not be stored"):
            here.engine.drive(run.id, hold, tell=tell)

    assert any(name.startswith("stopping: ") for name in messages)
    assert len(messages) <= MOST
    assert here.engine.drive(run.id).done == BLOCKS
    here.close()


def test_a_second_ctrl_c_leaves_at_once_also_while_another_process_keeps_the_ledger(
    tmp_path: Path, warm: list[str]
) -> None:
    here = World(str(tmp_path / "quire.db"))
    here.ingest(sentences(400))
    run = here.start(pack_size=1, concurrency=2)
    with subprocess.Popen([*warm, "-c", WORK, here.url], stdout=subprocess.PIPE) as worker:
        wait_until(lambda: run.progress().done, lambda: worker.poll() is None)
        with held(here.url):
            before = run.progress().done
            worker.send_signal(signal.SIGINT)
            assert worker.stdout
            assert worker.stdout.readline().startswith(b"stopping: ")
            worker.send_signal(signal.SIGINT)
            out, _ = worker.communicate(timeout=PATIENCE)
            assert run.progress().done == before

    assert (worker.returncode, out[:13]) == (130, b"left at once:")
    assert here.engine.drive(run.id).done == 400
    here.close()
