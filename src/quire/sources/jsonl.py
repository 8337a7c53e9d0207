"""JSON lines: one block a line, read as a stream so that a million lines need no memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from quire.domain.data import Json, strict_json
from quire.domain.documents import Block, LeftOut, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.sources.row_blocks import OTHER, lacks_text, plain_text, row_block, row_without_text
from quire.sources.source_parts import BadContent
from quire.sources.source_scan import BYTE_ORDER_MARK, Origin

LONGEST_LINE = 1 << 26  # bytes
_MARK = BYTE_ORDER_MARK.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines:
    """The blocks of a JSONL source; each time they are asked for, the source is read again."""

    origin: Origin
    options: ReadOptions
    left_out: list[LeftOut]  # where the lines are noted that are no blocks

    def __iter__(self) -> Iterator[Block]:
        """Yield a block a line that is not blank; a bad line is told with its number."""
        index = number = 0
        self.left_out.clear()
        with self.origin.open() as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise SourceUnreadable(
                        f"{self.origin.name}: line {number}: is longer than {LONGEST_LINE} bytes"
                    )
                if number == 1:
                    line = line.removeprefix(_MARK)
                if not line or line.isspace():
                    continue
                try:
                    block = self._block(index, number, line)
                except BadContent as error:
                    self._leave_out(number, error)
                else:
                    if block is not None:
                        yield block
                        index += 1

    def _leave_out(self, number: int, error: BadContent) -> None:
        if not self.options.skip_bad_rows:
            raise SourceUnreadable(f"{self.origin.name}: line {number}: {error}") from error
        self.left_out.append(LeftOut(f"line {number}", str(error)))

    def _block(self, index: int, number: int, line: bytes) -> Block | None:
        try:
            row: Json = strict_json(line)
            if type(row) is dict and (text := plain_text(row, self.options)) is not None:
                return Block(index, OTHER, text, {"type": "line", "line": number})
            if isinstance(row, dict) and lacks_text(row, self.options):
                self.left_out.append(row_without_text(f"line {number}"))
                return None
            if isinstance(row, dict):
                return row_block(index, row, {"type": "line", "line": number}, self.options)
        except ValueError as error:
            reason = str(error).replace(" at line 1 column ", " at column ")
            raise BadContent(f"is not JSON: {reason}") from error
        raise BadContent("is not a JSON object")
