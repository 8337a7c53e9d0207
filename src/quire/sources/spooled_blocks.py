"""Blocks on their way from a reader's process: one line each in a file that lives for a moment."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from quire.domain.documents import Block, BlockType, LeftOut, ParsedDocument, ReadOptions

_FIELDS = (
    "source_uid",
    "source_type",
    "source_filesize",
    "source_total_characters",
    "source_locator",
    "title",
    "conv_uid",
    "parsing_tool",
    "representation_type",
    "delimiter",
)


@dataclass(frozen=True, slots=True)
class SpooledBlocks:
    """The blocks in a file; they can be read more than once, as long as it is there."""

    path: Path

    def __iter__(self) -> Iterator[Block]:
        """Yield them in order."""
        with self.path.open("rb") as file:
            for line in file:
                index, kind, content, locator, headings = orjson.loads(line)
                yield Block(index, BlockType(kind), content, locator, tuple(headings))


def spool_blocks(blocks: Iterable[Block], path: Path) -> None:
    """Write all blocks to a file."""
    with path.open("wb") as file:
        file.writelines(orjson.dumps(tuple(block)) + b"\n" for block in blocks)


def document_message(parsed: ParsedDocument) -> dict[str, Any]:
    """All of a document but its blocks, as JSON; taken once the blocks are written."""
    return {
        **{name: getattr(parsed, name) for name in _FIELDS},
        "options": asdict(parsed.options),
        "left_out": parsed.left_out,
    }


def received_document(message: dict[str, Any], blocks: SpooledBlocks) -> ParsedDocument:
    """The document of a message, with its blocks."""
    return ParsedDocument(
        **{name: message[name] for name in _FIELDS},
        options=ReadOptions(**message["options"]),
        left_out=[LeftOut(*item) for item in message["left_out"]],
        blocks=blocks,
    )
