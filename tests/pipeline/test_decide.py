"""A person approves, edits or rejects one result: what stands, and what is asked again."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.ids import TaskId
from quire.domain.reasons import HoldKind
from quire.domain.states import RunState
from quire.simulated.fault_scripts import NO_FAULTS, parse_fault_script
from tests.ledger.raw import Raw
from tests.pipeline.decision_records import current_result, decision_events
from tests.pipeline.recipe_stages import SMALL, sent_texts, task_states
from tests.pipeline.taste_gate import (
    ALL_DONE,
    CHECK,
    POINTS,
    SUMMARY,
    hold_kinds,
    set_taste,
    stale_counts,
    start_run,
    tasks_of,
)
from tests.world import METADATA, World, sentences, until_rest

Worlds = Callable[..., World]
REFUSED = "refuse@Well?"  # every critic comes to nothing


def test_an_edit_marks_dependants_stale_and_a_retry_of_them_uses_the_new_data(
    world: Worlds,
) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    task, calls = tasks_of(here, run, "summary")[0], here.model.calls

    decision = run.edit(task, {"text": "Mended by hand."}, who="Ada")

    assert decision == (run.id, "summary", True, 2)
    assert current_result(here, task) == ("person", "edited", {"text": "Mended by hand."})
    assert stale_counts(here, run) == {"points": 2}
    assert task_states(here.engine, run) == ALL_DONE
    assert run.wait().state == RunState.FINISHED
    assert here.model.calls == calls  # nothing is asked again by itself
    assert decision_events(run, here) == [("edited", f"task {task} of summary, by Ada")]

    run.retry(stale=True)
    run.wait()

    assert here.model.calls == calls + 3
    assert sum("Mended by hand." in name for name in sent_texts(here.engine, run, "points")) == 2
    assert stale_counts(here, run) == {}
    assert current_result(here, task)[1] == "edited"


@pytest.mark.parametrize("confirmed", ["approved", "edited"])
def test_a_person_corrects_what_a_person_confirmed_and_machines_do_not(
    world: Worlds, confirmed: str
) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    task = tasks_of(here, run, "summary")[0]
    if confirmed == "approved":
        run.approve(task, who="Ada")
    else:
        run.edit(task, {"text": "Mended badly."}, who="Ada")

    decision = run.edit(task, {"text": "Mended well."}, who="Bo")

    assert decision.changed
    assert current_result(here, task) == ("person", "edited", {"text": "Mended well."})
    run.rerun("summary")
    run.wait()
    assert current_result(here, task) == ("person", "edited", {"text": "Mended well."})

    run.reject(task, "Neither will do.", who="Cy")
    run.wait()

    assert current_result(here, task)[:2] == ("model", "unreviewed")
    assert decision_events(run, here) == [
        (kind, f"task {task} of summary, by {who}")
        for kind, who in ((confirmed, "Ada"), ("edited", "Bo"), ("rejected", "Cy"))
    ]


def test_a_rejected_answer_is_asked_again_with_the_note_and_its_dependants_are_stale(
    world: Worlds,
) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    task, calls = tasks_of(here, run, "summary")[0], here.model.calls

    decision = run.reject(task, "It names nobody.", who="Ada")

    assert decision.stale == 2
    assert run.progress().state == RunState.RUNNING
    assert task_states(here.engine, run)["summary"] == {"done": 2, "ready": 1}
    assert stale_counts(here, run) == {"points": 2}
    with here.engine.ledger.snapshot() as tx:
        assert tx.results.tasks_with_results([task]) == set()

    assert run.wait().state == RunState.FINISHED

    assert here.model.calls == calls + 2  # the answer and its critic, and nothing else
    assert "It names nobody." in sent_texts(here.engine, run, "summary")[-1]
    assert task_states(here.engine, run) == {**ALL_DONE, "check": {"done": 4}}
    assert stale_counts(here, run) == {"points": 2}
    assert current_result(here, task)[:2] == ("model", "unreviewed")

    run.retry(stale=True)
    run.wait()
    assert stale_counts(here, run) == {}


def test_a_rejected_answer_of_a_pack_is_asked_again_alone_with_the_note(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    run = here.engine.run(schema=METADATA, model=SMALL)
    run.wait()
    task = tasks_of(here, run, run.progress().stages[0].name)[2]

    run.reject(task, "The words are miscounted.")
    assert {row["status"] for row in run.rows(only="accepted")} == {"accepted"}
    assert len(run.rows(only="accepted")) == 5
    run.wait()

    assert here.model.packs[-1] == 1
    name = run.progress().stages[0].name
    assert "The words are miscounted." in sent_texts(here.engine, run, name)[-1]
    assert len(run.rows(only="accepted")) == 6


def test_a_rejected_answer_has_fresh_tries(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1, max_tries=2)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    for note in ("Once.", "Twice.", "Thrice."):
        run.reject(task, note)
        run.wait()

    assert task_states(here.engine, run)["summary"] == {"done": 1}
    assert "Thrice." in sent_texts(here.engine, run, "summary")[-1]
    assert "Twice." not in sent_texts(here.engine, run, "summary")[-1]


def test_an_edited_result_is_exported_as_accepted(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=2)
    run.wait()
    first, _ = tasks_of(here, run, "summary")

    run.edit(first, {"text": "Mine."})

    texts = [row["text"] for row in run.rows(only="accepted")]
    assert len(texts) == 2
    assert "Mine." in texts


@pytest.mark.parametrize("deed", ["approve", "edit"])
def test_a_person_overrides_a_critic_that_is_owed(world: Worlds, deed: str) -> None:
    here = world(faults=REFUSED)
    run = start_run(here, stages=(SUMMARY, CHECK, POINTS), count=1, max_tries=1)
    run.wait()
    here.model.faults = NO_FAULTS
    run.retry()  # the critic is owed again, and nobody works
    assert task_states(here.engine, run)["summary"] == {"proposed": 1}
    (task,) = tasks_of(here, run, "summary")
    calls = here.model.calls

    if deed == "approve":
        run.approve(task)
    else:
        run.edit(task, {"text": "Mine."})

    found = task_states(here.engine, run)
    assert found["summary"] == {"done": 1}
    assert found["check"] == {"cancelled": 1}
    assert run.wait().state == RunState.FINISHED
    assert here.model.calls == calls + 2  # two points, and no critic
    assert task_states(here.engine, run)["points"] == {"done": 2}
    assert stale_counts(here, run) == {}


def test_the_word_of_a_critic_that_was_out_comes_too_late(world: Worlds) -> None:
    here = world()
    strict = replace(CHECK, critic="gate", accepts="answer.word_count < 0")
    run = start_run(here, stages=(SUMMARY, strict), count=1, max_tries=3)
    decided: list[TaskId] = []
    here.model.hold = lambda number: number == 2 and not decided

    def meddle() -> bool:
        if not decided and here.model.calls == 2:  # the critic is being asked
            (summary,) = tasks_of(here, run, "summary")
            run.approve(summary)
            decided.append(summary)
        return run.progress().state == RunState.FINISHED and here.model.calls == 2

    here.engine.work(meddle)
    run.wait()

    assert current_result(here, decided[0])[1] == "approved"
    assert task_states(here.engine, run)["summary"] == {"done": 1}
    assert here.model.calls == 2


def test_approving_what_only_its_critic_failed_lets_an_exact_run_go_on(world: Worlds) -> None:
    here = world(faults=REFUSED)
    run = start_run(
        here, stages=(SUMMARY, CHECK, POINTS), count=1, max_tries=1, completion_mode="exact"
    )
    until_rest(run)
    assert hold_kinds(run) == [HoldKind.FAILURES]
    (task,) = tasks_of(here, run, "summary")

    run.approve(task)

    assert hold_kinds(run) == []
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == {
        "summary": {"done": 1},
        "check": {"cancelled": 1},
        "points": {"done": 2},
    }


def test_approving_in_a_finished_run_brings_back_what_was_blocked(world: Worlds) -> None:
    here = world(faults=REFUSED)
    run = start_run(here, stages=(SUMMARY, CHECK, POINTS), max_tries=1)
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run)["points"] == {"blocked": 6}
    here.model.faults = NO_FAULTS

    run.approve(tasks_of(here, run, "summary")[0])
    assert run.wait().state == RunState.FINISHED

    assert task_states(here.engine, run)["points"] == {"blocked": 4, "done": 2}


def test_what_a_person_confirmed_survives_rerun_regate_and_retries(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    approved, edited = tasks_of(here, run, "points")[:2]
    run.approve(approved)
    run.edit(edited, {"text": "Mine."})
    before = [current_result(here, task_id) for task_id in (approved, edited)]

    set_taste(here, mark="!")
    (found,) = run.regate("points", apply=True)
    assert found.counts["confirmed"] == 2
    assert found.counts["changed"] == 4
    run.rerun("summary")
    run.wait()
    run.retry(stale=True)
    run.wait()
    run.rerun("check")
    run.wait()

    assert [current_result(here, task_id) for task_id in (approved, edited)] == before
    assert [item[1] for item in before] == ["approved", "edited"]
    assert task_states(here.engine, run)["points"] == {"done": 6}


def test_the_same_command_twice_acts_once(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    first, second, third = tasks_of(here, run, "summary")
    engine = here.engine

    assert engine.approve(first, "Ada", "a").changed
    assert not engine.approve(first, "Ada", "a").changed
    assert engine.edit(second, {"text": "Mine."}, "Ada", "b").changed
    assert not engine.edit(second, {"text": "Mine."}, "Ada", "b").changed
    assert engine.reject(third, "No.", "Ada", "c").changed
    assert not engine.reject(third, "No.", "Ada", "c").changed

    assert [kind for kind, _ in decision_events(run, here)] == ["approved", "edited", "rejected"]
    raw = Raw(here.url)
    ((version,),) = raw.rows(f"SELECT version FROM tasks WHERE id = {third}")
    raw.close()
    assert version == 2


def test_a_rejected_answer_whose_critic_failed_is_asked_again(world: Worlds) -> None:
    here = world()
    here.model.faults = parse_fault_script(REFUSED)
    run = start_run(here, stages=(SUMMARY, CHECK), count=1, max_tries=1)
    run.wait()
    here.model.faults = NO_FAULTS
    (task,) = tasks_of(here, run, "summary")
    assert task_states(here.engine, run)["summary"] == {"failed": 1}

    run.reject(task, "No.")
    run.wait()

    assert task_states(here.engine, run) == {
        "summary": {"done": 1},
        "check": {"cancelled": 1, "done": 1},
    }
