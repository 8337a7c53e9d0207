"""What failures hold up: exact runs wait for a waiver, others go on as far as they can."""

from collections.abc import Callable

import pytest

from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.states import RunState, TaskState
from quire.simulated.fault_scripts import parse_fault_script
from tests.pipeline.recipe_stages import task_outcomes, task_states
from tests.pipeline.taste_gate import (
    ALL_DONE,
    POINTS,
    SUMMARY,
    hold_kinds,
    set_taste,
    start_run,
    tasks_of,
)
from tests.world import World, until_rest

Worlds = Callable[..., World]


def test_in_an_exact_run_a_failure_holds_it_until_it_is_waived(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, completion_mode="exact", max_tries=1)
    until_rest(run)
    (task,) = [
        task_id
        for task_id, (state, _) in zip(
            tasks_of(here, run, "summary"), task_outcomes(here.engine, run, "summary"), strict=True
        )
        if state == TaskState.FAILED
    ]
    assert hold_kinds(run) == [HoldKind.FAILURES]
    assert task_states(here.engine, run)["points"] == {}

    assert run.waive(task) == 1
    assert run.waive(task) == 0
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    assert task_states(here.engine, run) == {
        "summary": {"done": 2, "failed": 1},
        "check": {"done": 2},
        "points": {"blocked": 2, "done": 4},
        "digest": {"done": 1},
    }
    reasons = {
        error
        for state, error in task_outcomes(here.engine, run, "points")
        if state == TaskState.BLOCKED
    }
    assert reasons == {f"task {task}, which it reads, is failed"}
    kinds = [event.kind for event in here.engine.queries.events(run.id)]
    assert kinds.count("waived") == 1


def test_a_waiver_lifts_no_hold_for_another_reason(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, completion_mode="exact", max_tries=1)
    until_rest(run)
    with here.engine.ledger.transaction() as tx:
        now, problem = here.runtime.now(), "another reason"
        assert tx.holds.add_hold(run.id, HoldCause.BATCH_REFUSED, now, batch=1, problem=problem)
        assert tx.holds.add_hold(run.id, HoldCause.PLUGIN, now, problem=problem)

    failed = zip(
        tasks_of(here, run, "summary"), task_outcomes(here.engine, run, "summary"), strict=True
    )
    assert sum(run.waive(task) for task, (state, _) in failed if state == TaskState.FAILED) == 1

    assert hold_kinds(run) == [HoldKind.PLUGIN, HoldKind.REFUSED]


def test_a_failure_that_nobody_waived_holds_the_run_again(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="Document")
    run = start_run(here, completion_mode="exact", max_tries=1)
    until_rest(run)
    first, *_ = tasks_of(here, run, "summary")

    run.waive(first)
    until_rest(run)

    assert hold_kinds(run) == [HoldKind.FAILURES]


def test_only_failed_tasks_of_one_exact_run_can_be_waived(world: Worlds) -> None:
    here = world()
    run = start_run(here, completion_mode="exact")
    run.wait()
    other = start_run(here, count=0, completion_mode="best_effort")
    other.wait()
    done, theirs = tasks_of(here, run, "summary")[0], tasks_of(here, other, "summary")[0]

    with pytest.raises(IllegalMove, match="is done, and only a failed one can be waived"):
        run.waive(done)
    with pytest.raises(IllegalMove, match="is best_effort: it goes on without failed tasks"):
        run.waive(theirs)
    with pytest.raises(UsageError, match=f"belong to runs {run.id}, {other.id}"):
        run.waive(done, theirs)
    with pytest.raises(NotFound, match="there is no task 9999"):
        run.waive(9999)


def test_waiving_a_task_that_its_critic_failed_waives_the_critic_too(world: Worlds) -> None:
    here = world()
    here.model.faults = parse_fault_script("wrong@number1")
    run = start_run(here, completion_mode="exact", max_tries=1)
    until_rest(run)
    task = tasks_of(here, run, "summary")[1]
    assert task_states(here.engine, run)["check"] == {"done": 2, "failed": 1}

    run.waive(task)

    assert run.wait().state == RunState.FINISHED


def test_retrying_an_exact_run_lifts_the_hold(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, completion_mode="exact", max_tries=1)
    until_rest(run)
    set_taste(here)

    assert run.retry() == 1
    run.wait()

    assert run.progress().state == RunState.FINISHED
    assert task_states(here.engine, run) == ALL_DONE


def test_by_best_effort_dependants_of_failures_are_blocked_and_the_rest_goes_on(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here, refuses="number1")

    run = start_run(here, max_tries=1)

    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run)["points"] == {"blocked": 2, "done": 4}


def test_for_throughput_a_stage_does_not_wait_for_all_of_the_one_before(world: Worlds) -> None:
    here = world(faults="hang@number2")
    run = start_run(here, stages=(SUMMARY, POINTS), completion_mode="throughput", call_timeout=4)

    here.engine.work(lambda: task_states(here.engine, run)["points"].get("done", 0) == 4)

    assert task_states(here.engine, run)["summary"] == {"done": 2, "packed": 1}


def test_a_failure_that_was_waived_and_retried_holds_the_run_when_it_fails_again(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, completion_mode="exact", max_tries=1)
    until_rest(run)
    run.waive(tasks_of(here, run, "summary")[1])
    run.wait()

    run.retry()
    until_rest(run)

    assert hold_kinds(run) == [HoldKind.FAILURES]
