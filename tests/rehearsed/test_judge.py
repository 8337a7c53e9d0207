"""Judge experiments through three vendors' batches, with slips, faults and kills on the way."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.kits.judge.experiment_runs import start_experiment
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import rehearsal_server
from tests.crash.pace import VARIABLE, PacedClock
from tests.kits.judge.pilots import SLIPS, bill, prove, write_pilot
from tests.rehearsed.rehearsed import BASES, KEYS, VENDORS, ByClock, Rehearsed, billed_entries
from tests.time_limits import PATIENCE, at_most

SPEED = 240.0  # times real time
LEASE = 2400.0
FAULTS = f"{SLIPS},batch_shuffle=0.5,batch_duplicate=0.5,batch_expire@1,batch_truncate@1,seed=4"
DEATHS = ("after_intent", "after_create", "after_rows", "after_collect")  # each may come early


@pytest.fixture
def clock() -> PacedClock:
    """The time of this test, at the server and in every process."""
    return PacedClock(SPEED)


@pytest.fixture
def here(
    ledger_url: str, clock: PacedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rehearsed]:
    """An engine and a server of its own, both of which other processes find."""
    with rehearsal_server(
        models=CATALOG, clock=clock, batch_latency="20s", faults=FAULTS
    ) as server:
        environment = {**KEYS, **{name: server.url + path for name, path in BASES.items()}}
        environment |= {"QUIRE_POLL": "20", "QUIRE_LEASE": str(LEASE), "NO_PROXY": "*"}
        environment["TMPDIR"] = str(tmp_path)  # the killed leave their files behind
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        made = Rehearsed(ledger_url, runtime=ByClock(clock), server=server, lease=LEASE, poll=20.0)
        yield made
        made.close()


def die(warm: list[str], here: Rehearsed, clock: PacedClock, run: int, point: str) -> int:
    """Let a process work on a run until it dies at a point; returns how it ended."""
    command = [*warm, "tests.crash.victim", here.url, str(run), point, "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(clock.pace))
        return subprocess.run([*command, ""], timeout=PATIENCE, check=False).returncode


@pytest.mark.parametrize("kind", ["ecc", "control"])
def test_a_pilot_that_is_killed_and_started_again_adds_up(
    here: Rehearsed, clock: PacedClock, warm: list[str], tmp_path: Path, kind: str
) -> None:
    path = write_pilot(tmp_path, kind, VENDORS, samples=2, evidence=3)
    run = start_experiment(here.engine, path, route="batch", min_batch_size=2)

    ended = [die(warm, here, clock, run.id, point) for point in DEATHS]
    finished = run.wait(at_most())  # this process takes over

    assert set(ended) == {-signal.SIGKILL}
    prove(here.engine, run.id, tmp_path / "tables")
    calls = [
        (entry.model, entry.route, usage) for entry, usage in billed_entries(here.server.entries())
    ]
    assert {route for _, route, _ in calls} >= {"batch"}
    assert finished.cost_pico <= bill(calls) <= finished.cost_pico + finished.presumed_pico
