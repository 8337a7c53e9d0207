"""Plain text: one block a paragraph, and paragraphs end at blank lines."""

import re
from collections.abc import Iterator

from quire.domain.documents import AS_FOUND, Block, BlockType, ReadOptions
from quire.sources.source_parts import SourceParts

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def read_text(text: str, options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut text into paragraphs."""
    return SourceParts("", tuple(text_blocks(text)))


def text_blocks(text: str) -> Iterator[Block]:
    """Cut text into paragraphs; each is an exact slice without the white space at its end."""
    index = 0
    start: int | None = None
    for line in _LINE.finditer(text):
        blank = not line.group().strip()
        if not blank and start is None:
            start = line.start()
        if start is not None and (blank or line.end() == len(text)):
            end = line.start() if blank else line.end()
            content = text[start:end].rstrip()
            yield Block(
                index=index,
                type=BlockType.PARAGRAPH,
                content=content,
                locator=offset_range(start, start + len(content)),
            )
            index += 1
            start = None


def offset_range(start: int, end: int) -> dict[str, str | int]:
    """Say where a slice stands, in code points after any byte order mark."""
    return {"type": "text_offset_range", "start_offset": start, "end_offset": end}
