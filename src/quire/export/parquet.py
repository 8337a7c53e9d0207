"""Parquet: rows in groups, with the types of the schema; nothing is held beyond one group."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from json import dumps
from typing import BinaryIO

from quire.export.column_types import Column, ColumnKind, DoesNotFitError, fit_values, widen
from quire.export.data_frames import PANDAS_TYPES, arrow_schema, import_packages
from quire.export.flat_tables import FlatRow, FlatTable

GROUP_ROWS = 10_000  # rows that are written, and read, at once


def check_packages() -> None:
    """Refuse clearly without the package that writes it."""
    import_packages("Parquet", ["pyarrow"], "pip install 'quire[frames]'")


def write_parquet(table: FlatTable, file: BinaryIO) -> tuple[int, tuple[str, ...]]:
    """Write a table; returns how many rows, and the columns that had to become text.

    Where a value does not fit, its column becomes text and all is written anew: rows can be read
    again, and it happens once for a column at most.
    """
    check_packages()
    columns = table.columns
    while True:
        try:
            count = _write_groups(columns, table.read_rows(), file)
        except DoesNotFitError as error:
            columns = widen(columns, error.column)
            file.seek(0)
            file.truncate()
        else:
            pairs = zip(columns, table.columns, strict=True)
            return count, tuple(new.name for new, old in pairs if new.type != old.type)


def _write_groups(columns: Sequence[Column], rows: Iterable[FlatRow], file: BinaryIO) -> int:
    import pyarrow
    from pyarrow import parquet

    schema, count = arrow_schema(columns).with_metadata({b"pandas": _pandas_types(columns)}), 0
    with parquet.ParquetWriter(pyarrow.PythonFile(file, mode="w"), schema) as writer:
        for group in row_groups(rows, GROUP_ROWS):
            by_column = zip(columns, zip(*group, strict=True), strict=True)
            arrays = [
                pyarrow.array(fit_values(column, values), type=kind)
                for (column, values), kind in zip(by_column, schema.types, strict=True)
            ]
            writer.write_table(pyarrow.table(arrays, schema=schema))
            count += len(group)
    return count


def _pandas_types(columns: Sequence[Column]) -> bytes:
    """What pandas looks for in a file: whole numbers without a value stay whole numbers."""
    dates = {column.name for column in columns if column.type.kind is ColumnKind.DATE}
    described = [
        {
            "name": name,
            "field_name": name,
            "pandas_type": "date" if name in dates else "unicode",
            "numpy_type": "object" if name in dates else PANDAS_TYPES.get(kind.kind, "object"),
            "metadata": None,
        }
        for name, kind in columns
    ]
    return dumps(
        {"index_columns": [], "column_indexes": [], "columns": described, "pandas_version": "2"}
    ).encode()


def row_groups(rows: Iterable[FlatRow], size: int) -> Iterator[list[FlatRow]]:
    """Rows, some at a time."""
    remaining = iter(rows)
    while group := list(islice(remaining, size)):
        yield group
