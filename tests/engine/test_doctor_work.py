"""The doctor says who works, which runs do not move and why, and what the limits allow."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quire.dispatch.outside import Outside, host_name
from quire.domain.groupings import Driver
from quire.domain.limits import Level, Pool
from quire.domain.models import Limits
from quire.domain.runs import HoldKind
from quire.domain.version import VERSION
from quire.engine.looking import Looking
from quire.providers.catalog import find_model
from tests.engine.patients import Later, found, standings
from tests.pipeline.dishes import SMALL, recipe, text_stage
from tests.pipeline.test_strangers import plug
from tests.world import World, sentences

Worlds = Callable[..., World]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of one's own."""
    monkeypatch.chdir(tmp_path)


def test_dead_workers_and_those_of_another_version_are_named(world: Worlds) -> None:
    here = world()
    now = Outside().now()
    with here.engine.ledger.transaction() as tx:
        old = tx.workers.add("elsewhere", 1, "0.0.1", now)
        silent = tx.workers.add("elsewhere", 2, VERSION, now - timedelta(hours=1))
        killed = tx.workers.add(host_name(), 2**22 + 5, VERSION, now)

    alive, other, dead = found(here, "workers")

    assert alive.said == "1 alive, 0 calls in flight"
    assert f"worker {old} (process 1) is of Quire 0.0.1" in other.said
    assert f"2 workers died without signing off ({silent}, {killed})" in dead.said
    assert "takes over by itself" in dead.fix


def test_a_worker_from_the_future_is_a_matter_of_clocks(world: Worlds) -> None:
    here = world()
    with here.engine.ledger.transaction() as tx:
        tx.workers.add("elsewhere", 1, VERSION, Outside().now() + timedelta(hours=1))

    assert "in the future" in found(here, "clock")[-1].said


def test_runs_that_do_not_move_are_named_with_their_reason(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    waiting = here.start()
    (unattended,) = found(here, "runs")
    with here.engine.ledger.transaction() as tx:
        tx.workers.add("elsewhere", 1, VERSION, Outside().now() + timedelta(minutes=10))
    (stalled,) = found(here, "runs", outside=Later(minutes=10))
    with here.engine.ledger.transaction() as tx:
        tx.holds.add(waiting.id, HoldKind.CREDENTIAL, "no key for openai", Outside().now())
    (held,) = found(here, "runs")

    assert "no worker is running" in unattended.said
    assert "quire work" in unattended.fix
    assert (stalled.standing, "stalled: 1 worker" in stalled.said) == ("problem", True)
    assert "held (credential): no key for openai" in held.said
    assert f"quire resume {waiting.id}" in held.fix


def test_a_run_that_was_paused_on_purpose_is_no_warning(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    here.start().pause()

    assert standings(found(here, "runs")) == ["ok"]


def test_known_limits_are_told(world: Worlds) -> None:
    here = world()
    pool = Pool("openai/gpt-5.6-luna", 0)
    with here.engine.ledger.transaction() as tx:
        tx.levels.add(pool, Level(1, 1, 1, 1, 1))
        tx.levels.learn(pool, Limits(requests=500, input=200_000), Outside().now())

    (told,) = found(here, "limits")

    assert told.said == "openai/gpt-5.6-luna: 500 requests, 200,000 input tokens a minute"


def test_limits_that_a_further_model_was_told_are_known(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.start()
    further = replace(find_model(SMALL), name="openai/narrow", limits=Limits(requests=7))
    with here.engine.ledger.transaction() as tx:
        tx.lineage.add_models(run.id, [(further.name, further.as_json())])
        tx.levels.add(Pool(further.name, 0), Level(1, 1, 1, 1, 1))

    (told,) = found(here, "limits")

    assert told.said == "openai/narrow: 7 requests a minute"


def test_a_run_is_described_by_the_groupings_that_packages_brought(world: Worlds) -> None:
    here = world()
    here.ingest(["Alpha speaks."], "alpha")
    here.ingest(["Beta speaks."], "beta")
    plug(here, driver=Driver.RESULT)
    here.engine.look = Looking(here.engine.ledger, here.engine.registry)
    dish = recipe(
        text_stage("first", "each_document", "{{ document.text }}"),
        text_stage("w", "weird", "{{ inputs.first.text }}", of="first"),
    )
    here.engine.cook(dish, model=SMALL, limit=1).wait()

    (told,) = found(here, "runs")

    assert "--limit 1 is reached" in told.said
