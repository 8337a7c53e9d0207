"""Results are approved, rejected and edited by commands."""

import json
import re
from pathlib import Path

import pytest

from quire.engine import open_engine
from tests.cli.conftest import Quire

RECIPE = """
name = "two"

[[stages]]
name = "first"
about = "each_document"
prompt = "Sum up: {{ document.text }}"

[stages.schema]
type = "object"
additionalProperties = false
properties = { words = { type = "integer" }, topic = { type = "string" } }
required = ["words", "topic"]

[[stages]]
name = "second"
about = "each_result"
of = "first"
prompt = "More: {{ inputs.first.data.words }}"
"""


@pytest.fixture
def tasks(quire: Quire, folder: Path) -> list[int]:
    """The tasks of the first stage of a run over two documents, carried out."""
    return carry_out(quire, folder, RECIPE)


def carry_out(quire: Quire, folder: Path, recipe: str) -> list[int]:
    """The same of another recipe."""
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"The text of document {name}.")
    (folder / "two.toml").write_text(recipe)
    quire("init")
    quire("ingest", "one.txt", "two.txt")
    with open_engine(None) as engine:
        engine.run(recipe="two.toml", model="simulated/small").wait()
    quire("export", 1, "--stage", "first", "-o", "out.jsonl")
    lines = (folder / "out.jsonl").read_text().splitlines()
    return [json.loads(line)["task_id"] for line in lines]


def test_results_are_approved_and_what_cannot_be_is_told(quire: Quire, tasks: list[int]) -> None:
    assert f"task {tasks[0]} of first is approved" in quire("approve", tasks[0]).stdout
    assert "was approved by a person before" in quire("approve", tasks[0], code=2).stderr

    both = quire("approve", *tasks, code=1)

    assert f"task {tasks[1]} of first is approved" in both.stdout
    assert f"task {tasks[0]} was approved" in both.stderr


def test_a_result_is_edited_field_by_field(quire: Quire, tasks: list[int], folder: Path) -> None:
    said = quire("edit", tasks[0], "--set", "words=7", "--set", "topic=12").stdout

    assert f"task {tasks[0]} of first is edited" in said
    assert "1 task of later stages used what was there before" in said
    quire("export", 1, "--stage", "first", "-o", "new.jsonl", "--only", "accepted")
    first = json.loads((folder / "new.jsonl").read_text().splitlines()[0])
    assert first["data"] == {"words": 7, "topic": "12"}


def test_null_is_set_where_the_schema_allows_it_and_the_text_where_it_is_quoted(
    quire: Quire, folder: Path
) -> None:
    task = carry_out(quire, folder, RECIPE.replace('"string"', '["string", "null"]'))[0]
    changes = ("topic=a", "topic=null", 'topic="null"', "topic=null", "topic=b", 'topic="null"')
    seen = []
    for change in changes:
        quire("edit", task, "--set", change)
        line = quire("export", 1, "--stage", "first").stdout.splitlines()[0]
        seen.append(json.loads(line)["data"]["topic"])

    assert seen == ["a", None, "null", None, "b", "null"]


def test_null_is_text_where_only_text_may_stand(quire: Quire, tasks: list[int]) -> None:
    quire("edit", tasks[0], "--set", "topic=null")
    line = quire("export", 1, "--stage", "first").stdout.splitlines()[0]

    assert json.loads(line)["data"]["topic"] == "null"


def test_all_of_a_result_is_read_from_a_file(quire: Quire, tasks: list[int], folder: Path) -> None:
    (folder / "bad.json").write_text('{"words": "x"}')
    (folder / "good.json").write_text('{"words": 1, "topic": "t"}')
    (folder / "broken.json").write_text("{")

    assert "2 mistakes" in quire("edit", tasks[0], "--data", "bad.json", code=2).stderr
    assert "is not JSON" in quire("edit", tasks[0], "--data", "broken.json", code=2).stderr
    assert "cannot read none.json" in quire("edit", tasks[0], "--data", "none.json", code=2).stderr
    assert "--set FIELD=VALUE" in quire("edit", tasks[0], code=2).stderr
    assert "wants FIELD=VALUE" in quire("edit", tasks[0], "--set", "words", code=2).stderr
    printed = quire.json("edit", tasks[0], "--data", "good.json")
    assert printed == {"task": tasks[0], "run_id": 1, "stage": "first", "changed": True, "stale": 1}


def test_decisions_bear_the_name_that_is_given_or_set(
    quire: Quire, tasks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    quire("approve", tasks[0], "--as", "Ada")
    monkeypatch.setenv("QUIRE_REVIEWER", "Bo")
    quire("reject", tasks[1], "--note", "No.")
    quire("edit", tasks[0], "--set", "topic=Mine", "--as", "Cy")

    decided = [(item["move"], item["who"]) for item in quire.json("decisions")]
    assert decided == [("edit", "Cy"), ("reject", "Bo"), ("approve", "Ada")]


def test_a_rejected_result_is_asked_again(quire: Quire, tasks: list[int]) -> None:
    assert "--note TEXT" in quire("reject", tasks[0], code=2).stderr
    said = quire("reject", tasks[0], "--note", "No.").stdout
    assert re.search(r"is rejected and asked again, about \$0\.0\d+ simulated;", said)
    assert "has no answer to reject" in quire("reject", tasks[0], "--note", "No.", code=2).stderr
    quire("work", "--until-idle")
    assert quire.json("status")["tasks"] == {"done": 4}
