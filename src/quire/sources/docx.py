"""Word files: the text in order, tables whole; then notes, headers and footers, each once."""

import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from lxml import etree

from quire.domain.data import Json
from quire.domain.documents import AS_FOUND, BlockType, ReadOptions
from quire.sources.docx_text import (
    content_text,
    find_text_boxes,
    paragraphs_text,
    picture_text,
    qualify,
    table_markdown,
)
from quire.sources.source_parts import BlockList, SourceParts
from quire.sources.zip_archives import DOCX, check_archive

_HEADING = re.compile(r"(?:heading|überschrift|titre) ?([1-9])", re.I)
_TITLE = 1  # headings stand below it
_CODE = re.compile(r"code|preformatted|macro text|verbatim", re.I)
_WRAPPERS = {qualify(name) for name in ("w:sdt", "w:sdtContent", "w:ins", "w:customXml")}
_LISTS = ("list bullet", "list number", "list paragraph")
_RUNNING = {
    RELATIONSHIP_TYPE.HEADER: BlockType.PAGE_HEADER,
    RELATIONSHIP_TYPE.FOOTER: BlockType.PAGE_FOOTER,
}
_NOTES = {
    RELATIONSHIP_TYPE.FOOTNOTES: ("footnote", BlockType.FOOTNOTE),
    RELATIONSHIP_TYPE.ENDNOTES: ("endnote", BlockType.FOOTNOTE),
    RELATIONSHIP_TYPE.COMMENTS: ("comment", BlockType.OTHER),
}


def read_file(open_source: Callable[[], BinaryIO], options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut a Word file into blocks; it is called by its stated title, else by its first heading."""
    with open_source() as file:
        check_archive(file, DOCX)
        document = Document(file)
    reader = _DocxReader(document)
    reader.add_body()
    reader.add_notes()
    reader.add_running_parts()
    title = " ".join((document.core_properties.title or "").split())
    return SourceParts(title or reader.found.title, tuple(reader.found.blocks))


class _DocxReader:
    """Goes through the parts of a document and collects blocks."""

    def __init__(self, document: Any) -> None:
        self.found = BlockList()
        self._document = document
        self._styles = {style.style_id: style for style in document.styles}

    def add_body(self) -> None:
        """Add paragraphs and tables, in order."""
        paragraphs = tables = 0
        for element in _flow(self._document.element.body):
            if element.tag == qualify("w:p"):
                paragraphs += 1
                self._add_paragraph(element, paragraphs)
            else:
                tables += 1
                place: dict[str, Json] = {"type": "docx_table", "part": "document", "table": tables}
                self.found.add(BlockType.TABLE, table_markdown(element), place)
                self._add_text_boxes(element, place)

    def _add_paragraph(self, element: Any, number: int) -> None:
        place: dict[str, Json] = {"type": "docx_paragraph", "part": "document", "paragraph": number}
        text = content_text(element)
        style = self._style(element)
        level = self._heading_level(element, style)
        if level:
            self.found.add_heading(level, text, place)
        elif text.strip():
            self.found.add(self._kind(element, style), text, place)
        else:
            self.found.add(BlockType.FIGURE, picture_text(element), place)
        self._add_text_boxes(element, place)

    def _add_text_boxes(self, element: Any, place: dict[str, Json]) -> None:
        for number, box in enumerate(find_text_boxes(element), 1):
            text = paragraphs_text(box, "\n")
            self.found.add(BlockType.PARAGRAPH, text, {**place, "text_box": number})

    def _style(self, element: Any) -> Any:
        stated = element.find(f"{qualify('w:pPr')}/{qualify('w:pStyle')}")
        return self._styles.get(stated.get(qualify("w:val"))) if stated is not None else None

    def _heading_level(self, element: Any, style: Any) -> int:
        """The level that a paragraph's style, or what that is based on, gives it; 0: none."""
        names = [item.name or "" for item in _style_line(style)]
        if "Title" in names:
            return _TITLE
        stated = next((found for name in names if (found := _HEADING.fullmatch(name))), None)
        if stated:
            return _TITLE + int(stated[1])
        outline = element.find(f"{qualify('w:pPr')}/{qualify('w:outlineLvl')}")
        level = outline.get(qualify("w:val"), "9") if outline is not None else "9"
        return _TITLE + 1 + int(level) if level.isdigit() and int(level) < 9 else 0

    def _kind(self, element: Any, style: Any) -> BlockType:
        names = [(item.name or "").lower() for item in _style_line(style)]
        if any(name.endswith("caption") for name in names):
            return BlockType.CAPTION
        if any(_CODE.search(name) for name in names):
            return BlockType.CODE_BLOCK
        numbering = f"{qualify('w:pPr')}/{qualify('w:numPr')}"
        styles = [item.element for item in _style_line(style)]
        if any(item.find(numbering) is not None for item in (element, *styles)):
            return BlockType.LIST_ITEM
        is_list = any(name.startswith(_LISTS) for name in names)
        return BlockType.LIST_ITEM if is_list else BlockType.PARAGRAPH

    def add_notes(self) -> None:
        """Add footnotes, endnotes and comments, which belong to no heading any more."""
        self.found.leave_headings()
        for relation in self._document.part.rels.values():
            if relation.is_external or relation.reltype not in _NOTES:
                continue
            name, kind = _NOTES[relation.reltype]
            root = etree.fromstring(relation.target_part.blob, _safe_parser())
            for note in root.iter(qualify(f"w:{name}")):
                if note.get(qualify("w:type")) in (None, "normal"):
                    place = {"type": f"docx_{name}", name: note.get(qualify("w:id"), "")}
                    self.found.add(kind, paragraphs_text(note, "\n").strip(), place)

    def add_running_parts(self) -> None:
        """Add the headers and footers of pages, each text once."""
        seen: set[tuple[BlockType, str]] = set()
        for relation in self._document.part.rels.values():
            if relation.is_external or relation.reltype not in _RUNNING:
                continue
            kind, part = _RUNNING[relation.reltype], relation.target_part
            text = paragraphs_text(etree.fromstring(part.blob, _safe_parser()), "\n")
            if (kind, text) not in seen:
                seen.add((kind, text))
                name = str(part.partname).rpartition("/")[2]
                self.found.add(kind, text, {"type": "docx_part", "part": name})


def _safe_parser() -> Any:
    return etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)


def _style_line(style: Any) -> Iterator[Any]:
    """A style, then what it is based on, as far as that goes; a circle ends."""
    seen: set[str] = set()
    while style is not None and style.style_id not in seen:
        seen.add(style.style_id)
        yield style
        style = style.base_style


def _flow(body: Any) -> Iterator[Any]:
    """The paragraphs and tables of a body, also those within content controls and changes."""
    for element in body:
        if element.tag in (qualify("w:p"), qualify("w:tbl")):
            yield element
        elif element.tag in _WRAPPERS:
            yield from _flow(element)
