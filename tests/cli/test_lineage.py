"""The tree of what a result was made from, as it is printed."""

from pathlib import Path

from tests.cli.conftest import Quire
from tests.cli.test_result_documents import MODEL, READER


def test_a_result_is_drawn_back_to_the_files_of_another_run(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    (folder / "reader.toml").write_text(READER)
    notes("run", "--recipe", "reader.toml", *MODEL, "--input", "thesis=run:1/digest")
    (row,) = notes.json("show", "--stage", "end")

    said = notes("lineage", "--task", row["task_id"]).stdout.splitlines()

    printed = notes.json("lineage", "--task", row["task_id"])
    assert printed["result"] == max(node["id"] for node in printed["results"])
    assert said[0].startswith(f"result {printed['result']}: end by simulated/small, run 2, task ")
    assert said[1].startswith("└─ result ")
    assert said[2].strip().startswith("└─ document 3: digest by simulated/small, result ")
    assert "(run:1/digest/" in said[2]
    assert [line.split("(")[1] for line in said if "first.txt" in line]
    assert sum("sample 1" in line for line in said) == 2
    assert sum(line.endswith("(as above)") for line in said) == 2  # two points of one summary
    assert notes("lineage", printed["result"]).stdout.splitlines() == said


def test_what_cannot_be_drawn_is_told_in_a_line(notes: Quire) -> None:
    assert "there is no result 7" in notes("lineage", 7, code=2).stderr
    assert "one of the two" in notes("lineage", code=2).stderr
