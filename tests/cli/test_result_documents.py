"""Results that other runs read: named on the command line, or told why they are not there."""

from pathlib import Path

from tests.cli.conftest import SCHEMA, Quire

MODEL = ("--model", "simulated/small")
READER = """
name = "reader"
inputs = ["thesis"]

[[stages]]
name = "reading"
about = "each_document"
over = "thesis"
prompt = "Read: {{ document.text }}"

[[stages]]
name = "end"
about = "all_to_one"
needs = ["reading"]
prompt = "{{ inputs.reading|length }}"
"""


def test_a_run_is_about_the_results_of_another(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    (folder / "reader.toml").write_text(READER)
    reader = ("--recipe", "reader.toml", *MODEL, "--input", "thesis=run:1/points")

    planned = notes.json("plan", *reader)
    notes("run", *reader)

    assert planned["documents"] == 4
    (row,) = notes.json("show")
    assert row["data"]
    assert len(notes.json("show", "--stage", "reading")) == 4
    made = [item for item in notes.json("documents") if item["aside"]]
    assert {item["title"].partition(", result")[0] for item in made} == {
        "points by simulated/small"
    }
    notes("run", "--schema", SCHEMA, *MODEL, "--document", "run:1/digest")


def test_results_that_are_not_there_are_told_in_a_line(notes: Quire, folder: Path) -> None:
    (folder / "reader.toml").write_text(READER)
    notes("run", "--recipe", "notes.toml", *MODEL, "--detach")

    def complaint(name: str) -> str:
        order = ("run", "--recipe", "reader.toml", *MODEL, "--input", f"thesis={name}")
        said: str = notes(*order, code=2).stderr
        return said

    assert "there is no run 9;" in complaint("run:9/summary")
    assert "notes has no stage 'nope'; stages: summary," in complaint("run:1/nope")
    assert "summary of run 1 is not finished: 0 results so far;" in complaint("run:1/summary")


def test_a_number_means_that_document_whatever_results_are_called(
    notes: Quire, folder: Path
) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    (folder / "reader.toml").write_text(READER)
    notes("run", "--recipe", "reader.toml", *MODEL, "--input", "thesis=run:1/points")
    known = {item["id"]: item for item in notes.json("documents")}
    numbers = {
        int(item["source_locator"].rpartition("/")[2]) for item in known.values() if item["aside"]
    }
    shared = min(numbers & set(known))  # a document's number, and the last part of another's name

    notes("purge", str(shared), "--yes")

    assert shared not in {item["id"] for item in notes.json("documents")}


def test_one_result_is_named_as_its_document_says(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    (folder / "reader.toml").write_text(READER)
    one = notes.json("results", "1", "--stage", "points")[1]["result"]
    reader = ("run", "--recipe", "reader.toml", *MODEL, "--input")

    notes(*reader, f"thesis=run:1/points/{one}")

    (made,) = [item for item in notes.json("documents") if item["aside"]]
    assert made["source_locator"] == f"run:1/points/{one}"
    assert len(notes.json("show", "--stage", "reading")) == 1
    refused = notes(*reader, "thesis=run:1/points/999", code=2).stderr
    assert "points of run 1 has no result 999; `quire results 1` lists them" in refused


def test_what_was_purged_is_not_said_to_have_failed(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    (folder / "reader.toml").write_text(READER)
    for document in notes.json("documents"):
        notes("purge", str(document["id"]), "--yes")

    said = notes(
        *("run", "--recipe", "reader.toml", *MODEL, "--input", "thesis=run:1/points"), code=2
    ).stderr

    assert "points of run 1 has no results any more: what 4 of its tasks wrote was purged" in said


def test_where_there_are_several_last_stages_it_says_how_to_name_one(
    notes: Quire, folder: Path
) -> None:
    (folder / "two.toml").write_text(
        """[[stages]]
name = "a"
about = "each_document"
prompt = "{{ document.text }}"
[[stages]]
name = "b"
about = "each_document"
prompt = "Sum up: {{ document.text }}"
"""
    )
    (folder / "reader.toml").write_text(READER)
    notes("run", "--recipe", "two.toml", *MODEL)

    said = notes("run", "--recipe", "reader.toml", *MODEL, "--input", "thesis=run:1", code=2).stderr

    assert "two has several last stages: a, b; run:1/NAME takes one" in said
