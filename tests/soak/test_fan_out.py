"""One task fans out to a thousand and to a million: streamed, linear, and whole after a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from tests.pipeline.recipe_stages import SMALL
from tests.soak.fan_out_process import fan_out_recipe
from tests.world import World

Worlds = Callable[..., World]

pytestmark = pytest.mark.soak

WIDTH = int(os.environ.get("QUIRE_SOAK_WIDTH", "1000"))
MOST_MEMORY = 500 * 2**20
MOST_GROWTH = 2.0  # CPU per task of the last tenth, against that of the second


def read_reports(here: World, run: int, until: int | None = None) -> Iterator[dict[str, float]]:
    """What an expanding process tells; it is killed once it has made so many."""
    command = [sys.executable, "-m", "tests.soak.fan_out_process", here.url, str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            report: dict[str, float] = json.loads(line)
            yield report
            if until is not None and report["made"] >= until:
                process.send_signal(signal.SIGKILL)
                return


def test_a_million_tasks_are_made_in_little_memory_and_once(world: Worlds) -> None:
    here = world()
    here.ingest(["One document."])
    run = here.engine.run(recipe=fan_out_recipe(WIDTH), model=SMALL, completion_mode="throughput")

    first = list(read_reports(here, run.id, until=WIDTH * WIDTH // 2))
    second = list(read_reports(here, run.id))

    sys.stdout.writelines(f"{record}\n" for record in (*first, *second))
    with here.engine.ledger.snapshot() as tx:
        stages = {run_stage.name: run_stage for run_stage in tx.runs.stages_of_run(run.id)}
        counted = {
            name: sum(tx.tallies.recount_tasks(stage.id).values()) for name, stage in stages.items()
        }
    assert counted["one"] == 1
    assert counted["many"] == WIDTH
    assert counted["most"] == WIDTH * WIDTH
    assert stages["most"].expanded == WIDTH * WIDTH
    assert max(record["peak"] for record in (*first, *second)) < MOST_MEMORY
    assert growth(first) < MOST_GROWTH


def growth(reports: list[dict[str, float]]) -> float:
    """CPU per task of the last stretch of a process, against that of its first."""
    steps = [
        (later["cpu"] - sooner["cpu"]) / (later["made"] - sooner["made"])
        for sooner, later in pairwise(reports)
        if later["made"] - sooner["made"] > 0 and later["cpu"] > sooner["cpu"]
    ]
    return max(1e-12, steps[-1]) / max(1e-12, steps[0])
