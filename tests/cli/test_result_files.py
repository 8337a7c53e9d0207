"""Results as files, from the shell."""

from pathlib import Path

from tests.cli.conftest import Quire
from tests.cli.test_result_documents import MODEL


def test_results_are_listed_by_number_and_written_as_files(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)

    listed = notes.json("results")
    first = notes("results", "--to", "out").stdout
    again = notes.json("results", 1, "--to", "out")

    assert [row["stage"] for row in listed] == [
        *(["summary"] * 2 + ["check"] * 2 + ["points"] * 4 + ["digest"])
    ]
    assert "digest" in notes("results", "--stage", "digest").stdout
    cut = notes("results", "--limit", 2)
    assert len(cut.stdout.splitlines()) == 4
    assert "truncated at 2" in cut.stderr
    assert first == f"run 1: 9 results in {Path('out', 'run_1')}: 9 written, 0 unchanged\n"
    assert (again["unchanged"], again["written"], again["left"]) == (9, 0, [])
    index = (folder / "out" / "run_1" / "index.md").read_text()
    number = next(row["result"] for row in listed if row["stage"] == "digest")
    assert index.splitlines()[-1].endswith(f" · simulated/small · result {number}")


def test_files_that_are_left_are_told_and_make_the_exit_code(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    notes("results", "--to", "out")
    (mine,) = (folder / "out" / "run_1" / "digest").iterdir()
    mine.write_text("mine")

    said = notes("results", "--to", "out", code=1)

    assert "left as it is, because it is not as Quire wrote it: digest/" in said.stderr
    assert "1 left as it is" in said.stdout
    assert mine.read_text() == "mine"


def test_every_draw_says_which_and_what_was_purged_says_so(notes: Quire, folder: Path) -> None:
    (folder / "draws.toml").write_text(
        """[[stages]]
name = "draw"
about = "each_document"
samples = 2
prompt = "Say something of {{ document.text }}"
"""
    )
    notes("run", "--recipe", "draws.toml", *MODEL)
    notes("results", "--to", "out")
    marks = [row["marks"] for row in notes.json("results")]
    index = (folder / "out" / "run_1" / "index.md").read_text()
    notes("purge", "1", "--yes")

    assert marks == [["sample 0"], ["sample 1"]] * 2
    assert (index.count("sample 0"), index.count("sample 1")) == (2, 2)
    assert sorted(row["marks"] for row in notes.json("results")) == [
        ["sample 0"],
        ["sample 0", "purged"],
        ["sample 1"],
        ["sample 1", "purged"],
    ]
