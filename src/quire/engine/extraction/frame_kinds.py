"""Frame kinds: the caller's rows, read a part at a time, and given back as the same kind.

pandas, polars, pyarrow and datasets are imported only where the caller's own object comes from
them. Rows are read by column, some at a time, so that a large frame is never there twice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from quire.domain.errors import UsageError
from quire.engine.extraction.extracted import ExtractedRows
from quire.engine.foreign_values import Cell, ForeignFrame, ForeignRows

CHUNK = 2_000  # rows whose values are Python's at once
TEXT_COLUMN = "text"  # of rows that are nothing but a text
Cells = tuple[Cell, ...]  # of one row, in the order that they were asked for


class Frame(Protocol):
    """Rows with named columns."""

    kind: str  # of the frame that comes back, as `make_frame` calls it; "" for plain rows
    columns: tuple[str, ...]
    is_text: bool  # each row is one text

    def __len__(self) -> int:
        """How many rows."""
        ...

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, row by row."""
        ...

    def labels(self) -> Iterator[Cell] | None:
        """The rows' own names, where they have some besides their columns."""
        ...

    def take(self, positions: Sequence[int]) -> "Frame":
        """Some of its rows."""
        ...

    def with_columns(self, added: ForeignFrame) -> ForeignFrame:
        """The same kind of frame, with the columns of another that has as many rows."""
        ...


class PlainRows:
    """A list of texts or mappings; an iterator is read to its end."""

    kind = ""

    def __init__(self, rows: Iterable[Cell]) -> None:
        """Take rows as they are; what is neither a text nor a mapping is refused."""
        self._rows = rows if isinstance(rows, list) else list(rows)
        self.is_text = not any(isinstance(row, Mapping) for row in self._rows)
        known = str | int | float | None if self.is_text else Mapping | None
        for number, row in enumerate(self._rows, 1):
            if not isinstance(row, known):
                name = type(row).__name__
                raise UsageError(
                    f"row {number} is a {name}: rows are texts, or all of them mappings of values"
                )
        if self.is_text:
            self._rows = [{TEXT_COLUMN: row} for row in self._rows]
        names = dict.fromkeys(name for row in self._rows for name in row or ())
        if not all(isinstance(name, str) for name in names):
            self._rows = [row and {str(name): row[name] for name in row} for row in self._rows]
        self.columns = tuple(dict.fromkeys(map(str, names)))

    def __len__(self) -> int:
        """How many rows."""
        return len(self._rows)

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, row by row; None where a row has no such value."""
        for row in self._rows:
            yield tuple([row.get(name) for name in names]) if row else (None,) * len(names)

    def labels(self) -> None:
        """Rows of a list have no names."""

    def take(self, positions: Sequence[int]) -> "PlainRows":
        """Some of its rows."""
        return PlainRows([self._rows[position] for position in positions])

    def with_columns(self, added: ForeignFrame) -> ExtractedRows:
        """New mappings: the caller's stay as they are."""
        pairs = zip(self._rows, added, strict=True)
        return ExtractedRows({**(row or {}), **answer} for row, answer in pairs)


class PandasFrame:
    """A DataFrame, or a Series of texts."""

    kind = "pandas"

    def __init__(self, frame: ForeignFrame) -> None:
        """Keep the caller's frame; it is never changed."""
        self.is_text = not hasattr(frame, "columns")
        if self.is_text:
            frame = frame.to_frame(TEXT_COLUMN if frame.name is None else frame.name)
        self._frame = frame
        self.columns = tuple(str(name) for name in frame.columns)

    def __len__(self) -> int:
        """How many rows."""
        return len(self._frame)

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, row by row; the index has a name too."""
        columns = [self._column(name) for name in names]
        for start in range(0, len(self), CHUNK):
            parts = [column.iloc[start : start + CHUNK].tolist() for column in columns]
            yield from zip(*parts, strict=True)

    def _column(self, name: str) -> Any:
        if name in self.columns:
            return self._frame.iloc[:, self.columns.index(name)]
        return self._frame.index.to_series()

    def labels(self) -> Iterator[Cell] | None:
        """The index, where it says more than a row's place and names each row once."""
        index = self._frame.index
        if type(index).__name__ == "RangeIndex" or not index.is_unique:
            return None
        return (
            label for start in range(0, len(self), CHUNK) for label in index[start : start + CHUNK]
        )

    @property
    def index_name(self) -> str | None:
        """What the index is called."""
        name = self._frame.index.name
        return None if name is None else str(name)

    def take(self, positions: Sequence[int]) -> "PandasFrame":
        """Some of its rows."""
        return PandasFrame(self._frame.iloc[list(positions)])

    def with_columns(self, added: ForeignFrame) -> ForeignFrame:
        """The frame under its own index, which may name a row twice."""
        found = self._frame.copy(deep=False)
        for name in added.columns:
            found[name] = added[name].array
        return found


class PolarsFrame:
    """A polars DataFrame, or a Series of texts."""

    kind = "polars"

    def __init__(self, frame: ForeignFrame) -> None:
        """Keep the caller's frame; it is never changed."""
        if not hasattr(frame, "slice") or hasattr(frame, "collect"):
            raise UsageError("this is a lazy frame: give its rows, frame.collect()")
        self.is_text = not hasattr(frame, "columns")
        if self.is_text:
            frame = frame.to_frame(frame.name or TEXT_COLUMN)
        self._frame = frame
        self.columns = tuple(frame.columns)

    def __len__(self) -> int:
        """How many rows."""
        return int(self._frame.height)

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, row by row."""
        columns = [self._frame.get_column(name) for name in names]
        for start in range(0, len(self), CHUNK):
            parts = [column.slice(start, CHUNK).to_list() for column in columns]
            yield from zip(*parts, strict=True)

    def labels(self) -> None:
        """polars has no index."""

    def take(self, positions: Sequence[int]) -> "PolarsFrame":
        """Some of its rows."""
        return PolarsFrame(self._frame[list(positions)])

    def with_columns(self, added: ForeignFrame) -> ForeignFrame:
        """The frame with the columns of the other beside its own."""
        return self._frame.hstack(added)


class ArrowTable:
    """A pyarrow table, an array of texts, or whatever says it is a stream of Arrow's."""

    kind = "arrow"

    def __init__(self, table: ForeignFrame) -> None:
        """Keep the caller's table; it is never changed."""
        import pyarrow

        self.is_text = isinstance(table, pyarrow.Array | pyarrow.ChunkedArray)
        if self.is_text:
            table = pyarrow.table({TEXT_COLUMN: table})
        elif not isinstance(table, pyarrow.Table):
            table = pyarrow.table(table)
        self._table = table
        self.columns = tuple(table.column_names)

    def __len__(self) -> int:
        """How many rows."""
        return int(self._table.num_rows)

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, row by row."""
        columns = [self._table.column(self.columns.index(name)) for name in names]
        for start in range(0, len(self), CHUNK):
            parts = [column.slice(start, CHUNK).to_pylist() for column in columns]
            yield from zip(*parts, strict=True)

    def labels(self) -> None:
        """Arrow has no index."""

    def take(self, positions: Sequence[int]) -> "ArrowTable":
        """Some of its rows."""
        return ArrowTable(self._table.take(list(positions)))

    def with_columns(self, added: ForeignFrame) -> ForeignFrame:
        """The table with the columns of the other behind its own."""
        found = self._table
        for field in added.schema:
            found = found.append_column(field, added.column(field.name))
        return found


class HuggingFaceDataset:
    """A dataset of Hugging Face; one split of several."""

    kind = "hf"
    is_text = False

    def __init__(self, dataset: ForeignFrame) -> None:
        """Keep the caller's dataset; it is never changed."""
        if isinstance(dataset, Mapping):
            splits = ", ".join(dataset)
            raise UsageError(f"this dataset has several splits: give one of them, {splits}")
        self._dataset = dataset
        self.columns = tuple(dataset.column_names)

    def __len__(self) -> int:
        """How many rows."""
        return len(self._dataset)

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, row by row."""
        chosen = self._dataset.select_columns(list(names))
        for start in range(0, len(self), CHUNK):
            part = chosen[start : start + CHUNK]
            yield from zip(*(part[name] for name in names), strict=True)

    def labels(self) -> None:
        """Datasets have no index."""

    def take(self, positions: Sequence[int]) -> "HuggingFaceDataset":
        """Some of its rows."""
        return HuggingFaceDataset(self._dataset.select(list(positions)))

    def with_columns(self, added: ForeignFrame) -> ForeignFrame:
        """The dataset with the columns of the other beside its own."""
        import datasets

        return datasets.concatenate_datasets([self._dataset, added], axis=1)


def read_frame(data: ForeignRows) -> Frame:
    """The caller's rows, whatever they are kept in."""
    package = type(data).__module__.partition(".")[0]
    if package == "pandas":
        return PandasFrame(data)
    if package == "polars":
        return PolarsFrame(data)
    if package == "datasets" and not type(data).__name__.startswith("Iterable"):
        return HuggingFaceDataset(data)
    if package == "pyarrow" or hasattr(data, "__arrow_c_stream__"):
        return ArrowTable(data)
    if package == "numpy":
        return PlainRows(data.tolist())
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise UsageError(
            f"a {type(data).__name__} is not rows: give a list of texts or mappings, a data frame,"
            " or a path of files"
        )
    return PlainRows(data)


def path_names(data: ForeignRows) -> list[Path | str] | None:
    """The paths that are meant, where the caller names files; None where rows are given."""
    if isinstance(data, str | Path):
        return [data]
    if isinstance(data, list | tuple) and data and all(isinstance(item, Path) for item in data):
        return list(data)
    return None
