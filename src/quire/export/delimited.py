"""CSV and TSV: one line a row, text in quotes, parts as JSON, and nothing that a sheet would run.

A text that begins like a formula (`=`, `+`, `-`, `@`, their wide forms of East Asian text, a tab
or a line break) gets an apostrophe before it, and so does one that begins with apostrophes and then
like a formula; so whoever takes one apostrophe away again has what was written. An empty cell is no
value, `""` is an empty text. What the columns hold stands beside the file, as CSV on the Web has
it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from quire.domain.data import Json, mend_text, plain_json
from quire.export.column_types import Column, ColumnKind, ColumnType
from quire.export.flat_tables import FlatRow, FlatTable

FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # the last four: wide = + - @
METADATA_ENDING = "-metadata.json"
_DATATYPES: Mapping[ColumnKind, str] = {
    ColumnKind.TEXT: "string",
    ColumnKind.INTEGER: "integer",
    ColumnKind.NUMBER: "double",
    ColumnKind.BOOLEAN: "boolean",
    ColumnKind.DATE: "date",
    ColumnKind.MOMENT: "datetime",
}
_KINDS = {datatype: kind for kind, datatype in _DATATYPES.items()}


def delimited_lines(table: FlatTable, delimiter: str) -> Iterator[bytes]:
    """A header, then one line a row; where anything may stand, also text is JSON."""
    mixed = [at for at, column in enumerate(table.columns) if column.type.kind is ColumnKind.JSON]
    return text_lines(table.names, _with_json(table.read_rows(), mixed), delimiter)


def _with_json(rows: Iterable[FlatRow], columns: Sequence[int]) -> Iterator[FlatRow]:
    for row in rows:
        if any(isinstance(row[at], str) for at in columns):
            cells = enumerate(row)
            row = tuple(
                plain_json(value) if at in columns and isinstance(value, str) else value
                for at, value in cells
            )
        yield row


def text_lines(names: Iterable[str], rows: Iterable[FlatRow], delimiter: str) -> Iterator[bytes]:
    """The same of rows that have no types."""
    yield (delimiter.join(map(cell_text, names)) + "\n").encode()
    for row in rows:
        yield (delimiter.join(map(cell_text, row)) + "\n").encode()


def cell_text(value: Json) -> str:
    """One value as it stands in a file."""
    if isinstance(value, str):
        return _quote(disarm(value))
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else _quote(plain_json(value))


def disarm(text: str) -> str:
    """A text that no sheet takes for a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def rearm(text: str) -> str:
    """The text that was disarmed."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def _quote(text: str) -> str:
    text = text.replace('"', '""')
    return f'"{text if text.isascii() and chr(0) not in text else mend_text(text)}"'


def describe_columns(columns: Iterable[Column], name: str, delimiter: str) -> bytes:
    """What the columns of a file hold, in the words of CSV on the Web."""
    described: dict[str, Any] = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": name,
        "dialect": {"delimiter": delimiter, "header": True},
        "tableSchema": {
            "columns": [
                {"name": column.name, "titles": column.name, "datatype": datatype(column.type)}
                for column in columns
            ]
        },
    }
    return json.dumps(described, indent=1, ensure_ascii=False).encode() + b"\n"


def datatype(kind: ColumnType) -> str:
    """A type in those words; what has parts is JSON."""
    return _DATATYPES.get(kind.kind, "json")


def kind_of_datatype(name: str) -> ColumnKind:
    """The kind of column that such a word means."""
    return _KINDS.get(name, ColumnKind.JSON)
