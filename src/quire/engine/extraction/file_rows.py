"""File rows: files and folders as rows, a block each, with where it stands and what it says."""

import logging
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from quire.domain.data import Json, as_object
from quire.domain.documents import Document
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId
from quire.domain.pricing import from_usd
from quire.domain.recipes import Schema
from quire.engine.block_selection import read_block_types
from quire.engine.extraction.frame_kinds import Cells, PlainRows
from quire.engine.extraction.row_outcomes import RowOutcome
from quire.engine.foreign_values import ForeignFrame
from quire.engine.library import Library
from quire.export.quote_columns import quote_columns
from quire.export.result_selection import WITH_DATA
from quire.ledger.ledger import Ledger
from quire.pipeline.commands.corpus import IngestedSource

_log = logging.getLogger("quire")  # what a script's or a notebook's user should hear at once
BLOCK_UNIT = "block"
TABLES = {"csv", "tsv", "jsonl", "json", "xlsx", "parquet"}  # whose blocks are rows
UNIT_COLUMNS = ("source", "title", "headings", "page", "text")  # of sections, of pages
OUTCOME_COLUMNS = ("status", "error", "cost")
COLUMNS = ("source", "title", "key", "block_index", "text")


def read_files(
    library: Library, paths: Sequence[Path | str], *, text: str | None, key: str | None
) -> tuple[IngestedSource, ...]:
    """Read files for this job only; what cannot be read is told, and the rest go on."""
    # as this call says, however the same files were read before
    read = library.ingest(*paths, text_column=text or "", key_column=key or "", aside=True)
    for line in read.refused:
        _log.warning(line)
    if not read.documents:
        why = read.refused[0] if read.refused else f"there is nothing to read in {paths[0]}"
        raise UsageError(f"{why}; a text of its own goes into a list: [text]")
    return read.documents


class _FileDocument(NamedTuple):
    """A document, with what of it the caller named."""

    document: Document
    files: tuple[IngestedSource, ...]  # several, where they say the same
    blocks: Sequence[int]  # those that are asked about, in order
    start: int  # the place of its first row

    def positions(self, index: int) -> list[int]:
        """The rows that a block is: one of each file."""
        first = self.start + bisect_left(self.blocks, index)
        return [first + number * len(self.blocks) for number in range(len(self.files))]


class FileUnit(NamedTuple):
    """A document, section or page of one file, and what became of it."""

    cells: Mapping[str, Json]  # where it stands, and what it says
    outcome: RowOutcome


def unit_frame(units: Sequence[FileUnit]) -> PlainRows:
    """Documents, sections or pages, as rows."""
    return PlainRows([unit.cells for unit in units])


def _own_name(name: str, fields: Collection[str]) -> str:
    """The name of a column of ours, which gives way to a field: no row here is the caller's."""
    return f"quire_{name}" if name in fields else name


class FileRows:
    """The blocks of some files as rows, by the numbers of their documents."""

    kind = ""
    is_text = False

    def __init__(
        self,
        ledger: Ledger,
        files: Sequence[IngestedSource],
        types: Sequence[str] = (),
        fields: Collection[str] = (),
    ) -> None:
        """Read them from the ledger when they are asked for.

        `types`: blocks of these only; `fields`: of the answers, which keep their names.
        """
        self._ledger, self._types = ledger, read_block_types(types)
        self._names = {_own_name(name, fields): name for name in COLUMNS}
        self.columns = tuple(self._names)
        self._files: dict[DocumentId, list[IngestedSource]] = {}
        for file in files:
            self._files.setdefault(file.document_id, []).append(file)

    @property
    def document_ids(self) -> tuple[DocumentId, ...]:
        """Whom a run is about: files that say the same are one document."""
        return tuple(sorted(self._files))

    @cached_property
    def _documents(self) -> dict[DocumentId, _FileDocument]:
        with self._ledger.snapshot() as tx:
            listed = {found.id: found for found in tx.documents.list_documents()}
            chosen: dict[DocumentId, list[int]] = {}
            for number, index in tx.documents.blocks_of_types(self.document_ids, self._types):
                chosen.setdefault(number, []).append(index)
        documents, start = {}, 0
        for number in self.document_ids:
            document, files = listed[number], tuple(self._files[number])
            blocks = chosen.get(number, []) if self._types else range(document.conv_total_blocks)
            documents[number] = _FileDocument(document, files, blocks, start)
            start += len(files) * len(blocks)
        return documents

    @property
    def usual_unit(self) -> str:
        """What a record is of, unless somebody says: rows of tables, else whole documents."""
        if self._types:
            return BLOCK_UNIT
        found = [(item.document.source_type, item.files[0]) for item in self._documents.values()]
        tables = [file.path for kind, file in found if kind in TABLES]
        texts = [file.path for kind, file in found if kind not in TABLES]
        if tables and texts:
            raise UsageError(
                f'{tables[0]} is a table and {texts[0]} is not: say per="block" to ask about every'
                ' row and paragraph, per="document" to ask about each file, or name them apart'
            )
        return BLOCK_UNIT if tables else "document"

    def __len__(self) -> int:
        """How many blocks, of each file."""
        return sum(len(item.files) * len(item.blocks) for item in self._documents.values())

    def cells(self, names: Sequence[str]) -> Iterator[Cells]:
        """The values of some columns, block by block."""
        own = [self._names[name] for name in names]
        for item in self._documents.values():
            for file in item.files:
                yield from self._file_cells(item.document, file, own)

    def _file_cells(
        self, document: Document, file: IngestedSource, names: Sequence[str]
    ) -> Iterator[Cells]:
        with self._ledger.snapshot() as tx:
            for block in tx.documents.copy_document(document).blocks:
                if self._types and block.type not in self._types:
                    continue
                row: dict[str, Any] = {
                    "source": file.path,
                    "title": file.title,
                    "key": as_object(block.locator).get("key"),
                    "block_index": block.index,
                    "text": block.content,
                }
                yield tuple([row[name] for name in names])

    def find_positions(self, document: DocumentId, index: int) -> list[int]:
        """Which rows a block is."""
        return self._documents[document].positions(index)

    def for_each_file(self, outcomes: Iterator[RowOutcome]) -> Iterator[RowOutcome]:
        """The outcomes of a run's blocks as those of all rows; what one cost is told once."""
        for item in self._documents.values():
            own = islice(outcomes, len(item.blocks))
            if len(item.files) == 1:
                yield from own
                continue
            first = list(own)
            yield from first
            for _ in item.files[1:]:
                yield from (outcome.without_cost() for outcome in first)

    def find_units(
        self, rows: Sequence[Mapping[str, Json]], answers: Mapping[Json, Json], schema: Schema
    ) -> list[FileUnit]:
        """What became of documents, sections or pages, of each file; it is paid once."""
        files = {item.document.conv_uid: item.files for item in self._documents.values()}
        quoted = [column.name for column in quote_columns(schema.quoted_fields)]
        of_tasks: dict[Json, list[FileUnit]] = {}
        for row in rows:  # one for each path that the ledger knows, named in this call or not
            read = _UnitReader(row, schema.properties, quoted)
            task = row[read.column("task_id")]
            outcome = read.outcome(answers.get(task))
            units = of_tasks.setdefault(task, [])
            if units:
                continue
            for file in files[str(row[read.column("conv_uid")])]:
                units.append(FileUnit(read.cells(file), outcome))
                outcome = outcome.without_cost()
        return [unit for units in of_tasks.values() for unit in units]

    def labels(self) -> None:
        """Blocks have no names of their own."""

    def take(self, positions: Sequence[int]) -> PlainRows:
        """Some of its rows."""
        rows, names = list(self.cells(self.columns)), self.columns
        return PlainRows([dict(zip(names, rows[place], strict=True)) for place in positions])

    def with_columns(self, added: ForeignFrame) -> ForeignFrame:
        """They are no frame, and become rows or a frame of another kind."""
        raise AssertionError(added)


class _UnitReader(NamedTuple):
    """Reads a row of a run; a column of ours gives way to a field of its name."""

    row: Mapping[str, Json]
    fields: Collection[str]
    quoted: Sequence[str]  # columns of quotes

    def column(self, name: str) -> str:
        return _own_name(name, self.fields)

    def cells(self, file: IngestedSource) -> dict[str, Json]:
        """Where it stands in a file, and what it says."""
        names = [name for name in map(self.column, UNIT_COLUMNS) if name in self.row]
        of_file = {self.column("source"): file.path, self.column("title"): file.title}
        return {name: of_file.get(name, self.row[name]) for name in names}

    def outcome(self, answer: Json) -> RowOutcome:
        """What became of it; the answer itself says which fields it lacks, columns do not."""
        status, error, cost = (self.row[self.column(name)] for name in OUTCOME_COLUMNS)
        data = answer if status in WITH_DATA else None
        why = None if error is None else str(error)
        quotes = tuple(self.row.get(self.column(name)) for name in self.quoted)
        return RowOutcome(str(status), why, data, from_usd(str(cost)), quotes=quotes)
