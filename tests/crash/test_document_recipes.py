"""Long documents in a life of crashes: whoever dies, in either route, the same comes out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quire.domain.states import RunState
from quire.engine import Engine, RunHandle
from quire.engine.context import make_context
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import rehearsal_server
from tests.crash import test_batch_simulation as batches
from tests.crash.test_batch_simulation import Fate, MortalLedger
from tests.crash.test_recipe_simulation import drive_until_the_end
from tests.crash.test_simulation import Mortal
from tests.pipeline.test_money import assert_counts_agree
from tests.recipes.document_recipes import (
    CUT,
    DIALECTIC_COUNTS,
    REPORT_COUNTS,
    order_dialectic,
    order_report,
    stage_counts,
    stage_texts,
)
from tests.rehearsed.rehearsed import BASES, KEYS, OPENAI, VENDORS, QuickClock, Rehearsed
from tests.world import World

LIVES = 300  # after which nobody believes in an end


def test_a_dialectic_whose_workers_die_writes_what_it_writes_undisturbed(tmp_path: Path) -> None:
    calm, runtime = World(str(tmp_path / "calm.db")), Mortal(1, chance=0.02)
    undisturbed = order_dialectic(calm.engine)
    undisturbed.wait()
    here = World(str(tmp_path / "mortal.db"), CUT, runtime)
    run = order_dialectic(here.engine)

    drive_until_the_end(here, run.id, runtime)

    written = stage_texts(here.engine, run.id)
    assert len(runtime.deaths) >= 10
    assert stage_counts(written) == DIALECTIC_COUNTS
    assert written == stage_texts(calm.engine, undisturbed.id)
    calm.close()
    here.close()


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Rehearsed, Fate]]:
    """An engine that dies at any commit, and a server that cuts every answer."""
    clock, fate = QuickClock(batches.SPEED), Fate(1, chance=0.02)
    with rehearsal_server(models=CATALOG, clock=clock, faults=CUT, batch_latency="20s") as server:
        environment = {**KEYS, **{name: server.url + path for name, path in BASES.items()}}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        made = Rehearsed(str(tmp_path / "mortal.db"), server=server, lease=600.0, poll=10.0)
        made.close()
        runtime = batches.Mortal(clock, fate)
        ledger = MortalLedger(made.url, fate)
        made.engine = Engine(make_context(made.engine.settings, ledger, runtime))
        yield made, fate
        made.close()


def drive_batches_until_the_end(here: Rehearsed, run: RunHandle, fate: Fate) -> None:
    """Let one process after another work and die until nothing is left to do; check each time."""
    runtime = here.engine.context.runtime
    assert isinstance(runtime, batches.Mortal)
    clock = runtime._clock
    assert isinstance(clock, QuickClock)
    for _ in range(LIVES):
        with fate.life(clock):
            here.engine.drive(run.id, batches=True)
        assert_counts_agree(here, run.id)
        progress = run.progress()
        if progress.state == RunState.FINISHED and not progress.batches:
            return
    raise AssertionError(f"never finished: {run.progress()}, {fate.deaths}")


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the dead close nothing
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # and say so late
def test_a_report_in_batches_whose_workers_die_is_the_same_report(
    mortal: tuple[Rehearsed, Fate],
) -> None:
    here, fate = mortal
    undisturbed = order_report(here.engine, OPENAI)
    undisturbed.wait()
    run = order_report(here.engine, OPENAI, new=True, route="batch", min_batch_size=1)

    drive_batches_until_the_end(here, run, fate)

    written = stage_texts(here.engine, run.id)
    assert fate.deaths
    assert stage_counts(written) == REPORT_COUNTS
    assert written == stage_texts(here.engine, undisturbed.id)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the dead close nothing
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # and say so late
def test_a_dialectic_in_batches_whose_workers_die_writes_the_same(
    mortal: tuple[Rehearsed, Fate],
) -> None:
    here, fate = mortal
    undisturbed = order_dialectic(here.engine, *VENDORS)
    undisturbed.wait()
    how: dict[str, Any] = {"route": "batch", "min_batch_size": 1, "reuse": False}
    run = order_dialectic(here.engine, *VENDORS, new=True, **how)

    drive_batches_until_the_end(here, run, fate)

    written = stage_texts(here.engine, run.id)
    assert len(fate.deaths) >= 10
    assert stage_counts(written) == DIALECTIC_COUNTS
    assert written == stage_texts(here.engine, undisturbed.id)
