"""reStructuredText: one block a node of the document, pointing at the words that it was made of.

The parser keeps the words of a node but not exactly where they stand, so each is looked for behind
the one before. Nothing is included from other files, and nothing raw passes.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from docutils import nodes
from docutils.core import publish_doctree

from quire.domain.data import Json
from quire.domain.documents import AS_FOUND, BlockType, LeftOut, ReadOptions
from quire.sources.source_parts import BlockList, SourceParts
from quire.sources.table_grid import TableCell, TableGrid
from quire.sources.text import offset_range

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "doctitle_xform": False,
    "docinfo_xform": False,
    "sectsubtitle_xform": False,
    "syntax_highlight": "none",
    "line_length_limit": 1 << 26,
    "input_encoding": "unicode",
}
_TYPES = {
    nodes.paragraph: BlockType.PARAGRAPH,
    nodes.literal_block: BlockType.CODE_BLOCK,
    nodes.doctest_block: BlockType.CODE_BLOCK,
    nodes.math_block: BlockType.OTHER,
    nodes.line_block: BlockType.PARAGRAPH,
    nodes.caption: BlockType.CAPTION,
    nodes.rubric: BlockType.PARAGRAPH,
    nodes.attribution: BlockType.PARAGRAPH,
    nodes.term: BlockType.DEFINITION,
    nodes.field: BlockType.KEY_VALUE_REGION,
    nodes.option_list_item: BlockType.DEFINITION,
}
_WITHIN = {  # what a paragraph is in these
    nodes.list_item: BlockType.LIST_ITEM,
    nodes.footnote: BlockType.FOOTNOTE,
    nodes.citation: BlockType.FOOTNOTE,
    nodes.definition_list_item: BlockType.DEFINITION,
}
_SILENT = (nodes.comment, nodes.target, nodes.substitution_definition, nodes.pending, nodes.label)


def read_text(text: str, options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut a document into blocks; it is called by its first heading."""
    reader = _RstReader(text)
    reader.read_children(publish_doctree(text, settings_overrides=_SETTINGS), 0)
    return SourceParts(reader.found.title, tuple(reader.found.blocks), reader.left_out)


class _WordRange(NamedTuple):
    start: int
    end: int


class _RstReader:
    """Walks the nodes and collects blocks."""

    def __init__(self, text: str) -> None:
        self.found = BlockList()
        self.left_out: list[LeftOut] = []
        self._text = text
        self._cursor = 0  # behind what was found last

    def read_children(self, parent: Any, depth: int, kind: BlockType | None = None) -> None:
        """Add the blocks of a node's children; `kind` is what a paragraph among them is."""
        for node in parent.children:
            self._read(node, depth, kind)

    def _read(self, node: Any, depth: int, kind: BlockType | None) -> None:
        special = {
            nodes.table: self._read_table,
            nodes.image: self._read_image,
            nodes.transition: self._read_transition,
            nodes.system_message: self._read_message,
        }
        if isinstance(node, nodes.section):
            self.read_children(node, depth + 1)
        elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
            self.found.add_heading(depth, _words(node), self._place(node))
        elif type(node) in special:
            special[type(node)](node)
        elif type(node) in _TYPES:
            block_type = kind if kind and isinstance(node, nodes.paragraph) else _TYPES[type(node)]
            self.found.add(block_type, _words(node), self._place(node))
        elif not isinstance(node, (*_SILENT, nodes.Text)):
            self.read_children(node, depth, _WITHIN.get(type(node), kind))

    def _read_image(self, image: Any) -> None:
        self.found.add(BlockType.FIGURE, image.get("alt") or image["uri"], self._place(image))

    def _read_transition(self, transition: Any) -> None:
        self.found.add(BlockType.DIVIDER, "---", self._line(transition))

    def _read_table(self, table: Any) -> None:
        for title in table.findall(nodes.title):
            self.found.add(BlockType.CAPTION, _words(title), self._place(title))
        grid = TableGrid()
        for row in table.findall(nodes.row):
            grid.add_row(
                TableCell(
                    entry.astext(), 1 + entry.get("morecols", 0), 1 + entry.get("morerows", 0)
                )
                for entry in row.children
            )
        self.found.add(BlockType.TABLE, grid.markdown(), self._place(table))

    def _read_message(self, message: Any) -> None:
        """What the parser does not know, such as a directive of Sphinx, is kept as it stands."""
        kept = list(message.findall(nodes.literal_block))
        for literal in kept:
            self.found.add(BlockType.OTHER, literal.astext(), self._place(literal))
        if not kept and message.get("level", 0) >= 2:
            reason = " ".join(message.children[0].astext().split())
            self.left_out.append(LeftOut(f"line {message.get('line', 0)}", reason))

    def _place(self, node: Any) -> dict[str, Json]:
        """The range of all words of a node, or the line that the parser names."""
        found = [place for leaf in _leaves(node) if (place := self._find(_words(leaf)))]
        if not found:
            return self._line(node)
        return dict(offset_range(found[0].start, found[-1].end))

    def _find(self, text: str) -> _WordRange | None:
        lines = [re.escape(line.strip()) for line in text.splitlines() if line.strip()]
        if not lines:
            return None
        pattern = re.compile(r"[ \t]*(?:\r\n?|\n)[\s|]*".join(lines))
        place = pattern.search(self._text, self._cursor)
        if place is None:
            return None
        self._cursor = place.end()
        return _WordRange(place.start(), place.end())

    def _line(self, node: Any) -> dict[str, Json]:
        while node is not None and not node.line:
            node = node.parent
        return {"type": "line", "line": node.line if node is not None else 1}


def _leaves(node: Any) -> Iterator[Any]:
    """The nodes within that have words of the source; the node itself where none has."""
    inner = [item for item in node.findall(lambda item: bool(_raw_words(item)))]
    if node in inner or not inner:
        yield node
    else:
        yield from inner


def _raw_words(node: Any) -> str:
    leaf = (nodes.paragraph, nodes.literal_block, nodes.title, nodes.term, nodes.line)
    return str(node.rawsource) if isinstance(node, leaf) else ""


def _words(node: Any) -> str:
    raw = str(getattr(node, "rawsource", "") or "")
    usual = isinstance(node, nodes.paragraph | nodes.title | nodes.caption | nodes.term)
    return raw.strip() if usual and raw.strip() else node.astext()
