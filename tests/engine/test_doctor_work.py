"""The doctor says who works, which runs do not move and why, and what the limits allow."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quire.dispatch.runtime import Runtime, host_name
from quire.domain.accounts import Level, Pool
from quire.domain.groupings import Driver
from quire.domain.models import Limits
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.version import VERSION
from quire.domain.wording import hold_text
from quire.engine.doctor.work_checks import ON_PURPOSE, OTHER_CURE
from quire.pipeline.contexts import Contexts
from quire.providers.catalog import find_model
from tests.engine.installations import Later, findings_of, severities
from tests.pipeline.recipe_stages import SMALL, recipe, text_stage
from tests.pipeline.test_plugin_holds import plug
from tests.world import World, sentences

Worlds = Callable[..., World]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder of one's own."""
    monkeypatch.chdir(tmp_path)


def test_dead_workers_and_those_of_another_version_are_named(world: Worlds) -> None:
    here = world()
    now = Runtime().now()
    with here.engine.ledger.transaction() as tx:
        old = tx.workers.add_worker("elsewhere", 1, "0.0.1", now)
        silent = tx.workers.add_worker("elsewhere", 2, VERSION, now - timedelta(hours=1))
        killed = tx.workers.add_worker(host_name(), 2**22 + 5, VERSION, now)

    alive, other, dead = findings_of(here, "workers")

    assert alive.message == "1 alive, 0 calls in flight"
    assert f"worker {old} (process 1) is of Quire 0.0.1" in other.message
    assert f"2 workers died without signing off ({silent}, {killed})" in dead.message
    assert "takes over by itself" in dead.fix


def test_a_worker_from_the_future_is_a_matter_of_clocks(world: Worlds) -> None:
    here = world()
    with here.engine.ledger.transaction() as tx:
        tx.workers.add_worker("elsewhere", 1, VERSION, Runtime().now() + timedelta(hours=1))

    assert "in the future" in findings_of(here, "clock")[-1].message


def test_runs_that_do_not_move_are_named_with_their_reason(world: Worlds) -> None:
    here = world(lease=30.0)
    here.ingest(sentences(5))
    waiting = here.start()
    (unattended,) = findings_of(here, "runs")
    with here.engine.ledger.transaction() as tx:
        tx.workers.add_worker("elsewhere", 1, VERSION, Runtime().now() + timedelta(minutes=10))
    (stalled,) = findings_of(here, "runs", runtime=Later(minutes=10))
    with here.engine.ledger.transaction() as tx:
        missing = "no key for openai"
        tx.holds.add_hold(waiting.id, HoldCause.NO_KEY, Runtime().now(), problem=missing)
    (held,) = findings_of(here, "runs")

    assert "no worker is running" in unattended.message
    assert "quire work" in unattended.fix
    assert (stalled.severity, "stalled: 1 worker" in stalled.message) == ("problem", True)
    assert "held (credential): no key for openai" in held.message
    assert f"quire resume {waiting.id}" in held.fix


@pytest.mark.parametrize("cause", [cause for cause in HoldCause if cause.kind not in ON_PURPOSE])
def test_what_a_hold_says_itself_is_not_said_again(cause: HoldCause) -> None:
    names = (
        "problem",
        "stage",
        "failed",
        "tasks",
        "provider",
        "variables",
        "batch",
        "rows",
        "odd",
        "last",
        "model",
        "until",
        "calls",
        "minutes",
        "since",
        "wallet",
    )
    counts = {"lines": 1, "number": 2, "of": 3, "percent": 67, "run": 7}
    text = hold_text(cause, {**dict.fromkeys(names, "x"), **counts})
    cure = "retry" if cause.kind is HoldKind.UNDECODABLE else "resume"

    assert (f"`quire {cure} 7`" in text) is (cause not in OTHER_CURE)


def test_a_run_that_was_paused_on_purpose_is_no_warning(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    here.start().pause()

    assert severities(findings_of(here, "runs")) == ["ok"]


def test_known_limits_are_told(world: Worlds) -> None:
    here = world()
    pool = Pool("openai/gpt-5.6-luna", 0)
    with here.engine.ledger.transaction() as tx:
        tx.levels.add_limit_level(pool, Level(1, 1, 1, 1, 1))
        tx.levels.learn_limits(pool, Limits(requests=500, input=200_000), Runtime().now())

    (finding,) = findings_of(here, "limits")

    assert finding.message == "openai/gpt-5.6-luna: 500 requests, 200,000 input tokens a minute"


def test_limits_that_a_further_model_was_told_are_known(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.start()
    further = replace(find_model(SMALL), name="openai/narrow", limits=Limits(requests=7))
    with here.engine.ledger.transaction() as tx:
        tx.lineage.add_run_models(run.id, [(further.name, further.as_json())])
        tx.levels.add_limit_level(Pool(further.name, 0), Level(1, 1, 1, 1, 1))

    (finding,) = findings_of(here, "limits")

    assert finding.message == "openai/narrow: 7 requests a minute"


def test_a_run_is_described_by_the_groupings_that_packages_brought(world: Worlds) -> None:
    here = world()
    here.ingest(["Alpha speaks."], "alpha")
    here.ingest(["Beta speaks."], "beta")
    plug(here, driver=Driver.RESULT)
    here.engine.context.contexts = Contexts(here.engine.registry)
    two_stages = recipe(
        text_stage("first", "each_document", "{{ document.text }}"),
        text_stage("w", "weird", "{{ inputs.first.text }}", of="first"),
    )
    here.engine.run(recipe=two_stages, model=SMALL, limit=1).wait()

    (finding,) = findings_of(here, "runs")

    assert "--limit 1 is reached" in finding.message
