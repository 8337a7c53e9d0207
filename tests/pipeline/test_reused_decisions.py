"""What persons decided comes along: approvals with every reuse, edits to the same subject only."""

from collections.abc import Callable
from typing import Any

from quire.domain.data import Json
from quire.engine import RunHandle
from tests.pipeline.recipe_stages import SMALL, recipe, record_stage
from tests.pipeline.taste_gate import CHECK
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]
MINE: dict[str, Json] = {"word_count": 4711, "first_40_chars": "mine", "has_question": False}


def extract(here: World, rows: list[dict[str, Any]], schema: Any = METADATA) -> Any:
    return here.engine.extract(rows, schema, model=SMALL, text="body", key="id")


def decided(run: RunHandle) -> list[tuple[Any, ...]]:
    """How each row of a run stands, and what a person said of it."""
    names = ("status", "review", "reviewer", "reviewed_at")
    return [tuple(row[name] for name in names) for row in run.rows()]


def rows_of(texts: list[str]) -> list[dict[str, Any]]:
    return [{"id": number, "body": text} for number, text in enumerate(texts)]


def test_an_approved_answer_arrives_approved_with_who_and_when(world: Worlds) -> None:
    here = world()
    rows = rows_of(sentences(4))
    extract(here, rows)
    first = here.engine.get(1)
    first.approve(2, who="ada")
    calls = here.model.calls

    found = extract(here, [*rows, {"id": 9, "body": "One more."}])
    again = extract(here, [*rows, {"id": 9, "body": "One more."}, {"id": 10, "body": "Two."}])

    assert here.model.calls == calls + 2
    assert [row["status"] for row in found] == ["accepted", "confirmed", *["accepted"] * 3]
    assert again[1]["status"] == "confirmed"
    assert decided(here.engine.get(3))[1] == decided(first)[1]
    assert decided(first)[1][:3] == ("confirmed", "approved", "ada")
    reused = {row["reused_from"] for row in here.engine.get(3).rows() if row["key"] == 1}
    assert reused == {here.engine.get(2).rows()[1]["reused_from"]} != {None}


def test_an_approval_of_a_reused_answer_arrives_with_the_next_reuse(world: Worlds) -> None:
    here = world()
    rows = rows_of(["Same words.", "Same words."])
    extract(here, rows[:1])
    extract(here, rows)
    extract(here, [*rows, {"id": 8, "body": "New."}])
    second, third = here.engine.get(2), here.engine.get(3)
    for run, who in ((third, "bob"), (second, "ada")):
        task: Any = run.rows()[1]["task_id"]
        run.approve(task, who=who)
    calls = here.model.calls

    found = extract(here, [*rows, {"id": 9, "body": "Newer."}])

    assert here.model.calls == calls + 1
    assert [row["status"] for row in found] == ["confirmed", "confirmed", "accepted"]
    assert decided(here.engine.get(4))[0] == decided(second)[1]
    assert here.engine.get(1).rows()[0]["review"] == "unreviewed"


def test_an_edit_arrives_where_key_and_text_are_the_same_and_is_asked_where_not(
    world: Worlds,
) -> None:
    here = world()
    rows = rows_of(["Same words.", "Other words.", "Third words."])
    extract(here, rows)
    here.engine.get(1).edit(1, MINE, who="ada")
    here.engine.get(1).edit(2, MINE, who="bob")
    calls = here.model.calls

    found = extract(
        here,
        [
            {"id": 7, "body": "New."},
            rows[0],
            {"id": 1, "body": "Other words, edited."},
            {"id": 8, "body": "Other words."},
            rows[2],
        ],
    )

    mine = [row["word_count"] == 4711 for row in found]
    assert mine == [False, True, False, False, False]
    assert sum(here.model.packs) == 3 + 3
    assert here.model.calls == calls + 1
    assert decided(here.engine.get(2))[1] == decided(here.engine.get(1))[0]
    assert found[1]["status"] == "confirmed"
    assert found[1]["cost_usd"] == 0


def test_an_edit_of_one_of_two_equal_rows_stays_with_it(world: Worlds) -> None:
    here = world()
    rows = rows_of(["Equal words.", "Equal words."])
    extract(here, rows)
    here.engine.get(1).edit(2, MINE)

    found = extract(here, [*rows, {"id": 5, "body": "New."}])

    assert [row["word_count"] == 4711 for row in found] == [False, True, False]
    assert sum(here.model.packs) == 2


def test_an_edit_of_a_row_without_a_key_stays_in_its_frame(world: Worlds) -> None:
    here = world()
    here.engine.extract(["Same words.", "Other words."], METADATA, model=SMALL)
    here.engine.get(1).edit(1, MINE)

    found = here.engine.extract(["Same words.", "New."], METADATA, model=SMALL)
    again = here.engine.extract(["Same words.", "Other words."], METADATA, model=SMALL, new=True)

    assert found[0]["word_count"] != 4711
    assert sum(here.model.packs) == 2 + 2
    assert again[0]["word_count"] == 4711


def test_a_new_run_over_the_same_documents_takes_edits_too(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    here.run().edit(2, MINE, who="ada")
    calls = here.model.calls

    again = here.run(new=True)

    assert here.model.calls == calls
    assert again.rows()[1]["word_count"] == 4711
    assert again.rows()[1]["reviewer"] == "ada"
    here.run(new=True, reuse=False)
    assert here.model.calls > calls


def test_what_is_confirmed_waits_for_no_critic(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2))
    stages = recipe(record_stage("summary", "each_block", "Fill in.", templated=False), CHECK)
    first = here.engine.run(recipe=stages, model=SMALL)
    first.wait()
    first.edit(1, MINE)
    first.approve(2)
    calls = here.model.calls

    again = here.engine.run(recipe=stages, model=SMALL, new=True)
    end = again.wait()

    assert here.model.calls == calls
    assert [row["status"] for row in again.rows(stage="summary")] == ["confirmed"] * 2
    assert [stage.expanded for stage in end.stages] == [2, 0]


def test_of_two_edits_the_newer_is_taken(world: Worlds) -> None:
    here = world()
    rows = rows_of(["Same words.", "Other words."])
    extract(here, rows)
    run = here.engine.get(1)
    run.edit(1, MINE)
    run.edit(1, {**MINE, "word_count": 4712})

    found = extract(here, [*rows, {"id": 5, "body": "New."}])

    assert found[0]["word_count"] == 4712


def test_what_was_erased_is_asked_again(world: Worlds) -> None:
    here = world()
    rows = rows_of(["Same words."])
    extract(here, rows)
    here.engine.get(1).edit(1, MINE)
    here.engine.purge("1")

    found = extract(here, rows)

    assert found[0]["word_count"] != 4711
