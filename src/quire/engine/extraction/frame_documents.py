"""Frame documents: the rows of a frame as one document, a block a row, named by keys and texts.

The rows are read twice, and never held: once to name the document by what it says, and to see that
keys name one row each; once more as blocks, if the ledger does not have it yet. A row without a
text is no block: nobody is asked about it.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from quire.domain.data import Json
from quire.domain.documents import FRAME_SOURCE, Block, BlockType, ParsedDocument
from quire.domain.errors import UsageError
from quire.domain.ids import conv_uid, source_uid
from quire.engine.extraction.frame_kinds import Frame, PandasFrame
from quire.engine.extraction.row_texts import (
    RowText,
    choose_text,
    is_missing,
    missing_column,
    storable,
)

TOOL = "quire-frame/1"
REPRESENTATION = "rows"
MOST_KEY = 2**63  # numbers from here on, and infinity, are no numbers in every JSON


class FrameRow(NamedTuple):
    """One row: where it stands, what it is called, and what is asked about."""

    position: int
    key: Json  # None: only its place names it
    text: str  # "": nothing


class FrameDocument(NamedTuple):
    """A frame on its way into the ledger."""

    parsed: ParsedDocument
    positions: "array[int]"  # of the row that each block is


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameReader:
    """Reads the rows of a frame, as often as they are asked for."""

    frame: Frame
    text: RowText
    key: str | None  # the column that names rows

    def __iter__(self) -> Iterator[FrameRow]:
        """Each row with its key and text."""
        names = self.text.columns if self.key is None else (*self.text.columns, self.key)
        labels = self.frame.labels() if self.key is None else None
        for position, cells in enumerate(self.frame.cells(names)):
            if self.key is not None:
                key = _key_value(cells[-1])
                cells = cells[:-1]
            else:
                key = None if labels is None else _key_value(next(labels))
            yield FrameRow(position, key, storable(self.text.write(cells)))

    def blocks(self) -> Iterator[Block]:
        """A block for each row that says something."""
        index = 0
        for position, key, text in self:
            if text:
                name = {"row": position + 1} if key is None else {"key": key}
                locator: dict[str, Json] = {"type": "row", **name}
                yield Block(index=index, type=BlockType.OTHER, content=text, locator=locator)
                index += 1


def make_reader(frame: Frame, text: str | None, key: str | None) -> FrameReader:
    """Read a frame as the caller wants it read; columns go by their names as text."""
    text, key = (None if name is None else str(name) for name in (text, key))
    indexed = isinstance(frame, PandasFrame) and frame.index_name == key
    if key is not None and key not in frame.columns and not indexed:
        raise missing_column(frame, key)
    return FrameReader(frame=frame, text=choose_text(frame, text, key), key=key)


def frame_document(reader: FrameReader) -> FrameDocument | None:
    """Name the document of a frame; None where no row says anything."""
    digest, positions = sha256(), array("q")
    size = characters = 0
    for position, key, text in _check_keys(reader):
        if text:
            raw = text.encode()
            digest.update(orjson.dumps([position if key is None else None, key, len(raw)]))
            digest.update(raw)
            positions.append(position)
            size += len(raw)
            characters += len(text)
    if not positions:
        return None
    parsed = ParsedDocument(
        source_uid=source_uid(FRAME_SOURCE, digest.digest()),
        source_type=FRAME_SOURCE,
        source_filesize=size,
        source_total_characters=characters,
        source_locator=FRAME_SOURCE,
        title=f"{len(positions):,} row{'s' * (len(positions) > 1)}",
        conv_uid=conv_uid(TOOL, REPRESENTATION, digest.digest()),
        parsing_tool=TOOL,
        representation_type=REPRESENTATION,
        blocks=_Blocks(reader),
    )
    return FrameDocument(parsed, positions)


class _Blocks:
    """Blocks that are made when they are asked for."""

    def __init__(self, reader: FrameReader) -> None:
        self._reader = reader

    def __iter__(self) -> Iterator[Block]:
        return self._reader.blocks()


def _check_keys(reader: FrameReader) -> Iterator[FrameRow]:
    """The rows; a key that is missing, or names two rows, is refused before anything is asked."""
    seen: dict[Json, int] = {}
    for row in reader:
        if reader.key is not None:
            if row.key is None:
                raise UsageError(
                    f"row {row.position + 1} has no key: {reader.key!r} is empty there;"
                    " fill it, or leave out key="
                )
            first = seen.setdefault(row.key, row.position)
            if first != row.position:
                raise UsageError(
                    f"rows {first + 1} and {row.position + 1} have the same key, {row.key!r} in"
                    f" {reader.key!r}; keys name one row each: choose another, or leave out key="
                )
        yield row


def _key_value(value: Any) -> Json:
    """A key as JSON has it: numbers and texts as they are, anything else as text."""
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bool | int | float):
        return value if abs(value) < MOST_KEY else str(value)
    item = getattr(value, "item", None)  # numpy's
    if callable(item):
        return _key_value(item())
    written = getattr(value, "isoformat", None)
    return str(written()) if callable(written) else str(value)
