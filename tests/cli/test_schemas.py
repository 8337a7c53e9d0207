"""Schemas are kept, listed, shown and compared."""

import json
from pathlib import Path

from tests.cli.conftest import SCHEMA, Quire


def test_a_schema_is_kept_listed_and_shown(quire: Quire) -> None:
    kept = quire.json("schema", "add", SCHEMA, "--ref", "mine")

    assert "word_count" in kept["fields"]
    assert [item["ref"] for item in quire.json("schema", "list")] == ["mine"]
    assert quire.json("schema", "show", "mine")["body"]["title"] == "clauses"
    assert '"title": "clauses"' in quire("schema", "show", kept["uid"][:8]).stdout


def test_every_mistake_of_a_schema_is_told_at_once(quire: Quire, folder: Path) -> None:
    (folder / "bad.json").write_text('{"type": "array", "properties": {"a": {"type": "nonsense"}}}')

    result = quire("schema", "add", "bad.json", code=2)

    _, headed, mistakes = result.stderr.partition("quire: bad.json: 2 mistakes\n")
    assert headed
    assert len(mistakes.splitlines()) == 2


def edit_clauses(folder: Path) -> Path:
    """The example with a field more, one less, and another prompt."""
    body = json.loads(SCHEMA.read_text())
    del body["properties"]["headline"]
    body["required"] = [name for name in body["required"] if name != "headline"]
    body["properties"]["mood"] = {"type": "string"}
    body["properties"]["word_count"] = {"type": "integer", "minimum": 1}
    body["prompt_config"] = {"pack_size": 5}
    (folder / "clauses.json").write_text(json.dumps(body))
    return folder / "clauses.json"


def test_an_edited_file_is_kept_as_a_version_on_request(quire: Quire, folder: Path) -> None:
    kept = quire.json("schema", "add", SCHEMA)["uid"][:12]
    edited = edit_clauses(folder)

    refused = quire("schema", "add", edited, code=2)
    added = quire("schema", "add", edited, "--new-version")

    assert "--new-version` keeps this as clauses@2, --ref NAME" in refused.stderr
    assert added.stdout.startswith("schema clauses@2: 6 fields, ")
    rows = [line for line in quire("schema", "list").stdout.splitlines() if "clauses" in line]
    assert [line.split()[1:3] for line in rows] == [["1", kept], ["2,", "newest"]]
    assert "headline" in quire.json("schema", "show", "clauses@1")["body"]["properties"]
    assert quire.json("schema", "show", "clauses")["version"] == 2
    assert quire("schema", "add", SCHEMA).stdout.startswith("schema clauses: ")
    assert [item["newest"] for item in quire.json("schema", "list")] == [True, False]


def test_versions_are_compared(quire: Quire, folder: Path) -> None:
    quire("schema", "add", SCHEMA)
    quire("schema", "add", edit_clauses(folder), "--new-version")

    found = quire.json("schema", "diff", "clauses@1")
    text = quire("schema", "diff", "clauses@2", "clauses@1").stdout

    assert (found["added"], found["removed"]) == (["mood"], ["headline"])
    assert found["changed"] == ["word_count"]
    assert found["changed_around_fields"] == ["prompt_config", "required"]
    assert text.startswith("--- clauses@2\n+++ clauses@1\n")
    assert '+    "headline": {' in text
    assert "one schema" in quire("schema", "diff", "clauses", code=2).stderr


def test_an_old_version_is_planned_run_and_shown_by_its_name(ready: Quire, folder: Path) -> None:
    ready("schema", "add", SCHEMA)
    ready("schema", "add", edit_clauses(folder), "--new-version")
    model = ("--model", "simulated/small")

    assert "schema clauses@2 " in ready("plan", "--schema", "clauses", *model).stdout
    ready("run", "--schema", "clauses@1", *model)
    ready("run", "--schema", "clauses", *model)

    assert [run["schema"] for run in ready.json("runs")] == ["clauses@2", "clauses"]
    assert "mood" in ready("show", "2").stdout
    assert "headline" in ready("show", "1").stdout


def test_words_that_show_a_value_are_shown_with_it(ready: Quire) -> None:
    ready("run", "--schema", SCHEMA.with_name("duties.json"), "--model", "simulated/small")

    text = ready("show").stdout
    quotes = [quote for row in ready.json("show") for quote in row["quotes"]]

    assert "shown by the text:\n  task 1: " in text
    places = {"start", "end", "locator", "source_start", "source_end"}
    assert {"path", "quote", *places} == set(quotes[0])
