"""Sweeps look again only where something has changed, and now and then all the same."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from quire.domain.states import TaskMove, TaskState
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import RECHECK_AFTER, Contexts, SweepMemo
from quire.pipeline.stages.critics import sweep_critics
from quire.pipeline.stages.release import sweep
from quire.simulated.fault_scripts import parse_fault_script
from tests.ledger.statement_costs import cost_once
from tests.pipeline.recipe_stages import task_states
from tests.pipeline.taste_gate import CHECK, SUMMARY, set_taste, start_run, tasks_of
from tests.world import World

Worlds = Callable[..., World]
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_look_in_vain_is_remembered_until_something_changes_or_time_has_passed() -> None:
    memo = SweepMemo()
    assert not memo.is_unchanged("a", 1, NOW)

    memo.note("a", 1, NOW)

    assert memo.is_unchanged("a", 1, NOW)
    assert not memo.is_unchanged("a", 2, NOW)
    assert not memo.is_unchanged("b", 1, NOW)
    assert not memo.is_unchanged("a", 1, NOW + RECHECK_AFTER)
    assert not memo.is_unchanged("a", 1, NOW - timedelta(seconds=1))  # the clock was set back


def test_what_is_blocked_is_looked_at_again_when_something_above_it_has_moved(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, max_tries=1)
    run.wait()
    assert task_states(here.engine, run)["points"] == {"blocked": 2, "done": 4}
    contexts, memo = Contexts(here.engine.registry), SweepMemo()

    def sweep_once(now: datetime) -> int:
        def action(tx: Transaction) -> None:
            stage = next(
                run_stage
                for run_stage in tx.runs.stages_of_run(run.id)
                if run_stage.name == "points"
            )
            sweep(tx, memo, contexts.spec_of(tx, run.id), stage, now)

        return cost_once(here.engine.ledger, action)

    sweep_once(NOW)  # reads what the run was told, too
    first, second = sweep_once(NOW + RECHECK_AFTER), sweep_once(NOW + RECHECK_AFTER)
    assert second < first

    set_taste(here)
    run.retry()
    changed = sweep_once(NOW + RECHECK_AFTER)

    assert changed > second
    assert run.wait().failed == 0
    assert task_states(here.engine, run)["points"] == {"done": 6}


def test_a_critic_that_failed_as_often_as_before_is_looked_at_again_where_an_answer_waits_for_it(
    world: Worlds,
) -> None:
    here = world()
    here.model.faults = parse_fault_script("wrong@number1")
    run = start_run(here, stages=(SUMMARY, CHECK), max_tries=1)
    run.wait()
    failed = {"summary": {"done": 2, "failed": 1}, "check": {"done": 2, "failed": 1}}
    assert task_states(here.engine, run) == failed
    contexts, memo = Contexts(here.engine.registry), SweepMemo()

    def sweep_once() -> None:
        with here.engine.ledger.transaction() as tx:
            sweep_critics(tx, memo, contexts.spec_of(tx, run.id), CHECK, NOW)

    sweep_once()  # in vain: one failed, and nothing waits for it
    run.retry()
    with here.engine.ledger.transaction() as tx:  # and it fails once more, at another worker
        tx.tasks.move_tasks(TaskMove.GIVE_UP, tasks_of(here, run, "check"), [TaskState.READY])
    assert task_states(here.engine, run) == failed | {"summary": {"done": 2, "proposed": 1}}

    sweep_once()

    assert task_states(here.engine, run) == failed
