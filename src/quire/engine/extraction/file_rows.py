"""File rows: files and folders as rows, a block each, with where it stands and what it says."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from quire.domain.data import Json, as_object
from quire.domain.documents import Document
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId
from quire.domain.pricing import from_usd
from quire.engine.block_selection import read_block_types
from quire.engine.extraction.frame_kinds import Cells, PlainRows
from quire.engine.extraction.row_outcomes import RowOutcome
from quire.engine.foreign_values import ForeignFrame
from quire.engine.library import Library
from quire.export.result_selection import WITH_DATA
from quire.ledger.ledger import Ledger

_log = logging.getLogger("quire")  # what a script's or a notebook's user should hear at once
BLOCK_UNIT = "block"
TABLES = {"csv", "tsv", "jsonl", "json", "xlsx", "parquet"}  # whose blocks are rows
UNIT_COLUMNS = ("source", "title", "part")
OUTCOME_COLUMNS = ("status", "error", "cost")
COLUMNS = ("source", "title", "key", "block_index", "text")


def read_files(
    library: Library, paths: Sequence[Path | str], *, text: str | None, key: str | None
) -> tuple[DocumentId, ...]:
    """Read files for this job only; what cannot be read is told, and the rest go on."""
    read = library.ingest(*paths, text_column=text, key_column=key, aside=True)
    for line in read.refused:
        _log.warning(line)
    if not read.documents:
        why = read.refused[0] if read.refused else f"there is nothing to read in {paths[0]}"
        raise UsageError(f"{why}; a text of its own goes into a list: [text]")
    return tuple(sorted({source.document_id for source in read.documents}))


def unit_frame(rows: Sequence[Mapping[str, Json]]) -> PlainRows:
    """What documents, sections or pages are called, as rows."""
    return PlainRows([{name: row.get(name) for name in UNIT_COLUMNS} for row in rows])


def unit_outcomes(
    rows: Sequence[Mapping[str, Json]], fields: Collection[str]
) -> Iterator[RowOutcome]:
    """What became of each of them; a column of ours gives way to a field of its name."""
    status, error, cost = (f"quire_{it}" if it in fields else it for it in OUTCOME_COLUMNS)
    for row in rows:
        data = {name: row.get(name) for name in fields} if row[status] in WITH_DATA else None
        why = None if row[error] is None else str(row[error])
        yield RowOutcome(str(row[status]), why, data, from_usd(str(row[cost])))


class FileRows:
    """The blocks of some documents as rows."""

    kind = ""
    is_text = False
    columns: tuple[str, ...] = COLUMNS

    def __init__(
        self, ledger: Ledger, documents: Sequence[DocumentId], types: Sequence[str] = ()
    ) -> None:
        """Read them from the ledger when they are asked for; `types`: blocks of these only."""
        self._ledger, self._wanted = ledger, set(documents)
        self._types = read_block_types(types)

    @cached_property
    def _documents(self) -> list[Document]:
        with self._ledger.snapshot() as tx:
            return [found for found in tx.documents.list_documents() if found.id in self._wanted]

    @property
    def usual_unit(self) -> str:
        """What a record is of, unless somebody says: rows of tables, else whole documents."""
        kinds = {document.source_type for document in self._documents}
        return BLOCK_UNIT if self._types or kinds & TABLES else "document"

    @cached_property
    def _places(self) -> dict[tuple[DocumentId, int], int]:
        """Which row each block is, where only those of some types are rows."""
        with self._ledger.snapshot() as tx:
            found = tx.documents.blocks_of_types(sorted(self._wanted), self._types)
        return {(document, index): place for place, (document, index) in enumerate(found)}

    def __len__(self) -> int:
        """How many blocks."""
        if self._types:
            return len(self._places)
        return sum(document.conv_total_blocks for document in self._documents)

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, block by block."""
        for document in self._documents:
            with self._ledger.snapshot() as tx:
                for block in tx.documents.copy_document(document).blocks:
                    if self._types and block.type not in self._types:
                        continue
                    row: dict[str, Any] = {
                        "source": document.source_locator,
                        "title": document.title,
                        "key": as_object(block.locator).get("key"),
                        "block_index": block.index,
                        "text": block.content,
                    }
                    yield tuple([row[name] for name in names])

    def find_position(self, document: DocumentId, index: int) -> int:
        """Which row a block is."""
        if self._types:
            return self._places[document, index]
        before = (found for found in self._documents if found.id < document)
        return sum(found.conv_total_blocks for found in before) + index

    def labels(self) -> None:
        """Blocks have no names of their own."""

    def take(self, positions: Sequence[int]) -> PlainRows:
        """Some of its rows."""
        rows = list(self.cells(COLUMNS))
        return PlainRows([dict(zip(COLUMNS, rows[place], strict=True)) for place in positions])

    def with_columns(self, added: ForeignFrame) -> ForeignFrame:
        """They are no frame, and become rows or a frame of another kind."""
        raise AssertionError(added)
