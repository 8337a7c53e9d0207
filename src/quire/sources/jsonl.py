"""JSON lines: one block a line, read as a stream so that a million lines need no memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from quire.domain.data import Json, canonical_json, strict_json
from quire.domain.documents import Block, BlockType
from quire.domain.errors import SourceUnreadable
from quire.sources.source_scan import BYTE_ORDER_MARK, Origin

TOOL = "quire-jsonl/1"
REPRESENTATION = "jsonl_bytes"
LONGEST_LINE = 1 << 26  # bytes
_MARK = BYTE_ORDER_MARK.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """The blocks of a JSONL source; each time they are asked for, the source is read again."""

    origin: Origin
    text_column: str | None
    key_column: str | None

    def __iter__(self) -> Iterator[Block]:
        """Yield a block a line that is not blank; a bad line is told with its number."""
        index = number = 0
        with self.origin.open() as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise self._refusal(number, f"is longer than {LONGEST_LINE} bytes")
                if number == 1:
                    line = line.removeprefix(_MARK)
                if line and not line.isspace():
                    yield self._block(index, number, line)
                    index += 1

    def _block(self, index: int, number: int, line: bytes) -> Block:
        try:
            row: Json = strict_json(line)
            content = canonical_json(row) if self.text_column is None else ""
        except ValueError as error:
            reason = str(error).replace(" at line 1 column ", " at column ")
            raise self._refusal(number, f"is not JSON: {reason}") from error
        if not isinstance(row, dict):
            raise self._refusal(number, "is not a JSON object")
        locator: dict[str, Json] = {"type": "line", "line": number}
        if self.key_column is not None:
            locator["key"] = self._field(row, number, self.key_column)
        if self.text_column is not None:
            content = self._text(row, number, self.text_column)
        return Block(index=index, type=BlockType.OTHER, content=content, locator=locator)

    def _field(self, row: dict[str, Json], number: int, name: str) -> Json:
        if name not in row:
            raise self._refusal(number, f"has no field {name!r}")
        return row[name]

    def _text(self, row: dict[str, Json], number: int, name: str) -> str:
        value = self._field(row, number, name)
        if not isinstance(value, str):
            raise self._refusal(number, f"its field {name!r} is not text")
        if "\0" in value:
            raise self._refusal(number, f"its field {name!r} has a NUL character")
        return value

    def _refusal(self, number: int, reason: str) -> SourceUnreadable:
        return SourceUnreadable(f"{self.origin.name}: line {number}: {reason}")
