"""Stages that read each other's results: what is made, in which words it is asked, what follows."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.states import RunState, TaskState
from tests.pipeline.recipe_stages import (
    NOTED,
    SMALL,
    recipe,
    record_stage,
    sent_texts,
    task_outcomes,
    task_states,
    text_stage,
)
from tests.world import World, sentences, until_rest

Worlds = Callable[..., World]

SUMMARY = text_stage("summary", "each_document", "Summarise:\n{{ document.text }}")


def documents(here: World, count: int = 3) -> None:
    for number in range(count):
        here.ingest([f"Document {number} speaks.", "It has a second part."], f"doc{number}")


def test_results_flow_from_stage_to_stage_to_one(world: Worlds) -> None:
    here = world()
    documents(here)
    staged_recipe = recipe(
        SUMMARY,
        text_stage(
            "point", "samples", "{{ sample }}: {{ inputs.summary.text }}", of="summary", samples=4
        ),
        text_stage(
            "digest",
            "all_to_one",
            "{% for each in inputs.point %}{{ each.text }};{% endfor %}",
            needs=("point",),
        ),
    )

    run = here.engine.run(recipe=staged_recipe, model=SMALL)
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    assert task_states(here.engine, run) == {
        "summary": {"done": 3},
        "point": {"done": 12},
        "digest": {"done": 1},
    }


def test_a_result_about_a_document_reads_all_blocks_that_it_was_made_from(world: Worlds) -> None:
    here = world()
    documents(here, 1)
    staged_recipe = recipe(
        record_stage("facts", "each_block", "Read."),
        text_stage("page", "each_document", "{{ inputs.facts|length }}", needs=("facts",)),
        text_stage(
            "edit", "each_result", "Of {{ inputs.facts|length }}.", of="page", needs=("facts",)
        ),
    )

    run = here.engine.run(recipe=staged_recipe, model=SMALL)
    run.wait()

    assert sent_texts(here.engine, run, "edit") == ["Of 2."]


def test_a_recipe_given_twice_is_one_run_and_asks_nothing_again(world: Worlds) -> None:
    here = world()
    documents(here)
    staged_recipe = recipe(
        SUMMARY, text_stage("again", "each_result", "{{ inputs.summary.text }}", of="summary")
    )

    first = here.engine.run(recipe=staged_recipe, model=SMALL)
    first.wait()
    calls = len(here.model.packs)
    second = here.engine.run(recipe=staged_recipe, model=SMALL)
    second.wait()

    assert (second.id, second.goes_on) == (first.id, True)
    assert len(here.model.packs) == calls == 6


def test_records_about_results_are_packed_and_judged_by_further_gates(world: Worlds) -> None:
    from quire.domain.recipes import JSON_GATE, GateUse

    here = world()
    here.ingest(sentences(20))
    small = GateUse("rules", {"rules": [{"field": "word_count", "max": 10_000}]})
    staged_recipe = recipe(
        record_stage("first", "each_block", "Read."),
        record_stage("second", "each_result", "Read again.", of="first", gates=(JSON_GATE, small)),
    )

    run = here.engine.run(recipe=staged_recipe, model=SMALL, pack_size=10)
    run.wait()

    assert task_states(here.engine, run) == {"first": {"done": 20}, "second": {"done": 20}}
    assert here.model.packs == [10, 10, 10, 10]


def test_several_models_are_asked_each_on_its_own(world: Worlds) -> None:
    here = world()
    documents(here, 2)
    both = ("simulated/small", "simulated/large")
    staged_recipe = recipe(
        text_stage("draft", "each_document", "{{ model }}: {{ document.title }}", models=both),
        text_stage("mend", "each_result", "{{ model }} mends {{ inputs.draft.model }}", of="draft"),
    )

    run = here.engine.run(recipe=staged_recipe)
    run.wait()

    assert task_states(here.engine, run) == {"draft": {"done": 4}, "mend": {"done": 4}}
    with here.engine.ledger.snapshot() as tx:
        asked = {
            (attempt.model, len(here.engine.queries.exchange(line.id).attempts))
            for line in tx.views.list_requests(run.id, 0, 100)
            for attempt in tx.views.attempts_of_request(line.id)
        }
    assert asked == {("simulated/small", 1), ("simulated/large", 1)}


def test_best_effort_blocks_what_reads_a_failure_and_goes_on_with_the_rest(world: Worlds) -> None:
    here = world(faults="refuse@Document 1")
    documents(here)
    staged_recipe = recipe(
        SUMMARY, text_stage("point", "each_result", "{{ inputs.summary.text }}", of="summary")
    )

    run = here.engine.run(recipe=staged_recipe, model=SMALL, max_tries=2)
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    assert task_states(here.engine, run)["point"] == {"done": 2, "blocked": 1}
    reasons = [
        error
        for state, error in task_outcomes(here.engine, run, "point")
        if state == TaskState.BLOCKED
    ]
    assert "which it reads, is failed" in str(reasons[0])


def test_exact_holds_the_run_at_the_first_stage_that_failed(world: Worlds) -> None:
    here = world(faults="refuse@Document 1")
    documents(here)
    staged_recipe = recipe(
        SUMMARY, text_stage("point", "each_result", "{{ inputs.summary.text }}", of="summary")
    )

    run = here.engine.run(recipe=staged_recipe, model=SMALL, max_tries=2, completion_mode="exact")
    rest = until_rest(run)

    assert [hold.kind.value for hold in rest.holds] == ["failures"]
    assert task_states(here.engine, run) == {"summary": {"done": 2, "failed": 1}, "point": {}}
    here.model.faults = here.model.faults.__class__()
    run.retry()
    run.resume()
    ended = run.wait()
    assert ended.holds == ()
    assert ended.state == RunState.FINISHED
    assert task_states(here.engine, run) == {"summary": {"done": 3}, "point": {"done": 3}}


def test_throughput_lets_each_dependant_go_as_soon_as_its_own_input_is_there(world: Worlds) -> None:
    here = world()
    documents(here, 40)
    staged_recipe = recipe(
        SUMMARY, text_stage("point", "each_result", "{{ inputs.summary.text }}", of="summary")
    )

    run = here.engine.run(
        recipe=staged_recipe, model=SMALL, completion_mode="throughput", concurrency=2
    )
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 40}, "point": {"done": 40}}
    with here.engine.ledger.snapshot() as tx:
        stages = [tx.views.get_request(line.id) for line in tx.views.list_requests(run.id, 0, 100)]
        order = [stage.stage_id for stage in stages if stage is not None]
    assert order != sorted(order)  # a point was asked before the last summary


def test_a_prompt_that_cannot_be_filled_in_fails_its_task_and_says_why(world: Worlds) -> None:
    here = world()
    documents(here, 1)
    staged_recipe = recipe(text_stage("bad", "each_document", "{{ part.nothing }}"))

    run = here.engine.run(recipe=staged_recipe, model=SMALL)
    run.wait()

    ((state, error),) = task_outcomes(here.engine, run, "bad")
    assert state == TaskState.FAILED
    assert "template" in str(error)


def test_a_task_that_was_wrong_twice_is_told_why(world: Worlds) -> None:
    here = world()
    here.model.script = ["wrong=1", "wrong=1"]
    here.ingest(["One block."])

    run = here.run(max_tries=4)

    assert run.progress().done == 1
    lines = here.engine.queries.requests(run.id)
    texts = [here.engine.queries.exchange(line.id).user or "" for line in lines]
    assert [line.kind for line in lines] == ["answer", "answer", "repair"]
    assert ["was refused" in text for text in texts] == [False, False, True]


def test_every_schema_of_a_critic_can_be_used(world: Worlds) -> None:
    here = world()
    documents(here, 1)
    staged_recipe = recipe(
        SUMMARY,
        record_stage(
            "check", "each_result", "{{ judged.answer }}", NOTED, of="summary", critic="record"
        ),
    )

    run = here.engine.run(recipe=staged_recipe, model=SMALL)
    run.wait()

    assert task_states(here.engine, run) == {"summary": {"done": 1}, "check": {"done": 1}}


def test_a_limited_recipe_takes_its_first_tasks_through_and_goes_on_later(world: Worlds) -> None:
    here = world()
    documents(here, 6)
    staged_recipe = recipe(
        SUMMARY,
        text_stage("point", "each_result", "{{ inputs.summary.text }}", of="summary"),
        text_stage("edge", "each_result", "{{ inputs.point.text }}", of="point"),
        text_stage("whole", "all_to_one", "{{ inputs.edge | length }}", needs=("edge",)),
    )

    run = here.engine.run(recipe=staged_recipe, model=SMALL, limit=2)
    run.wait()
    first = task_states(here.engine, run)
    again = here.engine.run(recipe=staged_recipe, model=SMALL)
    again.wait()

    assert first == {"summary": {"done": 2}, "point": {"done": 2}, "edge": {"done": 2}, "whole": {}}
    assert again.id == run.id
    assert task_states(here.engine, run)["whole"] == {"done": 1}
    assert task_states(here.engine, run)["edge"] == {"done": 6}


@pytest.mark.parametrize("told", [{"limit": 2}, {"completion_mode": "throughput"}])
def test_a_page_is_not_written_before_all_its_facts_are_known(
    world: Worlds, told: dict[str, Any]
) -> None:
    here = world()
    documents(here, 3)
    facts = record_stage("facts", "each_block", "Read.")
    page = text_stage(
        "page", "each_document", "{{ inputs.facts | length }} facts", needs=("facts",)
    )

    run = here.engine.run(recipe=recipe(facts, page), model=SMALL, concurrency=1, **told)
    run.wait()
    here.engine.run(
        recipe=recipe(facts, page), model=SMALL, concurrency=1, **(told | {"limit": None})
    ).wait()

    assert task_states(here.engine, run) == {"facts": {"done": 6}, "page": {"done": 3}}
    assert {name for name in sent_texts(here.engine, run, "page")} == {"2 facts"}
