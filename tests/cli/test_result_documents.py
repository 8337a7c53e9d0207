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
