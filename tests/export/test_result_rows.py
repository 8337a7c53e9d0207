"""The export of recipes: a line a task in subject order, critics beside what they judge."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire.domain.errors import UsageError
from quire.engine import RunHandle
from quire.simulated.fault_scripts import parse_fault_script
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.world import World, sentences

Worlds = Callable[..., World]

FACTS = record_stage("facts", "each_block", "Read.")
CHECK = record_stage(
    "check", "each_result", "Fair? {{ judged.asked }}", NOTED, of="facts", critic="record"
)
PAGE = text_stage(
    "page",
    "each_document",
    "{{ document.title }}: {% for each in inputs.facts %}{{ each.text }}{% endfor %}",
    needs=("facts",),
)
DRAWS = text_stage("draws", "samples", "{{ inputs.page.text }}", of="page", samples=2)

FACTS_OF_ROWS = ["cost", "review", "reviewer", "reviewed_at", "changed_at"]
USUAL = [
    *("schema_ref", "schema_version", "schema_uid", "task_id", "data", "status", "error"),
    *("run", "model"),
    *FACTS_OF_ROWS,
]


def run_recipe(here: World, *stages: Any, **how: Any) -> RunHandle:
    run = here.engine.run(recipe=recipe(*stages), model=SMALL, **how)
    run.wait()
    return run


def two_documents(here: World) -> None:
    here.ingest(sentences(4), name="a")
    here.ingest([f"more {text}" for text in sentences(3)], name="b")


def export_lines(run: RunHandle, folder: Path, **how: Any) -> list[dict[str, Any]]:
    out = folder / "out.jsonl"
    count = run.export(str(out), **how)
    found = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert len(found) == count
    return found


def test_the_last_stage_is_written_a_line_a_task_with_what_it_is_about(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    two_documents(here)
    run = run_recipe(here, FACTS, CHECK, PAGE)

    first, second = export_lines(run, tmp_path)

    assert list(first) == [
        *("run", "stage", "task_id", "subject", "status", "error", "attempt_count", "version"),
        *("stale", "data", "critics", *FACTS_OF_ROWS),
    ]
    assert list(first["subject"]) == [
        *("source", "title", "key", "text", "conv_uid", "block_uid", "model", "sample", "part"),
        "inputs",
    ]
    assert (first["subject"]["title"], second["subject"]["title"]) == ("a", "b")
    assert first["subject"]["block_uid"] is None
    assert len(first["subject"]["inputs"]) == 4
    assert first["stage"] == "page"
    assert (first["status"], first["error"], first["attempt_count"]) == ("accepted", None, 1)
    assert (first["version"], first["stale"], first["critics"]) == (1, False, [])
    assert first["data"]["text"]


def test_a_stage_about_every_block_keeps_the_usual_shape_and_gets_its_critics(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    two_documents(here)
    plain = here.run()
    run = run_recipe(here, FACTS, CHECK, PAGE)

    usual, found = export_lines(plain, tmp_path), export_lines(run, tmp_path, stage="facts")

    assert len(found) == 7
    for before, now in zip(usual, found, strict=True):
        assert now["immutable"] == before["immutable"]
        defined = now["user_defined"]
        assert list(defined) == [*USUAL, "critics"]
        (critic,) = defined["critics"]
        assert (critic["stage"], critic["status"], critic["model"]) == ("check", "accepted", SMALL)
        assert set(critic["data"]) == {"approved", "word_count"}


def test_without_critics_the_usual_shape_is_the_same_byte_for_byte(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    two_documents(here)
    run = run_recipe(here, FACTS, PAGE)

    line = export_lines(run, tmp_path, stage="facts")[0]

    assert list(line["user_defined"]) == USUAL


def test_all_stages_are_written_one_after_the_other(world: Worlds, tmp_path: Path) -> None:
    here = world()
    two_documents(here)
    run = run_recipe(here, FACTS, CHECK, PAGE)

    found = export_lines(run, tmp_path, stage="all")

    assert [line["stage"] for line in found] == ["facts"] * 7 + ["check"] * 7 + ["page"] * 2
    assert found[0]["critics"][0]["data"] is not None
    assert found[0]["subject"]["block_uid"].endswith(":0")
    keys = [line["task_id"] for line in found[:7]]
    assert [line["subject"]["inputs"] for line in found[7:14]] == [[key] for key in keys]


def test_a_critics_rows_are_about_current_answers_only(world: Worlds, tmp_path: Path) -> None:
    here = world()
    two_documents(here)
    run = run_recipe(here, FACTS, CHECK)
    before = [row["task_id"] for row in run.rows(stage="check")]
    run.rerun("facts")
    run.wait()

    lines = export_lines(run, tmp_path, stage="check")
    shown = here.engine.queries.sample(run.id, "all", 100, "check").tasks
    rows = run.rows(stage="check")

    judged = [row["task_id"] for row in run.rows(stage="facts")]
    assert [line["subject"]["inputs"] for line in lines] == [[task] for task in judged]
    assert not {line["task_id"] for line in lines} & set(before)
    numbers = [line["task_id"] for line in lines]
    assert [row["task_id"] for row in rows] == numbers
    assert [task.outcome.task_id for task in shown] == numbers


def test_draws_are_told_apart_by_their_numbers(world: Worlds, tmp_path: Path) -> None:
    here = world()
    two_documents(here)
    run = run_recipe(here, FACTS, PAGE, DRAWS)

    found = export_lines(run, tmp_path)

    about = [(line["subject"]["title"], line["subject"]["sample"]) for line in found]
    assert about == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_what_failed_and_what_is_blocked_by_it_say_why(world: Worlds, tmp_path: Path) -> None:
    here = world()
    two_documents(here)
    here.model.faults = parse_fault_script("refuse@more Block 1")
    run = run_recipe(here, FACTS, PAGE, max_tries=1)

    ((failed, why), (blocked, reason)) = [
        next((line["status"], line["error"]) for line in lines if line["status"] != "accepted")
        for lines in (
            [line["user_defined"] for line in export_lines(run, tmp_path, stage="facts")],
            export_lines(run, tmp_path),
        )
    ]

    assert (failed, blocked) == ("failed", "blocked")
    assert why
    assert "which it reads" in reason
    assert [line["status"] for line in export_lines(run, tmp_path, only="accepted")] == ["accepted"]


def test_several_last_stages_must_be_named(world: Worlds, tmp_path: Path) -> None:
    here = world()
    two_documents(here)
    other = text_stage("other", "each_document", "{{ document.text }}")
    run = run_recipe(here, FACTS, PAGE, other)

    with pytest.raises(UsageError, match="several last stages: page, other; --stage NAME"):
        run.export(str(tmp_path / "out.jsonl"))
    with pytest.raises(UsageError, match="no stage 'nope'; stages: facts, page, other"):
        run.rows(stage="nope")
    assert not (tmp_path / "out.jsonl").exists()
    assert len(run.rows(stage="other")) == 2


def test_rows_are_flat_and_have_the_same_columns(world: Worlds) -> None:
    here = world()
    two_documents(here)
    here.model.faults = parse_fault_script("refuse@more Block 1")
    run = run_recipe(here, FACTS, CHECK, PAGE, max_tries=1)

    facts, pages = run.rows(stage="facts"), run.rows()

    assert {tuple(row) for row in facts} == {tuple(facts[0])}
    assert list(facts[0])[-3:] == ["check.status", "check.approved", "check.word_count"]
    assert facts[0]["check.status"] == "accepted"
    assert facts[5]["status"] == "failed"
    assert facts[5]["check.approved"] is None
    assert {tuple(row) for row in pages} == {tuple(pages[0])}
    assert pages[0]["text"]
    assert (pages[1]["status"], pages[1]["text"]) == ("blocked", None)
    assert {row["stage"] for row in run.rows(stage="all")} == {"facts", "check", "page"}


def test_a_field_named_like_a_column_of_ours_keeps_its_name(world: Worlds) -> None:
    here = world()
    two_documents(here)
    body = {
        **NOTED,
        "properties": {"status": {"type": "boolean"}, "title": {"type": "integer"}},
        "required": ["status", "title"],
    }
    run = run_recipe(here, record_stage("named", "each_document", "{{ document.text }}", body))

    row = run.rows()[0]

    assert isinstance(row["status"], bool)
    assert (row["quire_status"], row["quire_title"]) == ("accepted", "a")


def test_many_tasks_are_read_some_at_a_time_and_in_order(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.ingest(sentences(2), name="a")
    run = run_recipe(
        here, text_stage("draws", "samples", "Say {{ sample }}.", samples=1201), concurrency=64
    )

    found = export_lines(run, tmp_path)

    assert [line["subject"]["sample"] for line in found] == list(range(1201))
