"""The lineage of a result: what it was made from, back to documents, also through other runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.errors import NotFound
from quire.domain.ids import ResultId
from quire.engine import RunHandle
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.world import World

Worlds = Callable[..., World]
LARGE = "simulated/large"
DIALECTIC = recipe(
    text_stage("thesis", "each_document", "Argue: {{ document.text }}", models=(SMALL, LARGE)),
    text_stage("doubt", "samples", "Doubt: {{ inputs.thesis.text }}", of="thesis", samples=2),
    record_stage("check", "each_result", "{{ judged.asked }}", NOTED, of="doubt", critic="record"),
    text_stage("end", "all_to_one", "{{ inputs.doubt|length }}", needs=("doubt",)),
)
READER = recipe(text_stage("reading", "each_document", "Read: {{ document.text }}"))


def run_it(here: World) -> RunHandle:
    here.ingest(["Bread rises."], name="brief")
    run = here.engine.run(recipe=DIALECTIC, model=SMALL)
    run.wait()
    return run


def result_of(here: World, run: RunHandle, stage: str, place: int = 0) -> ResultId:
    """The current result of a stage's task."""
    task = run.rows(stage=stage)[place]["task_id"]
    assert isinstance(task, int)
    return here.engine.lineages.result_of_task(task)


def test_a_result_leads_back_to_its_documents(world: Worlds) -> None:
    here = world()
    run = run_it(here)

    found = here.engine.lineage(result_of(here, run, "end"))

    stages = sorted(node.stage for node in found.results.values())
    assert stages == ["doubt"] * 4 + ["end"] + ["thesis"] * 2
    root = found.results[found.root]
    assert (root.stage, root.model, root.run_id, root.version) == ("end", SMALL, run.id, 1)
    assert (root.current, root.stale, root.by_person) == (True, False, False)
    assert {found.results[source].sample for source in root.sources} == {0, 1}
    (brief,) = found.documents.values()
    assert (brief.title, brief.result_id) == ("brief", None)
    origins = {node.origin for node in found.results.values() if node.stage != "end"}
    assert origins == {node.task_id for node in found.results.values() if node.stage == "thesis"}
    leaves = {node.stage for node in found.results.values() if node.documents}
    assert leaves == {"thesis"}


def test_lineage_goes_on_through_documents_made_of_results(world: Worlds) -> None:
    here = world()
    run = run_it(here)
    later = here.engine.run(recipe=READER, model=SMALL, over=run.documents("end"))
    later.wait()

    found = here.engine.lineage(result_of(here, later, "reading"))

    assert {node.run_id for node in found.results.values()} == {run.id, later.id}
    (between,) = (item for item in found.documents.values() if item.result_id)
    assert between.result_id == result_of(here, run, "end")
    assert {item.title for item in found.documents.values() if not item.result_id} == {"brief"}


def test_what_a_critic_objected_to_is_not_what_a_result_was_made_from(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    here.ingest(["Bread rises.", "Bread falls.", f"Bread {'rises ' * 60}."])
    order = recipe(
        record_stage("note", "each_block", "{{ block.text }}", NOTED),
        record_stage(
            "check",
            "each_result",
            "{{ judged.asked }}",
            NOTED,
            of="note",
            critic="gate",
            accepts="answer.word_count < 40",
        ),
        text_stage("end", "all_to_one", "{{ inputs.note|length }}", needs=("note",)),
    )
    run = here.engine.run(recipe=order, model=SMALL, max_tries=1)
    run.wait()

    found = here.engine.lineage(result_of(here, run, "end"))

    notes = [(row["task_id"], row["status"]) for row in run.rows(stage="note")]
    kept = [task for task, status in notes if status != "failed"]
    sources = [found.results[source] for source in found.results[found.root].sources]
    assert len(kept) == 2
    assert [source.task_id for source in sources] == kept
    run.export(tmp_path / "end.jsonl", stage="end")
    assert json.loads((tmp_path / "end.jsonl").read_text())["subject"]["inputs"] == kept


def test_stale_edited_and_earlier_results_are_marked(world: Worlds) -> None:
    here = world()
    run = run_it(here)
    before = result_of(here, run, "thesis")
    task = run.rows(stage="thesis")[0]["task_id"]
    assert isinstance(task, int)

    run.edit(task, {"text": "Another thesis."})

    edited = here.engine.lineage(result_of(here, run, "thesis"))
    assert edited.results[edited.root].by_person
    end = here.engine.lineage(result_of(here, run, "end"))
    assert not end.results[before].current  # what it was made from, not what is there now
    assert any(node.stale for node in end.results.values() if node.stage == "doubt")
    old = here.engine.lineage(before)
    assert [item.title for item in old.documents.values()] == ["brief"]


def test_a_critic_leads_back_to_the_result_that_it_judged(world: Worlds) -> None:
    here = world()
    run = run_it(here)

    found = here.engine.lineage(result_of(here, run, "check"))

    (judged,) = found.results[found.root].sources
    assert found.results[judged].stage == "doubt"


def test_purged_documents_and_results_are_told_without_their_names(world: Worlds) -> None:
    here = world()
    run = run_it(here)
    end = result_of(here, run, "end")
    here.engine.purge("brief")

    found = here.engine.lineage(end)

    assert all(node.purged for node in found.results.values())


def test_a_result_that_is_not_there_is_told(world: Worlds) -> None:
    here = world()

    with pytest.raises(NotFound, match="there is no result 7"):
        here.engine.lineage(ResultId(7))
    with pytest.raises(NotFound, match="task 7 has no result"):
        here.engine.lineages.result_of_task(7)
