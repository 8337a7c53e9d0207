"""Undo: a person's last decision is taken back, nothing that was paid for is lost."""

from collections.abc import Callable

import pytest

from quire.domain.errors import IllegalMove
from quire.domain.ids import TaskId
from quire.domain.recipes import Stage
from quire.domain.states import RunState
from quire.simulated.fault_scripts import NO_FAULTS
from tests.ledger.raw import Raw
from tests.pipeline.decision_records import current_result
from tests.pipeline.recipe_stages import task_states
from tests.pipeline.taste_gate import (
    ALL_DONE,
    CHECK,
    POINTS,
    SUMMARY,
    stale_counts,
    start_run,
    tasks_of,
)
from tests.world import World, until_rest

Worlds = Callable[..., World]


def moves(here: World, task: TaskId) -> list[tuple[str, str]]:
    """What was decided about a task, and by whom, the oldest first."""
    found = here.engine.review.item(task).decisions
    return [(decision.move.value, decision.who) for decision in reversed(found)]


def versions(here: World, task: TaskId) -> list[tuple[int, str, bool]]:
    """Version, review state and whether it stands, of all results of a task, the oldest first."""
    found = here.engine.review.item(task).versions
    return [(it.version, it.review_state.value, it.current) for it in reversed(found)]


def test_an_approval_that_is_undone_leaves_the_result_unreviewed(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    run.approve(task, who="Ada")

    outcome = here.engine.review.undo(task, "Bo")

    assert outcome.changed
    assert current_result(here, task)[:2] == ("model", "unreviewed")
    assert moves(here, task) == [("approve", "Ada"), ("undo", "Bo")]
    item = here.engine.review.item(task)
    assert (item.reviewer, item.reviewed_at, item.undoable) == (None, None, None)
    assert item.decisions[0].undoes == item.decisions[1].id
    assert item.decisions[1].undone_by == item.decisions[0].id


@pytest.mark.parametrize("stages", [(SUMMARY,), (SUMMARY, POINTS)])
def test_a_run_whose_only_rejection_is_undone_is_finished_again_without_a_worker(
    world: Worlds, stages: tuple[Stage, ...]
) -> None:
    here = world()
    run = start_run(here, stages=stages, count=2)
    run.wait()
    task, other = tasks_of(here, run, "summary")
    run.reject(task, "No.", who="Ada")
    assert run.progress().state == RunState.RUNNING

    here.engine.review.undo(task, "Ada")

    assert run.progress().state == RunState.FINISHED
    run.reject(task, "No.", who="Ada")
    run.reject(other, "No.", who="Ada")
    here.engine.review.undo(task, "Ada")
    assert run.progress().state == RunState.RUNNING  # the other is still owed


def test_an_edit_that_is_undone_makes_way_for_what_stood_before(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    task = tasks_of(here, run, "summary")[0]
    before = current_result(here, task)
    run.edit(task, {"text": "Mended."}, who="Ada")
    assert stale_counts(here, run) == {"points": 2}
    run.retry(stale=True)
    run.wait()

    outcome = here.engine.review.undo(task, "Ada")

    assert outcome.stale == 2  # what was made of the edit
    assert current_result(here, task) == before
    assert versions(here, task) == [(1, "unreviewed", True), (1, "edited", False)]
    assert task_states(here.engine, run)["summary"] == {"done": 3}
    assert run.wait().state == RunState.FINISHED


@pytest.mark.parametrize("move", ["edit", "reject"])
def test_what_was_made_from_the_result_that_stands_again_is_stale_no_longer(
    world: Worlds, move: str
) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    task = tasks_of(here, run, "summary")[0]
    if move == "edit":
        run.edit(task, {"text": "Mended."}, who="Ada")
    else:
        run.reject(task, "too short", who="Ada")
    assert stale_counts(here, run) == {"points": 2}

    outcome = here.engine.review.undo(task, "Ada")

    assert outcome.stale == 0
    assert stale_counts(here, run) == {}
    assert here.engine.review.counts(run.id).by_reason["stale"] == 0


def test_a_result_with_another_changed_input_stays_stale_after_an_undo(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    first, second, *_ = tasks_of(here, run, "points")
    run.edit(first, {"text": "Mended."}, who="Ada")
    run.edit(second, {"text": "Mended too."}, who="Ada")

    here.engine.review.undo(second, "Ada")
    assert stale_counts(here, run) == {"digest": 1}
    here.engine.review.undo(first, "Ada")

    assert stale_counts(here, run) == {}


def test_what_was_approved_before_an_edit_is_approved_again(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    run.approve(task, who="Ada")
    run.edit(task, {"text": "Mended."}, who="Bo")

    here.engine.review.undo(task, "Bo")

    item = here.engine.review.item(task)
    assert (item.review_state, item.reviewer) == ("approved", "Ada")
    here.engine.review.undo(task, "Ada")
    assert here.engine.review.item(task).review_state == "unreviewed"


def test_a_rejection_that_is_undone_withdraws_what_was_not_sent(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    task, calls = tasks_of(here, run, "summary")[0], here.model.calls
    before = current_result(here, task)
    run.reject(task, "It names nobody.", who="Ada")

    outcome = here.engine.review.undo(task, "Ada")

    assert outcome.stale == 0
    assert current_result(here, task) == before
    assert task_states(here.engine, run) == ALL_DONE
    assert run.wait().state == RunState.FINISHED
    assert here.model.calls == calls  # nothing was asked
    assert task_states(here.engine, run) == ALL_DONE


def test_an_answer_that_came_before_the_undo_is_kept_as_a_version(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, CHECK), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    before = current_result(here, task)
    run.reject(task, "It names nobody.", who="Ada")
    run.wait()

    here.engine.review.undo(task, "Ada")

    assert current_result(here, task) == before
    assert versions(here, task) == [(1, "unreviewed", True), (2, "unreviewed", False)]
    assert task_states(here.engine, run)["summary"] == {"done": 1}
    run.reject(task, "Still nobody.", who="Ada")
    run.wait()
    assert [version for version, _, _ in versions(here, task)] == [1, 2, 3]


def test_an_answer_that_is_out_at_the_undo_is_kept_as_a_version_when_it_comes(
    world: Worlds,
) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    before, calls = current_result(here, task), here.model.calls
    run.reject(task, "It names nobody.", who="Ada")
    undone: list[bool] = []
    here.model.hold = lambda number: number == calls + 1 and not undone

    def meddle() -> bool:
        if not undone and here.model.calls == calls + 1:  # it is being asked
            here.engine.review.undo(task, "Ada")
            undone.append(True)
        return run.progress().state == RunState.FINISHED

    here.engine.work(meddle)
    until_rest(run)

    assert here.model.calls == calls + 1
    assert current_result(here, task) == before
    assert versions(here, task) == [(1, "unreviewed", True), (2, "unreviewed", False)]


@pytest.mark.parametrize("deed", ["approve", "edit", "reject"])
def test_a_failed_answer_that_was_overruled_has_failed_again(world: Worlds, deed: str) -> None:
    here = world(faults="refuse@Well?")
    run = start_run(here, stages=(SUMMARY, CHECK, POINTS), count=1, max_tries=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    states = task_states(here.engine, run)
    here.model.faults = NO_FAULTS
    if deed == "approve":
        run.approve(task)
    elif deed == "edit":
        run.edit(task, {"text": "Mine."})
    else:
        run.reject(task, "No.")

    here.engine.review.undo(task, "Ada")

    assert task_states(here.engine, run)["summary"] == states["summary"] == {"failed": 1}
    assert here.engine.review.item(task).review_state == "unreviewed"
    raw = Raw(here.url)
    assert raw.rows(f"SELECT error_kind FROM tasks WHERE id = {task}") == [("critic_failed",)]
    raw.close()


def test_a_critic_that_was_let_go_is_asked_again_after_an_undo(world: Worlds) -> None:
    here = world(faults="refuse@Well?")
    run = start_run(here, stages=(SUMMARY, CHECK), count=1, max_tries=1)
    run.wait()
    here.model.faults = NO_FAULTS
    run.retry()
    (task,) = tasks_of(here, run, "summary")
    run.approve(task, who="Ada")
    assert task_states(here.engine, run)["check"] == {"cancelled": 1}

    here.engine.review.undo(task, "Ada")

    assert task_states(here.engine, run)["summary"] == {"proposed": 1}
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == {"summary": {"done": 1}, "check": {"done": 1}}


def test_only_the_last_decision_can_be_undone(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    review = here.engine.review
    with pytest.raises(IllegalMove, match="nobody has decided about task"):
        review.undo(task, "Ada")
    first = review.approve(task, "Ada").decision
    second = review.edit(task, {"text": "Mended."}, "Bo").decision

    with pytest.raises(IllegalMove, match=f"was overtaken by decision {second} by Bo"):
        review.undo(task, "Ada", decision=first)

    review.undo(task, "Ada", decision=second)
    with pytest.raises(IllegalMove, match="was undone before"):
        review.undo(task, "Ada", decision=second)
    review.undo(task, "Ada", decision=first)
    assert current_result(here, task)[:2] == ("model", "unreviewed")


def test_the_same_command_undoes_once(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    review = here.engine.review
    review.approve(task, "Ada", command="c1")
    review.edit(task, {"text": "Mended."}, "Ada", command="c2")

    assert review.undo(task, "Ada", command="c3").changed
    assert not review.undo(task, "Ada", command="c3").changed

    assert current_result(here, task)[1] == "approved"
    assert [it.command for it in review.item(task).decisions] == ["c3", "c2", "c1"]


def test_what_was_purged_cannot_come_back(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    run.edit(task, {"text": "Mended."}, who="Ada")
    here.engine.purge("doc0")

    with pytest.raises(IllegalMove, match="purged"):
        here.engine.review.undo(task, "Ada")


def test_every_answer_of_rejections_that_were_taken_back_is_kept_as_a_version(
    world: Worlds,
) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    calls, rounds = here.model.calls, 3
    here.model.hold = lambda number: number > calls and here.model.calls < calls + rounds
    run.reject(task, "It names nobody.", who="Ada")
    asked = [1]

    def meddle() -> bool:
        if asked[0] < rounds and here.model.calls == calls + asked[0]:  # it is out
            here.engine.review.undo(task, "Ada")
            run.reject(task, "It names nobody.", who="Ada")
            asked[0] += 1
        return run.progress().state == RunState.FINISHED

    here.engine.work(meddle)
    until_rest(run)

    assert here.model.calls == calls + rounds
    kept = versions(here, task)
    assert sorted(version for version, _, _ in kept) == [1, 2, 3, 4]
    assert [version for version, _, current in kept if current] == [4]


def test_the_same_rejection_again_takes_the_answer_that_was_paid_for(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, POINTS), count=1)
    run.wait()
    task = tasks_of(here, run, "summary")[0]
    review = here.engine.review
    run.reject(task, "It names nobody.", who="Ada")
    run.wait()
    answer, calls = review.item(task).result_id, here.model.calls
    review.undo(task, "Ada")

    run.reject(task, "It names nobody.", who="Bo")
    run.wait()

    assert here.model.calls == calls  # nothing is asked
    assert review.item(task).result_id == answer
    assert review.item(task).reasons == ("repaired",)
    assert [*stale_counts(here, run)] == ["points"]  # made from what was rejected
    assert [line.task_id for line in review.inbox(run.id).lines].count(task) == 1
    review.undo(task, "Bo")
    assert review.item(task).result_id != answer
    run.reject(task, "It names nobody at all.", who="Bo")
    run.wait()
    assert here.model.calls > calls  # another note is another question
