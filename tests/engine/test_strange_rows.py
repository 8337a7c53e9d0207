"""Rows as nobody expects them: answered beside the right row, or refused before a call goes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel

from quire.domain.errors import UsageError
from quire.engine.extraction.row_stream import OutcomeReader
from tests.ledger.raw import Raw
from tests.world import World

MODEL = "simulated/small"


class Ticket(BaseModel):
    """Classify the support ticket."""

    label: str


@pytest.fixture
def here(world: Callable[..., World]) -> World:
    return world()


def extract(here: World, data: Any, **said: Any) -> Any:
    return here.engine.extract(data, Ticket, model=MODEL, **said)


def test_columns_and_keys_that_no_json_has_are_read_as_text(here: World) -> None:
    numbered = extract(here, [{1: "The printer is on fire."}], text=1)
    framed = extract(here, pd.DataFrame({0: ["Where is my refund?"]}), text=0)
    keys = [2**70, float("inf"), float("-inf")]
    keyed = extract(here, [{"id": key, "body": f"Ticket {key}"} for key in keys], key="id")

    assert [row["status"] for row in numbered] == ["accepted"]
    assert framed["status"].tolist() == ["accepted"]
    assert [(row["id"], row["status"]) for row in keyed] == [(key, "accepted") for key in keys]


@pytest.mark.parametrize(
    ("data", "said", "words"),
    [
        ([{"body": "a"}, "b"], {}, "row 2 is a str"),
        ([{"body": {(1, 2): 3}}], {}, "cannot be written as JSON"),
        (["a"], {"per": "document"}, "per= is for files"),
        (["a"], {"limit": -1}, "no number of rows"),
        (["a"], {"limit": "1"}, "no number of rows"),
    ],
    ids=["mixed", "no JSON", "per", "less than none", "text"],
)
def test_what_cannot_come_back_beside_its_row_is_refused_before_it_is_paid(
    here: World, data: Any, said: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        extract(here, data, **said)

    assert not here.model.packs


def test_blocks_of_some_types_come_back_as_the_rows_of_files(here: World, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(f"# Head {name}\n\nWords of {name}.\n\n- item\n")
    types = {"block_types": ["paragraph"]}

    rows = extract(here, tmp_path, **types)
    streamed: Any = here.engine.stream(tmp_path, Ticket, model=MODEL, **types)

    expected = ["Words of a.", "Words of b."]
    assert [row["text"] for row in rows] == [row["label"] for row in rows] == expected
    assert {row.position: row["text"] for row in streamed} == dict(enumerate(expected))


def test_records_of_documents_keep_their_names_and_quotes_whatever_fields_are_called(
    here: World, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# Head\n\nThe printer is on fire.\n")
    fields = {"title": {"type": "string", "x-quote": True}, "source": {"type": "integer"}}
    schema: Any = {"title": "named", "type": "object", "properties": fields, "required": [*fields]}

    found = here.engine.extract(tmp_path, schema, model=MODEL)
    streamed: Any = list(here.engine.stream(tmp_path, schema, model=MODEL, per=None))

    (row,) = found
    assert (row["quire_title"], row["quire_source"]) == ("Head", str(tmp_path / "a.md"))
    assert isinstance(row["source"], int)
    assert row["title_quote"] in row["text"] == "# Head\n\nThe printer is on fire."
    assert [(row.position, row["source"]) for row in streamed] == [(0, found[0]["source"])]


@pytest.mark.parametrize("per", ["block", "section"])
def test_answers_about_files_keep_the_names_of_their_fields(
    here: World, tmp_path: Path, per: str
) -> None:
    (tmp_path / "a.md").write_text("# Head\n\nThe printer is on fire.\n")
    fields = {"title": {"type": "integer"}, "text": {"type": "integer"}}
    schema: Any = {"title": "named", "type": "object", "properties": fields, "required": [*fields]}

    found = here.engine.extract(tmp_path, schema, model=MODEL, per=per)
    streamed: Any = list(here.engine.stream(tmp_path, schema, model=MODEL, per=per))

    for row in (*found, *streamed):
        assert isinstance(row["title"], int)
        assert isinstance(row["text"], int)
        assert (row["source"], row["quire_title"]) == (str(tmp_path / "a.md"), "Head")
        assert "# Head" in row["quire_text"] or row["quire_text"] == "The printer is on fire."
    assert ("headings" in found[0]) == (per == "section")


def test_tables_and_texts_in_one_folder_are_not_asked_about_by_chance(
    here: World, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# Head\n\nThe printer is on fire.\n")
    (tmp_path / "b.csv").write_text("id,text\n1,Where is my refund?\n")

    with pytest.raises(UsageError, match=r"b\.csv is a table and .*a\.md is not: say per="):
        extract(here, tmp_path)
    assert len(extract(here, tmp_path, per="document")) == 2
    assert len(extract(here, tmp_path, per="block")) == 3


def test_a_row_that_was_committed_behind_later_ones_is_streamed_too(here: World) -> None:
    rows = extract(here, ["The printer is on fire.", "Where is my refund?", "Thank you."])
    reader = OutcomeReader(here.engine.ledger, rows.run, lambda _, index: [index])
    raw = Raw(here.url)
    first = raw.one("SELECT min(id) FROM results")

    raw.rows("UPDATE results SET superseded_at = created_at WHERE id = :id", id=first)
    before = [place for found in reader.read() for place in found]
    raw.rows("UPDATE results SET superseded_at = NULL WHERE id = :id", id=first)
    after = [place for found in reader.read_rest(3) for place in found]
    raw.close()

    assert (before, after) == ([1, 2], [0])
