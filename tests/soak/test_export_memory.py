"""Exports hold few rows at a time, however many there are."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from quire.export.column_types import INTEGER, TEXT, Column
from quire.export.delimited import delimited_lines
from quire.export.flat_tables import FlatRow, FlatTable
from quire.export.parquet import write_parquet
from quire.export.xlsx import write_xlsx

pytestmark = pytest.mark.soak

FEW, MANY = 20_000, 200_000


def table(count: int) -> FlatTable:
    def read_rows() -> Iterator[FlatRow]:
        return ((number, f"row {number} " * 20) for number in range(count))

    return FlatTable((Column("n", INTEGER), Column("text", TEXT)), read_rows)


def write_csv(rows: FlatTable, file: BinaryIO) -> None:
    for line in delimited_lines(rows, ","):
        file.write(line)


def peak(write: Callable[[FlatTable, BinaryIO], object], count: int, path: Path) -> int:
    tracemalloc.start()
    with path.open("wb+") as file:
        write(table(count), file)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("write", [write_csv, write_parquet, write_xlsx])
def test_ten_times_the_rows_take_no_more_memory(
    write: Callable[[FlatTable, BinaryIO], object], tmp_path: Path
) -> None:
    peak(write, 10, tmp_path / "warm")

    few, many = (peak(write, count, tmp_path / "out") for count in (FEW, MANY))

    assert many < 1.5 * few + 1_000_000
