"""Accuracy on the command line: a table that fits, the worst rows, JSON, and a page."""

from pathlib import Path

import pytest

from tests.cli.conftest import Quire


@pytest.fixture
def scored(ready: Quire, folder: Path) -> tuple[Quire, str]:
    """The commands with a run, and gold that is wrong about one block."""
    ready("run", "--schema", "clauses", "--model", "simulated/small", "-q")
    rows = ready.json("show", "1", "--limit", "20")
    lines = ["block_uid,clause_type,word_count"]
    for no, row in enumerate(rows):
        count = row["data"]["word_count"] if no else -5
        lines.append(f"{row['block_uid']},{row['data']['clause_type']},{count}")
    (folder / "gold.csv").write_text("\n".join(lines))
    return ready, "gold.csv"


def test_fields_the_worst_rows_and_what_is_confused_are_shown(scored: tuple[Quire, str]) -> None:
    quire, gold = scored

    printed = quire("score", "1", "--gold", gold).stdout

    assert f"run 1 (simulated/small) against {gold}: 20 rows · simulated" in printed
    assert "95.0 %" in printed
    assert "word_count:" in printed
    assert "gold says -5" in printed


def test_values_are_shown_as_they_are_written_in_json(
    scored: tuple[Quire, str], folder: Path
) -> None:
    quire, gold = scored
    first = (folder / gold).read_text().splitlines()[1].split(",")[0]
    (folder / "nulls.csv").write_text(f"block_uid,headline,has_question\n{first},,true\n")

    printed = quire("score", "1", "--gold", "nulls.csv").stdout

    assert "1 row with something wrong, the worst first" in printed
    assert "gold says null" in printed
    assert "has_question: false, gold says true" in printed


def test_it_fits_eighty_columns_also_side_by_side(
    scored: tuple[Quire, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quire, gold = scored
    monkeypatch.setenv("COLUMNS", "80")

    printed = quire("score", "1", "1", "--gold", gold).stdout

    assert max(map(len, printed.splitlines())) <= 80
    assert "p, adjusted" in printed


def test_programs_get_every_figure_and_a_page_is_written(
    scored: tuple[Quire, str], tmp_path: Path
) -> None:
    quire, gold = scored

    found = quire.json("score", "--gold", gold, "--to", str(tmp_path / "out"))

    (run,) = found["runs"]
    assert (run["rows"], run["all_fields"]["hits"]) == (20, 19)
    assert run["wrong"][0]["fields"]["word_count"]["gold"] == -5
    assert Path(found["page"]).read_text().startswith("<!doctype html>")


def test_a_mistake_is_told_in_a_line(scored: tuple[Quire, str]) -> None:
    quire, gold = scored

    assert "--match takes FIELD=HOW" in quire("score", "--match", "x", code=2).stderr
    assert "the schema has" in quire("score", "--gold", gold, "--match", "x=set", code=2).stderr
    assert "nobody has reviewed" in quire("score", code=2).stderr
