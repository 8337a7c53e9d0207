"""Markdown: one block a top-level node and one a list item, each an exact slice of the source.

An item of a list is its own block at every depth: its slice ends where its first nested item
starts, and text that an item resumes after a nested list is a list item of its own. So slices
never overlap, and every line of a list is in exactly one of them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from quire.domain.documents import AS_FOUND, Block, BlockType, ReadOptions
from quire.sources.source_parts import SourceParts
from quire.sources.text import offset_range

_NEWLINE = re.compile(r"\r\n?|\n")  # what markdown counts as the end of a line, and nothing else
_CHECKBOX = re.compile(r"\[[ xX]\]\s")
_TYPES = {
    "heading": BlockType.HEADING,
    "paragraph": BlockType.PARAGRAPH,
    "fence": BlockType.CODE_BLOCK,
    "code_block": BlockType.CODE_BLOCK,
    "table": BlockType.TABLE,
    "html_block": BlockType.HTML_BLOCK,
    "hr": BlockType.DIVIDER,
    "definition": BlockType.DEFINITION,
    "footnote_reference": BlockType.FOOTNOTE,
}


class _Piece(NamedTuple):
    type: BlockType
    first: int  # line
    after: int  # the line that is no longer part of it
    level: int = 0  # of a heading
    title: str = ""


def read_text(text: str, options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut markdown into blocks, and find its title: that of the first top-level H1."""
    starts = [0, *(found.end() for found in _NEWLINE.finditer(text)), len(text)]
    title = ""
    above: list[_Piece] = []  # the headings that the next piece stands under
    blocks: list[Block] = []
    for piece in _separate_pieces(_MarkdownParser().pieces(text), len(starts) - 1):
        content = text[starts[piece.first] : starts[piece.after]].rstrip(" \t\r\n")
        if piece.level:
            above = [item for item in above if item.level < piece.level]
            title = title or (piece.title if piece.level == 1 else "")
        if content:
            start = starts[piece.first]
            block = Block(
                index=len(blocks),
                type=piece.type,
                content=content,
                locator=offset_range(start, start + len(content)),
                headings=tuple(item.title for item in above),
            )
            blocks.append(block)
        if piece.level:
            above.append(piece)
    return SourceParts(title, blocks)


def _separate_pieces(pieces: Iterator[_Piece], lines: int) -> Iterator[_Piece]:
    """Keep pieces apart and inside the text, whatever a plugin says about its lines."""
    done = 0
    for piece in sorted(pieces, key=lambda item: item.first):
        first, after = max(piece.first, done), min(piece.after, lines)
        if first < after:
            done = after
            yield piece._replace(first=first, after=after)


def make_parser() -> MarkdownIt:
    """A parser of the markdown that is read here: CommonMark with tables, terms and footnotes."""
    parser = MarkdownIt("commonmark", {"inline_definitions": True})
    parser.enable("table").use(deflist_plugin).use(front_matter_plugin)
    return parser.use(footnote_plugin, inline=False, move_to_end=False)


class _MarkdownParser:
    """Reads the block structure; inline text is looked into only where a type depends on it."""

    def __init__(self) -> None:
        self._parser = make_parser()
        self._parser.core.ruler.enableOnly(["normalize", "block"])

    def pieces(self, text: str) -> Iterator[_Piece]:
        """Yield what the document consists of, top level first."""
        for node in SyntaxTreeNode(self._parser.parse(text)).children:
            if node.type in ("bullet_list", "ordered_list"):
                yield from _list_pieces(node)
            elif node.type == "dl":
                yield from _definition_pieces(node)
            elif node.map is not None:
                yield self._piece(node)

    def _piece(self, node: SyntaxTreeNode) -> _Piece:
        first, after = _line_range(node)
        if node.type == "heading":
            words = "".join(_words(self._inline(node.children[0].content)))
            title = " ".join(words.split())
            return _Piece(BlockType.HEADING, first, after, int(node.tag[1:]), title)
        kind = _TYPES.get(node.type, BlockType.OTHER)
        if node.type == "paragraph" and self._is_picture(node.children[0].content):
            kind = BlockType.FIGURE
        return _Piece(kind, first, after)

    def _inline(self, content: str) -> list[Token]:
        tokens: list[Token] = []
        self._parser.inline.parse(content, self._parser, {}, tokens)
        return tokens

    def _is_picture(self, content: str) -> bool:
        if not content.startswith(("![", "[![")):
            return False
        tokens = self._inline(content)
        shown = [token.type for token in tokens if token.content.strip() or token.nesting]
        return [kind for kind in shown if kind not in ("link_open", "link_close")] == ["image"]


class _LineRange(NamedTuple):
    first: int
    after: int


def _line_range(node: SyntaxTreeNode) -> _LineRange:
    assert node.map is not None
    return _LineRange(*node.map)


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type in ("text", "text_special", "code_inline", "image"):
            yield token.content


def _list_pieces(node: SyntaxTreeNode) -> Iterator[_Piece]:
    cuts = dict(sorted(_cuts(node)))
    starts = [*cuts, _line_range(node).after]
    for place, kind in enumerate(cuts.values()):
        yield _Piece(kind, starts[place], starts[place + 1])


def _cuts(node: SyntaxTreeNode) -> Iterator[tuple[int, BlockType]]:
    """Yield the lines at which a list's slices start; of several on a line, the outermost last."""
    for item in node.children:
        resumes = False
        for child in item.children:
            if child.type in ("bullet_list", "ordered_list"):
                yield from _cuts(child)
                resumes = True
            elif resumes and child.map is not None:
                yield _line_range(child).first, BlockType.LIST_ITEM
                resumes = False
        yield _line_range(item).first, _item_type(item)


def _item_type(item: SyntaxTreeNode) -> BlockType:
    first = item.children[0] if item.children else None
    if first is None or first.type != "paragraph":
        return BlockType.LIST_ITEM
    marked = _CHECKBOX.match(first.children[0].content + "\n")
    return BlockType.CHECKBOX if marked else BlockType.LIST_ITEM


def _definition_pieces(node: SyntaxTreeNode) -> Iterator[_Piece]:
    """Yield each term with its definitions."""
    terms = [_line_range(child).first for child in node.children if child.type == "dt"]
    for first, after in zip(terms, [*terms[1:], _line_range(node).after], strict=True):
        yield _Piece(BlockType.DEFINITION, first, after)
