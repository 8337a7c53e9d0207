"""Retrying: what failed, whose critic failed, what was blocked, and what has gone stale."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.errors import NotFound
from quire.domain.states import RunState
from quire.simulated.fault_scripts import NO_FAULTS, parse_fault_script
from tests.pipeline.recipe_stages import task_outcomes, task_states
from tests.pipeline.taste_gate import (
    ALL_DONE,
    CHECK,
    POINTS,
    SUMMARY,
    confirm,
    set_taste,
    stale_counts,
    start_run,
    tasks_of,
)
from tests.world import World

Worlds = Callable[..., World]


def test_retry_brings_back_what_was_blocked(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, max_tries=1)
    run.wait()
    set_taste(here)

    assert run.retry() == 1
    run.wait()

    assert task_states(here.engine, run) == ALL_DONE
    assert stale_counts(here, run) == {"digest": 1}  # it had made do with what there was


def test_retry_of_one_stage_leaves_the_others(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="Point")
    run = start_run(here, max_tries=1)
    run.wait()
    set_taste(here)

    assert run.retry(stage="summary") == 0
    assert run.retry(stage="points") == 6
    run.wait()

    assert task_states(here.engine, run) == ALL_DONE
    with pytest.raises(NotFound, match="no stage 'pointed'"):
        run.retry(stage="pointed")


@pytest.mark.parametrize("stage", [None, "summary", "check"])
def test_where_the_critic_failed_the_critic_is_asked_again_and_not_the_answer(
    world: Worlds, stage: str | None
) -> None:
    here = world()
    here.model.faults = parse_fault_script("wrong@number1")
    run = start_run(here, stages=(SUMMARY, CHECK), max_tries=1)
    run.wait()
    assert task_states(here.engine, run) == {
        "summary": {"done": 2, "failed": 1},
        "check": {"done": 2, "failed": 1},
    }
    here.model.faults = NO_FAULTS
    calls = here.model.calls

    assert run.retry(stage=stage) == 1
    assert task_states(here.engine, run)["summary"] == {"done": 2, "proposed": 1}
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}
    assert here.model.calls == calls + 1
    assert task_outcomes(here.engine, run, "summary")[1] == ("done", None)


def test_an_answer_that_was_objected_to_for_the_last_time_is_asked_anew(world: Worlds) -> None:
    here = world()
    never = replace(CHECK, critic="gate", accepts="answer.word_count < 0")
    run = start_run(here, stages=(SUMMARY, never), count=1, max_tries=1)
    run.wait()
    assert task_states(here.engine, run) == {"summary": {"failed": 1}, "check": {"done": 1}}

    assert run.retry() == 1
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"failed": 1}, "check": {"done": 2}}


def test_a_cancelled_run_that_is_retried_lets_each_task_wait_for_what_it_reads(
    world: Worlds,
) -> None:
    here = world()
    run = start_run(
        here, stages=(SUMMARY, CHECK, POINTS), completion_mode="throughput", concurrency=1
    )
    cancelled: list[bool] = []

    def cancel() -> bool:
        if task_states(here.engine, run)["points"].get("waiting", 0) > 0:
            cancelled.append(run.cancel())
        return bool(cancelled)

    here.model.hold = lambda number: not (cancelled or cancel())
    here.engine.work(cancel)
    run.wait()
    assert run.progress().state == RunState.CANCELLED
    asked = here.model.calls

    assert run.retry() > 0
    run.wait()

    assert task_states(here.engine, run) == {
        name: ALL_DONE[name] for name in ("summary", "check", "points")
    }
    assert asked <= 12
    assert here.model.calls == 12


def test_superseding_a_result_marks_what_was_made_from_it_and_asks_nothing(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    calls = here.model.calls
    first = tasks_of(here, run, "summary")[0]

    with here.engine.ledger.transaction() as tx:
        tx.critiques.supersede_results([first], here.runtime.now())
        tx.lineage.mark_stale([first], here.runtime.now())
    run.wait()

    assert stale_counts(here, run) == {"points": 2}
    assert run.progress().state == RunState.FINISHED
    assert here.model.calls == calls


def test_stale_tasks_are_asked_again_with_all_that_follows_from_them(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, max_tries=1)
    run.wait()
    set_taste(here)
    run.retry()
    run.wait()
    calls = here.model.calls
    assert stale_counts(here, run) == {"digest": 1}

    assert run.retry(stale=True) == 1
    run.wait()

    assert stale_counts(here, run) == {}
    assert here.model.calls == calls + 1
    assert run.retry(stale=True) == 0


def test_what_follows_from_a_stale_task_waits_for_it(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    with here.engine.ledger.transaction() as tx:
        again = tasks_of(here, run, "points")[0]
        tx.lineage.note_used_inputs([(again, [None])])
        tx.lineage.check_stale([again], here.runtime.now())
    calls = here.model.calls

    assert run.retry(stale=True) == 2
    assert task_states(here.engine, run)["points"] == {"done": 5, "ready": 1}
    assert task_states(here.engine, run)["digest"] == {"waiting": 1}
    run.wait()

    assert task_states(here.engine, run) == ALL_DONE
    assert here.model.calls == calls + 2
    assert stale_counts(here, run) == {}


def test_what_a_person_confirmed_stays_stale_and_is_not_asked_again(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    with here.engine.ledger.transaction() as tx:
        again = tasks_of(here, run, "points")[0]
        tx.lineage.note_used_inputs([(again, [None])])
        tx.lineage.check_stale([again], here.runtime.now())
    confirm(here, again)

    assert run.retry(stale=True) == 0
    assert stale_counts(here, run) == {"points": 1}


def test_a_critics_word_is_never_stale(world: Worlds) -> None:
    here = world()
    sometimes = replace(CHECK, critic="gate", accepts="answer.approved or answer.word_count > 5")
    run = start_run(here, stages=(SUMMARY, sometimes, POINTS))
    run.wait()

    run.rerun("summary")
    run.wait()

    assert stale_counts(here, run) == {}
