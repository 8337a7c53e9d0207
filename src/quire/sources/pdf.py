"""PDF: paragraphs, headings and tables by how pages look, each with its page and box.

A PDF says where letters stand, not what they are. Headings are larger or bolder than most of the
text, running heads recur in the margins of pages, footnotes are small and stand low.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import Any, BinaryIO, cast

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from quire.domain.data import Json
from quire.domain.documents import AS_FOUND, BlockType, LeftOut, ReadOptions
from quire.sources.pdf_layout import PageItem, PdfPage, reading_order, starts_item
from quire.sources.source_parts import BadContent, BlockList, SourceParts
from quire.sources.table_grid import markdown_table

_MARGIN = 0.08  # of a page's height, at its top and bottom
_CAPTION = re.compile(r"(figure|fig\.|table|abbildung|abb\.|tabelle|tableau)\s*\d+\s*[.:–—-]", re.I)
_NOTE = re.compile(r"(\d{1,3}|[*†‡§])\s")
_PAGE_NUMBER = re.compile(r"\W*(page |seite |p\. ?)?\d+( ?(of|von|/|sur) ?\d+)?\W*", re.I)
_BOLD = re.compile("bold|black|heavy|demi", re.I)
_CODE = re.compile("mono|courier|consol|typewriter|code|cmtt", re.I)
_LONGEST_HEADING = 200  # characters
_NO_TEXT = "a picture without text; --ocr reads it"


def read_file(open_source: Callable[[], BinaryIO], options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut a PDF into blocks; it is called by its first heading of the largest letters."""
    with open_source() as file:
        if b"%PDF-" not in file.read(1024):
            raise BadContent("is no pdf")
        file.seek(0)
        pages, without_text = _read_pages(file)
    if options.ocr and without_text:
        from quire.sources.pdf_ocr import ocr_pages

        with open_source() as file:
            pages = sorted([*pages, *ocr_pages(file, without_text)])
        without_text = []
    if without_text and not any(page.items for page in pages):
        pages_of = "1 page" if len(without_text) == 1 else f"{len(without_text):,} pages"
        raise BadContent(f"has no text layer ({pages_of} of pictures); try --ocr")
    found = BlockList()
    look = _Look(pages)
    for page in pages:
        for item in page.items:
            _add(found, look, page, item)
    left_out = [LeftOut(f"page {number}", _NO_TEXT) for number in without_text]
    return SourceParts(found.title, tuple(found.blocks), left_out)


def _read_pages(file: BinaryIO) -> tuple[list[PdfPage], list[int]]:
    """The pages that hold text, and the numbers of those that hold only pictures."""
    pages, without_text = [], []
    try:
        with pdfplumber.open(cast("BytesIO", file)) as pdf:
            for page in pdf.pages:
                items = reading_order(list(_page_items(page)), float(page.width))
                if items or not page.images:
                    pages.append(PdfPage(page.page_number, float(page.height), items))
                else:
                    without_text.append(page.page_number)
                page.close()  # else every letter of every page stays in memory
    except PdfminerException as error:
        cause = error.args[0] if error.args else error
        if isinstance(cause, PDFPasswordIncorrect):
            raise BadContent("has a password: save it without") from error
        raise BadContent(f"is broken: {str(cause) or type(cause).__name__}") from error
    return pages, without_text


def _page_items(page: Any) -> Iterator[PageItem]:
    tables = []
    for table in page.find_tables():
        rows = [[cell or "" for cell in row] for row in table.extract()]
        if len(rows) > 1 and max(map(len, rows)) > 1 and any(any(row) for row in rows):
            left, top, right, bottom = table.bbox
            tables.append(table.bbox)
            text = markdown_table(rows)
            yield PageItem(text, left, top, right, bottom, bottom - top, is_table=True)
    for word in page.extract_words(extra_attrs=["size", "fontname"], use_text_flow=False):
        left, right, top, bottom = (float(word[side]) for side in ("x0", "x1", "top", "bottom"))
        middle = ((left + right) / 2, (top + bottom) / 2)
        if not any(_holds(box, *middle) for box in tables):
            sides = (left, top, right, bottom)
            bold, is_code = (bool(look.search(word["fontname"])) for look in (_BOLD, _CODE))
            yield PageItem(word["text"], *sides, float(word["size"]), bold, is_code)


def _holds(box: Sequence[float], across: float, down: float) -> bool:
    left, top, right, bottom = box
    return left <= across <= right and top <= down <= bottom


class _Look:
    """How a document looks as a whole, which says what a piece of it is."""

    def __init__(self, pages: Sequence[PdfPage]) -> None:
        sizes: Counter[float] = Counter()
        margins: Counter[tuple[bool, str]] = Counter()
        for item in _all(pages):
            if not item.is_table:
                sizes[_round_size(item.size)] += len(item.text)
        for page in pages:
            margins.update({place for item in page.items if (place := _margin(page, item))})
        self.body = sizes.most_common(1)[0][0] if sizes else 0.0
        larger = {_round_size(item.size) for item in _all(pages) if self._is_large(item)}
        self.levels = {size: level for level, size in enumerate(sorted(larger, reverse=True), 1)}
        self._often = {place for place, count in margins.items() if count > max(1, len(pages) // 2)}

    def heading_level(self, item: PageItem) -> int:
        """The level of a heading; 0: it is none."""
        if self._is_large(item):
            return self.levels[_round_size(item.size)]
        if item.is_code:
            return 0
        is_line = len(item.text) <= 100 and item.bottom - item.top < 2 * item.size
        is_sentence = item.text.endswith((".", ",", ";", ":"))
        return len(self.levels) + 1 if item.bold and is_line and not is_sentence else 0

    def _is_large(self, item: PageItem) -> bool:
        is_short = len(item.text) <= _LONGEST_HEADING
        return not item.is_table and is_short and _round_size(item.size) >= 1.15 * self.body

    def kind(self, page: PdfPage, item: PageItem) -> BlockType:
        """What a piece is that is no heading."""
        place = _margin(page, item)
        if place and (place in self._often or _PAGE_NUMBER.fullmatch(item.text)):
            return BlockType.PAGE_HEADER if place[0] else BlockType.PAGE_FOOTER
        if item.is_table or item.is_code:
            return BlockType.TABLE if item.is_table else BlockType.CODE_BLOCK
        if _CAPTION.match(item.text):
            return BlockType.CAPTION
        is_small = item.size <= 0.9 * self.body and item.top > 0.5 * page.height
        if is_small and _NOTE.match(item.text):
            return BlockType.FOOTNOTE
        return BlockType.LIST_ITEM if starts_item(item.text) else BlockType.PARAGRAPH


def _all(pages: Sequence[PdfPage]) -> Iterator[PageItem]:
    return (item for page in pages for item in page.items)


def _round_size(size: float) -> float:
    return round(size * 2) / 2


def _margin(page: PdfPage, item: PageItem) -> tuple[bool, str] | None:
    """Whether a piece stands in the upper margin, and what it says but for its numbers."""
    at_top = item.bottom <= _MARGIN * page.height
    if not at_top and item.top < (1 - _MARGIN) * page.height:
        return None
    return at_top, re.sub(r"\d+", "#", item.text)


def _add(found: BlockList, look: _Look, page: PdfPage, item: PageItem) -> None:
    place: dict[str, Json] = {"type": "page_box", "page": page.number, "box": item.box}
    if item.confidence is not None:
        place |= {"ocr": True, "confidence": round(item.confidence, 3)}
    kind = look.kind(page, item)
    is_running = kind in (BlockType.PAGE_HEADER, BlockType.PAGE_FOOTER)
    level = 0 if is_running or item.is_table else look.heading_level(item)
    if level:
        found.add_heading(level, item.text, place)
    else:
        found.add(kind, item.text, place)
