"""kill -9 of ten workers on a dialectic, at random, in both routes: the same files come out."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quire.engine import RunHandle, open_engine
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.cli.conftest import Quire
from tests.crash.pace import VARIABLE, PacedClock
from tests.recipes.document_recipes import (
    CUT,
    DIALECTIC_COUNTS,
    MODELS,
    Written,
    assert_dialectic_is_whole,
    order_dialectic,
    stage_counts,
    stage_texts,
)
from tests.rehearsed.rehearsed import BASES, KEYS, VENDORS
from tests.time_limits import wait_until

pytestmark = pytest.mark.soak

KILLS = 10
SPEED = 60.0  # times real time, for batches


def start_worker(url: str, run: int, faults: str) -> subprocess.Popen[bytes]:
    """Start a process that works on the run."""
    command = [sys.executable, "-m", "tests.crash.victim", url, str(run), "never", "0", faults]
    return subprocess.Popen(command)


def kill_ten(url: str, run: int, faults: str, seen: Callable[[], int], most: int) -> int:
    """Kill ten workers, each after some more calls, and let the last one finish; how many died."""
    chance, killed = random.Random(14), 0
    for _ in range(KILLS):
        wanted = seen() + chance.randint(1, most)
        with start_worker(url, run, faults) as worker:
            wait_until(lambda: seen() >= wanted or worker.poll() is not None)  # noqa: B023 - here
            killed += worker.poll() is None
            worker.kill()
    with start_worker(url, run, faults) as last:
        assert last.wait() == 0
    return killed


def results_of(url: str, run: RunHandle | int) -> Written:
    """What a run wrote."""
    with open_engine(url) as engine:
        return stage_texts(engine, engine.get(run if isinstance(run, int) else run.id).id)


def result_files(url: str, run: int, folder: Path) -> dict[str, bytes]:
    """The files that its results are written to, by name; the index tells the time of the run."""
    Quire()("--ledger", url, "results", run, "--to", folder)
    found = [path for path in folder.glob("*/*/*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_ten_kills_of_a_dialectic_whose_answers_are_cut_leave_the_same_files(
    tmp_path: Path,
) -> None:
    calm, url, log = str(tmp_path / "calm.db"), str(tmp_path / "storm.db"), tmp_path / "calls.log"
    with open_engine(calm) as engine:
        order_dialectic(engine).wait()
    with open_engine(url) as engine:
        run = order_dialectic(engine, concurrency=4).id

    def seen() -> int:
        return log.read_bytes().count(b"\n") if log.exists() else 0

    killed = kill_ten(url, run, f"{CUT},latency=0.05,log={log}", seen, most=15)

    written = results_of(url, run)
    assert killed == KILLS
    assert_dialectic_is_whole(written, *MODELS)
    assert written == results_of(calm, 1)
    files = result_files(url, run, tmp_path / "storm")
    assert len(files) == sum(DIALECTIC_COUNTS.values())
    assert files == result_files(calm, 1, tmp_path / "calm")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RehearsalThread]:
    """A server that cuts every answer, which this process and others find."""
    clock = PacedClock(SPEED)
    with rehearsal_server(models=CATALOG, clock=clock, faults=CUT, batch_latency="20s") as running:
        environment = {**KEYS, **{name: running.url + path for name, path in BASES.items()}}
        environment |= {"QUIRE_POLL": "5", "QUIRE_LEASE": "600", "NO_PROXY": "*"}
        environment |= {"TMPDIR": str(tmp_path), VARIABLE: str(clock.pace)}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield running


def test_ten_kills_of_a_dialectic_in_batches_leave_the_same_results(
    tmp_path: Path, server: RehearsalThread
) -> None:
    url = str(tmp_path / "storm.db")
    with open_engine(url) as engine:
        undisturbed = order_dialectic(engine, *VENDORS)
        undisturbed.wait()
        how = {"route": "batch", "min_batch_size": 1, "new": True}
        run = order_dialectic(engine, *VENDORS, **how).id

    killed = kill_ten(url, run, "", lambda: len(server.entries()), most=12)

    written = results_of(url, run)
    assert killed == KILLS
    assert stage_counts(written) == DIALECTIC_COUNTS
    assert written == results_of(url, undisturbed.id)
    ways = {entry.route for entry in server.entries() if entry.usage}
    assert ways == {"direct", "batch"}
