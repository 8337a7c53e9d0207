"""The tables of a sheet: titles above, a header, rows below; an empty row ends a table.

A sheet does not say what is a table in it, so these rules decide. A row with a single cell outside
of a table is a title if a row with several cells follows, else a note. The first row with several
cells is a header if all of them are text and something stands below. After an empty row the next
table begins with a header of its own if its first row is all text, unless the last table is all
text too and stands in the same columns: then it goes on. Where there is no header, columns have
their letters as names.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, islice
from typing import NamedTuple

from quire.domain.data import Json

_LOOKED_AT = 50  # rows that tell whether a sheet has one column


class SheetRow(NamedTuple):
    """A row of a sheet: its number and the cells that are not empty, by column from 1."""

    number: int
    cells: Mapping[int, Json]

    @property
    def is_text(self) -> bool:
        """Whether every cell holds text."""
        return all(isinstance(value, str) for value in self.cells.values())


class PieceKind(StrEnum):
    """What a row is."""

    TITLE = "title"
    NOTE = "note"
    ROW = "row"


class SheetPiece(NamedTuple):
    """A row that says something, and what it is."""

    kind: PieceKind
    row: SheetRow
    values: Mapping[str, Json]  # of a row of a table, by column name


def sheet_pieces(rows: Iterable[SheetRow]) -> Iterator[SheetPiece]:
    """Yield what stands in a sheet, headers excepted, for they are in every row below."""
    remaining = iter(rows)
    first = list(islice(remaining, _LOOKED_AT))
    tables = _SheetTables(one_column=_has_one_column(first))
    row: SheetRow | None = None
    for following in chain(first, remaining):
        if row is not None:
            yield from tables.take(row, following)
        row = following
    if row is not None:
        yield from tables.take(row, None)


def column_letters(column: int) -> str:
    """The name of a column, from 1: A to Z, then AA."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _has_one_column(rows: list[SheetRow]) -> bool:
    columns = {column for row in rows for column in row.cells}
    return len(rows) > 1 and len(columns) == 1


@dataclass(slots=True)
class _SheetTables:
    one_column: bool
    header: dict[int, str] = field(default_factory=dict)
    last: int = -1  # number of the row before, of those with cells
    in_table: bool = False
    all_text: bool = True  # the rows of the table so far

    def take(self, row: SheetRow, following: SheetRow | None) -> Iterator[SheetPiece]:
        """Say what a row is; `following` is the next that has cells."""
        goes_on = self.in_table and row.number == self.last + 1
        self.last = row.number
        if goes_on:
            yield self._row(row)
        elif len(row.cells) == 1 and not self.one_column:
            above = following is not None and len(following.cells) > 1
            self.in_table = False
            yield SheetPiece(PieceKind.TITLE if above else PieceKind.NOTE, row, {})
        elif self._is_header(row, following):
            self.header = _header_names(row)
            self.in_table, self.all_text = True, True
        else:
            if not set(row.cells) <= set(self.header):
                self.header = {}
            self.in_table = True
            yield self._row(row)

    def _is_header(self, row: SheetRow, following: SheetRow | None) -> bool:
        if not row.is_text or following is None or following.number != row.number + 1:
            return False
        same_columns = bool(self.header) and set(row.cells) == set(self.header)
        return not (same_columns and self.all_text)

    def _row(self, row: SheetRow) -> SheetPiece:
        self.all_text = self.all_text and row.is_text
        columns = sorted({*self.header, *row.cells})
        values = {
            self.header.get(column) or column_letters(column): row.cells.get(column)
            for column in columns
        }
        return SheetPiece(PieceKind.ROW, row, values)


def _header_names(row: SheetRow) -> dict[int, str]:
    """Columns by name; of two with one name the later also has its letters."""
    names: dict[int, str] = {}
    for column, value in row.cells.items():
        name = " ".join(str(value).split()) or column_letters(column)
        taken = name in names.values()
        names[column] = f"{name} ({column_letters(column)})" if taken else name
    return names
