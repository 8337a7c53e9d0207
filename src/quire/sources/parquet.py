"""Parquet: one block a row, read a thousand at a time so that a million rows need no memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile

from quire.domain.documents import AS_FOUND, Block, ReadOptions
from quire.sources.row_blocks import plain_value, row_block
from quire.sources.source_parts import BadContent, SourceParts

_AT_ONCE = 1000  # rows


def read_file(open_source: Callable[[], BinaryIO], options: ReadOptions = AS_FOUND) -> SourceParts:
    """Its rows, as they are asked for."""
    return SourceParts("", _ParquetRows(open_source, options))


@dataclass(frozen=True, slots=True)
class _ParquetRows:
    open_source: Callable[[], BinaryIO]
    options: ReadOptions

    def __iter__(self) -> Iterator[Block]:
        with self.open_source() as file:
            try:
                table = ParquetFile(file)
                self._check_columns(table.schema_arrow.names)
                number = 0
                for batch in table.iter_batches(batch_size=_AT_ONCE, use_threads=False):
                    for row in batch.to_pylist(maps_as_pydicts="lossy"):
                        yield self._block(number, row)
                        number += 1
            except (ArrowException, OSError) as error:
                cause = " ".join(str(error).split())[:200]
                raise BadContent(f"is broken, or is no parquet: {cause}") from error

    def _block(self, number: int, row: dict[str, object]) -> Block:
        plain = {name: plain_value(value) for name, value in row.items()}
        try:
            return row_block(number, plain, {"type": "row", "row": number + 1}, self.options)
        except BadContent as error:
            raise BadContent(f"row {number + 1}: {error}") from error

    def _check_columns(self, names: list[str]) -> None:
        if len(set(names)) < len(names):
            raise BadContent("has two columns of one name")
        for wanted in (self.options.text_column, self.options.key_column):
            if wanted is not None and wanted not in names:
                raise BadContent(f"has no column {wanted!r}; its columns are {', '.join(names)}")
