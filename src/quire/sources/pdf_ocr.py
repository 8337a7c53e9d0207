"""Pages that hold only pictures, read by OCR: lines with places, and how sure it is of each."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pypdfium2

from quire.sources.pdf_layout import PageItem, PdfPage, reading_order
from quire.sources.source_naming import missing_extra
from quire.sources.source_parts import BadContent

_SCALE = 200 / 72  # 200 dots an inch, of points
_MOST_DOTS = 50_000_000  # of one picture; a page may claim any size


def ocr_pages(file: BinaryIO, numbers: Sequence[int]) -> Iterator[PdfPage]:
    """Read some pages of a PDF, numbered from 1."""
    engine = _make_engine()
    document = pypdfium2.PdfDocument(file)
    try:
        for number in numbers:
            page = document[number - 1]
            width, height = page.get_size()
            scale = min(_SCALE, (_MOST_DOTS / max(1.0, width * height)) ** 0.5)
            picture = page.render(scale=scale).to_numpy()
            items = list(_lines(engine(picture), scale))
            yield PdfPage(number, height, reading_order(items, width))
    finally:
        document.close()


def _make_engine() -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise BadContent(missing_extra("ocr")) from error
    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    return RapidOCR()


def _lines(result: Any, scale: float) -> Iterator[PageItem]:
    if result.boxes is None:
        return
    for corners, text, score in zip(result.boxes, result.txts, result.scores, strict=True):
        across = [float(corner[0]) / scale for corner in corners]
        down = [float(corner[1]) / scale for corner in corners]
        top, bottom = min(down), max(down)
        # a box is a little higher than its letters
        size = 0.8 * (bottom - top)
        sides = (min(across), top, max(across), bottom)
        yield PageItem(text, *sides, size, confidence=float(score))
