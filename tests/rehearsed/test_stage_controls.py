"""Steering runs of several stages whose calls travel in batches."""

from collections.abc import Callable

import pytest

from quire.domain.reasons import HoldKind
from quire.domain.states import RunState
from quire.engine import RunHandle
from tests.pipeline.recipe_stages import recipe, task_states, text_stage
from tests.pipeline.taste_gate import hold_kinds
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, QuickClock, Rehearsed, billed_entries

STAGES = (
    text_stage("first", "each_document", "Sum up:\n{{ document.text }}"),
    text_stage("check", "each_result", "Well? {{ judged.answer }}", of="first", critic="record"),
    text_stage("second", "each_result", "More: {{ inputs.first.text }}", of="first"),
)
COUNT = 12
ALL = {"first": {"done": COUNT}, "check": {"done": COUNT}, "second": {"done": COUNT}}


@pytest.fixture
def batched(rehearse: Rehearse, ledger_url: str) -> Callable[[], tuple[Rehearsed, RunHandle]]:
    """A run of three stages over twelve documents, through batches, on either database."""

    def make() -> tuple[Rehearsed, RunHandle]:
        here = rehearse(OPENAI, clock=QuickClock(60), batch_latency="20s", url=ledger_url)
        for number in range(COUNT):
            here.ingest([f"Document {number} speaks of itself."], f"doc{number}")
        run = here.engine.run(recipe=recipe(*STAGES), model=OPENAI, route="batch", min_batch_size=2)
        return here, run

    return make


Batched = Callable[[], tuple[Rehearsed, RunHandle]]


def out(here: Rehearsed, run: RunHandle, stage: str) -> bool:
    """Whether a batch of this stage is at the provider."""
    with here.engine.ledger.snapshot() as tx:
        key = next(
            run_stage.id for run_stage in tx.runs.stages_of_run(run.id) if run_stage.name == stage
        )
        lanes = [item.id for item in tx.requests.lanes_of_run(run.id) if item.stage_id == key]
        found = [batch for lane in lanes for batch in tx.batches.open_batches_of_lane(lane)]
    return bool(found) and run.progress().batches > 0


def paid(here: Rehearsed, run: RunHandle) -> None:
    """What was spent is what the attempts say."""
    with here.engine.ledger.snapshot() as tx:
        now = run.progress()
        assert tx.attempts.spend_of_run(run.id) == (now.cost_pico, now.presumed_pico)


@pytest.mark.parametrize("stage", ["first", "check", "second"])
def test_cancelling_while_a_batch_is_out_ends_with_what_was_paid_for(
    batched: Batched, stage: str
) -> None:
    here, run = batched()
    here.engine.work(lambda: out(here, run, stage))

    run.cancel()
    ended = run.wait()

    assert ended.state == "cancelled"
    for counts in task_states(here.engine, run).values():
        assert set(counts) <= {"done", "cancelled"}
    paid(here, run)


@pytest.mark.parametrize("stage", ["first", "check", "second"])
def test_pausing_while_a_batch_is_out_collects_it_and_sends_nothing_more(
    batched: Batched, stage: str
) -> None:
    here, run = batched()
    here.engine.work(lambda: out(here, run, stage))
    run.pause()

    here.engine.drive(run.id)
    assert [hold.kind for hold in run.progress().holds] == [HoldKind.USER]
    run.resume()

    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == ALL
    paid(here, run)


@pytest.mark.parametrize("stage", ["first", "check", "second"])
def test_a_rerun_while_a_batch_is_out_counts_only_new_answers(batched: Batched, stage: str) -> None:
    here, run = batched()
    here.engine.work(lambda: out(here, run, stage))

    owed = run.rerun("first")
    assert owed >= COUNT
    ended = run.wait()

    found = {name: counts["done"] for name, counts in task_states(here.engine, run).items()}
    assert ended.state == RunState.FINISHED
    assert (found["first"], found["second"]) == (COUNT, COUNT)
    assert found["check"] in (COUNT, 2 * COUNT)
    with here.engine.ledger.snapshot() as tx:
        assert tx.lineage.count_stale(run.id) == {}
    paid(here, run)


def test_a_run_through_batches_stops_after_a_stage(batched: Batched) -> None:
    here, run = batched()
    run.stop_after("first")

    run.wait()

    assert task_states(here.engine, run) == {**ALL, "second": {}}
    assert run.progress().batches == 0
    run.resume()
    assert run.wait().state == RunState.FINISHED


def test_a_run_through_batches_stops_after_a_critic(batched: Batched) -> None:
    here, run = batched()
    here.engine.work(lambda: out(here, run, "check"))
    run.stop_after("check")

    run.wait()

    assert task_states(here.engine, run) == {**ALL, "second": {}}
    assert run.progress().batches == 0
    run.stop_after(None)
    assert run.wait().state == RunState.FINISHED
    paid(here, run)


@pytest.mark.parametrize("point", ["after_draft", "after_intent", "after_upload"])
def test_a_batch_on_its_way_is_not_made_once_its_run_is_to_stop_before_it(
    batched: Batched, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, run = batched()
    stopped: list[bool] = []

    def stop(reached: str) -> None:
        if stopped or reached != point:
            return
        if task_states(here.engine, run)["second"].get("packed") and run.progress().batches:
            stopped.append(run.stop_after("check"))

    monkeypatch.setattr(here.engine.context.runtime, "reach", stop)
    run.wait()

    assert hold_kinds(run) == [HoldKind.STOP_AFTER]
    assert task_states(here.engine, run) == {**ALL, "second": {"packed": COUNT}}
    assert len(list(billed_entries(here.server.entries()))) == 2 * COUNT
    assert not out(here, run, "second")
    assert run.resume()
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == ALL
    paid(here, run)
