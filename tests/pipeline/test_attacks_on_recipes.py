"""What an attacker found in recipes, each once: lost objections, endless fans, refused answers."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from quire.domain.data import Json
from quire.domain.recipes import Stage
from quire.engine import Engine, RunHandle
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages import expand
from quire.pipeline.stages.advance import advance
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
from tests.pipeline.scripted_model import let_model_say
from tests.world import World

Worlds = Callable[..., World]

SUMMARY = text_stage("summary", "each_document", "Sum {{ document.text }}")


def gate(name: str, **more: Any) -> Stage:
    """A critic that decides, and whose questions begin with its name."""
    asked = name.upper() + " {{ judged.answer }}"
    fields: dict[str, Any] = {
        "of": "summary",
        "critic": "gate",
        "accepts": "answer.approved",
        **more,
    }
    return record_stage(name, "each_result", asked, NOTED, **fields)


def says(approved: bool) -> Mapping[str, Json]:
    return {"approved": approved, "word_count": 1}


def expand_all(here: World, run: RunHandle, sweeps: int) -> dict[str, tuple[str, int]]:
    """Expand without answering anything; each stage's state and number of tasks."""
    contexts = Contexts(here.engine.registry)
    for _ in range(sweeps):
        with here.engine.ledger.transaction() as tx:
            advance(tx, contexts, here.runtime.now())
    with here.engine.ledger.snapshot() as tx:
        return {
            stage.name: (stage.state, stage.expanded) for stage in tx.runs.stages_of_run(run.id)
        }


def asked_of(engine: Engine, run: RunHandle, stage: str) -> str:
    return "\n".join(sent_texts(engine, run, stage))


def test_one_objection_among_two_critics_is_heard_whoever_speaks_first(world: Worlds) -> None:
    here = world()
    here.ingest(["Some words."], "doc")
    let_model_say(here, lambda user: says('"BBB' not in user) if '"blocks"' in user else None)

    run = here.engine.run(
        recipe=recipe(SUMMARY, gate("aaa"), gate("bbb")), model=SMALL, max_tries=2
    )
    run.wait()

    assert task_states(here.engine, run)["summary"] == {"failed": 1}
    assert str(task_outcomes(here.engine, run, "summary")[0][1]).startswith("bbb: ")


@pytest.fixture(params=[100, pytest.param(expand.CHUNK, marks=pytest.mark.soak)])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many tasks are made in one transaction."""
    size: int = request.param
    monkeypatch.setattr(expand, "CHUNK", size)
    return size


def test_more_tasks_of_one_thing_than_a_chunk_are_all_made(world: Worlds, chunk: int) -> None:
    here = world()
    draws = text_stage("draw", "samples", "Say {{ sample }}", samples=chunk + 1)

    run = here.engine.run(recipe=recipe(draws), model=SMALL)

    assert expand_all(here, run, 4) == {"draw": ("open", chunk + 1)}


def test_more_tasks_of_each_of_two_results_than_a_chunk_are_all_made(
    world: Worlds, chunk: int
) -> None:
    here = world()
    for name in ("a", "b"):
        here.ingest([name], name)
    half = chunk * 6 // 5
    draws = text_stage("draw", "samples", "{{ inputs.summary.text }}", of="summary", samples=half)

    run = here.engine.run(recipe=recipe(SUMMARY, draws), model=SMALL, completion_mode="throughput")

    assert expand_all(here, run, 6)["draw"] == ("open", 2 * half)


def test_a_digest_does_not_show_what_a_critic_refused(world: Worlds) -> None:
    here = world()
    for number in range(3):
        here.ingest([f"Document {number}."], f"doc{number}")

    def say(user: str) -> "str | Mapping[str, Json] | None":
        if '"blocks"' in user:
            return says("Document 1" not in user)
        return f"a summary of {user[4:]}" if user.startswith("Sum ") else None

    let_model_say(here, say)
    template = "{% for each in inputs.summary %}{{ each.text }};{% endfor %}"
    whole = text_stage("whole", "all_to_one", template, needs=("summary",))

    run = here.engine.run(recipe=recipe(SUMMARY, gate("check"), whole), model=SMALL, max_tries=2)
    run.wait()

    assert task_states(here.engine, run)["summary"] == {"done": 2, "failed": 1}
    assert "Document 0" in asked_of(here.engine, run, "whole")
    assert "Document 1" not in asked_of(here.engine, run, "whole")


def test_a_critic_of_packed_records_sees_no_other_record(world: Worlds) -> None:
    here = world()
    here.ingest(["The first block speaks.", "Another block is silent."], "doc")
    read = record_stage("read", "each_block", "Read.")
    check = record_stage(
        "check", "each_result", "{{ judged.answer }}", NOTED, of="read", critic="record"
    )

    run = here.engine.run(recipe=recipe(read, check), model=SMALL, pack_size=10)
    run.wait()

    for text in sent_texts(here.engine, run, "check"):
        assert ("first block" in text) != ("Another block" in text)


def test_nothing_is_asked_about_a_document_that_was_purged_between_two_stages(
    world: Worlds,
) -> None:
    here = world()
    for number in range(3):
        here.ingest([f"Document {number} has a word."], f"doc{number}")
    better = text_stage("better", "each_result", "Better {{ inputs.summary.text }}", of="summary")
    again = text_stage("again", "each_document", "Again {{ document.text }}", needs=("summary",))
    run = here.engine.run(recipe=recipe(SUMMARY, better, again), model=SMALL, stop_after="summary")
    run.wait()

    here.engine.purge("doc1")
    run.resume()
    run.wait()

    assert task_states(here.engine, run)["better"] == {"done": 2}
    assert task_states(here.engine, run)["again"] == {"done": 2}


def test_without_a_barrier_a_page_still_reads_every_fact_of_its_document(world: Worlds) -> None:
    here = world()
    here.ingest([f"Block {number}." for number in range(5001)], "doc")  # more than one chunk
    facts = record_stage("facts", "each_block", "Read.")
    page = text_stage("page", "each_document", "{{ inputs.facts | length }}", needs=("facts",))

    run = here.engine.run(recipe=recipe(facts, page), model=SMALL, completion_mode="throughput")

    assert expand_all(here, run, 4) == {"facts": ("open", 5001), "page": ("open", 1)}
    with here.engine.ledger.snapshot() as tx:
        key = next(stage.id for stage in tx.runs.stages_of_run(run.id) if stage.name == "page")
        (task,) = [related_task.id for related_task in tx.lineage.first_tasks_of_stage(key, 9)]
        assert len(tx.subjects.inputs_of_tasks([task])[task]) == 5001
