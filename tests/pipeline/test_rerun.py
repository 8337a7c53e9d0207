"""Rerunning from a stage: what is asked again, what stays, and what old answers are worth."""

from collections.abc import Callable

import pytest

from quire.domain.errors import IllegalMove
from quire.domain.reasons import HoldKind
from quire.domain.states import RunState, TaskMove, TaskState
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from quire.simulated.fault_scripts import NO_FAULTS, parse_fault_script
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import task_states, text_stage
from tests.pipeline.taste_gate import (
    ALL_DONE,
    CHECK,
    POINTS,
    SUMMARY,
    TASTE,
    confirm,
    hold_kinds,
    set_taste,
    stale_counts,
    start_run,
    tasks_of,
)
from tests.world import NOW, World, sentences, until_rest

Worlds = Callable[..., World]


@pytest.mark.parametrize(
    ("stage", "calls"), [("summary", 13), ("check", 3), ("points", 7), ("digest", 1)]
)
def test_rerun_asks_a_stage_and_all_after_it_again_and_keeps_the_rest(
    world: Worlds, stage: str, calls: int
) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    before = here.model.calls

    owed = run.rerun(stage)
    assert run.progress().state == RunState.RUNNING
    run.wait()

    assert here.model.calls - before == calls
    assert owed == calls - (3 if stage == "summary" else 0)  # critics are called as answers come
    done = {name: counts["done"] for name, counts in task_states(here.engine, run).items()}
    assert done == {"summary": 3, "check": 6 if stage == "summary" else 3, "points": 6, "digest": 1}
    assert run.progress().state == RunState.FINISHED
    assert stale_counts(here, run) == {}


def test_rerun_supersedes_the_old_answers_and_counts_only_new_ones(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()

    run.rerun("points")
    with here.engine.ledger.snapshot() as tx:
        assert tx.results.tasks_with_results(tasks_of(here, run, "points")) == set()
        assert len(tx.results.tasks_with_results(tasks_of(here, run, "summary"))) == 3
    assert task_states(here.engine, run)["points"] == {"ready": 6}
    assert task_states(here.engine, run)["digest"] == {"waiting": 1}
    run.wait()

    raw = Raw(here.url)
    versions = raw.rows(
        "SELECT t.version, r.version, count(*) FROM results r JOIN tasks t ON t.id = r.task_id"
        " JOIN stages s ON s.id = t.stage_id WHERE s.name = 'points' GROUP BY t.version, r.version"
        " ORDER BY r.version"
    )
    raw.close()
    assert versions == [(2, 1, 6), (2, 2, 6)]


def test_rerun_keeps_what_a_person_confirmed(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    kept = tasks_of(here, run, "points")[0]
    confirm(here, kept)
    calls = here.model.calls

    assert run.rerun("points") == 6
    assert task_states(here.engine, run)["points"] == {"done": 1, "ready": 5}
    run.wait()

    assert here.model.calls == calls + 6
    assert task_states(here.engine, run) == ALL_DONE


def test_an_old_answer_that_comes_after_a_rerun_is_paid_and_does_not_count(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, POINTS), count=1)
    rerun_counts: list[int] = []
    here.model.hold = lambda number: number > 1 and not rerun_counts

    def meddle() -> bool:
        if not rerun_counts and here.model.calls == 3:
            rerun_counts.append(run.rerun("summary"))  # while its dependants are being answered
        return run.progress().state == RunState.FINISHED

    here.engine.work(meddle)

    assert rerun_counts == [3]
    assert here.model.calls == 3 + 3
    assert task_states(here.engine, run) == {"summary": {"done": 1}, "points": {"done": 2}}
    with here.engine.ledger.snapshot() as tx:
        assert tx.attempts.spend_of_run(run.id) == (run.progress().cost_pico, 0)


def test_rerun_in_the_middle_of_a_run_drops_what_was_not_sent(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, CHECK, POINTS), count=8, concurrency=1)
    seen: list[int] = []
    here.model.hold = lambda number: number > 8 + 8 + 3 and not seen

    def begun() -> bool:
        if here.model.calls > 8 + 8 + 3:  # some of those before may not be judged yet
            done = task_states(here.engine, run)["points"].get("done")
            seen.extend([done] if done else [])
        return bool(seen)

    here.engine.work(begun)

    assert 0 < seen[0] < 16
    run.rerun("points")
    run.wait()

    assert task_states(here.engine, run) == {
        "summary": {"done": 8},
        "check": {"done": 8},
        "points": {"done": 16},
    }


def test_nothing_is_asked_again_about_what_was_purged(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, POINTS))
    run.wait()
    calls = here.model.calls
    here.engine.purge("doc1")

    assert run.rerun("summary") == 2 + 4
    assert run.wait().state == RunState.FINISHED

    assert here.model.calls == calls + 6
    assert task_states(here.engine, run) == {"summary": {"done": 3}, "points": {"done": 6}}


def test_rerun_of_a_critic_lets_its_targets_wait_for_its_new_word(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, CHECK))
    run.wait()

    assert run.rerun("check") == 3
    assert task_states(here.engine, run) == {"summary": {"proposed": 3}, "check": {"ready": 3}}
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}


def test_an_objection_of_a_critic_that_is_asked_again_marks_what_was_made_meanwhile(
    world: Worlds,
) -> None:
    here = world()
    strict = text_stage(
        "check",
        "each_result",
        "Well? {{ judged.answer }}",
        of="summary",
        critic="gate",
        accepts="'!' not in answer.text",
        gates=TASTE,
    )
    run = start_run(here, stages=(SUMMARY, strict, POINTS), count=1, max_tries=2)
    run.wait()
    set_taste(here, mark="!")

    run.rerun("check")
    run.wait()

    assert task_states(here.engine, run)["summary"] == {"failed": 1}
    assert task_states(here.engine, run)["points"] == {"done": 2}
    assert stale_counts(here, run) == {"points": 2}


def test_rerun_lets_failed_critics_of_old_answers_go(world: Worlds) -> None:
    here = world()
    here.model.faults = parse_fault_script("wrong@number1")
    run = start_run(here, stages=(SUMMARY, CHECK), max_tries=1, completion_mode="exact")
    until_rest(run)
    here.model.faults = NO_FAULTS

    run.rerun("summary")
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    assert task_states(here.engine, run)["check"] == {"cancelled": 1, "done": 5}


def test_rerun_after_a_stop_stops_there_again(world: Worlds) -> None:
    here = world()
    run = start_run(here, stop_after="summary")
    run.wait()

    run.rerun("summary")
    run.wait()

    assert hold_kinds(run) == [HoldKind.STOP_AFTER]
    assert task_states(here.engine, run)["summary"] == {"done": 3}
    assert task_states(here.engine, run)["points"] == {}


def test_who_reads_what_a_critic_judges_anew_waits_for_its_word(world: Worlds) -> None:
    here, contexts = world(), Contexts()
    run = start_run(here, stop_after="check")
    run.wait()
    run.stop_after(None)
    with here.engine.ledger.transaction() as tx:
        contexts.registry = here.engine.registry
        advance(tx, contexts, NOW)
        lanes = [contexts.of_lane(tx, lane) for lane in tx.requests.lanes_of_run(run.id)]
        points = [lane for lane in lanes if lane.stage.name == "points"]
        assert sum(prepare(tx, contexts, lane, NOW) for lane in points) == 6

    run.rerun("check")

    assert task_states(here.engine, run)["points"] == {"waiting": 6}
    run.wait()
    assert task_states(here.engine, run) == ALL_DONE


def test_a_cancelled_run_is_not_rerun(world: Worlds) -> None:
    run = start_run(world())
    run.cancel()
    run.wait()

    with pytest.raises(IllegalMove, match="is cancelled"):
        run.rerun("summary")
    with pytest.raises(IllegalMove, match="is cancelled"):
        run.retry(stale=True)
    with pytest.raises(IllegalMove, match="is cancelled"):
        run.regate(apply=True)


def test_a_call_of_an_older_version_that_was_lost_too_often_fails_nobody(world: Worlds) -> None:
    here, contexts = world(), Contexts()
    here.ingest(sentences(1))
    run = here.start(max_tries=2)
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, NOW)
        (lane,) = tx.requests.lanes_of_run(run.id)
        assert prepare(tx, contexts, contexts.of_lane(tx, lane), NOW) == 1
        (task,) = tx.requests.take_members(
            [request.id for request in tx.views.list_requests(run.id, 0, 9)]
        )
        tx.tasks.move_tasks(TaskMove.RETURN, [task.task_id], [TaskState.PACKED])
    raw = Raw(here.url)
    raw.rows("UPDATE tasks SET version = version + 1")  # while it was out, it was asked anew
    raw.rows("UPDATE requests SET lost = 99")
    raw.close()

    ended = run.wait()

    assert (ended.done, ended.failed) == (1, 0)
