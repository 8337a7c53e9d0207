"""Two pilots of the full size in three vendors' batches, killed ten times: it all adds up."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quire.engine import Engine, RunHandle, open_engine
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_file import read_experiment
from quire.kits.judge.experiment_runs import start_experiment
from quire.kits.judge.recipe import planned_tasks
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.crash.pace import VARIABLE, PacedClock
from tests.crash.victim import Doomed
from tests.kits.judge.pilots import SLIPS, bill, prove, write_pilot
from tests.rehearsed.rehearsed import BASES, KEYS, VENDORS, billed_entries
from tests.time_limits import wait_until

SAMPLES = int(os.environ.get("QUIRE_SOAK_SAMPLES", "30"))
EVIDENCE = 20
KILLS = 10
SPEED = 60.0  # times real time
FAULTS = f"{SLIPS},batch_shuffle=0.3,batch_duplicate=0.3,batch_expire@1,batch_404@1,seed=8"
LONGEST = 580.0  # seconds for the last worker

Tell = Callable[[str], None]


@pytest.fixture
def clock() -> PacedClock:
    """The time of this test, at the server and in every process."""
    return PacedClock(SPEED)


@pytest.fixture
def server(
    clock: PacedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RehearsalThread]:
    """A server that every process finds."""
    with rehearsal_server(
        models=CATALOG, clock=clock, batch_latency="300s", faults=FAULTS
    ) as server:
        environment = {**KEYS, **{name: server.url + path for name, path in BASES.items()}}
        environment |= {"QUIRE_POLL": "20", "QUIRE_LEASE": "600", "NO_PROXY": "*"}
        environment |= {"TMPDIR": str(tmp_path), VARIABLE: str(clock.pace)}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield server


def storm(run: RunHandle, url: str, planned: int) -> list[float]:
    """Kill workers all along the way, then let one finish; returns how long each lived.

    Half die whenever it may be, the others when some share of the tasks is done.
    """
    chance = random.Random(planned)
    moments = [0.0] * (KILLS // 2) + sorted(chance.uniform(0.02, 0.8) for _ in range(KILLS // 2))
    command = [sys.executable, "-m", "tests.crash.victim", url, str(run.id), "never", "0", ""]
    lives = []
    for moment in moments:
        born = time.monotonic()
        with subprocess.Popen(command) as worker:
            time.sleep(chance.uniform(0.5, 1.8 if moment else 6.0))
            _await_done(run, moment * planned, worker)
            assert worker.poll() is None, "the run ended before the storm did"
            worker.kill()
        lives.append(round(time.monotonic() - born, 1))
    born = time.monotonic()
    with subprocess.Popen(command) as last:
        assert last.wait(LONGEST) == 0
    return [*lives, round(time.monotonic() - born, 1)]


def _await_done(run: RunHandle, tasks: float, worker: subprocess.Popen[bytes]) -> None:
    wait_until(lambda: run.progress().done >= tasks, lambda: worker.poll() is None)


def format_figures(rows: ExperimentRows, lives: list[float]) -> str:
    """What became of the tasks, for people."""
    states = Counter((task.stage, task.state) for task in rows.tasks)
    counts = ", ".join(f"{count:,} {stage} {state}" for (stage, state), count in states.items())
    again = sum(task.attempts > 1 for task in rows.tasks)
    return f"    {counts}; {again} asked more than once\n    seconds of each worker's life: {lives}"


def run_experiment(engine: Engine, server: RehearsalThread, folder: Path, kind: str) -> str:
    """One experiment from its file to its tables, killed on the way; returns what to tell."""
    before, began = len(server.entries()), time.monotonic()
    path = write_pilot(folder, kind, VENDORS, SAMPLES, EVIDENCE)
    run = start_experiment(engine, path, route="batch", min_batch_size=2)
    planned = sum(planned_tasks(read_experiment(path)).values())
    lives = storm(run, engine.settings.ledger, planned)
    seconds = time.monotonic() - began

    rows = prove(engine, run.id, folder / f"{kind}-tables")
    now = run.progress()
    calls = [
        (entry.model, entry.route, usage)
        for entry, usage in billed_entries(server.entries()[before:])
    ]
    made = [batch for batch in server.batches() if batch["rows"]]
    total = bill(calls)
    assert now.cost_pico <= total <= now.cost_pico + now.presumed_pico
    direct = sum(route == "direct" for _, route, _ in calls)
    assert direct < 0.05 * len(calls)
    return "\n".join(
        [
            f"  {kind}: {len(rows.tasks):,} tasks, {now.calls:,} calls, {seconds:.0f} s",
            format_figures(rows, lives),
            f"    spend ${now.cost_usd:.6f} + ${now.presumed_usd:.6f} presumed, the server's bill"
            f" ${total / 10**12:.6f}; {direct} of {len(calls):,} calls went direct;"
            f" {len(made)} batches on the server's record so far",
        ]
    )


@pytest.mark.soak
def test_pilots_of_an_ecc_and_a_control_experiment_add_up_after_ten_kills_each(
    ledger_url: str, server: RehearsalThread, clock: PacedClock, tmp_path: Path, tell: Tell
) -> None:
    database = "postgresql" if ledger_url.startswith("postgres") else "sqlite"
    tell(f"\n{database}, {len(VENDORS)} models × {SAMPLES} samples × {EVIDENCE} evidences")
    with open_engine(ledger_url, runtime=Doomed("never", 0)) as engine:
        for kind in ("ecc", "control"):
            tell(run_experiment(engine, server, tmp_path, kind))
