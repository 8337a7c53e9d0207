"""PDF: what a page looks like says what its pieces are, and in which order they are read."""

import pytest

from quire.domain.documents import Block
from quire.sources.source_reader import read_bytes
from tests.sources.sample_documents import PdfLine, make_pdf


def blocks_of(*pages: list[PdfLine], drawing: str = "") -> list[Block]:
    """The blocks of a PDF of these lines."""
    return list(read_bytes(make_pdf(pages, drawing=drawing), "pdf", "f").blocks)


def column(left: float, top: float, word: str) -> list[PdfLine]:
    """Five lines of text, one below the other."""
    return [
        (left, top + 13 * row, 11, f"{word} {row} and more words of a line") for row in range(5)
    ]


def test_columns_are_read_one_after_the_other_below_what_spans_them() -> None:
    wide = (72, 60, 11, "One line that goes from the left edge of the page to the right edge of it")

    blocks = blocks_of([wide, *column(320, 100, "right"), *column(72, 100, "left")])

    assert [block.content.split()[0] for block in blocks] == ["One", "left", "right"]


def test_what_recurs_in_the_margins_is_a_running_head() -> None:
    pages = [
        [
            (72, 20, 9, "The lease"),
            *column(72, 200, f"text{page}"),
            (300, 765, 9, f"page {page} of 3"),
        ]
        for page in (1, 2, 3)
    ]

    kinds = [block.type.value for block in blocks_of(*pages)]

    assert kinds == ["page_header", "paragraph", "page_footer"] * 3


def test_larger_letters_are_headings_by_size_and_small_ones_low_on_a_page_are_notes() -> None:
    blocks = blocks_of(
        [
            (72, 60, 24, "Big"),
            (72, 100, 16, "Middle"),
            *column(72, 130, "text"),
            (72, 230, 16, "Second"),
            *column(72, 260, "more"),
            (72, 700, 8, "1 A note about it"),
        ]
    )

    assert [(block.type.value, block.headings) for block in blocks] == [
        ("heading", ()),
        ("heading", ("Big",)),
        ("paragraph", ("Big", "Middle")),
        ("heading", ("Big",)),
        ("paragraph", ("Big", "Second")),
        ("footnote", ("Big", "Second")),
    ]


@pytest.mark.parametrize("lines", [True, False])
def test_a_table_is_found_by_its_lines_or_by_cells_below_each_other(lines: bool) -> None:
    cells = [("tool", "count"), ("saw", "3"), ("lathe", "1")]
    words = [
        (80 + 150 * across, 103 + 20 * down, 11, cell)
        for down, row in enumerate(cells)
        for across, cell in enumerate(row)
    ]
    across = "".join(
        f"72 {792 - 98 - 20 * row} m 372 {792 - 98 - 20 * row} l S\n" for row in range(4)
    )
    down = "".join(f"{72 + 150 * edge} 694 m {72 + 150 * edge} 634 l S\n" for edge in range(3))

    *_, table = blocks_of([*column(72, 20, "x"), *words], drawing=(across + down) * lines)

    assert table.type.value == "table"
    assert table.content == "| tool | count |\n| --- | --- |\n| saw | 3 |\n| lathe | 1 |"


def test_a_word_that_is_parted_at_the_end_of_a_line_is_whole() -> None:
    (block,) = blocks_of([(72, 100, 11, "These are exam-"), (72, 113, 11, "ples of words")])

    assert block.content == "These are examples of words"


def test_list_items_end_where_the_next_begins_or_a_line_stands_further_out() -> None:
    items = [(90, 100, 11, "- one"), (98, 113, 11, "goes on"), (90, 126, 11, "2. two")]

    blocks = blocks_of([*items, (72, 139, 11, "not an item")])

    assert [(block.type.value, block.content) for block in blocks] == [
        ("list_item", "- one goes on"),
        ("list_item", "2. two"),
        ("paragraph", "not an item"),
    ]
