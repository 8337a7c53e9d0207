"""Runs of several stages: stopped, paused, cancelled; and every command acts once."""

from collections.abc import Callable

import pytest

from quire.domain.errors import IllegalMove, LedgerUnavailable, NotFound, UsageError
from quire.domain.ids import RunId
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.runs import Progress
from quire.domain.states import RunState
from quire.engine import RunHandle
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.control import COMMAND_TRIES, transact_with_retry
from tests.pipeline.recipe_stages import recipe, task_states
from tests.pipeline.taste_gate import (
    ALL_DONE,
    CHAIN,
    CHECK,
    DIGEST,
    POINTS,
    SUMMARY,
    hold_kinds,
    set_taste,
    start_run,
    tasks_of,
)
from tests.world import World, until_rest

Worlds = Callable[..., World]


@pytest.mark.parametrize(
    ("stage", "done"),
    [
        ("summary", {"summary": {"done": 3}, "check": {"done": 3}, "points": {}, "digest": {}}),
        ("points", {**ALL_DONE, "digest": {}}),
    ],
)
def test_a_run_stops_after_a_stage_and_its_critics_and_goes_on_from_another_process(
    world: Worlds, stage: str, done: dict[str, dict[str, int]]
) -> None:
    here = world()
    run = start_run(here)
    assert run.stop_after(stage)

    run.wait()

    assert hold_kinds(run) == [HoldKind.STOP_AFTER]
    assert task_states(here.engine, run) == done
    there = world()
    set_taste(there)
    again = there.engine.get(run.id)
    assert again.resume()
    assert again.wait().state == RunState.FINISHED
    assert task_states(there.engine, again) == ALL_DONE


def test_a_stage_after_the_stop_does_not_run_ahead(world: Worlds) -> None:
    here = world()
    run = start_run(here, completion_mode="throughput", stop_after="summary")

    run.wait()

    assert task_states(here.engine, run)["points"] == {}


def test_a_run_that_stops_after_its_last_stage_just_ends(world: Worlds) -> None:
    run = start_run(world(), stop_after="digest")

    assert run.wait().state == RunState.FINISHED


def test_a_wish_to_stop_can_be_moved_and_taken_back(world: Worlds) -> None:
    here = world()
    run = start_run(here, stop_after="summary")
    run.wait()

    assert run.stop_after("points")
    run.wait()
    assert hold_kinds(run) == [HoldKind.STOP_AFTER]
    assert task_states(here.engine, run)["points"] == {"done": 6}
    assert run.stop_after(None)
    assert not run.stop_after(None)
    assert run.wait().state == RunState.FINISHED


def test_resuming_a_pause_keeps_the_wish_to_stop(world: Worlds) -> None:
    here = world()
    run = start_run(here, stop_after="summary")
    run.pause()
    run.wait()

    run.resume()
    run.wait()

    assert hold_kinds(run) == [HoldKind.STOP_AFTER]


def test_a_limit_that_would_not_hold_back_what_follows_a_stop_is_refused(world: Worlds) -> None:
    here = world()
    run = start_run(here, stop_after="summary")
    run.wait()
    asked = here.model.calls

    with pytest.raises(UsageError, match="begun with more than that, and --limit 1 would not hold"):
        start_run(here, limit=1)

    assert here.model.calls == asked
    assert start_run(here, limit=3).wait().state == RunState.FINISHED


def test_the_same_order_without_the_wish_goes_on(world: Worlds) -> None:
    here = world()
    run = start_run(here, stop_after="summary")
    run.wait()

    again = start_run(here, count=0)

    assert again.id == run.id
    assert again.wait().state == RunState.FINISHED


def test_stopping_after_what_is_not_there_or_is_over_is_refused(world: Worlds) -> None:
    run = start_run(world())

    with pytest.raises(NotFound, match="no stage 'sumary'; stages: summary, check, points, digest"):
        run.stop_after("sumary")
    run.wait()
    with pytest.raises(IllegalMove, match="is finished; there is nothing to stop"):
        run.stop_after("points")


@pytest.mark.parametrize("stage", ["summary", "check", "points", "digest"])
def test_a_run_paused_at_any_stage_goes_on_in_another_process(world: Worlds, stage: str) -> None:
    here = world()
    run = start_run(here)
    place = [item.name for item in CHAIN].index(stage)
    paused: list[bool] = []

    def has_come() -> bool:
        return any(_has_begun(here, run, item.name) for item in CHAIN[place:])

    def pause() -> bool:
        if has_come() and not paused:
            paused.append(run.pause())
        return bool(paused)

    here.model.hold = lambda number: not paused and has_come()  # else it may be over by then
    here.engine.work(pause)
    run.wait()
    calls = here.model.calls
    assert hold_kinds(run) == [HoldKind.USER]

    there = world()
    set_taste(there)
    again = there.engine.get(run.id)
    again.resume()

    assert again.wait().state == RunState.FINISHED
    assert task_states(there.engine, again) == ALL_DONE
    assert calls + there.model.calls == 13


def _has_begun(here: World, run: RunHandle, stage: str) -> bool:
    return any(count for count in task_states(here.engine, run)[stage].values())


def test_cancelling_in_the_middle_keeps_what_was_paid_for(world: Worlds) -> None:
    here = world()
    run = start_run(here, concurrency=1)
    cancelled: list[bool] = []
    here.model.hold = lambda number: number > 3 + 3 + 2 and not cancelled

    def cancel(progress: Progress) -> None:
        if here.model.calls > 3 + 3 + 2 and not cancelled:
            cancelled.append(run.cancel())

    ended = run.wait(cancel)

    found = task_states(here.engine, run)
    assert ended.state == "cancelled"
    assert found["summary"] == {"done": 3}
    assert set(found["points"]) <= {"done", "cancelled"}
    assert sum(record.get("done", 0) for record in found.values()) == here.model.calls
    with here.engine.ledger.snapshot() as tx:
        assert tx.attempts.spend_of_run(run.id) == (ended.cost_pico, 0)


def test_the_same_command_acts_once(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, completion_mode="exact", max_tries=1)
    engine, task = here.engine, None
    until_rest(run)
    task = tasks_of(here, run, "summary")[1]

    assert engine.waive([task], command="a") == 1
    assert engine.waive([task], command="a") == 0
    assert engine.stop_after(run.id, "points", command="b")
    assert not engine.stop_after(run.id, None, command="b")
    assert engine.retry(run.id, command="c") == 1
    assert engine.retry(run.id, command="c") == 0
    engine.drive(run.id)
    set_taste(here)
    assert engine.retry(run.id, command="d") == 1
    engine.drive(run.id)
    assert engine.rerun(run.id, "points", command="e") == 6
    assert engine.rerun(run.id, "points", command="e") == 0


@pytest.mark.parametrize("in_the_way", [1, 3, 9])
def test_a_command_that_the_database_undid_is_carried_out_again(
    world: Worlds, in_the_way: int
) -> None:
    here = world()
    run = start_run(here)
    tried = []

    def act(tx: Transaction) -> bool:
        tried.append(tx.holds.add_hold(run.id, HoldCause.PAUSED, here.runtime.now()))
        if len(tried) <= in_the_way:
            raise LedgerUnavailable("deadlock detected")
        return True

    if in_the_way < COMMAND_TRIES:
        assert transact_with_retry(here.engine.ledger, act)
        assert hold_kinds(run) == [HoldKind.USER]
    else:
        with pytest.raises(LedgerUnavailable):
            transact_with_retry(here.engine.ledger, act)
        assert hold_kinds(run) == []
    assert tried == [True] * min(in_the_way + 1, COMMAND_TRIES)


def test_steering_a_run_of_stages_that_does_not_exist_says_so(world: Worlds) -> None:
    engine = world().engine

    for command in (
        lambda: engine.stop_after(RunId(7), "a"),
        lambda: engine.rerun(RunId(7), "a"),
        lambda: engine.regate(RunId(7)),
        lambda: engine.retry(RunId(7), stale=True),
    ):
        with pytest.raises(NotFound, match="there is no run 7"):
            command()
    assert recipe(SUMMARY, CHECK, POINTS, DIGEST).stages == CHAIN
