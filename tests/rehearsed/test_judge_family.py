"""A small family of judge experiments through three vendors' batches, killed once, to one page."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.kits.judge.experiment_runs import start_experiment
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import rehearsal_server
from tests.crash.pace import VARIABLE, PacedClock
from tests.kits.judge.family_pilots import BATCHED, prove_family, run_family, write_pilot_family
from tests.kits.judge.pilots import SLIPS, bill
from tests.rehearsed.rehearsed import BASES, KEYS, VENDORS, ByClock, Rehearsed, billed_entries
from tests.time_limits import PATIENCE

SPEED, LEASE = 240.0, 2400.0


@pytest.fixture
def clock() -> PacedClock:
    """The time of this test, at the server and in every process."""
    return PacedClock(SPEED)


@pytest.fixture
def here(clock: PacedClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsed]:
    """An engine and a server of its own, both of which other processes find."""
    with rehearsal_server(
        models=CATALOG, clock=clock, batch_latency="20s", faults=f"{SLIPS},seed=4"
    ) as server:
        environment = {**KEYS, **{name: server.url + path for name, path in BASES.items()}}
        environment |= {"QUIRE_POLL": "20", "QUIRE_LEASE": str(LEASE), "NO_PROXY": "*"}
        for name, value in {**environment, "TMPDIR": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        url = str(tmp_path / "quire.db")
        made = Rehearsed(url, runtime=ByClock(clock), server=server, lease=LEASE, poll=20.0)
        yield made
        made.close()


def test_a_family_that_is_killed_goes_on_shares_and_makes_one_page(
    here: Rehearsed, clock: PacedClock, warm: list[str], tmp_path: Path
) -> None:
    models = VENDORS[:2]
    vary = ("scale_size=3,4", "evidence_view=raw,cleaned")
    paths = write_pilot_family(tmp_path, models, 2, 2, *vary)
    first = start_experiment(here.engine, paths[0], **BATCHED)  # type: ignore[arg-type]
    command = [*warm, "tests.crash.victim", here.url, str(first.id), "after_create", "1", ""]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(clock.pace))
        ended = subprocess.run(command, timeout=PATIENCE, check=False).returncode

    runs = run_family(here.engine, paths)
    comparison = prove_family(here.engine, paths, tmp_path / "tables")

    assert ended == -signal.SIGKILL
    assert runs[0].id == first.id
    assert (tmp_path / "tables" / "page" / "comparison.html").exists()
    assert {contrast.varies for contrast in comparison.contrasts} == {
        ("scale_size",),
        ("evidence_view",),
    }
    progress = [run.progress() for run in runs]
    cost = sum(now.cost_pico for now in progress)
    calls = [(entry.model, entry.route, it) for entry, it in billed_entries(here.server.entries())]
    assert cost <= bill(calls) <= cost + sum(now.presumed_pico for now in progress)
    rubrics = len(models) * 2 * 2  # models × samples, and a critic of each
    assert progress[1].calls < progress[0].calls
    assert progress[3].calls <= progress[2].calls - rubrics + 2  # slips are asked again
