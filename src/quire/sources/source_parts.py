"""What a reader makes of a source: a title, numbered blocks under their headings, what was left."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, mend_text
from quire.domain.documents import Block, BlockType, LeftOut


class BadContent(Exception):
    """Why a source cannot be read; whoever knows its name puts it in front."""


class SourceParts(NamedTuple):
    """A source, cut up."""

    title: str  # empty if it gives itself none
    blocks: Iterable[Block]
    left_out: Sequence[LeftOut] = ()


_LOWEST = 99  # below every level of headings


class _OpenHeading(NamedTuple):
    level: int
    title: str


class BlockList:
    """Blocks as a reader finds them, in order; it numbers them and knows what they stand under."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.blocks: list[Block] = []
        self.title = ""  # the first heading of the highest level
        self._title_level = _LOWEST
        self._above: list[_OpenHeading] = []

    def add(self, kind: BlockType, content: str, locator: Mapping[str, Json]) -> None:
        """Add a block, unless it is only white space."""
        content = mend_text(content).strip("\r\n").rstrip()
        if content:
            above = tuple(heading.title for heading in self._above)
            self.blocks.append(Block(len(self.blocks), kind, content, dict(locator), above))

    def add_heading(self, level: int, content: str, locator: Mapping[str, Json]) -> None:
        """Add a heading, which what follows stands under; level 1 is the highest."""
        title = " ".join(mend_text(content).split())
        if title:
            self._above = [heading for heading in self._above if heading.level < level]
            self.add(BlockType.HEADING, content, locator)
            self._above.append(_OpenHeading(level, title))
            if level < self._title_level:
                self.title, self._title_level = title, level

    def take(self, block: Block, locator: Mapping[str, Json]) -> None:
        """Add a block that another reader made, at its own place."""
        self.blocks.append(block._replace(index=len(self.blocks), locator=dict(locator)))

    def leave_headings(self) -> None:
        """Let what follows stand under no heading, such as the notes at the end."""
        self._above = []
