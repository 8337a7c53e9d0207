"""Stored answers judged again by gates that have changed: what is told, and what is applied."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.errors import NotFound
from quire.domain.regating import RegateReport
from quire.domain.states import RunState
from quire.engine import RunHandle
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import NOTED, record_stage, task_outcomes, task_states, text_stage
from tests.pipeline.scripted_model import let_model_say
from tests.pipeline.taste_gate import (
    ALL_DONE,
    CHAIN,
    CHECK,
    SUMMARY,
    TASTE,
    confirm,
    set_taste,
    stale_counts,
    start_run,
    tasks_of,
)
from tests.world import World, until_rest

Worlds = Callable[..., World]


def counts(found: list[RegateReport]) -> dict[str, dict[str, int]]:
    """What differs or is left alone, by stage; zeros left out."""
    return {report.stage: {kind: n for kind, n in report.counts.items() if n} for report in found}


def data_of(here: World, run: RunHandle, stage: str) -> list[Any]:
    """The current data of a stage's tasks, in order."""
    with here.engine.ledger.snapshot() as tx:
        key = next(
            run_stage.id for run_stage in tx.runs.stages_of_run(run.id) if run_stage.name == stage
        )
        return [task.data for task in tx.controls.answered_tasks(key, 0, 1000)]


def test_gates_that_have_not_changed_change_nothing(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    calls = here.model.calls

    found = run.regate(apply=True)

    assert counts(found) == {
        "summary": {"same": 3},
        "check": {"same": 3},
        "points": {"same": 6},
        "digest": {"same": 1},
    }
    assert run.progress().state == RunState.FINISHED
    assert here.model.calls == calls


def test_what_would_change_is_told_and_nothing_is_changed(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    before = data_of(here, run, "points")
    set_taste(here, mark="!", version="2")

    (found,) = run.regate("points")

    assert (found.stage, found.gate_version, found.applied) == ("points", "taste/2", False)
    assert found.counts["changed"] == found.difference_count == 6
    assert len(found.examples) == 5
    assert found.examples[0].kind == "changed"
    assert found.examples[0].after.endswith("!")
    assert data_of(here, run, "points") == before
    assert stale_counts(here, run) == {}


def test_changed_data_takes_the_place_of_the_old_and_dependants_are_marked(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    calls, cost = here.model.calls, run.progress().cost_pico
    set_taste(here, mark="!", version="2")

    (found,) = run.regate("points", apply=True)

    assert found.stale == 1
    assert all("!" in item for item in data_of(here, run, "points"))
    assert stale_counts(here, run) == {"digest": 1}
    assert run.wait().state == RunState.FINISHED
    assert (here.model.calls, run.progress().cost_pico) == (calls, cost)
    raw = Raw(here.url)
    kept = raw.rows(
        "SELECT r.gate_version, count(*), count(r.superseded_at) FROM results r"
        " JOIN tasks t ON t.id = r.task_id JOIN stages s ON s.id = t.stage_id"
        " WHERE s.name = 'points' GROUP BY r.gate_version ORDER BY r.gate_version"
    )
    raw.close()
    assert kept == [("taste/1", 6, 6), ("taste/2", 6, 0)]


def test_stale_dependants_are_asked_again_only_on_request(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    set_taste(here, mark="!", version="2")
    run.regate("points", apply=True)
    calls = here.model.calls

    assert run.retry(stale=True) == 1
    run.wait()

    assert here.model.calls == calls + 1
    assert stale_counts(here, run) == {}
    assert task_states(here.engine, run) == ALL_DONE


def test_regating_twice_is_the_same_as_once(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    set_taste(here, mark="!", version="2")

    run.regate("points", apply=True)

    assert counts(run.regate("points", apply=True)) == {"points": {"same": 6}}


def test_an_answer_that_failed_and_passes_now_is_accepted_and_the_run_goes_on(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here, refuses="number1")
    run = start_run(here, max_tries=1)
    run.wait()
    set_taste(here, version="2")
    calls = here.model.calls

    (found,) = run.regate("summary", apply=True)

    assert found.counts["accepted"] == 1
    assert found.examples[0].before == "it says number1 (1 try)"
    assert task_states(here.engine, run)["summary"] == {"done": 2, "proposed": 1}
    assert run.wait().state == RunState.FINISHED
    assert task_states(here.engine, run) == ALL_DONE
    assert here.model.calls == calls + 1 + 2  # its critic, and what was blocked
    assert stale_counts(here, run) == {"digest": 1}


def test_an_answer_that_passed_and_does_not_any_more_fails_with_the_reason(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    calls = here.model.calls
    set_taste(here, refuses="number1", version="2")

    (report,) = run.regate("summary")
    (found,) = run.regate("summary", apply=True)

    assert report.counts == found.counts
    assert found.counts["refused"] == 1
    assert found.examples[0].after == "it says number1"
    assert task_outcomes(here.engine, run, "summary")[1] == ("failed", "regate: it says number1")
    assert stale_counts(here, run) == {"points": 2}
    assert run.wait().state == RunState.FINISHED
    assert here.model.calls == calls
    assert counts(run.regate("summary", apply=True)) == {"summary": {"same": 3}}


def test_a_refused_answer_can_be_asked_again(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    set_taste(here, refuses="number1", version="2")
    run.regate("summary", apply=True)
    set_taste(here, version="3")

    assert run.retry() == 1
    run.wait()
    assert run.retry(stale=True) == 3
    run.wait()

    assert {name: state["done"] for name, state in task_states(here.engine, run).items()} == {
        "summary": 3,
        "check": 4,
        "points": 6,
        "digest": 1,
    }
    assert stale_counts(here, run) == {}


def test_refused_answers_hold_an_exact_run(world: Worlds) -> None:
    here = world()
    run = start_run(here, completion_mode="exact")
    run.wait()
    set_taste(here, refuses="number1", version="2")

    run.regate("summary", apply=True)
    until_rest(run)

    assert [hold.kind.value for hold in run.progress().holds] == ["failures"]


def test_changed_data_is_shown_to_its_critic_before_it_counts(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, CHECK))
    run.wait()
    set_taste(here, mark="!", version="2")

    run.regate("summary", apply=True)
    assert task_states(here.engine, run) == {
        "summary": {"proposed": 3},
        "check": {"done": 3, "ready": 3},
    }
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 6}}


def test_who_was_judged_by_a_critic_that_does_not_pass_any_more_fails_with_it(
    world: Worlds,
) -> None:
    here = world()
    talk = text_stage(
        "check",
        "each_result",
        "Well? {{ judged.answer }}",
        of="summary",
        critic="record",
        gates=TASTE,
    )
    run = start_run(here, stages=(SUMMARY, talk))
    run.wait()
    set_taste(here, refuses="number1", version="2")

    (found,) = run.regate("check", apply=True)

    assert found.counts["refused"] == 1
    assert task_outcomes(here.engine, run, "summary")[1] == (
        "failed",
        "critic_failed: regate: it says number1",
    )
    set_taste(here)
    assert run.retry() == 1
    run.wait()
    assert task_states(here.engine, run) == {"summary": {"done": 3}, "check": {"done": 3}}


def test_what_a_person_confirmed_is_left_alone(world: Worlds) -> None:
    here = world()
    run = start_run(here)
    run.wait()
    confirm(here, tasks_of(here, run, "points")[2])
    before = data_of(here, run, "points")[2]
    set_taste(here, refuses="Point", version="2")

    (found,) = run.regate("points", apply=True)

    assert (found.counts["confirmed"], found.counts["refused"]) == (1, 5)
    assert task_states(here.engine, run)["points"] == {"done": 1, "failed": 5}
    assert data_of(here, run, "points")[2] == before


def test_a_stage_that_is_not_there_is_told(world: Worlds) -> None:
    run = start_run(world())

    with pytest.raises(NotFound, match="no stage 'pints'"):
        run.regate("pints")
    assert [report.stage for report in run.regate()] == [stage.name for stage in CHAIN]


def test_thoughts_that_were_kept_as_results_are_mended_for_nothing(world: Worlds) -> None:
    here = world()
    let_model_say(here, lambda _: "<think>\nPerhaps nine.\n</think>\n\nTwo.")
    run = start_run(here, (text_stage("summary", "each_document", "Sum up."),), count=1)
    run.wait()
    with here.engine.ledger.snapshot() as tx:
        request = tx.views.list_requests(run.id, 0, 1)[0].id
    (attempt,) = here.engine.queries.exchange(request).attempts
    assert (attempt.decoded, attempt.reasoning) == ("Two.", "Perhaps nine.")
    assert data_of(here, run, "summary") == ['{"text":"Two."}']
    raw = Raw(here.url)
    raw.rows("UPDATE results SET data = :data", data='{"text":"<think>Perhaps nine.</think> Two."}')
    raw.close()

    (found,) = run.regate(apply=True)

    assert found.counts["changed"] == 1
    assert data_of(here, run, "summary") == ['{"text":"Two."}']


def test_an_answer_that_is_only_in_the_reasoning_is_read(world: Worlds) -> None:
    here = world()
    let_model_say(here, lambda _: "I do not know.")
    stage = record_stage("facts", "each_document", "What?\n{{ document.text }}", NOTED)
    run = start_run(here, (stage,), count=1, max_tries=1)
    run.wait()
    raw = Raw(here.url)
    uid = raw.rows("SELECT wire_id FROM request_tasks")[-1][0]
    answer = (
        f'So it is {{"results": [{{"block_uid": "{uid}", "approved": true, "word_count": 2}}]}}'
    )
    sql = f"UPDATE responses SET codec = 'plain', decoded = {raw.bytes_of(':empty')}"
    raw.rows(f"{sql}, reasoning = {raw.bytes_of(':answer')}", empty="\n", answer=answer)
    raw.close()

    (found,) = run.regate(apply=True)

    assert found.counts["accepted"] == 1
