"""CSV and TSV: read as they are, with the types of the schema, and nothing that a sheet runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire import read_export
from quire.domain.data import Json
from quire.engine import RunHandle
from quire.export.delimited import FORMULA, disarm, rearm
from tests.world import METADATA, World

Worlds = Callable[..., World]

NASTY = [
    *("=cmd()|' /C calc'!A0", "+49 30", "-5 degrees", "@SUM(A1)", "\ttab", "'=quoted"),
    *("NA", 'say "no",\nor', "plain; ümläut \u2028"),
]
TYPED: dict[str, Json] = {
    **METADATA,
    "title": "typed",
    "properties": {
        "word_count": {"type": ["integer", "null"]},
        "country": {"type": "string", "enum": ["NA", "DE"]},
        "has_question": {"type": "boolean"},
        "share": {"type": "number"},
        "day": {"type": "string", "format": "date"},
        "names": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["word_count", "country", "has_question", "share", "day", "names"],
}


def nasty_run(here: World) -> RunHandle:
    here.ingest(NASTY)
    return here.run(TYPED)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_file_reads_back_as_it_was_with_its_types(
    world: Worlds, tmp_path: Path, ending: str
) -> None:
    run = nasty_run(world())
    out = tmp_path / f"out.{ending}"

    assert run.export(str(out)) == len(NASTY)

    frame = read_export(str(out))
    pandas.testing.assert_frame_equal(frame, run.to_pandas())
    assert list(frame["text"]) == NASTY
    assert set(frame["country"]) <= {"NA", "DE"}
    assert {name: str(frame[name].dtype) for name in ("word_count", "has_question", "day")} == {
        "word_count": "Int64",
        "has_question": "boolean",
        "day": "datetime64[us]",
    }


def test_no_cell_begins_like_a_formula_and_pandas_needs_no_help(
    world: Worlds, tmp_path: Path
) -> None:
    run = nasty_run(world())

    run.export(str(tmp_path / "out.csv"))

    frame = pandas.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert len(frame) == len(NASTY)
    assert [text for text in frame["text"] if text[0] in "=+-@\t\r"] == []
    assert list(frame["names"].map(json.loads)) == [row["names"] for row in run.rows()]
    assert frame["share"].dtype == "float64"


@pytest.mark.parametrize("begin", [*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_sheet_takes_a_text_for_a_formula(begin: str) -> None:
    assert disarm(f"{begin}1+1") == f"'{begin}1+1"
    assert rearm(f"'{begin}1+1") == f"{begin}1+1"


@given(st.text(alphabet="'=+-@\t\ra") | st.text())
def test_a_text_that_was_disarmed_can_be_told_again(text: str) -> None:
    safe = disarm(text)

    assert rearm(safe) == text
    assert not FORMULA.match(safe) or safe.startswith("'")


def test_the_same_rows_are_not_written_again(world: Worlds, tmp_path: Path) -> None:
    here = world()
    run = nasty_run(here)
    out = tmp_path / "out.csv"
    first = here.engine.export(run.id, str(out))
    before = out.stat().st_mtime_ns

    second = here.engine.export(run.id, str(out))
    run.approve(int(str(run.rows()[0]["task_id"])))
    third = here.engine.export(run.id, str(out))

    assert [report.changed for report in (first, second, third)] == [True, False, True]
    assert out.stat().st_mtime_ns > before
    assert sorted(path.name for path in tmp_path.glob("out*")) == [
        "out.csv",
        "out.csv-metadata.json",
    ]
