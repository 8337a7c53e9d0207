"""Evidence for a value: quotes are asked for, checked, kept, exported and judged again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import quire
from quire.domain.data import Json
from quire.domain.errors import RecipeInvalid
from quire.domain.recipes import JSON_GATE
from quire.engine import RunHandle
from tests.pipeline.recipe_stages import recipe, text_stage
from tests.world import World

BLOCKS = ["The tenant  shall pay the rent.", "Zebras – “striped” – graze.", "No penalty."]


class Fee(BaseModel):
    amount: int = quire.field(quote=True)


class Clause(BaseModel):
    party: str = quire.field(quote=True, description="who must do it")
    days: int | None = quire.field(None, quote=True)
    fees: list[Fee] = []


@pytest.fixture
def here(world: Callable[..., World]) -> World:
    made = world()
    made.ingest(BLOCKS)
    return made


def run_clauses(here: World, **policy: Json) -> RunHandle:
    run = here.engine.run(schema=Clause, model="simulated/small", new=True, **policy)  # type: ignore[arg-type]
    run.wait()
    return run


def lines(run: RunHandle, folder: Path) -> list[dict[str, dict[str, Json]]]:
    run.export(str(folder / "out.jsonl"))
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_values_come_with_words_of_their_block_and_data_has_the_schema_s_fields_alone(
    here: World, tmp_path: Path
) -> None:
    found = lines(run_clauses(here), tmp_path)

    for line, content in zip(found, BLOCKS, strict=True):
        data, quotes = line["user_defined"]["data"], line["user_defined"]["quotes"]
        assert isinstance(data, dict)
        assert set(data) <= {"party", "days", "fees"}
        assert isinstance(quotes, list)
        assert quotes
        assert all(content[quote["start"] : quote["end"]] == quote["quote"] for quote in quotes)
        assert "notes" not in line["user_defined"]


def test_flat_rows_have_a_quote_and_its_place_beside_each_field(here: World) -> None:
    row: Any = run_clauses(here).rows()[0]

    assert BLOCKS[0][row["party_start"] : row["party_end"]] == row["party_quote"]
    assert row["fees_quotes"][0]["path"] == "/fees/0/amount"
    assert row["notes"] is None


def test_an_invented_quote_costs_a_try_and_is_told_to_the_model(here: World) -> None:
    here.model.script = ["misquote@tenant"]
    run = run_clauses(here, pack_size=1, concurrency=1, repair_after_failures=1)

    assert run.progress().done == 3
    (tries,) = [row for row in run.rows() if row["block_index"] == 0]
    assert tries["party_quote"] != "words that nobody wrote"
    with here.engine.ledger.snapshot() as tx:
        (reason,) = tx.results.refusals_of_task(tries["task_id"])  # type: ignore[arg-type]
    assert '/party_quote: "words that nobody wrote" does not stand in the block' in reason


def test_what_is_never_quoted_rightly_fails_with_the_reason(world: Callable[..., World]) -> None:
    here = world(faults="misquote@tenant")
    here.ingest(BLOCKS)

    rows = run_clauses(here, max_tries=2).rows()

    assert [row["status"] for row in rows] == ["failed", "accepted", "accepted"]
    assert "does not stand in the block" in str(rows[0]["error"])


def test_the_same_gate_changes_nothing_when_answers_are_judged_again(here: World) -> None:
    run = run_clauses(here)
    before = run.rows()

    (report,) = here.engine.regate(run.id, apply=True)

    assert (report.counts["same"], report.difference_count) == (3, 0)
    assert report.gate_version.endswith("+quotes/1")
    assert run.rows() == before


def test_answers_that_are_taken_over_keep_their_quotes(here: World) -> None:
    first = run_clauses(here).rows()
    again = run_clauses(here).rows()

    assert all(row["reused_from"] for row in again)
    assert [row["party_start"] for row in again] == [row["party_start"] for row in first]


def test_an_edited_value_loses_its_quote_and_the_others_keep_theirs(here: World) -> None:
    run = run_clauses(here)
    row = run.rows()[0]

    here.engine.edit(row["task_id"], {"party": "somebody", "days": row["days"], "fees": []}, "me")  # type: ignore[arg-type]

    edited = run.rows()[0]
    assert (edited["party"], edited["party_quote"]) == ("somebody", None)
    assert edited["days_quote"] == row["days_quote"]
    assert edited["fees_quotes"] is None


def test_only_a_stage_about_blocks_can_quote_them(here: World) -> None:
    body: dict[str, Json] = {
        "type": "object",
        "properties": {"a": {"type": "string", "x-quote": True}},
    }
    stage = text_stage("page", "each_document", "{{ document.text }}")
    asked = here.engine.library.resolve_schema(body)
    quoting = replace(stage, schema=asked, gates=(JSON_GATE,))

    with pytest.raises(RecipeInvalid, match="x-quote is for stages about each_block"):
        here.engine.run(recipe=recipe(quoting), model="simulated/small")


@pytest.mark.parametrize("per", ["document", "section"])
@pytest.mark.parametrize("faults", ["", "misquote@tenant"], ids=["there", "nowhere"])
def test_quotes_of_documents_and_sections_must_stand_in_them(
    world: Callable[..., World], per: str, faults: str
) -> None:
    here = world(faults=faults) if faults else world()
    here.ingest(BLOCKS)

    run = here.engine.run(schema=Clause, model="simulated/small", per=per)
    run.wait()

    (row,) = run.rows()
    if faults:
        assert row["status"] == "failed"
        assert "does not stand in the block" in str(row["error"])
    else:
        assert row["status"] == "accepted"
        assert str(row["party_quote"]) in "\n\n".join(BLOCKS)


@pytest.mark.parametrize("per", ["block", "section", "document"])
def test_a_quote_says_where_it_stands_in_its_source(
    world: Callable[..., World], tmp_path: Path, per: str
) -> None:
    here = world()
    path = tmp_path / "lease.md"
    path.write_text("# Lease\n\n\n" + "\n\n\n".join(BLOCKS))
    here.engine.ingest(path)

    run = here.engine.run(schema=Clause, model="simulated/small", per=per)
    run.wait()

    rows: list[Any] = run.rows()
    for row in rows:
        place = row["party_locator"]
        found = path.read_text()[place["start_offset"] : place["end_offset"]]
        assert " ".join(found.split()) == " ".join(row["party_quote"].split())
    written: list[Any] = lines(run, tmp_path)
    for line in written:
        for quote in line.get("user_defined", line)["quotes"]:
            found = path.read_text()[quote["source_start"] : quote["source_end"]]
            assert " ".join(found.split()) == " ".join(quote["quote"].split())


def test_a_quote_in_a_table_says_which_row_it_is_of(
    world: Callable[..., World], tmp_path: Path
) -> None:
    here = world()
    path = tmp_path / "rows.csv"
    path.write_text("id,text\n1,The tenant shall pay.\n2,The owner repairs it.\n")
    here.engine.ingest(path, text_column="text", key_column="id")

    run = here.engine.run(schema=Clause, model="simulated/small", per="document")
    run.wait()

    (row,) = run.rows()
    assert row["party_locator"] == {"type": "row", "row": 1, "key": "1"}
