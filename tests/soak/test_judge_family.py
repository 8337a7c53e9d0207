"""A family of six experiments in three vendors' batches, killed ten times, to one page."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quire.engine import Engine, open_engine
from quire.kits.judge.experiment_file import read_experiment
from quire.kits.judge.experiment_runs import find_experiment_run
from quire.kits.judge.recipe import planned_tasks
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.crash.pace import VARIABLE, PacedClock
from tests.crash.victim import Doomed
from tests.kits.judge.family_pilots import prove_family, write_pilot_family
from tests.kits.judge.pilots import SLIPS, bill
from tests.rehearsed.rehearsed import BASES, KEYS, VENDORS, billed_entries

SAMPLES = int(os.environ.get("QUIRE_SOAK_SAMPLES", "30"))
EVIDENCE, KILLS, SPEED = 20, 10, 60.0
VARY = ("scale_size=3,4,5", "evidence_view=raw,abstracted")
FAULTS = f"{SLIPS},batch_shuffle=0.3,batch_duplicate=0.3,batch_expire@1,batch_404@1,seed=8"
LONGEST = 3000.0  # seconds for the last process

Tell = Callable[[str], None]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RehearsalThread]:
    """A server that every process finds."""
    clock = PacedClock(SPEED)
    with rehearsal_server(
        models=CATALOG, clock=clock, batch_latency="300s", faults=FAULTS
    ) as server:
        environment = {**KEYS, **{name: server.url + path for name, path in BASES.items()}}
        environment |= {"QUIRE_POLL": "20", "QUIRE_LEASE": "600", "NO_PROXY": "*"}
        environment |= {"TMPDIR": str(tmp_path), VARIABLE: str(clock.pace)}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield server


def kill_and_restart(engine: Engine, url: str, paths: list[Path]) -> list[tuple[float, float]]:
    """Run the family in processes, ten of which are killed; when each died, and what was done.

    One dies in each tenth of the work, so that none of the experiments has all of the kills.
    """
    chance = random.Random(5)
    planned = sum(sum(planned_tasks(read_experiment(path)).values()) for path in paths)
    command = [sys.executable, "-m", "tests.kits.judge.family_pilots", url, *map(str, paths)]
    began, deaths = time.monotonic(), []
    for kill in range(KILLS):
        share = (kill + chance.uniform(0.05, 0.95)) / KILLS
        with subprocess.Popen(command) as worker:
            while (done := done_tasks(engine)) < share * planned:
                assert worker.poll() is None, "the family ended before the storm did"
                time.sleep(0.5)
            worker.kill()
        deaths.append((round(time.monotonic() - began, 1), round(done / planned, 3)))
    with subprocess.Popen(command) as last:
        assert last.wait(LONGEST) == 0
    return [*deaths, (round(time.monotonic() - began, 1), round(done_tasks(engine) / planned, 3))]


def done_tasks(engine: Engine) -> int:
    """How many tasks of all runs are done."""
    return sum(engine.progress(run.id).done for run in engine.queries.runs(100))


@pytest.mark.soak
def test_a_family_that_is_killed_ten_times_adds_up_and_makes_one_page(
    server: RehearsalThread, tmp_path: Path, tell: Tell
) -> None:
    url = str(tmp_path / "quire.db")
    paths = write_pilot_family(tmp_path, VENDORS, SAMPLES, EVIDENCE, *VARY)
    with open_engine(url, runtime=Doomed("never", 0)) as engine:
        deaths = kill_and_restart(engine, url, paths)
        comparison = prove_family(engine, paths, tmp_path / "tables")
        progress = [engine.progress(find_experiment_run(engine, str(path))) for path in paths]
    calls = [(entry.model, entry.route, it) for entry, it in billed_entries(server.entries())]
    total, cost = bill(calls), sum(now.cost_pico for now in progress)
    presumed = sum(now.presumed_pico for now in progress)
    answered, again = (sum(getattr(now, name) for now in progress) for name in ("calls", "resent"))

    assert cost <= total <= cost + presumed
    states = Counter[str]()
    for now in progress:
        states.update(now.counts)
    tell(
        f"\n{len(paths)} experiments, {sum(states.values()):,} tasks {dict(states)},"
        f" {answered:,} calls answered, {again:,} sent again"
        f"\n  {KILLS} kills, at seconds from the start and share of the tasks done; then the end:"
        f"\n  {deaths}"
        f"\n  the server billed {len(calls):,} calls, ${total / 10**12:.6f}; the ledger has"
        f" ${cost / 10**12:.6f} and presumes ${presumed / 10**12:.6f} of calls cut off in flight"
        f"\n  {len(comparison.contrasts)} contrasts on {tmp_path}/tables/page/comparison.html"
    )
