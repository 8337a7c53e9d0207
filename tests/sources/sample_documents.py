"""One small text in every format that holds text, and a PDF writer of a few lines."""

import json
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from functools import cache
from io import BytesIO
from typing import Any

import pyarrow
import pyarrow.parquet
from docx import Document
from openpyxl import Workbook
from pptx import Presentation

TITLE = "Lease of a workshop"
PARAGRAPHS = (
    "This lease runs for three years.",
    "The rent is due on the first day of each month, and “late” means five days later.",
    "Each party may end it with three months of notice.",
)
ITEMS = ("Keep the workshop clean", "Insure the machines")
ROWS = (("tool", "count"), ("saw", "3"), ("lathe", "1"))
TEXTS = (TITLE, *PARAGRAPHS, *ITEMS)  # in the order in which every format has them


@cache
def sample(form: str) -> bytes:
    """The sample in a format."""
    return _WRITERS[form]()


def save(document: Any) -> bytes:
    """The bytes of something with a `save`."""
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def _html() -> bytes:
    texts = (text.replace("“late”", "&ldquo;<b>late</b>&rdquo;") for text in PARAGRAPHS)
    paragraphs = "".join(f"<p>{text}\n" for text in texts)
    items = "".join(f"<li>{text}" for text in ITEMS)
    rows = "".join(f"<tr><td>{first}<td>{second}" for first, second in ROWS)
    page = f"<!doctype html><h1>{TITLE}</h1>{paragraphs}<ul>{items}</ul><table>{rows}</table>"
    return page.encode()


def _rst() -> bytes:
    line = "=" * len(TITLE)
    items = "\n".join(f"- {text}" for text in ITEMS)
    table = "===== =====\ntool  count\n===== =====\nsaw   3\nlathe 1\n===== ====="
    return "\n\n".join((f"{TITLE}\n{line}", *PARAGRAPHS, items, table, "")).encode()


def _docx() -> bytes:
    document = Document()
    document.add_heading(TITLE, 1)
    for text in PARAGRAPHS:
        document.add_paragraph(text)
    for text in ITEMS:
        document.add_paragraph(text, style="List Bullet")
    table = document.add_table(len(ROWS), 2)
    for row, texts in zip(table.rows, ROWS, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    return save(document)


def _pptx() -> bytes:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = TITLE
    slide.placeholders[1].text = "\n".join((*PARAGRAPHS, *ITEMS))
    table = slide.shapes.add_table(len(ROWS), 2, 0, 0, 999_999, 999_999).table
    for row, texts in enumerate(ROWS):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    return save(slides)


def _xlsx() -> bytes:
    book = Workbook()
    sheet = book.active
    for row in (("text", "place"), *((text, place) for place, text in enumerate(TEXTS))):
        sheet.append(row)
    return save(book)


def _parquet() -> bytes:
    file = BytesIO()
    table = pyarrow.table({"text": list(TEXTS), "place": list(range(len(TEXTS)))})
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


def _json() -> bytes:
    return json.dumps([{"text": text, "place": place} for place, text in enumerate(TEXTS)]).encode()


def _email() -> bytes:
    letter = EmailMessage()
    letter["From"], letter["Subject"] = "Ann <ann@example.com>", TITLE
    letter.set_content("\n\n".join(TEXTS), cte="quoted-printable")
    letter.add_alternative(f"<p>{TITLE}", subtype="html")
    letter.add_attachment(b"\0\1", maintype="image", subtype="png", filename="plan.png")
    return letter.as_bytes()


def _pdf() -> bytes:
    lines = [(72, 72, 20, TITLE)]
    top = 110
    for text in (*PARAGRAPHS, *(f"- {item}" for item in ITEMS)):
        words = text.split()
        for line in (" ".join(words[:9]), " ".join(words[9:])):
            if line:
                lines.append((72, top, 11, line.replace("“", '"').replace("”", '"')))
                top += 13
        top += 14
    return make_pdf([lines])


_WRITERS: dict[str, Callable[[], bytes]] = {
    "html": _html,
    "rst": _rst,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
    "parquet": _parquet,
    "json": _json,
    "eml": _email,
    "pdf": _pdf,
}

PdfLine = tuple[float, float, float, str]  # from the left, from the top, size, text


def make_pdf(pages: Sequence[Sequence[PdfLine]], drawing: str = "", trailer: str = "") -> bytes:
    """A PDF of lines of text; `drawing` is put on every page, in the language of PDF."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(count))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {count}/Kids[{kids}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for place, lines in enumerate(pages):
        content = drawing + "".join(
            f"BT /F1 {size} Tf {left} {792 - top - size} Td ({_escape(text)}) Tj ET\n"
            for left, top, size, text in lines
        )
        objects.append(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]"
            f"/Resources<</Font<</F1 3 0 R>>>>/Contents {5 + 2 * place} 0 R>>"
        )
        objects.append(f"<</Length {len(content.encode('cp1252'))}>>stream\n{content}\nendstream")
    return _with_offsets(objects, trailer)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _with_offsets(objects: Sequence[str], trailer: str) -> bytes:
    written = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(written))
        written += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    root = f"<</Size {size}/Root 1 0 R{trailer}>>"
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n{root}\n"
    return written + f"{end}startxref\n{len(written)}\n%%EOF".encode()
