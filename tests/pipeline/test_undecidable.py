"""Decisions that cannot be carried out are refused with all that is wrong, and change nothing."""

from collections.abc import Callable

import pytest

from quire.domain.data import Json
from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.recipes import GateUse
from quire.domain.states import RunState
from tests.pipeline.decision_records import current_result
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, task_states
from tests.pipeline.taste_gate import CHECK, POINTS, SUMMARY, set_taste, start_run, tasks_of
from tests.world import World, sentences

Worlds = Callable[..., World]


def test_bad_edits_are_refused_with_all_that_is_wrong_and_change_nothing(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))
    rules = GateUse("rules", {"rules": [{"field": "word_count", "max": 9}]})
    noted = record_stage("noted", "each_block", "Read.", NOTED, gates=(GateUse("json"), rules))
    run = here.engine.run(recipe=recipe(noted), model=SMALL)
    run.wait()
    (task,) = tasks_of(here, run, "noted")
    before = current_result(here, task)

    with pytest.raises(UsageError) as raised:
        run.edit(task, {"approved": "yes", "word_count": "many"})
    assert "2 mistakes\n  /approved: " in str(raised.value)
    assert "\n  /word_count: " in str(raised.value)
    with pytest.raises(UsageError, match="1 mistake\n"):
        run.edit(task, {"approved": True, "word_count": 10})
    with pytest.raises(UsageError, match="not JSON"):
        run.edit(task, {"approved": True, "word_count": float("nan")})
    assert current_result(here, task) == before

    run.edit(task, {"approved": True, "word_count": 9})
    assert current_result(here, task)[2] == {"approved": True, "word_count": 9}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"text": " "}, "empty answer"),
        ({"text": 5}, "/text: must be text"),
        ({"text": None}, "/text: must be text"),
        ({"words": "x"}, "/words: there is no such field\n  /text: is missing"),
        ("words", "/: must be an object"),
        ({"text": "a bad word"}, "it says bad"),
        ({"text": "\ud800"}, "not JSON"),
    ],
)
def test_an_edited_text_must_pass_the_gates_of_its_stage(
    world: Worlds, data: Json, said: str
) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY,), count=1)
    run.wait()
    (task,) = tasks_of(here, run, "summary")
    set_taste(here, refuses="bad")

    with pytest.raises(UsageError) as raised:
        run.edit(task, data)

    assert said in str(raised.value)
    assert current_result(here, task)[1] == "unreviewed"


def test_what_cannot_be_decided_is_refused_in_one_line(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, CHECK), count=2)
    with pytest.raises(NotFound, match="no task 999"):
        run.approve(999)
    here.engine.work(lambda: task_states(here.engine, run)["summary"] != {})
    waiting = tasks_of(here, run, "summary")[0]
    with pytest.raises(IllegalMove, match=r"is (ready|packed) and has no answer to approve"):
        run.approve(waiting)
    run.wait()
    first, second = tasks_of(here, run, "summary")

    with pytest.raises(IllegalMove, match=f"says of task {first}; decide about that one"):
        run.approve(tasks_of(here, run, "check")[0])
    with pytest.raises(UsageError, match="say what is wrong"):
        run.reject(first, "  ")
    run.approve(first)
    with pytest.raises(IllegalMove, match="was approved by a person before"):
        run.approve(first)
    here.engine.purge("doc0")
    here.engine.purge("doc1")
    with pytest.raises(IllegalMove, match="was purged"):
        run.reject(second, "No.")


def test_a_run_decides_about_its_own_tasks_alone(world: Worlds) -> None:
    here = world()
    first, second = (start_run(here, stages=(SUMMARY,), count=1, new=True) for _ in range(2))
    first.wait()
    second.wait()
    (task,) = tasks_of(here, first, "summary")

    other = pytest.raises(UsageError, match=f"task {task} is of run {first.id}, not of run")
    with other:
        second.approve(task)
    with other:
        second.edit(task, {})
    with other:
        second.reject(task, "No.")

    assert current_result(here, task)[1] == "unreviewed"


def test_nothing_is_rejected_in_a_cancelled_run_and_the_rest_can_be_decided(
    world: Worlds,
) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, POINTS), count=1, stop_after="summary")
    run.wait()
    run.cancel()
    run.wait()
    assert run.progress().state == RunState.CANCELLED
    task = tasks_of(here, run, "summary")[0]

    with pytest.raises(IllegalMove, match="is cancelled, and nothing is asked again"):
        run.reject(task, "No.")
    run.approve(task)

    assert current_result(here, task)[1] == "approved"
    assert run.progress().state == RunState.CANCELLED
