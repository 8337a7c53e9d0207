"""Every format gives the same text, each paragraph in one block, in order, and where it stands."""

import json
from collections.abc import Callable, Mapping
from email import message_from_bytes, policy
from io import BytesIO
from typing import Any

import pdfplumber
import pyarrow.parquet
import pytest
from docx import Document
from openpyxl import load_workbook
from pptx import Presentation

from quire.domain.documents import Block, BlockType
from quire.sources.source_reader import read_bytes
from tests.sources.sample_documents import ITEMS, TEXTS, TITLE, sample

WHOLE = ("html", "rst", "docx", "pptx", "pdf", "eml")
ROWS = ("xlsx", "parquet", "json")


def blocks_of(form: str) -> list[Block]:
    """The blocks of the sample, without what only this format has."""
    return list(read_bytes(sample(form), form, "f").blocks)


def plain(text: str) -> str:
    """Words alone: no markup, bullets or kinds of quotes."""
    for mark in ("“", "”", "&ldquo;", "&rdquo;", "<b>", "</b>", '"'):
        text = text.replace(mark, "")
    return " ".join(text.removeprefix("- ").split())


@pytest.mark.parametrize("form", WHOLE)
def test_every_paragraph_is_in_exactly_one_block_and_in_order(form: str) -> None:
    contents = [plain(block.content) for block in blocks_of(form)]

    kept = [content for content in contents if content in {plain(text) for text in TEXTS}]

    assert kept == [plain(text) for text in TEXTS]
    for text in TEXTS[1:]:
        assert sum(plain(text) in content for content in contents) == 1


@pytest.mark.parametrize("form", ROWS)
def test_every_row_is_a_block_with_the_columns_as_keys(form: str) -> None:
    rows = [json.loads(block.content) for block in blocks_of(form)]

    assert rows == [{"text": text, "place": place} for place, text in enumerate(TEXTS)]


@pytest.mark.parametrize("form", ["html", "rst", "docx", "pptx"])
def test_a_table_is_one_block_of_markdown(form: str) -> None:
    (table,) = (block for block in blocks_of(form) if block.type is BlockType.TABLE)

    lines = table.content.splitlines()
    assert lines == ["| tool | count |", "| --- | --- |", "| saw | 3 |", "| lathe | 1 |"]


@pytest.mark.parametrize("form", ["html", "rst", "docx", "pptx", "pdf"])
def test_blocks_have_types_and_stand_under_their_heading(form: str) -> None:
    heading, *below = blocks_of(form)

    assert (heading.type, heading.content) == (BlockType.HEADING, TITLE)
    assert {block.headings for block in below} == {(TITLE,)}
    items = [block for block in below if plain(block.content) in ITEMS]
    assert {block.type for block in items} == {BlockType.LIST_ITEM}


@pytest.mark.parametrize("form", ["html", "rst", "docx", "pptx", "pdf", "eml"])
def test_a_document_is_called_by_the_title_it_gives_itself(form: str) -> None:
    assert read_bytes(sample(form), form, "f").title == TITLE


def _slice(raw: bytes, place: Mapping[str, Any]) -> str:
    return raw.decode()[place["start_offset"] : place["end_offset"]]


def _docx_paragraph(raw: bytes, place: Mapping[str, Any]) -> str:
    return str(Document(BytesIO(raw)).paragraphs[place["paragraph"] - 1].text)


def _docx_table(raw: bytes, place: Mapping[str, Any]) -> str:
    table = Document(BytesIO(raw)).tables[place["table"] - 1]
    return " ".join(cell.text for row in table.rows for cell in row.cells)


def _shape(raw: bytes, place: Mapping[str, Any]) -> str:
    slide = Presentation(BytesIO(raw)).slides[place["slide"] - 1]
    (shape,) = (shape for shape in slide.shapes if shape.shape_id == place["shape"])
    if shape.has_table:
        return " ".join(cell.text for row in shape.table.rows for cell in row.cells)
    return str(shape.text_frame.paragraphs[place.get("paragraph", 1) - 1].text)


def _page_box(raw: bytes, place: Mapping[str, Any]) -> str:
    with pdfplumber.open(BytesIO(raw)) as pdf:
        return str(pdf.pages[place["page"] - 1].crop(place["box"]).extract_text())


def _cells(raw: bytes, place: Mapping[str, Any]) -> str:
    (row,) = load_workbook(BytesIO(raw))[place["sheet"]][place["range"]]
    return json.dumps({"place": row[1].value, "text": row[0].value})


def _row(raw: bytes, place: Mapping[str, Any]) -> str:
    table = pyarrow.parquet.read_table(BytesIO(raw))
    return json.dumps(table.slice(place["row"] - 1, 1).to_pylist()[0])


def _pointer(raw: bytes, place: Mapping[str, Any]) -> str:
    return json.dumps(json.loads(raw)[int(place["pointer"].removeprefix("/"))])


def _mime_part(raw: bytes, place: Mapping[str, Any]) -> str:
    part: Any = message_from_bytes(raw, policy=policy.default)
    if place["part"] == "0":
        return f"From: {part['From']} Subject: {part['Subject']}"
    for number in place["part"].split("."):
        part = part.get_payload(int(number) - 1)
    content = part.get_payload(decode=True).decode()
    return str(content[place["start_offset"] : place["end_offset"]])


FINDERS: Mapping[str, Callable[[bytes, Mapping[str, Any]], str]] = {
    "text_offset_range": _slice,
    "docx_paragraph": _docx_paragraph,
    "docx_table": _docx_table,
    "shape": _shape,
    "page_box": _page_box,
    "cells": _cells,
    "row": _row,
    "json_pointer": _pointer,
    "mime_part": _mime_part,
}


@pytest.mark.parametrize("form", [*WHOLE, *ROWS])
def test_a_locator_points_at_what_its_block_says(form: str) -> None:
    for block in blocks_of(form):
        place: Any = block.locator
        pointed_at = FINDERS[place["type"]](sample(form), place)
        if block.type is BlockType.TABLE:
            assert [cell for cell in ("tool", "saw", "lathe", "3") if cell not in pointed_at] == []
        elif form in ROWS:
            assert json.loads(pointed_at) == json.loads(block.content)
        else:
            assert plain(pointed_at) == plain(block.content)
