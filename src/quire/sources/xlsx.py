"""Spreadsheets: one block a row of a table, with the table's header as its keys."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from itertools import zip_longest
from typing import Any, BinaryIO
from zipfile import ZipFile

from openpyxl import load_workbook

from quire.domain.data import Json
from quire.domain.documents import AS_FOUND, Block, BlockType, LeftOut, ReadOptions
from quire.sources.row_blocks import lacks_text, plain_value, row_block, row_without_text
from quire.sources.sheet_tables import (
    PieceKind,
    SheetPiece,
    SheetRow,
    column_letters,
    sheet_pieces,
)
from quire.sources.source_parts import BadContent, SourceParts
from quire.sources.zip_archives import XLSX, check_archive

_FORMULA = re.compile(rb"<(?:\w+:)?f[ >/]")
_CHUNK = 1 << 20


def read_file(open_source: Callable[[], BinaryIO], options: ReadOptions = AS_FOUND) -> SourceParts:
    """Its rows, sheet by sheet, as they are asked for."""
    with open_source() as file:
        check_archive(file, XLSX)
        has_formulas = _has_formulas(file)
    rows = _XlsxRows(open_source, options, has_formulas)
    return SourceParts("", rows, rows.left_out)


def _has_formulas(file: BinaryIO) -> bool:
    with ZipFile(file) as archive:
        for name in archive.namelist():
            if not name.startswith("xl/worksheets/"):
                continue
            with archive.open(name) as sheet:
                tail = b""
                while chunk := sheet.read(_CHUNK):
                    if _FORMULA.search(tail + chunk):
                        return True
                    tail = chunk[-32:]
    return False


@dataclass(frozen=True, slots=True)
class _XlsxRows:
    open_source: Callable[[], BinaryIO]
    options: ReadOptions
    has_formulas: bool
    left_out: list[LeftOut] = field(default_factory=list)

    def __iter__(self) -> Iterator[Block]:
        index = 0
        self.left_out.clear()
        with self.open_source() as file:
            values = load_workbook(file, read_only=True, data_only=True)
            # a formula that no program has calculated yet has no value: then it is read itself
            formulas = load_workbook(file, read_only=True) if self.has_formulas else None
            for sheet in values.worksheets:
                also = formulas[sheet.title] if formulas is not None else None
                title = ""
                for piece in sheet_pieces(_sheet_rows(sheet, also)):
                    if piece.kind is PieceKind.TITLE:
                        title = str(next(iter(piece.row.cells.values())))
                    block = self._block(index, sheet.title, title, piece)
                    if block is not None:
                        yield block
                        index += 1

    def _block(self, index: int, sheet: str, title: str, piece: SheetPiece) -> Block | None:
        locator = {"type": "cells", "sheet": sheet, "range": _cell_range(piece.row)}
        above = (sheet,) if piece.kind is PieceKind.TITLE or not title else (sheet, title)
        if piece.kind is PieceKind.ROW:
            if lacks_text(piece.values, self.options):
                self.left_out.append(row_without_text(f"{sheet}, row {piece.row.number}"))
                return None
            try:
                block = row_block(index, piece.values, locator, self.options)
            except BadContent as error:
                raise BadContent(f"{sheet}, row {piece.row.number}: {error}") from error
            return block._replace(headings=above)
        if self.options.text_column is not None:
            return None  # titles and notes have no such column, and are not asked about
        kind = BlockType.HEADING if piece.kind is PieceKind.TITLE else BlockType.PARAGRAPH
        content = str(next(iter(piece.row.cells.values())))
        return Block(index, kind, content, locator, above)


def _cell_range(row: SheetRow) -> str:
    first, last = min(row.cells), max(row.cells)
    start = f"{column_letters(first)}{row.number}"
    return start if first == last else f"{start}:{column_letters(last)}{row.number}"


def _sheet_rows(sheet: Any, formulas: Any | None) -> Iterator[SheetRow]:
    """The rows of a sheet that are not empty."""
    sheet.reset_dimensions()  # what a file states of its size may be wrong, and would cut rows off
    pairs: Iterable[tuple[Any, Any]]
    if formulas is None:
        pairs = ((cells, ()) for cells in sheet.iter_rows(values_only=True))
    else:
        formulas.reset_dimensions()
        both = (sheet.iter_rows(values_only=True), formulas.iter_rows(values_only=True))
        pairs = zip_longest(*both, fillvalue=())
    for number, (values, stated) in enumerate(pairs, 1):
        cells = _cells(values, stated)
        if cells:
            yield SheetRow(number, cells)


def _cells(values: tuple[object, ...], stated: tuple[object, ...]) -> Mapping[int, Json]:
    cells: dict[int, Json] = {}
    pairs = zip_longest(values, stated) if stated else ((value, None) for value in values)
    for column, (value, formula) in enumerate(pairs, 1):
        if value is None and formula is not None:
            value = getattr(formula, "text", None) or str(formula)
        if isinstance(value, datetime) and value.time() == time.min:
            value = value.date()  # Excel has no dates without a time
        if value is not None and (not isinstance(value, str) or value.strip()):
            cells[column] = plain_value(value)
    return cells
