"""Parents and children: who waits, who is blocked, who takes what there is, and who wakes whom."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.recipes import Stage
from quire.domain.states import RunState, TaskState
from quire.engine import RunHandle
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import (
    NOTED,
    recipe,
    record_stage,
    task_outcomes,
    task_states,
    text_stage,
)
from tests.pipeline.taste_gate import TASTE, set_taste, stale_counts, start_run, tasks_of
from tests.world import World, until_rest

Worlds = Callable[..., World]
ALL_VIEWS = "{% for each in inputs.view %}{{ each.text }} {% endfor %}"
IDEA = text_stage("idea", "each_document", "Idea of {{ document.text }}")
VIEW = text_stage(
    "view",
    "samples",
    "View{{ sample }} of {{ inputs.idea.text }}",
    of="idea",
    samples=2,
    gates=TASTE,
)
LINE = text_stage("it", "by_lineage", ALL_VIEWS, of="view")
GROUP = text_stage("it", "by_group", ALL_VIEWS, of="view", needs=("idea",))
PAIR = text_stage(
    "it",
    "pairs_by_origin",
    "{{ inputs.idea.text }} {{ inputs.view.text }}",
    of="view",
    needs=("idea",),
)
MODEL = text_stage("it", "each_model", ALL_VIEWS, needs=("view",))
ALL = text_stage("it", "all_to_one", ALL_VIEWS, needs=("view",))
ONE_OF_SIX = "View1 of simulated: Idea of Document number1"
Counts = dict[str, int]


def run_three(here: World, stage: Stage, **settings: Any) -> RunHandle:
    """Start a run of three ideas with two views each."""
    return start_run(here, (IDEA, VIEW, stage), max_tries=1, **settings)


def states(here: World, run: RunHandle, stage: str = "it") -> Counts:
    """The tasks of a stage by state."""
    return task_states(here.engine, run)[stage]


FAILED_ONE: list[tuple[Stage, str, Counts]] = [
    (LINE, "", {"done": 2, "blocked": 1}),
    (LINE, "leave_out", {"done": 3}),
    (GROUP, "", {"done": 2, "blocked": 1}),
    (GROUP, "leave_out", {"done": 3}),
    (PAIR, "", {"done": 5, "blocked": 1}),
    (PAIR, "leave_out", {"done": 5, "blocked": 1}),  # of what it is about, one must be there
    (MODEL, "", {"done": 1}),
    (MODEL, "block", {"blocked": 1}),
    (ALL, "", {"done": 1}),
    (ALL, "block", {"blocked": 1}),
]


# What a mode does about a failure does not depend on what a stage is about: by lineage, and to
# one, stand for the others.
@pytest.mark.parametrize(
    ("mode", "stage", "missing", "counts"),
    [
        pytest.param(
            mode, *case, id=f"{mode}-{case[0].about}-{case[1]}",
            marks=() if mode == "best_effort" or case[0] in (LINE, ALL) else pytest.mark.soak,
        )
        for mode in ("best_effort", "exact", "throughput")
        for case in FAILED_ONE
    ],
)  # fmt: skip
def test_a_failed_input_blocks_or_is_left_out_as_the_stage_says(
    world: Worlds, mode: str, stage: Stage, missing: str, counts: Counts
) -> None:
    here = world()
    set_taste(here, refuses=ONE_OF_SIX)

    run = run_three(here, replace(stage, missing=missing), completion_mode=mode)
    until_rest(run)
    if mode == "exact":  # it is held until somebody says: go on without it
        assert states(here, run) == {}
        failed = tasks_of(here, run, "view")[3]
        assert run.waive(failed) == 1
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    assert task_states(here.engine, run)["view"] == {"done": 5, "failed": 1}
    assert states(here, run) == counts


@pytest.mark.parametrize("stage", [LINE, GROUP, MODEL, ALL], ids=lambda stage: stage.about)
def test_of_nothing_at_all_nothing_is_made(world: Worlds, stage: Stage) -> None:
    here = world()
    set_taste(here, refuses="View")
    run = run_three(here, replace(stage, missing="leave_out"))
    assert until_rest(run).state == RunState.FINISHED
    (state,) = states(here, run)
    assert state == TaskState.BLOCKED

    set_taste(here)
    assert run.retry() == 6
    run.wait()

    (state,) = states(here, run)
    assert state == TaskState.DONE


def test_one_input_that_counts_after_all_is_enough_where_others_are_left_out(
    world: Worlds,
) -> None:
    here = world()
    set_taste(here)
    veto = record_stage(
        *("veto", "each_result", "Well? {{ judged.answer }}", NOTED),
        of="view",
        critic="gate",
        accepts="answer.word_count < 0",
    )
    stages = (IDEA, VIEW, veto, replace(LINE, missing="leave_out"))
    run = start_run(here, stages, max_tries=1, hold_failed_percent=100)
    until_rest(run)
    assert states(here, run) == {"blocked": 3}

    run.approve(tasks_of(here, run, "view")[0])
    run.wait()

    assert states(here, run) == {"done": 1, "blocked": 2}
    assert "came to nothing" in str(task_outcomes(here.engine, run, "it")[-1][1])


@pytest.mark.parametrize("stage", [LINE, GROUP], ids=lambda stage: stage.about)
def test_what_was_left_out_makes_a_result_stale_when_it_appears(
    world: Worlds, stage: Stage
) -> None:
    here = world()
    set_taste(here, refuses=ONE_OF_SIX)
    run = run_three(here, replace(stage, missing="leave_out"))
    run.wait()
    calls = here.model.calls
    set_taste(here)

    assert run.retry() == 1
    run.wait()

    assert (stale_counts(here, run), here.model.calls - calls) == ({"it": 1}, 1)
    assert run.retry(stale=True) == 1
    run.wait()
    assert (stale_counts(here, run), here.model.calls - calls) == ({}, 2)


@pytest.mark.parametrize("stage", [LINE, GROUP, PAIR], ids=lambda stage: stage.about)
def test_a_retry_brings_back_what_a_failure_blocked(world: Worlds, stage: Stage) -> None:
    here = world()
    set_taste(here, refuses=ONE_OF_SIX)
    run = run_three(here, stage)
    run.wait()
    set_taste(here)

    assert run.retry() == 1
    run.wait()

    (state,) = states(here, run)
    assert (state, stale_counts(here, run)) == (TaskState.DONE, {})


@pytest.mark.parametrize("stage", [LINE, GROUP, PAIR, MODEL], ids=lambda stage: stage.about)
def test_a_rerun_asks_the_same_tasks_again(world: Worlds, stage: Stage) -> None:
    here = world()
    run = run_three(here, stage)
    run.wait()
    before, calls = tasks_of(here, run, "it"), here.model.calls

    owed = run.rerun("view")
    run.wait()

    assert here.model.calls - calls == owed == 6 + len(before)
    assert tasks_of(here, run, "it") == before
    assert (states(here, run), stale_counts(here, run)) == ({"done": len(before)}, {})


@pytest.mark.parametrize("stage", [LINE, GROUP, PAIR], ids=lambda stage: stage.about)
def test_kept_results_keep_their_lineage_among_the_copies(world: Worlds, stage: Stage) -> None:
    here = world()
    first = run_three(here, replace(stage, prompt="At first."))
    first.wait()
    calls = here.model.calls

    changed = here.engine.run(recipe=recipe(IDEA, VIEW, stage), reuse=(first.id, "it"), max_tries=1)
    changed.wait()

    made = {"pairs_by_origin": 6}.get(stage.about, 3)
    assert states(here, changed) == {"done": made}
    assert here.model.calls - calls == made
    ours = {*tasks_of(here, changed, "idea"), *tasks_of(here, changed, "view")}
    with here.engine.ledger.snapshot() as tx:
        tasks = [*tasks_of(here, changed, "view"), *tasks_of(here, changed, "it")]
        inputs = tx.subjects.inputs_of_tasks(tasks)
    raw = Raw(here.url)
    rows = raw.rows(
        "SELECT t.origin_id, t.group_id, ti.input_task_id FROM tasks t"
        " JOIN task_inputs ti ON ti.task_id = t.id WHERE t.run_id = :run",
        run=changed.id,
    )
    raw.close()
    assert {number for row in rows for number in row} <= ours
    assert all(inputs[task] for task in tasks)


def test_a_child_that_is_paused_keeps_its_parent_waiting(world: Worlds) -> None:
    here = world()
    set_taste(here)
    seen: list[Counts] = []
    here.model.hold = lambda number: number == 6 and not seen  # one of the views
    run = run_three(here, LINE, completion_mode="throughput")

    def pause_midway() -> bool:
        if not seen and states(here, run).get("done", 0) == 2:
            run.pause()
            seen.append(states(here, run))
        return states(here, run, "view") == {"done": 6}

    here.engine.work(pause_midway)

    assert seen == [{"done": 2, "waiting": 1}]
    assert states(here, run)["done"] == 2
    run.resume()
    run.wait()
    assert states(here, run) == {"done": 3}


def test_everybody_who_waits_for_one_result_is_let_go_by_it(world: Worlds) -> None:
    here = world()
    set_taste(here)
    free: list[bool] = []
    here.model.hold = lambda number: not free
    readers = (
        text_stage("a", "each_result", "{{ inputs.idea.text }}", of="idea"),
        replace(VIEW, name="b", samples=3),
        text_stage("c", "by_lineage", "{{ inputs.idea|length }}", of="idea", samples=2),
        text_stage("d", "each_document", "{{ inputs.idea.text }}", needs=("idea",)),
    )
    run = start_run(here, (IDEA, *readers), count=1, completion_mode="throughput")
    waiting = {"a": 1, "b": 3, "c": 2, "d": 1}

    def all_wait() -> bool:
        found = task_states(here.engine, run)
        return all(found[name] == {"waiting": count} for name, count in waiting.items())

    def go_on() -> bool:
        if all_wait():
            free.append(True)
        return run.progress().state == RunState.FINISHED

    here.engine.work(go_on)

    assert free
    found = task_states(here.engine, run)
    assert {name: found[name] for name in waiting} == {
        name: {"done": count} for name, count in waiting.items()
    }
