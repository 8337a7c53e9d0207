"""How far every stage of a recipe is, and why nothing moves when nothing moves."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.ids import LOCAL
from quire.domain.recipes import Recipe
from quire.domain.runs import StageProgress
from quire.domain.states import RunState
from quire.engine import RunHandle
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.progress import is_at_rest, progress, stage_stall_reasons, stall_reasons
from quire.pipeline.contexts import Contexts
from quire.simulated.fault_scripts import parse_fault_script
from tests.pipeline.recipe_stages import SMALL, recipe, record_stage, text_stage
from tests.world import NOW, World, sentences, until_rest

Worlds = Callable[..., World]

SUMMARY = text_stage("summary", "each_document", "Summarise:\n{{ document.text }}")
CHECK = text_stage(
    "check", "each_result", "Was this well done? {{ judged.answer }}", of="summary", critic="record"
)
POINTS = text_stage(
    "points", "samples", "{{ inputs.summary.text }} {{ sample }}", of="summary", samples=3
)
DIGEST = text_stage(
    "digest",
    "all_to_one",
    "{% for each in inputs.points %}{{ each.text }}{% endfor %}",
    needs=("points",),
)
WHOLE = recipe(SUMMARY, CHECK, POINTS, DIGEST)


def documents(here: World, count: int = 3) -> None:
    for number in range(count):
        here.ingest([f"Document {number} speaks.", "It says more."], name=f"doc{number}")


def start_recipe(here: World, staged_recipe: Recipe = WHOLE, **how: Any) -> RunHandle:
    return here.engine.run(recipe=staged_recipe, model=SMALL, **how)


def stages(run: RunHandle) -> dict[str, StageProgress]:
    return {stage.name: stage for stage in run.progress().stages}


def test_every_stage_is_told_with_its_tasks_and_the_total_is_what_is_known(world: Worlds) -> None:
    here = world()
    documents(here)
    run = start_recipe(here)
    before = stages(run)

    now = run.wait()

    assert [stage_progress.waits_for for stage_progress in before.values()] == [
        *("", ""),
        "waits for summary",
        "waits for points",
    ]
    assert before["check"].judges == "summary"
    assert [stage.critic for stage in now.stages] == [False, True, False, False]
    assert {stage.name: dict(stage.counts) for stage in now.stages} == {
        "summary": {"done": 3},
        "check": {"done": 3},
        "points": {"done": 9},
        "digest": {"done": 1},
    }
    assert (now.noun, now.total, now.done) == ("task", 16, 16)
    assert {stage.state for stage in now.stages} == {"closed"}
    assert here.engine.stall_reasons(run.id) == []


def test_a_schema_is_told_as_blocks_and_not_as_a_recipe(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4))

    now = here.run().progress()

    assert (now.noun, now.total, len(now.stages)) == ("block", 4, 1)


def test_progress_takes_as_many_statements_however_many_stages_there_are(world: Worlds) -> None:
    here = world()
    documents(here)
    few = start_recipe(here, recipe(SUMMARY))
    more = [
        text_stage(f"more{number}", "each_result", "{{ inputs.summary.text }}", of="summary")
        for number in range(8)
    ]
    many = start_recipe(here, recipe(SUMMARY, *more))
    few.wait()
    many.wait()

    assert statements(here, few) == statements(here, many)


def statements(here: World, run: RunHandle) -> int:
    """How many statements one look takes, once what the run was told is known."""

    class Counting:
        """A connection that counts."""

        count = 0

        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> Any:
            Counting.count += name in ("run", "stream")
            return getattr(self._connection, name)

    with here.engine.ledger._database.snapshot() as connection:
        counting: Any = Counting(connection)
        tx = Transaction(counting, LOCAL)
        progress(tx, run.id, here.engine.context.contexts)
        Counting.count = 0
        progress(tx, run.id, here.engine.context.contexts)
    return Counting.count


def test_a_limit_rests_only_when_all_that_follows_is_done_too(world: Worlds) -> None:
    here = world()
    documents(here)
    run = start_recipe(here, limit=2)

    now = run.wait()

    assert is_at_rest(now)
    assert {stage.name: dict(stage.counts) for stage in now.stages} == {
        "summary": {"done": 2},
        "check": {"done": 2},
        "points": {"done": 6},
        "digest": {},
    }
    why = here.engine.stall_reasons(run.id)
    assert why[0].startswith("--limit 2 is reached")
    assert any(line.startswith("digest waits for points") for line in why)
    assert start_recipe(here).wait().done == 16


def test_a_stop_is_told_with_how_to_go_on(world: Worlds) -> None:
    here = world()
    documents(here)
    run = start_recipe(here, stop_after="summary")
    run.wait()

    why = here.engine.stall_reasons(run.id)

    assert why[0].startswith("held (stop_after)")
    assert f"points waits: the run stops after summary; `quire resume {run.id}` goes on" in why


def test_what_waits_for_a_critic_says_for_which(world: Worlds) -> None:
    here = world()
    documents(here)
    here.model.faults = parse_fault_script("key@Was this well done")
    run = start_recipe(here)
    until_rest(run)

    why = here.engine.stall_reasons(run.id)

    assert any(line.startswith("held (credential)") for line in why)
    assert "summary: 3 proposed, waiting for check (3 owed)" in why


@pytest.mark.parametrize(("fault", "end"), [("refuse", " (1)"), ("wrong", "… (1)")])
def test_what_is_blocked_says_why_even_when_the_run_has_ended(
    world: Worlds, fault: str, end: str
) -> None:
    here = world()
    documents(here)
    here.model.faults = parse_fault_script(f"{fault}@Document 1")
    staged_recipe = recipe(
        record_stage("facts", "each_document", "Read. {{ document.text }}"),
        text_stage("point", "each_result", "{{ inputs.facts.text }}", of="facts"),
    )
    run = start_recipe(here, staged_recipe, max_tries=1, packing=False)

    now = run.wait()

    assert now.state == RunState.FINISHED
    (line,) = here.engine.stall_reasons(run.id)
    assert line.startswith("point: 1 blocked, because facts failed: ")
    assert line.endswith(f"{end}; `quire retry {run.id}` asks again what failed")


def test_what_is_stale_says_how_to_make_it_again(world: Worlds) -> None:
    here = world()
    documents(here, 1)
    run = start_recipe(here)
    run.wait()
    with here.engine.ledger.transaction() as tx:
        first = tx.runs.stages_of_run(run.id)[0].id
        tasks = [task.id for task in tx.lineage.first_tasks_of_stage(first, 10)]
        tx.critiques.supersede_results(tasks, here.engine.runtime.now())
        tx.lineage.mark_stale(tasks, here.engine.runtime.now())

    why = here.engine.stall_reasons(run.id)

    assert stages(run)["points"].stale == 3
    assert any(
        line.startswith("points: 3 stale") and f"quire retry {run.id} --stale" in line
        for line in why
    )


def test_a_grouping_that_is_not_installed_is_a_reason_and_no_breakdown(world: Worlds) -> None:
    here = world()
    documents(here, 1)
    run = start_recipe(here, completion_mode="throughput")
    lost = here.engine.registry
    groupings = {
        name: grouping for name, grouping in lost.groupings.items() if name != "all_to_one"
    }

    with here.engine.ledger.snapshot() as tx:
        now = progress(tx, run.id, Contexts(replace(lost, groupings=groupings)))

    assert "not installed" in now.stages[-1].waits_for


def test_a_run_that_is_paused_says_so(world: Worlds) -> None:
    here = world()
    documents(here)
    run = start_recipe(here)
    run.pause()

    assert here.engine.stall_reasons(run.id)[0].startswith("held (user)")


def test_waiting_for_another_stage_is_a_reason_only_where_nothing_moves(world: Worlds) -> None:
    here = world()
    documents(here)
    run = start_recipe(here)

    with here.engine.ledger.snapshot() as tx:
        now = run.progress()
        moving = [*stall_reasons(tx, now, 1, NOW), *stage_stall_reasons(tx, now, 1)]
        alone = [*stall_reasons(tx, now, 0, NOW), *stage_stall_reasons(tx, now, 0)]

    assert moving == []
    assert [str(stall).partition(":")[0] for stall in alone] == [
        "no worker is running",
        "points waits for summary",
        "digest waits for points",
    ]
