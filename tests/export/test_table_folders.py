"""Table folders: any tables with typed columns, written and read back with their types."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quire import read_export
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.export.flat_tables import FlatTable
from quire.export.table_folders import (
    TABLE_FORMATS,
    check_table_format,
    table_file,
    typed_columns,
    write_table_folder,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = {"country": "text", "count": "integer", "share": "number", "is": "boolean", "parts": "json"}
ROWS: list[tuple[Json, ...]] = [
    ("NA", 1, 0.5, True, ["=a", {"b": 1}]),
    ("=1+1", None, None, None, None),
    ("FR", 2**40, -1.0, False, "a text"),
]


def write(folder: Path, form: str, rows: list[tuple[Json, ...]] = ROWS) -> bool:
    """Write one table; whether anything changed."""
    table = FlatTable(typed_columns(KINDS), lambda: iter(rows))
    files = [table_file("places", table, form)]
    return write_table_folder(f"{folder}/", files, {"study": 7}, NOW).changed


@pytest.mark.parametrize("form", TABLE_FORMATS)
def test_values_come_back_as_they_were(tmp_path: Path, form: str) -> None:
    assert write(tmp_path, form)

    frame = read_export(tmp_path)["places"]
    assert [str(kind) for kind in frame.dtypes] == [
        *("string", "Int64", "float64", "boolean", "object")
    ]
    plain = frame.astype(object).where(frame.notna(), None)
    assert [tuple(row) for row in plain.itertuples(index=False)] == ROWS


@pytest.mark.parametrize("form", TABLE_FORMATS)
def test_the_same_is_not_written_again(tmp_path: Path, form: str) -> None:
    write(tmp_path, form)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    assert not write(tmp_path, form)
    assert before == {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert write(tmp_path, form, ROWS[:1])
    assert json.loads((tmp_path / "manifest.json").read_text())["study"] == 7


def test_another_format_takes_the_place_of_the_first(tmp_path: Path) -> None:
    write(tmp_path, "csv")
    write(tmp_path, "parquet")

    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "places.parquet"}


def test_a_format_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="--format takes csv or parquet, not 'xml'"):
        check_table_format("xml")
