"""Parquet and XLSX: the types of the schema in files, streamed, and the same bytes each time."""

import json
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import openpyxl
import pandas
import pyarrow.parquet
import pytest

from quire import read_export
from quire.domain.errors import UsageError
from quire.export import parquet, xlsx
from quire.export.column_types import INTEGER, TEXT, Column
from quire.export.flat_tables import FlatTable
from tests.export.test_delimited import NASTY, nasty_run
from tests.world import World

Worlds = Callable[..., World]


def test_parquet_has_the_types_of_the_schema_without_any_help(
    world: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 4)
    run = nasty_run(world())
    out = tmp_path / "out.parquet"

    assert run.export(str(out)) == len(NASTY)

    plain = pandas.read_parquet(out)
    assert {name: str(plain[name].dtype) for name in ("word_count", "has_question", "share")} == {
        "word_count": "Int64",
        "has_question": "boolean",
        "share": "float64",
    }
    assert list(plain["text"]) == NASTY
    assert pyarrow.parquet.ParquetFile(out).num_row_groups == 3
    pandas.testing.assert_frame_equal(read_export(str(out)), run.to_pandas())


def test_a_sheet_holds_text_as_text_and_reads_back_with_its_types(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    run = nasty_run(here)
    out = tmp_path / "out.xlsx"

    first = here.engine.export(run.id, str(out))
    again = here.engine.export(run.id, str(out))

    assert (first.changed, again.changed) == (True, False)
    pandas.testing.assert_frame_equal(read_export(str(out)), run.to_pandas())
    (texts,) = openpyxl.load_workbook(out)["rows"].iter_cols(min_col=7, max_col=7, min_row=2)
    assert [(cell.value, cell.data_type) for cell in texts] == [(text, "s") for text in NASTY]
    assert [cell.quotePrefix for cell in texts][:6] == [True] * 6


def test_a_value_that_does_not_fit_makes_its_column_text_and_the_file_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 2)
    rows = [(1, "a"), (2, "b"), (2**70, "c")]
    table = FlatTable((Column("n", INTEGER), Column("t", TEXT)), lambda: iter(rows))
    out = tmp_path / "out.parquet"

    with out.open("wb+") as file:
        assert parquet.write_parquet(table, file) == (3, ("n",))

    assert pandas.read_parquet(out)["n"].tolist() == ["1", "2", str(2**70)]


def test_what_a_sheet_cannot_hold_is_cut_or_refused_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (Column("n", INTEGER), Column("t", TEXT))
    long = FlatTable(columns, lambda: iter([(2**60, "x" * 40_000), (1, "a\x01\ud800b")]))
    endless = FlatTable(columns, lambda: ((number, "") for number in count()))
    monkeypatch.setattr(xlsx, "MOST_ROWS", 10)

    with (tmp_path / "out.xlsx").open("wb") as file:
        assert xlsx.write_xlsx(long, file) == (2, 1)
    with (tmp_path / "no.xlsx").open("wb") as file, pytest.raises(UsageError, match="10 rows"):
        xlsx.write_xlsx(endless, file)

    first, second = openpyxl.load_workbook(tmp_path / "out.xlsx")["rows"].iter_rows(
        min_row=2, values_only=True
    )
    assert json.loads(str(first[0])) == 2**60
    assert len(str(first[1])) == xlsx.LONGEST_CELL
    assert second[1] == "a\ufffd\ufffdb"


def test_parquet_without_its_package_says_how_to_get_it(
    world: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = nasty_run(world())
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(UsageError, match=r"needs the package pyarrow: pip install 'quire\["):
        run.export(str(tmp_path / "out.parquet"))

    assert list(tmp_path.glob("out*")) == []
