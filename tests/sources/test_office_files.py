"""Word, Excel and PowerPoint files: what stands beside the plain flow of text."""

import json
from datetime import date
from io import BytesIO
from typing import Any

import pytest
from docx import Document
from docx.oxml import parse_xml
from openpyxl import Workbook
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml.xmlchemy import OxmlElement

from quire.domain.documents import Block, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.sources.source_reader import read_bytes
from tests.sources.sample_documents import save

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def blocks_of(raw: bytes, form: str, options: ReadOptions | None = None) -> list[Block]:
    """Read everything."""
    return list(read_bytes(raw, form, "f", options or ReadOptions()).blocks)


def sheet_blocks(*rows: list[object], **choices: str) -> list[Block]:
    """The blocks of a sheet of these rows."""
    book = Workbook()
    for row in rows:
        book.active.append(row)
    return blocks_of(save(book), "xlsx", ReadOptions(**choices))  # type: ignore[arg-type]


def test_inserted_words_count_deleted_ones_do_not_and_controls_are_looked_into() -> None:
    document = Document()
    body = document.element.body
    text = "<w:r><w:t>{}</w:t></w:r>".format
    gone = "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
    changed = f"<w:ins>{text('new ')}</w:ins>{gone}<w:hyperlink>{text('b')}</w:hyperlink>"
    paragraph = f"<w:p>{text('a ')}{changed}</w:p>"
    body.insert(0, parse_xml(f"<w:sdt {WORD}><w:sdtContent>{paragraph}</w:sdtContent></w:sdt>"))

    (block,) = blocks_of(save(document), "docx")

    assert block.content == "a new b"


def test_a_text_box_is_a_block_of_its_own_once() -> None:
    document = Document()
    paragraph = document.add_paragraph("flow")
    box = f"<w:txbxContent {WORD}><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>"
    compatible = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    paragraph._p.append(
        parse_xml(
            f'<w:r {WORD}><mc:AlternateContent xmlns:mc="{compatible}"><mc:Choice>{box}</mc:Choice>'
            f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
        )
    )

    flow, boxed = blocks_of(save(document), "docx")

    assert (flow.content, boxed.content) == ("flow", "boxed")
    assert boxed.locator == {**dict(flow.locator), "text_box": 1}  # type: ignore[arg-type]


def test_running_heads_come_last_and_once() -> None:
    document = Document()
    document.add_paragraph("text", style="Caption")
    document.sections[0].header.paragraphs[0].text = "top"
    document.sections[0].footer.paragraphs[0].text = "bottom"

    kinds = [(block.type.value, block.content) for block in blocks_of(save(document), "docx")]

    assert kinds == [("caption", "text"), ("page_header", "top"), ("page_footer", "bottom")]


def test_a_merged_cell_is_written_once() -> None:
    document = Document()
    table = document.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "both"
    table.cell(0, 2).text = "c"
    table.cell(1, 1).text = "x"

    (block,) = blocks_of(save(document), "docx")

    assert block.content == "| both |  | c |\n| --- | --- | --- |\n|  | x |  |"


def test_a_title_above_a_table_is_a_heading_and_the_header_gives_the_keys() -> None:
    title, row, note = sheet_blocks(
        ["Stock"], ["tool", "since"], ["saw", date(2024, 5, 1)], [], ["counted by hand"]
    )

    assert (title.type.value, title.content, title.headings) == ("heading", "Stock", ("Sheet",))
    assert json.loads(row.content) == {"tool": "saw", "since": "2024-05-01"}
    assert (row.locator, row.headings) == (
        {"type": "cells", "sheet": "Sheet", "range": "A3:B3"},
        ("Sheet", "Stock"),
    )
    assert (note.type.value, note.content) == ("paragraph", "counted by hand")


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        ([["a", "b"], ["x", 1], [], ["c", "d"], ["y", 2]], [["a", "b"], ["c", "d"]]),
        ([["a", "b"], ["x", "y"], [], ["z", "w"], ["u", "v"]], [["a", "b"]] * 3),
        ([["a", "b"], ["x", 1], [], ["y", 2]], [["a", "b"]] * 2),
        ([[1, 2], [3, 4]], [["A", "B"]] * 2),
        ([["text"], ["one"], ["two"]], [["text"]] * 2),
        ([["a", None, "a"], ["x", "y", "z"]], [["B", "a", "a (C)"]]),
    ],
)
def test_tables_of_a_sheet_are_told_apart_by_empty_rows_and_headers(
    rows: list[list[object]], keys: list[list[str]]
) -> None:
    assert [sorted(json.loads(block.content)) for block in sheet_blocks(*rows)] == keys


def test_a_formula_that_nobody_calculated_is_read_as_it_stands() -> None:
    (block,) = sheet_blocks(["a", "b"], [1, "=A2*2"])

    assert json.loads(block.content) == {"a": 1, "b": "=A2*2"}


def test_a_column_of_a_sheet_can_be_asked_about() -> None:
    blocks = sheet_blocks(["T"], ["id", "body"], [7, "hello"], text_column="body", key_column="id")

    assert [(block.content, dict(block.locator)["key"]) for block in blocks] == [("hello", 7)]  # type: ignore[arg-type]
    with pytest.raises(SourceUnreadable, match="f: Sheet, row 2: has no field 'c'"):
        sheet_blocks(["id"], ["7"], text_column="c")


def test_slides_give_notes_charts_and_pictures_words() -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "Sales"
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["north", "south"]
    data.add_series("2024", (1, 2.5))
    slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, 0, 0, 99, 99, data)
    slide.notes_slide.notes_text_frame.text = "say it"

    title, chart, notes = blocks_of(save(slides), "pptx")

    assert "| 2024 | 1 | 2.5 |" in chart.content
    assert (chart.type.value, chart.headings) == ("figure", ("Sales",))
    assert (notes.content, notes.locator) == ("say it", {"type": "slide_notes", "slide": 1})
    assert title.content == "Sales"


def test_a_paragraph_of_a_slide_is_an_item_where_it_has_a_bullet() -> None:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    body = slide.placeholders[1].text_frame
    body.text = "a bullet by its place"
    for words, mark in (("plain words", "a:buNone"), ("a bullet of its own", "a:buChar")):
        paragraph = body.add_paragraph()
        paragraph.text = words
        paragraph._p.get_or_add_pPr().append(OxmlElement(mark))

    found = [(block.content, block.type.value) for block in blocks_of(save(slides), "pptx")]

    assert found == [
        ("a bullet by its place", "list_item"),
        ("plain words", "paragraph"),
        ("a bullet of its own", "list_item"),
    ]


def test_an_empty_office_file_is_told() -> None:
    file = BytesIO()
    Document().save(file)

    with pytest.raises(SourceUnreadable, match="f: has no text in it"):
        blocks_of(file.getvalue(), "docx")
