"""Files as other programs write them: pandoc, LibreOffice and a scanner, read word for word."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from quire.domain.data import as_object
from quire.domain.documents import AS_FOUND, Block, BlockType, ReadOptions
from quire.sources.reading_pool import read_sources
from tests.sources.test_formats import FINDERS

pytestmark = pytest.mark.soak


def source_of(chapters: int) -> str:
    """A text with headings, paragraphs, lists, a table, code and a footnote in every chapter."""
    return "\n\n".join(
        f"# Chapter {number}\n\nThe {number}. paragraph speaks of *near* and far.[^{number}]\n\n"
        f"## Part {number}\n\n- item {number} first\n- item {number} second\n\n"
        f"| tool {number} | count |\n|----|----|\n| saw {number} | 3 |\n| lathe {number} | 1 |\n\n"
        f"```\ncode {number}()\n```\n\nIt ends with words of chapter {number}.\n\n"
        f"[^{number}]: Note {number} below."
        for number in range(1, chapters + 1)
    )


def run(command: Sequence[str | Path], needs: str) -> None:
    """Run a program that may not be here."""
    if shutil.which(needs) is None:
        pytest.skip(f"{needs} is not installed: apt-get install pandoc libreoffice-writer-nogui")
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def convert(path: Path, form: str, folder: Path) -> None:
    """Let LibreOffice write a file in another format, with a profile that nobody else uses."""
    profile = f"-env:UserInstallation=file://{path.parent}/profile"
    order: list[str | Path] = ["--headless", "--convert-to", form, "--outdir", folder, path]
    run(["soffice", profile, *order], "soffice")


def blocks_of(path: Path, options: ReadOptions = AS_FOUND) -> list[Block]:
    """Read a file as a folder's files are read."""
    with closing(read_sources([path], options)) as files:
        file = next(files)
        assert file.parsed is not None, file.refusal
        return list(file.parsed.blocks)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text in every format."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "a.md").write_text(source_of(40))
    for form in ("docx", "html", "rst", "odt", "pptx"):
        run(["pandoc", "-s", folder / "a.md", "-o", folder / f"a.{form}"], "pandoc")
    rows = [f"{number},tool {number},{number}.5" for number in range(1, 41)]
    (folder / "t.csv").write_text("\n".join(["id,name,price", *rows]))
    convert(folder / "a.docx", "pdf", folder)
    convert(folder / "t.csv", "xlsx", folder)
    convert(folder / "a.odt", "docx", folder / "b")
    convert(folder / "a.pptx", "odp", folder)
    convert(folder / "a.odp", "pptx", folder / "b")
    return folder


@pytest.mark.parametrize(
    "name", ["a.docx", "a.html", "a.rst", "a.pdf", "b/a.docx", "a.pptx", "b/a.pptx"]
)
def test_every_paragraph_is_in_one_block_in_order_and_with_its_type(
    folder: Path, name: str
) -> None:
    blocks = [(block.type, " ".join(block.content.split())) for block in blocks_of(folder / name)]
    last = 0

    for kind, words in (pair for number in range(1, 41) for pair in expected(number)):
        places = [place for place, (_, text) in enumerate(blocks) if re.fullmatch(words, text)]
        if name.endswith("pptx") and (kind is BlockType.CODE_BLOCK or words.startswith("Part")):
            kind = BlockType.PARAGRAPH  # slides know no code, and no headings below their titles
        if name == "b/a.pptx" and kind is BlockType.LIST_ITEM:
            kind = BlockType.PARAGRAPH  # LibreOffice wrote that they have no bullets
        if kind is BlockType.TABLE and not places and name == "a.pdf":
            continue  # it goes on on the next page, and is a block on each
        assert len(places) == 1, (words, places)
        assert places[0] >= last
        last = places[0]
        assert blocks[last][0] is kind, (words, blocks[last])


def expected(number: int) -> list[tuple[BlockType, str]]:
    """What a chapter consists of, in order."""
    return [
        (BlockType.HEADING, rf"Chapter {number}"),
        (BlockType.PARAGRAPH, rf"The {number}\. paragraph speaks of \*?near\*? and far.*"),
        (BlockType.HEADING, rf"Part {number}"),
        (BlockType.LIST_ITEM, rf"(• )?item {number} first"),
        (BlockType.LIST_ITEM, rf"(• )?item {number} second"),
        (BlockType.TABLE, rf".*tool {number} .*saw {number} .*lathe {number} .*"),
        (BlockType.CODE_BLOCK, rf"code {number}\(\)"),
        (BlockType.PARAGRAPH, rf"It ends with words of chapter {number}\."),
    ]


@pytest.mark.parametrize(
    "name",
    ["a.docx", "a.html", "a.rst", "a.pdf", "b/a.docx", "a.pptx", "b/a.pptx", "t.xlsx"],
)
def test_a_locator_points_at_the_words_of_its_block(folder: Path, name: str) -> None:
    raw = (folder / name).read_bytes()
    found = blocks_of(folder / name)[:: 9 if name.endswith("pdf") else 1]

    for block in found:
        place: Any = block.locator
        if place["type"] in FINDERS and place["type"] != "cells":
            pointed_at = FINDERS[place["type"]](raw, place)
            assert words_of(block.content) <= words_of(pointed_at), (place, block.content)
    types = {as_object(block.locator)["type"] for block in found}
    assert types & {*FINDERS}


def test_every_row_of_a_real_sheet_points_at_its_cells(folder: Path) -> None:
    book = load_workbook(folder / "t.xlsx")

    blocks = blocks_of(folder / "t.xlsx")

    assert len(blocks) == 40
    for block in blocks:
        place: Any = block.locator
        (cells,) = book[place["sheet"]][place["range"]]
        assert [*json.loads(block.content).values()] == [cell.value for cell in cells]


def words_of(text: str) -> set[str]:
    """The words of a text, without the marks that say how it looks."""
    return set(re.findall(r"[^\W_]+", text))


def test_a_scanned_page_is_read_by_ocr_and_says_so(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("RGB", (1240, 1754), "white")
    draw = ImageDraw.Draw(page)
    draw.text((120, 120), "A scanned lease", fill="black", font=ImageFont.load_default(64))
    draw.text((120, 300), "It runs for three years.", fill="black", font=ImageFont.load_default(36))
    page.save(tmp_path / "scan.pdf", resolution=150)

    blocks = blocks_of(tmp_path / "scan.pdf", ReadOptions(ocr=True))

    assert [block.content for block in blocks] == ["A scanned lease", "It runs for three years."]
    for block in blocks:
        assert isinstance(block.locator, dict)
        assert (block.locator["page"], block.locator["ocr"]) == (1, True)
        assert block.locator["confidence"] > 0.8
