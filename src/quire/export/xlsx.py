"""XLSX: a sheet of rows and one that says what its columns hold, written as a stream.

Every text is a cell of text, and one that begins like a formula has the mark that Excel itself
gives to what was typed with an apostrophe: no formula is ever made of it, and its value is what it
was. The same rows always make the same bytes.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO
from xml.sax.saxutils import escape

from quire.domain.data import Json, plain_json
from quire.domain.errors import UsageError
from quire.export.delimited import FORMULA, datatype
from quire.export.flat_tables import FlatTable

MOST_ROWS = 1_048_575  # of a sheet, below its header
LONGEST_CELL = 32_767  # characters, as UTF-16 counts them
LARGEST_NUMBER = 2**53  # beyond it a sheet rounds
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the least that a zip file can say
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml"

_PLAIN_STYLE = 'numFmtId="0" fontId="0" fillId="0" borderId="0"'

_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels"'
    ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_CONTENT}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_CONTENT}.styles+xml"/>'
    f'<Override PartName="/xl/worksheets/rows.xml" ContentType="{_CONTENT}.worksheet+xml"/>'
    f'<Override PartName="/xl/worksheets/columns.xml" ContentType="{_CONTENT}.worksheet+xml"/>'
    "</Types>",
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    "</Relationships>",
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="rows" sheetId="1" r:id="r1"/><sheet name="columns" sheetId="2" r:id="r2"/>'
    "</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/rows.xml"/>'
    f'<Relationship Id="r2" Type="{_OFFICE}/worksheet" Target="worksheets/columns.xml"/>'
    f'<Relationship Id="r3" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    "</Relationships>",
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    f'<cellStyleXfs count="1"><xf {_PLAIN_STYLE}/></cellStyleXfs>'
    f'<cellXfs count="2"><xf {_PLAIN_STYLE} xfId="0"/>'
    f'<xf {_PLAIN_STYLE} xfId="0" quotePrefix="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>",
}
_OPENING = (
    f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    "</sheetView></sheetViews><sheetData>"
)


class _Sheet:
    """Makes the rows of a sheet, and counts them and the cells that had to be cut."""

    def __init__(self, width: int) -> None:
        self._letters = [_column_letters(number) for number in range(1, width + 1)]
        self.rows = self.cut = 0

    def lines(self, names: Iterable[str], rows: Iterable[Iterable[Json]]) -> Iterator[str]:
        """All of it, a line a row."""
        yield _HEAD + _OPENING
        yield self._line(1, names)
        for row in rows:
            self.rows += 1
            if self.rows > MOST_ROWS:
                raise UsageError(
                    f"a sheet holds {MOST_ROWS:,} rows, and there are more",
                    "take another format, such as .parquet or .csv; or --only and --stage",
                )
            yield self._line(self.rows + 1, row)
        yield "</sheetData></worksheet>"

    def _line(self, number: int, values: Iterable[Json]) -> str:
        cells = (
            self._cell(f"{letters}{number}", value)
            for letters, value in zip(self._letters, values, strict=True)
            if value is not None
        )
        return f'<row r="{number}">{"".join(cells)}</row>\n'

    def _cell(self, place: str, value: Json) -> str:
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{value:d}</v></c>'
        if isinstance(value, int | float) and abs(value) <= LARGEST_NUMBER:
            return f'<c r="{place}"><v>{value!r}</v></c>'
        text = self._fit(value if isinstance(value, str) else plain_json(value))
        style = ' s="1"' if FORMULA.match(text) else ""
        inner = escape(text, {"\r": "&#13;"})
        return (
            f'<c r="{place}" t="inlineStr"{style}><is><t xml:space="preserve">{inner}</t></is></c>'
        )

    def _fit(self, text: str) -> str:
        """A text that XML and a cell can hold; one that is too long is cut, and counted."""
        text = _FORBIDDEN.sub("\ufffd", text)
        if (
            2 * len(text) <= LONGEST_CELL
            or len(raw := text.encode("utf-16-le")) <= 2 * LONGEST_CELL
        ):
            return text
        self.cut += 1
        return raw[: 2 * (LONGEST_CELL - 1)].decode("utf-16-le", "ignore") + "…"


def _column_letters(number: int) -> str:
    """The name of a column: A to Z, AA, AB …"""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def write_xlsx(table: FlatTable, file: BinaryIO) -> tuple[int, int]:
    """Write a table; returns how many rows, and how many cells were too long and are cut."""
    described = [(name, datatype(kind)) for name, kind in table.columns]
    sheet = _Sheet(len(table.columns))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in _PARTS.items():
            _write_part(book, name, [_HEAD + part])
        _write_part(book, "xl/worksheets/rows.xml", sheet.lines(table.names, table.read_rows()))
        lines = _Sheet(2).lines(("name", "type"), described)
        _write_part(book, "xl/worksheets/columns.xml", lines)
    return sheet.rows, sheet.cut


def _write_part(book: zipfile.ZipFile, name: str, lines: Iterable[str]) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)  # not when it was written
    entry.compress_type = zipfile.ZIP_DEFLATED
    with book.open(entry, "w", force_zip64=True) as part:
        for line in lines:
            part.write(line.encode())
