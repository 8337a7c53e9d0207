"""Parquet: one block a row, read a thousand at a time so that a million rows need no memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile

from quire.domain.data import Json
from quire.domain.documents import AS_FOUND, Block, LeftOut, ReadOptions
from quire.sources.row_blocks import lacks_text, plain_value, row_block, row_without_text
from quire.sources.source_parts import BadContent, SourceParts

_AT_ONCE = 1000  # rows


def read_file(open_source: Callable[[], BinaryIO], options: ReadOptions = AS_FOUND) -> SourceParts:
    """Its rows, as they are asked for."""
    rows = _ParquetRows(open_source, options)
    return SourceParts("", rows, rows.left_out)


@dataclass(frozen=True, slots=True)
class _ParquetRows:
    open_source: Callable[[], BinaryIO]
    options: ReadOptions
    left_out: list[LeftOut] = field(default_factory=list)

    def __iter__(self) -> Iterator[Block]:
        self.left_out.clear()
        with self.open_source() as file:
            try:
                table = ParquetFile(file)
                self._check_columns(table.schema_arrow.names)
                yield from self._blocks(table)
            except (ArrowException, OSError) as error:
                cause = " ".join(str(error).split())[:200]
                raise BadContent(f"is broken, or is no parquet: {cause}") from error

    def _blocks(self, table: ParquetFile) -> Iterator[Block]:
        index = number = 0
        for batch in table.iter_batches(batch_size=_AT_ONCE, use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts="lossy"):
                number += 1
                plain = {name: plain_value(value) for name, value in row.items()}
                if lacks_text(plain, self.options):
                    self.left_out.append(row_without_text(f"row {number}"))
                    continue
                yield self._block(index, number, plain)
                index += 1

    def _block(self, index: int, number: int, row: dict[str, Json]) -> Block:
        try:
            return row_block(index, row, {"type": "row", "row": number}, self.options)
        except BadContent as error:
            raise BadContent(f"row {number}: {error}") from error

    def _check_columns(self, names: list[str]) -> None:
        if len(set(names)) < len(names):
            raise BadContent("has two columns of one name")
        for wanted in (self.options.text_column, self.options.key_column):
            if wanted is not None and wanted not in names:
                raise BadContent(f"has no column {wanted!r}; its columns are {', '.join(names)}")
