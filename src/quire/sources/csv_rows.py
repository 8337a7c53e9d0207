"""CSV and TSV: one block a row, read as a stream so that a million rows need no memory."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import count, islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from quire.domain.data import Json, canonical_json
from quire.domain.documents import Block, BlockType, LeftOut, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.sources.row_blocks import row_without_text
from quire.sources.source_scan import Origin

if TYPE_CHECKING:
    import _csv

LONGEST_FIELD = 1 << 24  # characters
LONGEST_LINE = 1 << 26
COLUMNS_SHOWN = 50


DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_LOOKED_AT = 20  # rows


def find_delimiter(origin: Origin, stated: str) -> str:
    """What parts the cells: what the ending states, unless only something else parts the header.

    Then most of the first rows must have as many cells as the header, parted in that way.
    """
    best, most = stated, (0, 1)
    for delimiter in (stated, *(other for other in DELIMITERS if other != stated)):
        widths = _first_widths(origin, delimiter)
        if delimiter == stated and widths[:1] not in ([], [1]):
            return stated
        agreeing = sum(width == widths[0] for width in widths)
        if len(widths) > 1 and widths[0] > 1 and 2 * (agreeing - 1) > len(widths) - 1:
            best, most = max((best, most), (delimiter, (agreeing, widths[0])), key=itemgetter(1))
    return best


def _first_widths(origin: Origin, delimiter: str) -> list[int]:
    """How many cells the first rows have; none where they cannot be read in this way."""
    try:
        with TextIOWrapper(origin.open(), encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(_lines(file, origin), delimiter=delimiter, strict=True)
            return [len(cells) for cells in islice(filter(None, rows), _LOOKED_AT)]
    except (csv.Error, UnicodeError, SourceUnreadable):
        return []


def _lines(file: TextIOWrapper, origin: Origin) -> Iterator[str]:
    """The lines of a file; one without an end would fill the memory, and is refused."""
    for number in count(1):
        line = file.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            reason = f"line {number}: is longer than {LONGEST_LINE} characters"
            raise SourceUnreadable(f"{origin.name}: {reason}")
        if not line:
            return
        yield line


class _CsvRow(NamedTuple):
    line: int
    cells: list[str]
    problem: str = ""  # why its cells are not known


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRows:
    """The blocks of a CSV source; each time they are asked for, the source is read again."""

    origin: Origin
    delimiter: str
    options: ReadOptions
    left_out: list[LeftOut]  # where the rows are noted that are no blocks

    def __iter__(self) -> Iterator[Block]:
        """Yield a block a row; a bad row is told with its line."""
        # the limit is the process's, and only ever raised; its default of 131,072 is too short
        csv.field_size_limit(max(LONGEST_FIELD, csv.field_size_limit()))
        with TextIOWrapper(self.origin.open(), encoding="utf-8-sig", newline="") as file:
            lines = _lines(file, self.origin)
            rows = _read_rows(csv.reader(lines, delimiter=self.delimiter, strict=True))
            header = next(rows, _CsvRow(0, []))
            if header.problem:
                raise self._refusal(f"line {header.line}: {header.problem}")
            self._check_header(header.cells)
            yield from self._blocks(header.cells, rows)

    def _blocks(self, header: list[str], rows: Iterator[_CsvRow]) -> Iterator[Block]:
        text, key = (
            None if column is None else header.index(column)
            for column in (self.options.text_column, self.options.key_column)
        )
        self.left_out.clear()
        index = 0
        for number, (line, cells, problem) in enumerate(rows, 1):
            if problem or len(cells) != len(header):
                wrong = f"{len(cells)} fields, but the header has {len(header)}"
                self._refuse_row(line, problem or wrong)
                continue
            if text is not None and not cells[text].strip():
                self.left_out.append(row_without_text(f"line {line}"))
                continue
            locator: dict[str, Json] = {"type": "row", "row": number}
            if key is not None:
                locator["key"] = cells[key]
            if text is not None:
                content = cells[text]
            else:
                content = canonical_json(dict(zip(header, cells, strict=True)))
            yield Block(index=index, type=BlockType.OTHER, content=content, locator=locator)
            index += 1

    def _refuse_row(self, line: int, reason: str) -> None:
        if not self.options.skip_bad_rows:
            raise self._refusal(f"line {line}: {reason}")
        self.left_out.append(LeftOut(f"line {line}", reason))

    def _check_header(self, header: Sequence[str]) -> None:
        if not header:
            raise self._refusal("has no header line")
        if not all(name.strip() for name in header):
            raise self._refusal("line 1: a column has no name")
        seen: set[str] = set()
        for name in header:
            if name in seen:
                raise self._refusal(f"line 1: two columns are named {name!r}")
            seen.add(name)
        for wanted in (self.options.text_column, self.options.key_column):
            if wanted is not None and wanted not in seen:
                more = len(header) - COLUMNS_SHOWN
                listed = ", ".join(header[:COLUMNS_SHOWN]) + (f" and {more} more" * (more > 0))
                raise self._refusal(f"has no column {wanted!r}; its columns are {listed}")

    def _refusal(self, reason: str) -> SourceUnreadable:
        return SourceUnreadable(f"{self.origin.name}: {reason}")


def _read_rows(reader: "_csv.Reader") -> Iterator[_CsvRow]:
    """Yield the rows that are not empty; one with broken quotes comes without its cells."""
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield _CsvRow(reader.line_num, [], str(error))
            continue
        if cells is None:
            return
        if cells:
            yield _CsvRow(reader.line_num, cells)
