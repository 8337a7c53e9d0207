"""Runs are held against gold: by key, by file name, by what people decided; the page is whole."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import quire
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.engine import Engine, RunHandle

SCHEMA: dict[str, Json] = {
    "$id": "notes",
    "type": "object",
    "properties": {
        "urgency": {"type": "string", "enum": ["low", "medium", "high"]},
        "words": {"type": "integer"},
        "names": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["urgency", "words", "names"],
    "additionalProperties": False,
}


class Job(NamedTuple):
    """A run that is done, its ledger, and the gold that agrees with it."""

    engine: Engine
    run: RunHandle
    gold: list[dict[str, Json]]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    lines = ["id,text", *(f"{no},Anna asks for {'x ' * no}today" for no in range(1, 7))]
    (tmp_path / "notes.csv").write_text("\n".join(lines))
    with quire.open(str(tmp_path / "work.db")) as engine:
        over = engine.ingest(tmp_path / "notes.csv", text_column="text", key_column="id")
        run = engine.run(over=over, schema=SCHEMA, model="simulated/small")
        run.wait()
        gold = [
            {
                "id": int(str(row["key"])),
                **{name: row[name] for name in ("urgency", "words", "names")},
            }
            for row in run.rows()
        ]
        yield Job(engine, run, gold)


def test_an_answer_is_held_against_the_gold_of_its_key(job: Job) -> None:
    job.gold[1]["words"] = -1
    job.gold[2] |= {"words": -1, "names": []}

    report = job.run.score(job.gold)
    (found,) = report.runs

    assert report == job.engine.score([job.run.id], job.gold)
    assert "<td>66.7%</td>" in report._repr_html_()
    assert (report.key, report.unmatched, report.ignored) == ("id", (), ())
    assert (found.rows, found.answered, found.whole.hits) == (6, 6, 4)
    assert {field.name: field.accuracy.hits for field in found.fields} == {
        "urgency": 6,
        "words": 4,
        "names": 5,
    }
    assert [case.pair.name for case in found.cases] == ["3", "2"]
    assert "Anna asks for" in found.cases[0].pair.text


def test_a_file_of_gold_is_read_as_the_schema_wants_it(job: Job, tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    with path.open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["ticket", "names", "words", "remark"])
        for row in job.gold:
            assert isinstance(row["names"], list)
            writer.writerow([row["id"], "; ".join(row["names"]), f"{row['words']}.0", "seen"])
        writer.writerow([99, "", "", ""])

    report = job.engine.score([job.run.id], path, match={"words": "numeric:0.1"})

    assert [field.accuracy.share for field in report.runs[0].fields] == [1.0, 1.0]
    assert (report.key, report.unmatched, report.ignored) == ("ticket", ("99",), ("remark",))


def test_documents_are_known_by_their_file_names(job: Job, tmp_path: Path) -> None:
    gold = [{"file": "notes.csv", "urgency": "low"}]

    report = job.engine.score([job.run.id], gold, key="file=source")

    assert report.runs[0].rows == 1


def test_a_name_of_gold_that_several_rows_have_is_told(job: Job) -> None:
    report = job.engine.score([job.run.id], [{"title": "notes.csv", "urgency": "low"}])

    assert (report.runs[0].rows, report.shared) == (1, ("notes.csv",))
    assert job.engine.score([job.run.id], job.gold).shared == ()


def test_what_people_decided_is_gold_where_there_is_none(job: Job) -> None:
    tasks = [row["task_id"] for row in job.run.rows()]
    approved, edited = (int(str(task)) for task in tasks[:2])
    with pytest.raises(UsageError, match="nobody has reviewed"):
        job.engine.score([job.run.id])
    job.run.approve(approved)
    job.run.edit(edited, {"urgency": "low", "words": -1, "names": []})

    (found,) = job.engine.score([job.run.id]).runs

    assert (found.rows, found.whole.hits) == (2, 1)
    assert [item.gold for item in found.cases[0].wrong if item.field == "words"] == [-1]


@pytest.mark.parametrize("per", ["document", "section"])
def test_decisions_about_documents_of_one_title_stay_apart(
    job: Job, tmp_path: Path, per: str
) -> None:
    for number in range(3):
        words = f"# Invoice\n\n## Due\n\nDay {number}.\n\n## Sum\n\nIt is {number}.\n"
        (tmp_path / f"{number}.md").write_text(words)
    invoices = job.engine.ingest(str(tmp_path / "*.md"))
    run = job.engine.run(schema="notes", model="simulated/small", over=invoices, per=per)
    run.wait()
    for row in run.rows():
        run.approve(int(str(row["task_id"])))

    (found,) = job.engine.score([run.id]).runs

    assert found.rows == len(run.rows()) > 2
    assert found.whole.share == 1


def test_runs_stand_side_by_side(job: Job) -> None:
    other = job.engine.run(schema="notes", model="simulated/large", limit=3)
    other.wait()
    for row in job.gold:
        row["words"] = -1

    report = job.engine.score([job.run.id, other.id], job.gold)

    assert [run.rows for run in report.runs] == [6, 6]
    assert [run.answered for run in report.runs] == [6, 3]
    (difference,) = report.differences
    urgency = next(field for field in difference.fields if field.field == "urgency")
    assert (urgency.first.hits, urgency.second.hits, urgency.p_value) == (6, 3, 0.25)


@pytest.mark.parametrize(
    ("gold", "key", "message"),
    [
        ([], None, "has no rows"),
        ([{"id": 1, "urgency": "low"}, {"id": "1", "urgency": "low"}], None, "more than one row"),
        ([{"id": 77, "urgency": "low"}], "id", "no row of run 1"),
        ([{"id": 77, "urgency": "low"}], None, "which column of the gold is the key"),
        ([{"id": 1, "urgency": "low"}], "name", "has no column 'name'"),
        ([{"id": 1, "urgency": "low"}], "id=number", "rows go by key, block_uid"),
        ([{"id": 1, "colour": "low"}], None, "no column that is a field"),
    ],
)
def test_gold_that_cannot_be_used_is_refused_in_words(
    job: Job, gold: list[dict[str, Json]], key: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        job.engine.score([job.run.id], gold, key=key)


def test_the_page_is_whole_and_names_what_is_wrong(job: Job, tmp_path: Path) -> None:
    job.gold[0]["urgency"] = "<script>alert(1)</script>"

    report = job.engine.score([job.run.id], job.gold)
    page = job.engine.accuracy_reports.write_page(report, tmp_path / "out").read_text()
    figures = json.loads((tmp_path / "out" / "accuracy.json").read_text())

    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not [word for word in ("http://", "https://", "src=") if word in page]
    assert "Confusion: urgency" in page
    assert figures["runs"][0]["fields"][0]["accuracy"]["hits"] == 5
    assert figures["runs"][0]["wrong"][0]["key"] == "1"
