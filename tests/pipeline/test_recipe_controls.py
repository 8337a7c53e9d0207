"""Steering runs of several stages: stop, waive, retry, rerun; what each keeps and asks again."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.ids import RunId, TaskId
from quire.domain.runs import HoldKind
from quire.engine import RunHandle
from quire.simulated.faults import NO_FAULTS, parse
from tests.ledger.raw import Raw
from tests.pipeline.dishes import answers, recipe, states, text_stage
from tests.pipeline.tasting import CHAIN, CHECK, DIGEST, POINTS, SUMMARY, TASTE, cook, set_taste
from tests.world import World

Worlds = Callable[..., World]

ALL_DONE = {
    "summary": {"done": 3},
    "check": {"done": 3},
    "points": {"done": 6},
    "digest": {"done": 1},
}


def held(run: RunHandle) -> list[HoldKind]:
    return [each.kind for each in run.progress().holds]


def tasks_of(here: World, run: RunHandle, stage: str) -> list[TaskId]:
    with here.engine.ledger.snapshot() as tx:
        key = next(each.id for each in tx.runs.stages(run.id) if each.name == stage)
        return [each.id for each in tx.lineage.few(key, 1000)]


def stale(here: World, run: RunHandle) -> dict[str, int]:
    with here.engine.ledger.snapshot() as tx:
        return tx.lineage.count_stale(run.id)


def confirm(here: World, task: TaskId) -> None:
    """Let a person have approved the current result of a task."""
    raw = Raw(here.url)
    raw.rows(
        "UPDATE results SET review_state = 'approved'"
        f" WHERE task_id = {task} AND superseded_at IS NULL"
    )
    raw.close()


# stop after


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
    run = cook(here)
    assert run.stop_after(stage)

    run.wait()

    assert held(run) == [HoldKind.STOP_AFTER]
    assert states(here.engine, run) == done
    there = world()
    set_taste(there)
    again = there.engine.get(run.id)
    assert again.resume()
    assert again.wait().state == "finished"
    assert states(there.engine, again) == ALL_DONE


def test_a_run_that_stops_after_its_last_stage_just_ends(world: Worlds) -> None:
    run = cook(world(), stop_after="digest")

    assert run.wait().state == "finished"


def test_a_wish_to_stop_can_be_moved_and_taken_back(world: Worlds) -> None:
    here = world()
    run = cook(here, stop_after="summary")
    run.wait()

    assert run.stop_after("points")
    run.wait()
    assert held(run) == [HoldKind.STOP_AFTER]
    assert states(here.engine, run)["points"] == {"done": 6}
    assert run.stop_after(None)
    assert not run.stop_after(None)
    assert run.wait().state == "finished"


def test_resuming_a_pause_keeps_the_wish_to_stop(world: Worlds) -> None:
    here = world()
    run = cook(here, stop_after="summary")
    run.pause()
    run.wait()

    run.resume()
    run.wait()

    assert held(run) == [HoldKind.STOP_AFTER]


def test_the_same_order_without_the_wish_goes_on(world: Worlds) -> None:
    here = world()
    run = cook(here, stop_after="summary")
    run.wait()

    again = cook(here, count=0)

    assert again.id == run.id
    assert again.wait().state == "finished"


def test_stopping_after_what_is_not_there_or_is_over_is_refused(world: Worlds) -> None:
    run = cook(world())

    with pytest.raises(NotFound, match="no stage 'sumary'; stages: summary, check, points, digest"):
        run.stop_after("sumary")
    run.wait()
    with pytest.raises(IllegalMove, match="is finished; there is nothing to stop"):
        run.stop_after("points")


@pytest.mark.parametrize("stage", ["summary", "check", "points", "digest"])
def test_a_run_paused_at_any_stage_goes_on_in_another_process(world: Worlds, stage: str) -> None:
    here = world()
    run = cook(here)
    place = [each.name for each in CHAIN].index(stage)
    here.engine.work(lambda: any(_begun(here, run, each.name) for each in CHAIN[place:]))
    run.pause()
    run.wait()
    calls = here.model.calls
    assert held(run) == [HoldKind.USER]

    there = world()
    set_taste(there)
    again = there.engine.get(run.id)
    again.resume()

    assert again.wait().state == "finished"
    assert states(there.engine, again) == ALL_DONE
    assert calls + there.model.calls == 13


def _begun(here: World, run: RunHandle, stage: str) -> bool:
    return any(count for count in states(here.engine, run)[stage].values())


# exact, best effort, throughput


def test_in_an_exact_run_a_failure_holds_it_until_it_is_waived(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = cook(here, completion_mode="exact", max_tries=1)
    run.wait()
    (task,) = [
        each
        for each, (state, _) in zip(
            tasks_of(here, run, "summary"), answers(here.engine, run, "summary"), strict=True
        )
        if state == "failed"
    ]
    assert held(run) == [HoldKind.FAILURES]
    assert states(here.engine, run)["points"] == {}

    assert run.waive(task) == 1
    assert run.waive(task) == 0
    ended = run.wait()

    assert ended.state == "finished"
    assert states(here.engine, run) == {
        "summary": {"done": 2, "failed": 1},
        "check": {"done": 2},
        "points": {"blocked": 2, "done": 4},
        "digest": {"done": 1},
    }
    reasons = {error for state, error in answers(here.engine, run, "points") if state == "blocked"}
    assert reasons == {f"task {task}, which it reads, is failed"}
    kinds = [each.kind for each in here.engine.look.events(run.id)]
    assert kinds.count("waived") == 1


def test_a_failure_that_nobody_waived_holds_the_run_again(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="Document")
    run = cook(here, completion_mode="exact", max_tries=1)
    run.wait()
    first, *_ = tasks_of(here, run, "summary")

    run.waive(first)
    run.wait()

    assert held(run) == [HoldKind.FAILURES]


def test_only_failed_tasks_of_one_exact_run_can_be_waived(world: Worlds) -> None:
    here = world()
    run = cook(here, completion_mode="exact")
    run.wait()
    other = cook(here, count=0, completion_mode="best_effort")
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
    here.model.faults = parse("wrong@number1")
    run = cook(here, completion_mode="exact", max_tries=1)
    run.wait()
    task = tasks_of(here, run, "summary")[1]
    assert states(here.engine, run)["check"] == {"done": 2, "failed": 1}

    run.waive(task)

    assert run.wait().state == "finished"


def test_retrying_an_exact_run_lifts_the_hold(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = cook(here, completion_mode="exact", max_tries=1)
    run.wait()
    set_taste(here)

    assert run.retry() == 1
    run.wait()

    assert run.progress().state == "finished"
    assert states(here.engine, run) == ALL_DONE


def test_by_best_effort_dependants_of_failures_are_blocked_and_the_rest_goes_on(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here, refuses="number1")

    run = cook(here, max_tries=1)

    assert run.wait().state == "finished"
    assert states(here.engine, run)["points"] == {"blocked": 2, "done": 4}


def test_for_throughput_a_stage_does_not_wait_for_all_of_the_one_before(world: Worlds) -> None:
    here = world(faults="hang@number2")
    run = cook(here, stages=(SUMMARY, POINTS), completion_mode="throughput", call_timeout=60)

    here.engine.work(lambda: states(here.engine, run)["points"].get("done", 0) == 4)

    assert states(here.engine, run)["summary"] == {"done": 2, "packed": 1}


# retry


def test_retry_brings_back_what_was_blocked(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = cook(here, max_tries=1)
    run.wait()
    set_taste(here)

    assert run.retry() == 1
    run.wait()

    assert states(here.engine, run) == ALL_DONE
    assert stale(here, run) == {"digest": 1}  # it had made do with what there was


def test_retry_of_one_stage_leaves_the_others(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="Point")
    run = cook(here, max_tries=1)
    run.wait()
    set_taste(here)

    assert run.retry(stage="summary") == 0
    assert run.retry(stage="points") == 6
    run.wait()

    assert states(here.engine, run) == ALL_DONE
    with pytest.raises(NotFound, match="no stage 'pointed'"):
        run.retry(stage="pointed")


@pytest.mark.parametrize("stage", [None, "summary", "check"])
def test_where_the_critic_failed_the_critic_is_asked_again_and_not_the_answer(
    world: Worlds, stage: str | None
) -> None:
    here = world()
    here.model.faults = parse("wrong@number1")
    run = cook(here, stages=(SUMMARY, CHECK), max_tries=1)
    run.wait()
    assert states(here.engine, run) == {
        "summary": {"done": 2, "failed": 1},
        "check": {"done": 2, "failed": 1},
    }
    here.model.faults = NO_FAULTS
    calls = here.model.calls

    assert run.retry(stage=stage) == 1
    assert states(here.engine, run)["summary"] == {"done": 2, "proposed": 1}
    run.wait()

    assert states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}
    assert here.model.calls == calls + 1
    assert answers(here.engine, run, "summary")[1] == ("done", None)


def test_an_answer_that_was_objected_to_for_the_last_time_is_asked_anew(world: Worlds) -> None:
    here = world()
    never = replace(CHECK, critic="gate", accepts="answer.word_count < 0")
    run = cook(here, stages=(SUMMARY, never), count=1, max_tries=1)
    run.wait()
    assert states(here.engine, run) == {"summary": {"failed": 1}, "check": {"done": 1}}

    assert run.retry() == 1
    run.wait()

    assert states(here.engine, run) == {"summary": {"failed": 1}, "check": {"done": 2}}


def test_a_cancelled_run_that_is_retried_lets_each_task_wait_for_what_it_reads(
    world: Worlds,
) -> None:
    here = world()
    run = cook(here, stages=(SUMMARY, CHECK, POINTS), completion_mode="throughput", concurrency=1)
    here.engine.work(lambda: states(here.engine, run)["points"].get("waiting", 0) > 0)
    run.cancel()
    run.wait()
    assert run.progress().state == "cancelled"
    asked = here.model.calls

    assert run.retry() > 0
    run.wait()

    assert states(here.engine, run) == {
        name: ALL_DONE[name] for name in ("summary", "check", "points")
    }
    assert asked <= 12
    assert here.model.calls == 12


def test_cancelling_in_the_middle_keeps_what_was_paid_for(world: Worlds) -> None:
    here = world(faults="latency=0.05")
    run = cook(here, concurrency=1)
    here.engine.work(lambda: states(here.engine, run)["points"].get("done", 0) >= 2)

    run.cancel()
    ended = run.wait()

    found = states(here.engine, run)
    assert ended.state == "cancelled"
    assert found["summary"] == {"done": 3}
    assert set(found["points"]) <= {"done", "cancelled"}
    assert sum(each.get("done", 0) for each in found.values()) == here.model.calls
    with here.engine.ledger.snapshot() as tx:
        assert tx.attempts.spend(run.id) == (ended.cost, 0)


# stale


def test_superseding_a_result_marks_what_was_made_from_it_and_asks_nothing(world: Worlds) -> None:
    here = world()
    run = cook(here)
    run.wait()
    calls = here.model.calls
    first = tasks_of(here, run, "summary")[0]

    with here.engine.ledger.transaction() as tx:
        tx.critiques.supersede([first], here.outside.now())
        tx.lineage.mark_stale([first], here.outside.now())
    run.wait()

    assert stale(here, run) == {"points": 2}
    assert run.progress().state == "finished"
    assert here.model.calls == calls


def test_stale_tasks_are_asked_again_with_all_that_follows_from_them(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = cook(here, max_tries=1)
    run.wait()
    set_taste(here)
    run.retry()
    run.wait()
    calls = here.model.calls
    assert stale(here, run) == {"digest": 1}

    assert run.retry(stale=True) == 1
    run.wait()

    assert stale(here, run) == {}
    assert here.model.calls == calls + 1
    assert run.retry(stale=True) == 0


def test_what_follows_from_a_stale_task_waits_for_it(world: Worlds) -> None:
    here = world()
    run = cook(here)
    run.wait()
    with here.engine.ledger.transaction() as tx:
        again = tasks_of(here, run, "points")[0]
        tx.lineage.use([(again, [None])])
        tx.lineage.check_stale([again], here.outside.now())
    calls = here.model.calls

    assert run.retry(stale=True) == 2
    assert states(here.engine, run)["points"] == {"done": 5, "ready": 1}
    assert states(here.engine, run)["digest"] == {"waiting": 1}
    run.wait()

    assert states(here.engine, run) == ALL_DONE
    assert here.model.calls == calls + 2
    assert stale(here, run) == {}


def test_what_a_person_confirmed_stays_stale_and_is_not_asked_again(world: Worlds) -> None:
    here = world()
    run = cook(here)
    run.wait()
    with here.engine.ledger.transaction() as tx:
        again = tasks_of(here, run, "points")[0]
        tx.lineage.use([(again, [None])])
        tx.lineage.check_stale([again], here.outside.now())
    confirm(here, again)

    assert run.retry(stale=True) == 0
    assert stale(here, run) == {"points": 1}


def test_a_critics_word_is_never_stale(world: Worlds) -> None:
    here = world()
    sometimes = replace(CHECK, critic="gate", accepts="answer.approved or answer.word_count > 5")
    run = cook(here, stages=(SUMMARY, sometimes, POINTS))
    run.wait()

    run.rerun("summary")
    run.wait()

    assert stale(here, run) == {}


# rerun


@pytest.mark.parametrize(
    ("stage", "calls"), [("summary", 13), ("check", 3), ("points", 7), ("digest", 1)]
)
def test_rerun_asks_a_stage_and_all_after_it_again_and_keeps_the_rest(
    world: Worlds, stage: str, calls: int
) -> None:
    here = world()
    run = cook(here)
    run.wait()
    before = here.model.calls

    owed = run.rerun(stage)
    assert run.progress().state == "running"
    run.wait()

    assert here.model.calls - before == calls
    assert owed == calls - (3 if stage == "summary" else 0)  # critics are called as answers come
    done = {name: counts["done"] for name, counts in states(here.engine, run).items()}
    assert done == {"summary": 3, "check": 6 if stage == "summary" else 3, "points": 6, "digest": 1}
    assert run.progress().state == "finished"
    assert stale(here, run) == {}


def test_rerun_supersedes_the_old_answers_and_counts_only_new_ones(world: Worlds) -> None:
    here = world()
    run = cook(here)
    run.wait()

    run.rerun("points")
    with here.engine.ledger.snapshot() as tx:
        assert tx.results.current(tasks_of(here, run, "points")) == set()
        assert len(tx.results.current(tasks_of(here, run, "summary"))) == 3
    assert states(here.engine, run)["points"] == {"ready": 6}
    assert states(here.engine, run)["digest"] == {"waiting": 1}
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
    run = cook(here)
    run.wait()
    kept = tasks_of(here, run, "points")[0]
    confirm(here, kept)
    calls = here.model.calls

    assert run.rerun("points") == 6
    assert states(here.engine, run)["points"] == {"done": 1, "ready": 5}
    run.wait()

    assert here.model.calls == calls + 6
    assert states(here.engine, run) == ALL_DONE


def test_an_old_answer_that_comes_after_a_rerun_is_paid_and_does_not_count(world: Worlds) -> None:
    here = world(faults="latency=0.3")
    run = cook(here, stages=(SUMMARY, POINTS), count=1)
    here.engine.work(lambda: run.progress().in_flight == 1 or here.model.calls > 0)
    # the worker has waited for what was out: begin again, in the middle of a call
    told: list[int] = []

    def meddle() -> bool:
        if here.model.calls and not told and run.progress().in_flight:
            told.append(run.rerun("summary"))
        return run.progress().state == "finished"

    here.engine.work(meddle)

    assert states(here.engine, run) == {"summary": {"done": 1}, "points": {"done": 2}}
    with here.engine.ledger.snapshot() as tx:
        assert tx.attempts.spend(run.id) == (run.progress().cost, 0)


def test_rerun_in_the_middle_of_a_run_drops_what_was_not_sent(world: Worlds) -> None:
    here = world(faults="latency=0.02")
    run = cook(here, stages=(SUMMARY, CHECK, POINTS), count=8, concurrency=1)
    here.engine.work(lambda: states(here.engine, run)["points"].get("done", 0) >= 3)

    run.rerun("points")
    run.wait()

    assert states(here.engine, run) == {
        "summary": {"done": 8},
        "check": {"done": 8},
        "points": {"done": 16},
    }


def test_nothing_is_asked_again_about_what_was_purged(world: Worlds) -> None:
    here = world()
    run = cook(here, stages=(SUMMARY, POINTS))
    run.wait()
    calls = here.model.calls
    here.engine.purge("doc1")

    assert run.rerun("summary") == 2 + 4
    assert run.wait().state == "finished"

    assert here.model.calls == calls + 6
    assert states(here.engine, run) == {"summary": {"done": 3}, "points": {"done": 6}}


def test_a_failure_that_was_waived_and_retried_holds_the_run_when_it_fails_again(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = cook(here, completion_mode="exact", max_tries=1)
    run.wait()
    run.waive(tasks_of(here, run, "summary")[1])
    run.wait()

    run.retry()
    run.wait()

    assert held(run) == [HoldKind.FAILURES]


def test_rerun_of_a_critic_lets_its_targets_wait_for_its_new_word(world: Worlds) -> None:
    here = world()
    run = cook(here, stages=(SUMMARY, CHECK))
    run.wait()

    assert run.rerun("check") == 3
    assert states(here.engine, run) == {"summary": {"proposed": 3}, "check": {"ready": 3}}
    run.wait()

    assert states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}


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
    run = cook(here, stages=(SUMMARY, strict, POINTS), count=1, max_tries=2)
    run.wait()
    set_taste(here, mark="!")

    run.rerun("check")
    run.wait()

    assert states(here.engine, run)["summary"] == {"failed": 1}
    assert states(here.engine, run)["points"] == {"done": 2}
    assert stale(here, run) == {"points": 2}


def test_rerun_lets_failed_critics_of_old_answers_go(world: Worlds) -> None:
    here = world()
    here.model.faults = parse("wrong@number1")
    run = cook(here, stages=(SUMMARY, CHECK), max_tries=1, completion_mode="exact")
    run.wait()
    here.model.faults = NO_FAULTS

    run.rerun("summary")
    ended = run.wait()

    assert ended.state == "finished"
    assert states(here.engine, run)["check"] == {"cancelled": 1, "done": 5}


def test_rerun_after_a_stop_stops_there_again(world: Worlds) -> None:
    here = world()
    run = cook(here, stop_after="summary")
    run.wait()

    run.rerun("summary")
    run.wait()

    assert held(run) == [HoldKind.STOP_AFTER]
    assert states(here.engine, run)["summary"] == {"done": 3}
    assert states(here.engine, run)["points"] == {}


def test_a_cancelled_run_is_not_rerun(world: Worlds) -> None:
    run = cook(world())
    run.cancel()
    run.wait()

    with pytest.raises(IllegalMove, match="is cancelled"):
        run.rerun("summary")
    with pytest.raises(IllegalMove, match="is cancelled"):
        run.retry(stale=True)
    with pytest.raises(IllegalMove, match="is cancelled"):
        run.regate(apply=True)


# commands


def test_the_same_command_acts_once(world: Worlds) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = cook(here, completion_mode="exact", max_tries=1)
    engine, task = here.engine, None
    run.wait()
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
