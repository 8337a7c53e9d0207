"""HTML: one block a heading, paragraph, list item, table and so on, each pointing at its source.

The parser of the standard library says where each tag and text stands, which those that build trees
do not; so a locator is the exact range of the page that a block was made of. Nothing is kept of the
nesting but what a block's type depends on, so pages that close no tag, or the wrong one, are read
as well.
"""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import NamedTuple

from quire.domain.documents import AS_FOUND, BlockType, ReadOptions
from quire.sources.html_tables import Attributes, HtmlTable
from quire.sources.source_parts import BlockList, SourceParts
from quire.sources.text import offset_range

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_IGNORED = {  # with all that is in them
    "script", "style", "template", "noscript", "svg", "annotation", "annotation-xml", "select",
    "textarea", "iframe", "object", "canvas", "audio", "video", "title",
}  # fmt: skip
_PARTS = {  # whatever stands between two of these tags is a block
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
    "header", "hgroup", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "search",
    "section", "summary", "ul", *_HEADINGS,
}  # fmt: skip
_CELLS = {"tr", "td", "th"}
_ITEMS = {"li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}}  # what each ends of its list
_LISTS = {"ul", "ol", "dl", "menu", "dir"}
_BY_TAG = {
    "pre": BlockType.CODE_BLOCK,
    "figcaption": BlockType.CAPTION,
    "caption": BlockType.CAPTION,
    "li": BlockType.LIST_ITEM,
    "dt": BlockType.DEFINITION,
    "dd": BlockType.DEFINITION,
}
_PAGE_PARTS = {
    "header": BlockType.PAGE_HEADER,
    "nav": BlockType.PAGE_HEADER,
    "footer": BlockType.PAGE_FOOTER,
}
_OWN_HEADERS = {"article", "section", "main", "aside", "blockquote", "figure"}
_NOTES = re.compile(r"doc-(foot|end)notes?|(foot|end)notes?", re.I)
_BREAK = "\x1e"  # stands for a line break while spaces are joined
_BLANK = re.compile(r"[ \t\r\n\f\v]*")
_NEWLINES = re.compile(r"[\r\n]*")
_SPACE = re.compile(r"[ \t\r\n\f\v\xa0]+")


def read_text(text: str, options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut a page into blocks; it is called by its title, else by its first heading."""
    page = _HtmlPage(text)
    page.feed(text)
    page.close()
    page.finish()
    title = " ".join("".join(page.title).split())
    return SourceParts(title or page.found.title, tuple(page.found.blocks))


class _OpenPart(NamedTuple):
    tag: str
    is_note: bool


class _Words(NamedTuple):
    text: str
    start: int
    end: int


class _HtmlPage(HTMLParser):
    """Follows the tags, and adds a block whenever one begins or ends that parts blocks."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found = BlockList()
        self.title: list[str] = []
        self._text = text
        self._lines = [0, *(newline.end() for newline in re.finditer("\n", text))]
        self._open: list[_OpenPart] = []
        self._ignored: list[str] = []
        self._tables: list[HtmlTable] = []
        self._words: list[str] = []  # of the block that is being read
        self._start = self._end = 0
        self._ends_here = False  # the last words end where the next event starts
        self._picture: _Words | None = None  # that may stand alone
        self._checkbox = ""
        self._term: _Words | None = None  # that waits for its definition

    def finish(self) -> None:
        """Add what the end of the page ends."""
        self._mark_end(len(self._text))
        self._end_block()
        while self._tables:
            self._end_table(len(self._text))
        self._end_term()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        here = self._mark_end(self._offset())
        if self._ignored:
            self._ignored += [tag] if tag == self._ignored[0] else []
        elif tag in _IGNORED:
            self._ignored = [tag]
        elif tag in _PARTS or tag == "table":
            self._end_block()
            self._start_part(tag, dict(attrs), here)
        elif self._table and tag in _CELLS:
            self._end_block()
            self._table.start_part(tag, dict(attrs))
        else:
            self._add_inline(tag, dict(attrs), here)

    def handle_endtag(self, tag: str) -> None:
        here = self._mark_end(self._offset())
        if self._ignored:
            self._ignored = self._ignored[:-1] if tag == self._ignored[0] else self._ignored
        elif tag == "table":
            self._end_block()
            if self._tables:
                self._end_table(self._text.find(">", here) + 1 or len(self._text))
        elif tag in _PARTS or tag in _CELLS:
            self._end_block()
            if any(part.tag == tag for part in self._open):
                while self._open.pop().tag != tag:
                    pass

    def handle_data(self, data: str) -> None:
        here = self._mark_end(self._offset())
        if self._ignored:
            self.title += [data] if self._ignored == ["title"] else []
            return
        says_something = bool(data.strip())
        if not self._words and says_something:
            blank = _NEWLINES if self._is_in("pre") else _BLANK
            self._begin(blank.match(self._text, here).end())  # type: ignore[union-attr]
        if self._words or says_something:
            self._words.append(data)
            self._ends_here = says_something or self._ends_here

    def handle_comment(self, data: str) -> None:
        self._mark_end(self._offset())

    def handle_pi(self, data: str) -> None:
        self._mark_end(self._offset())

    def unknown_decl(self, data: str) -> None:
        self._mark_end(self._offset())

    @property
    def _table(self) -> HtmlTable | None:
        """The table whose cells are being read, unless it only arranges the page."""
        return self._tables[-1] if self._tables and not self._tables[-1].is_layout else None

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _mark_end(self, here: int) -> int:
        if self._ends_here:
            self._end, self._ends_here = here, False
        return here

    def _begin(self, start: int) -> None:
        """Begin to collect the words of a block; a picture before them is one of them."""
        self._start = start
        if self._picture:
            self._words, self._start = [self._picture.text, " "], self._picture.start
            self._picture = None

    def _is_in(self, tag: str) -> bool:
        return any(part.tag == tag for part in self._open)

    def _start_part(self, tag: str, attributes: Attributes, here: int) -> None:
        if self._table and (tag == "table" or tag in _HEADINGS):
            for cell in self._table.unwrap():
                self._add(BlockType.PARAGRAPH, _Words(cell.text, cell.start, cell.end))
        if tag == "table":
            self._tables.append(HtmlTable(here, attributes))
            return
        if tag != "div" and self._open and self._open[-1].tag in _HEADINGS:
            self._open.pop()  # a heading that was not closed
        self._end_item(_ITEMS.get(tag, set()))
        if tag not in ("p", "html", "body"):
            names = (attributes.get(name) or "" for name in ("role", "class", "epub:type"))
            is_note = any(_NOTES.fullmatch(name) for text in names for name in text.split())
            self._open.append(_OpenPart(tag, is_note))

    def _end_item(self, ended: set[str]) -> None:
        """End the item of the same list that was not closed."""
        for place in range(len(self._open) - 1, -1, -1):
            if not ended or self._open[place].tag in _LISTS:
                return
            if self._open[place].tag in ended:
                del self._open[place:]
                return

    def _add_inline(self, tag: str, attributes: Attributes, here: int) -> None:
        after = here + len(self.get_starttag_text() or "")
        if tag == "br" and self._words:
            self._words.append("\n" if self._is_in("pre") else _BREAK)
        elif tag == "hr":
            self._end_block()
            self._add(BlockType.DIVIDER, _Words("---", here, after))
        elif tag == "img" and (alt := " ".join((attributes.get("alt") or "").split())):
            if self._words:
                self._words += [" ", alt, " "]
                self._end = after
            else:
                self._end_block()
                self._picture = _Words(alt, here, after)
        elif tag == "input" and self._is_in("li") and not self._words:
            is_checkbox = (attributes.get("type") or "").lower() == "checkbox"
            if is_checkbox:
                self._checkbox = "[x] " if "checked" in attributes else "[ ] "

    def _end_block(self) -> None:
        """Add the block that has been read up to here."""
        words, self._words = self._words, []
        picture, self._picture = self._picture, None
        checkbox, self._checkbox = self._checkbox, ""
        if picture:
            self._add_to_table_or(BlockType.FIGURE, picture)
        if not words:
            return
        text = "".join(words)
        if not self._is_in("pre"):
            text = "\n".join(line.strip() for line in _SPACE.sub(" ", text).split(_BREAK)).strip()
        length = len(self._text[self._start : self._end].rstrip())
        kind = BlockType.CHECKBOX if checkbox else self._kind()
        self._add_to_table_or(kind, _Words(checkbox + text, self._start, self._start + length))

    def _add_to_table_or(self, kind: BlockType, words: _Words) -> None:
        if self._table and kind is not BlockType.CAPTION:
            self._table.add_text(*words)
        else:
            self._add(kind, words)

    def _kind(self) -> BlockType:
        """What the words are, by the parts that they stand in."""
        tags = [part.tag for part in self._open]
        if tags and tags[-1] in _HEADINGS:
            return BlockType.HEADING
        if any(part.is_note for part in self._open):
            return BlockType.FOOTNOTE
        for tag in tags:
            if tag in _PAGE_PARTS:
                return _PAGE_PARTS[tag]
            if tag in _OWN_HEADERS:
                break
        return next((_BY_TAG[tag] for tag in reversed(tags) if tag in _BY_TAG), BlockType.PARAGRAPH)

    def _add(self, kind: BlockType, words: _Words) -> None:
        if kind is BlockType.DEFINITION:
            self._add_definition(words)
            return
        self._end_term()
        place = offset_range(words.start, words.end)
        if kind is BlockType.HEADING:
            self.found.add_heading(_HEADINGS[self._open[-1].tag], words.text, place)
        else:
            self.found.add(kind, words.text, place)

    def _add_definition(self, words: _Words) -> None:
        is_term = (
            next(part.tag for part in reversed(self._open) if part.tag in ("dt", "dd")) == "dt"
        )
        term, self._term = self._term, words if is_term else None
        if is_term and term:
            self.found.add(BlockType.DEFINITION, term.text, offset_range(term.start, term.end))
        elif not is_term:
            text = f"{term.text}\n: {words.text}" if term else words.text
            start = term.start if term else words.start
            self.found.add(BlockType.DEFINITION, text, offset_range(start, words.end))

    def _end_term(self) -> None:
        term, self._term = self._term, None
        if term:
            self.found.add(BlockType.DEFINITION, term.text, offset_range(term.start, term.end))

    def _end_table(self, end: int) -> None:
        table = self._tables.pop()
        if table.is_layout:
            return
        content = table.markdown()
        if content:
            self._end_term()
            self.found.add(BlockType.TABLE, content, offset_range(table.start, end))
