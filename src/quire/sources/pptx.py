"""Slides: their titles are headings; text, tables, pictures and notes, shape by shape."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER

from quire.domain.documents import AS_FOUND, BlockType, ReadOptions
from quire.sources.source_parts import BlockList, SourceParts
from quire.sources.table_grid import markdown_table
from quire.sources.zip_archives import PPTX, check_archive

_TITLES = {PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE}
_LISTS = {PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY}
_NO_BULLET = "buNone"
_BULLETS = (_NO_BULLET, "buChar", "buAutoNum", "buBlip")
_RUNNING = {
    PP_PLACEHOLDER.HEADER: BlockType.PAGE_HEADER,
    PP_PLACEHOLDER.FOOTER: BlockType.PAGE_FOOTER,
    PP_PLACEHOLDER.DATE: BlockType.PAGE_FOOTER,
    PP_PLACEHOLDER.SLIDE_NUMBER: BlockType.PAGE_FOOTER,
}


def read_file(open_source: Callable[[], BinaryIO], options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut slides into blocks; they are called by their stated title, else by the first slide's."""
    with open_source() as file:
        check_archive(file, PPTX)
        presentation = Presentation(file)
        found = BlockList()
        for number, slide in enumerate(presentation.slides, 1):
            _add_slide(found, slide, number)
        stated = " ".join((presentation.core_properties.title or "").split())
    is_default = stated == "PowerPoint Presentation"
    return SourceParts(found.title if is_default or not stated else stated, tuple(found.blocks))


def _add_slide(found: BlockList, slide: Any, number: int) -> None:
    found.leave_headings()
    shapes = list(_shapes(slide.shapes))
    # the title comes first, wherever it stands among the shapes
    for shape in sorted(shapes, key=lambda item: not _is_title(item)):
        _add_shape(found, shape, {"type": "shape", "slide": number, "shape": shape.shape_id})
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text
        found.add(BlockType.OTHER, _lines(notes), {"type": "slide_notes", "slide": number})


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Every shape, those of groups one by one."""
    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _placeholder(shape: Any) -> Any:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _is_title(shape: Any) -> bool:
    return _placeholder(shape) in _TITLES


def _add_shape(found: BlockList, shape: Any, place: dict[str, Any]) -> None:
    if _is_title(shape):
        found.add_heading(1, _lines(shape.text_frame.text), place)
    elif getattr(shape, "has_table", False):
        rows = [[_lines(cell.text) for cell in row.cells] for row in shape.table.rows]
        found.add(BlockType.TABLE, markdown_table(rows), place)
    elif getattr(shape, "has_chart", False):
        found.add(BlockType.FIGURE, _chart_text(shape.chart) or shape.name, place)
    elif shape.has_text_frame:
        kind = _RUNNING.get(_placeholder(shape))
        for number, paragraph in enumerate(shape.text_frame.paragraphs, 1):
            is_item = _is_item(paragraph, in_list=_placeholder(shape) in _LISTS)
            usual = BlockType.LIST_ITEM if is_item else BlockType.PARAGRAPH
            found.add(kind or usual, _lines(paragraph.text), {**place, "paragraph": number})
    else:
        properties = shape._element.xpath(".//p:cNvPr")
        described = properties[0].get("descr") if properties else ""
        found.add(BlockType.FIGURE, described or "", place)


def _is_item(paragraph: Any, *, in_list: bool) -> bool:
    """Whether it has a bullet: as it says itself, else as its place and its level have it."""
    for mark in _BULLETS:
        if paragraph._p.xpath(f"./a:pPr/a:{mark}"):
            return mark != _NO_BULLET
    return bool(in_list or paragraph.level > 0)


def _chart_text(chart: Any) -> str:
    """A chart's title, and its figures as a table."""
    title = chart.chart_title.text_frame.text if _has_title(chart) else ""
    rows: list[list[str]] = []
    for plot in chart.plots:
        names = [str(category) for category in plot.categories]
        rows = rows or [["", *names]]
        rows += [[series.name or "", *map(_figure, series.values)] for series in plot.series]
    return "\n\n".join(text for text in (_lines(title), markdown_table(rows)) if text)


def _has_title(chart: Any) -> bool:
    return bool(chart.has_title and chart.chart_title.has_text_frame)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _lines(text: str) -> str:
    """Line breaks within a paragraph are vertical tabs there."""
    return text.replace("\v", "\n").strip()
