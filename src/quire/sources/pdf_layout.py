"""The layout of a page: words with places become lines, columns and paragraphs, in reading order.

A page is cut where white space runs through it: first into columns, where an empty strip runs from
top to bottom between two that are wide and long enough to be prose, else at the widest empty band,
and so on within each part. What cannot be cut into columns is read line by line from the top.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from quire.sources.table_grid import markdown_table

_NARROWEST = 0.22  # of the page's width: narrower strips of text are no columns
_FEWEST = 3  # lines of a column
_BULLET = re.compile(r"(?:[•◦▪‣●○■–—*·-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")


class PageItem(NamedTuple):
    """A word, a line, a paragraph or a table, and where it stands, in points from the top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float  # of its letters
    bold: bool = False
    is_code: bool = False  # by letters that are all as wide
    is_table: bool = False
    confidence: float | None = None  # of OCR; None: the file holds the text itself

    @property
    def box(self) -> list[float]:
        """Left, top, right and bottom, as a locator states them."""
        return [round(side, 1) for side in (self.left, self.top, self.right, self.bottom)]


class PdfPage(NamedTuple):
    """What stands on a page, in reading order."""

    number: int
    height: float
    items: Sequence[PageItem]


def reading_order(items: Sequence[PageItem], width: float) -> list[PageItem]:
    """Put words and tables of a page in order, words joined to paragraphs."""
    pieces = [*_pieces(items), *(item for item in items if item.is_table)]
    return [
        paragraph
        for region in _regions(pieces, width)
        for paragraph in _paragraphs(_lines_and_tables(region))
    ]


def starts_item(text: str) -> bool:
    """Whether a line begins as those of lists do."""
    return bool(_BULLET.match(text))


def _pieces(items: Sequence[PageItem]) -> Iterator[PageItem]:
    """Join words of a line that stand near each other; a wide gap may be one of columns."""
    for line in _rows([item for item in items if not item.is_table]):
        piece = [line[0]]
        for word in line[1:]:
            if word.left - piece[-1].right > 1.5 * max(word.size, piece[-1].size):
                yield _join(piece, " ")
                piece = []
            piece.append(word)
        yield _join(piece, " ")


def _rows(items: Sequence[PageItem]) -> Iterator[list[PageItem]]:
    """Items that stand beside each other, from left to right; rows from the top."""
    row: list[PageItem] = []
    for item in sorted(items, key=lambda item: ((item.top + item.bottom) / 2, item.left)):
        middle = (item.top + item.bottom) / 2
        if row and middle > row[0].bottom - 0.2 * (row[0].bottom - row[0].top):
            yield sorted(row, key=lambda word: word.left)
            row = []
        row.append(item)
    if row:
        yield sorted(row, key=lambda word: word.left)


def _join(items: Sequence[PageItem], between: str) -> PageItem:
    scores = [item.confidence for item in items if item.confidence is not None]
    letters = sum(len(item.text) for item in items) or 1
    return PageItem(
        text=between.join(item.text for item in items),
        left=min(item.left for item in items),
        top=min(item.top for item in items),
        right=max(item.right for item in items),
        bottom=max(item.bottom for item in items),
        size=sum(item.size * len(item.text) for item in items) / letters,
        bold=all(item.bold for item in items),
        is_code=all(item.is_code for item in items),
        is_table=items[0].is_table,
        confidence=sum(scores) / len(scores) if scores else None,
    )


def _regions(items: Sequence[PageItem], width: float) -> Iterator[Sequence[PageItem]]:
    """Cut a part of a page into parts in which lines go from edge to edge."""
    columns = _columns(items, width)
    if len(columns) > 1:
        for column in columns:
            yield from _regions(column, width)
        return
    bands = _bands(items)
    if len(bands) > 1 and any(len(_columns(band, width)) > 1 for band in _widest_cut(items)):
        for band in _widest_cut(items):
            yield from _regions(band, width)
        return
    yield items


def _columns(items: Sequence[PageItem], width: float) -> list[list[PageItem]]:
    """The items left and right of each empty strip; all of them, if there are no real columns."""
    columns: list[list[PageItem]] = []
    edge = float("-inf")
    for item in sorted(items, key=lambda item: item.left):
        if item.left - edge > 0.6 * item.size or not columns:
            columns.append([])
        columns[-1].append(item)
        edge = max(edge, item.right)
    if all(_is_prose(column, width) for column in columns):
        return columns
    return [list(items)]


def _is_prose(column: Sequence[PageItem], width: float) -> bool:
    spans = max(item.right for item in column) - min(item.left for item in column)
    return len(column) >= _FEWEST and spans >= _NARROWEST * width


def _bands(items: Sequence[PageItem]) -> list[list[PageItem]]:
    """The items above and below each empty band."""
    bands: list[list[PageItem]] = []
    edge = float("-inf")
    for item in sorted(items, key=lambda item: item.top):
        if item.top > edge or not bands:
            bands.append([])
        bands[-1].append(item)
        edge = max(edge, item.bottom)
    return bands


def _widest_cut(items: Sequence[PageItem]) -> list[list[PageItem]]:
    """Two parts, above and below the widest empty band; the topmost of equals."""
    bands = _bands(items)
    gaps = [
        min(item.top for item in below) - max(item.bottom for item in above)
        for above, below in pairwise(bands)
    ]
    at = gaps.index(max(gaps)) + 1
    return [
        [item for band in bands[:at] for item in band],
        [item for band in bands[at:] for item in band],
    ]


def _lines_and_tables(items: Sequence[PageItem]) -> list[PageItem]:
    tables = [item for item in items if item.is_table]
    return sorted([*_lines(items), *tables], key=lambda item: item.top)


def _lines(items: Sequence[PageItem]) -> Iterator[PageItem]:
    """Lines from the top; lines of aligned pieces, one below the other, are a table."""
    aligned: list[list[PageItem]] = []
    for row in _rows([item for item in items if not item.is_table]):
        if aligned and not _is_aligned(aligned[-1], row):
            yield from _table_or_lines(aligned)
            aligned = []
        aligned.append(row)
    yield from _table_or_lines(aligned)


def _is_aligned(above: Sequence[PageItem], below: Sequence[PageItem]) -> bool:
    """Whether two lines have as many pieces, each below its like, without a gap between lines."""
    if len(above) != len(below) or len(above) < 2 or starts_item(below[0].text + " "):
        return False
    if below[0].top - above[0].bottom > 1.5 * below[0].size:
        return False
    return all(
        upper.left <= lower.right and lower.left <= upper.right
        for upper, lower in zip(above, below, strict=True)
    )


def _table_or_lines(rows: Sequence[Sequence[PageItem]]) -> Iterator[PageItem]:
    joined = [_join(row, " ") for row in rows]
    if len(rows) < _FEWEST or len(rows[0]) < 2:
        yield from joined
    else:
        text = markdown_table([[piece.text for piece in row] for row in rows])
        yield _join(joined, " ")._replace(text=text, is_table=True)


def _paragraphs(lines: Sequence[PageItem]) -> Iterator[PageItem]:
    paragraph: list[PageItem] = []
    for line in lines:
        if paragraph and _is_new(paragraph, line):
            yield _join_lines(paragraph)
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield _join_lines(paragraph)


def _is_new(paragraph: Sequence[PageItem], line: PageItem) -> bool:
    """Whether a line begins another paragraph: by space above, letters, a bullet or indentation."""
    last = paragraph[-1]
    if line.is_table or last.is_table or starts_item(line.text):
        return True
    if line.top - last.bottom > 0.5 * line.size:
        return True
    if line.is_code or last.is_code:
        return line.is_code != last.is_code
    if abs(line.size - last.size) > 0.1 * last.size or line.bold != last.bold:
        return True
    if starts_item(paragraph[0].text):
        return line.left < paragraph[0].left - 0.8 * line.size
    return line.left - last.left > 0.8 * line.size and len(paragraph) > 1


def _join_lines(lines: Sequence[PageItem]) -> PageItem:
    """One text of the lines; a word that was parted at the end of a line is whole again."""
    if lines[0].is_code:
        return _join_code(lines)
    text = lines[0].text
    for line in lines[1:]:
        parted = re.search(r"\w-$", text) and line.text[:1].islower()
        text = text[:-1] + line.text if parted else f"{text} {line.text}"
    return _join(lines, " ")._replace(text=text)


def _join_code(lines: Sequence[PageItem]) -> PageItem:
    """Lines of code, one below the other, each as far in as it stands."""
    left = min(line.left for line in lines)
    width = 0.6 * lines[0].size  # of a letter
    texts = [" " * round((line.left - left) / width) + line.text for line in lines]
    return _join(lines, " ")._replace(text="\n".join(texts))
