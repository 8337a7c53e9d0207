"""The words of a Word file's elements: what a reader of the printed page would see."""

from collections.abc import Iterator
from typing import Any

from quire.sources.table_grid import TableCell, TableGrid

_NAMESPACES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "v": "urn:schemas-microsoft-com:vml",
}


def qualify(name: str) -> str:
    """`w:p` in the notation that lxml uses."""
    prefix, _, local = name.partition(":")
    return f"{{{_NAMESPACES[prefix]}}}{local}"


_TEXT = {qualify("w:t"), qualify("m:t")}
_MARKS = {
    qualify("w:tab"): "\t",
    qualify("w:br"): "\n",
    qualify("w:cr"): "\n",
    qualify("w:noBreakHyphen"): "-",
}
# What was deleted or moved away, formatting (where a tab is a stop, not a character), and a text
# box, which is a block of its own. A fallback says again what its choice says.
_PASSED_OVER = {
    qualify(name)
    for name in ("w:del", "w:moveFrom", "w:pPr", "w:rPr", "w:txbxContent", "mc:Fallback")
}


def content_text(element: Any) -> str:
    """The text of a paragraph: with inserted and linked words, without deleted ones."""
    return "".join(_pieces(element))


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag in _TEXT:
            yield child.text or ""
        elif child.tag in _MARKS:
            yield _MARKS[child.tag]
        elif child.tag not in _PASSED_OVER:
            yield from _pieces(child)


def paragraphs_text(element: Any, separator: str) -> str:
    """The texts of all paragraphs within, but for those of text boxes."""
    return separator.join(text for text in map(content_text, _paragraphs(element)) if text.strip())


def _paragraphs(element: Any) -> Iterator[Any]:
    for child in element:
        if child.tag == qualify("w:p"):
            yield child
        elif child.tag not in _PASSED_OVER:
            yield from _paragraphs(child)


def find_text_boxes(element: Any) -> Iterator[Any]:
    """The text boxes that hang on a paragraph or a table, once each; not those within others."""
    for child in element:
        if child.tag == qualify("w:txbxContent"):
            yield child
        elif child.tag != qualify("mc:Fallback"):
            yield from find_text_boxes(child)


def picture_text(element: Any) -> str:
    """What stands for a paragraph's pictures: their descriptions, else their names."""
    texts = []
    for picture in element.iter(qualify("wp:docPr")):
        texts.append(picture.get("descr") or picture.get("title") or picture.get("name") or "")
    return "\n".join(text for text in texts if text.strip())


def table_markdown(table: Any) -> str:
    """A whole table; a merged cell is written once, a table within a cell becomes its words."""
    grid = TableGrid()
    for row in _children(table, "w:tr"):
        grid.add_row(_table_cell(cell) for cell in _children(row, "w:tc"))
    return grid.markdown()


def _table_cell(cell: Any) -> TableCell:
    across, goes_on = 1, False
    for formatting in cell.iterchildren(qualify("w:tcPr")):
        span = formatting.find(qualify("w:gridSpan"))
        digits = span.get(qualify("w:val"), "") if span is not None else ""
        across = int(digits) if digits.isdigit() and len(digits) < 6 else 1
        merged = formatting.find(qualify("w:vMerge"))
        goes_on = merged is not None and merged.get(qualify("w:val")) != "restart"
    return TableCell("" if goes_on else paragraphs_text(cell, " "), across)


def _children(element: Any, name: str) -> Iterator[Any]:
    """Children of a name, also those within content controls and changes."""
    for child in element:
        if child.tag == qualify(name):
            yield child
        elif child.tag in (qualify("w:sdt"), qualify("w:sdtContent"), qualify("w:ins")):
            yield from _children(child, name)
