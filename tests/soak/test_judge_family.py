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

from quire.engine import open_engine
from quire.kits.judge.experiment_runs import find_experiment_run
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


def kill_and_restart(url: str, paths: list[Path]) -> list[float]:
    """Run the family in processes, ten of which are killed; how long each lived."""
    chance = random.Random(5)
    command = [sys.executable, "-m", "tests.kits.judge.family_pilots", url, *map(str, paths)]
    lives = []
    for _ in range(KILLS):
        born = time.monotonic()
        with subprocess.Popen(command) as worker:
            time.sleep(chance.uniform(3.0, 12.0))
            assert worker.poll() is None, "the family ended before the storm did"
            worker.kill()
        lives.append(round(time.monotonic() - born, 1))
    born = time.monotonic()
    with subprocess.Popen(command) as last:
        assert last.wait(LONGEST) == 0
    return [*lives, round(time.monotonic() - born, 1)]


@pytest.mark.soak
def test_a_family_that_is_killed_ten_times_adds_up_and_makes_one_page(
    server: RehearsalThread, tmp_path: Path, tell: Tell
) -> None:
    url = str(tmp_path / "quire.db")
    paths = write_pilot_family(tmp_path, VENDORS, SAMPLES, EVIDENCE, *VARY)
    lives = kill_and_restart(url, paths)

    with open_engine(url, runtime=Doomed("never", 0)) as engine:
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
        f"\n  {KILLS} kills; seconds of each process's life: {lives}"
        f"\n  the server billed {len(calls):,} calls, ${total / 10**12:.6f}; the ledger has"
        f" ${cost / 10**12:.6f} and presumes ${presumed / 10**12:.6f} of calls cut off in flight"
        f"\n  {len(comparison.contrasts)} contrasts on {tmp_path}/tables/page/comparison.html"
    )
