"""Several processes on one ledger: every block is asked about once, whoever gets it."""

import os
import subprocess
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from quire.domain.runs import Progress
from quire.domain.states import RunState
from tests.time_limits import PATIENCE
from tests.world import World, sentences

Worlds = Callable[..., World]


def worker(warm: list[str], here: World, run: int, log: Path) -> "subprocess.Popen[bytes]":
    arguments = [here.url, str(run), "never", "0", f"log={log},latency=0.01"]
    patient = os.environ | {"QUIRE_LEASE": "600"}  # nobody is silent who only has to wait
    return subprocess.Popen([*warm, "tests.crash.victim", *arguments], env=patient)


def test_three_workers_share_a_run_and_ask_about_every_block_once(
    world: Worlds, tmp_path: Path, warm: list[str]
) -> None:
    here = world()
    here.ingest(texts := sentences(300))
    run = here.start(pack_size=3, concurrency=4)
    log = tmp_path / "calls.log"

    workers = [worker(warm, here, run.id, log) for _ in range(3)]
    codes = [popen.wait(PATIENCE) for popen in workers]

    assert codes == [0, 0, 0]
    assert [row["first_40_chars"] for row in run.rows()] == [text[:40] for text in texts]
    sent = Counter(line.split()[2] for line in log.read_text().splitlines())
    assert max(sent.values()) == 1
    assert sum(int(line.split()[1]) for line in log.read_text().splitlines()) == 300


def test_after_a_pause_from_elsewhere_only_what_is_out_comes_back(world: Worlds) -> None:
    here, elsewhere = world(), world()
    here.ingest(sentences(40))
    run = here.start(pack_size=1, concurrency=2)
    paused: list[int] = []
    here.model.hold = lambda number: number > 4 and not paused

    def pause_soon(progress: Progress) -> None:
        if here.model.calls == 6 and not paused:
            elsewhere.engine.pause(run.id)
            paused.append(progress.done)

    ended = run.wait(pause_soon)

    assert ended.state == RunState.RUNNING
    assert (ended.done, here.model.calls, paused) == (6, 6, [4])


def test_a_worker_of_one_run_is_no_worker_of_another(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4))
    run, other = here.start(), here.start(new=True)
    alive: list[tuple[int, int]] = []

    run.wait(lambda _: alive.append((here.engine.workers(run.id), here.engine.workers(other.id))))

    assert alive[0] == (1, 0)
    assert (here.engine.workers(), here.engine.progress(other.id).done) == (0, 0)


def test_stopping_waits_for_calls_in_flight_and_loses_none(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    run = here.start(pack_size=1, concurrency=3)
    stopped: list[int] = []
    here.model.hold = lambda number: number > 3 and not stopped

    def stop_soon(progress: Progress) -> None:
        if here.model.calls == 6:
            here.engine.stop()
            stopped.append(progress.done)

    run.wait(stop_soon)

    ended = run.progress()
    assert ended.state == RunState.RUNNING
    assert (ended.done, here.model.calls, stopped) == (6, 6, [3])
    assert ended.presumed_pico == 0


def test_calls_that_outlast_the_grace_are_lost_and_go_again(world: Worlds) -> None:
    here = world(faults="hang=1", grace=0.2)
    here.ingest(sentences(4))
    run = here.start(pack_size=1, concurrency=2)

    run.wait(lambda _: here.engine.stop() if here.model.calls == 2 else None)

    assert run.progress().presumed_pico > 0
    later = world()
    assert later.engine.get(run.id).wait().done == 4


def test_a_silent_worker_is_taken_over_when_its_lease_runs_out(world: Worlds) -> None:
    here = world(lease=30.0)
    here.ingest(sentences(4))
    run = here.start(pack_size=4)
    with here.engine.ledger.transaction() as tx:
        moment = here.runtime.now()
        gone = tx.workers.add_worker("another host", 1, "0", moment - timedelta(seconds=31))
        assert tx.workers.silent_workers(moment - timedelta(seconds=30)) == [gone]

    run.wait()

    with here.engine.ledger.snapshot() as tx:
        assert tx.workers.silent_workers(here.runtime.now() - timedelta(seconds=30)) == []
    assert run.progress().done == 4
