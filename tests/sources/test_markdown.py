"""Cutting markdown into typed, exact slices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.documents import Block
from quire.sources.markdown import read_text

LINES = [
    "# One", "## Two", "Title", "=====", "---", "text", "  text", "- item", "  - nested",
    "* [ ] do", "1. first", "   more", "> quote", "> - in it", "```", "~~~js", "    code",
    "| a | b |",
    "|---|---|", "| 1 | 2 |", "<div>", "</div>", "<!-- x", "-->", "[a]: /url", "[^1]: note",
    "    more of it", "Term", ": meaning", "![p](q.png)", "\t- tab", "- - twice",
    "😀 \u2028 \x0b x", "+", "-", "2)", "", "", " ", "\t",
]  # fmt: skip
sources = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(LINES), st.text(max_size=10)),
        st.sampled_from(["\n", "\r\n", "\r"]),
    ),
    max_size=25,
).map(lambda lines: "".join(line + end for line, end in lines))


def offsets(block: Block) -> tuple[int, int]:
    """Read a block's place."""
    locator = block.locator
    assert isinstance(locator, dict)
    start, end = locator["start_offset"], locator["end_offset"]
    assert isinstance(start, int)
    assert isinstance(end, int)
    return start, end


def types(text: str) -> list[str]:
    """Name the types of a text's blocks."""
    return [block.type.value for block in read_text(text).blocks]


def contents(text: str) -> list[str]:
    """Take the slices of a text's blocks."""
    return [block.content for block in read_text(text).blocks]


@given(sources)
def test_blocks_are_exact_slices_in_order_that_miss_nothing(source: str) -> None:
    blocks = read_text(source).blocks

    at = 0
    for place, block in enumerate(blocks):
        start, end = offsets(block)
        assert block.index == place
        assert block.content == source[start:end] != ""
        assert start >= at
        assert source[at:start].strip(" \t\r\n") == ""
        at = end
    assert source[at:].strip(" \t\r\n") == ""


@given(sources)
def test_line_endings_do_not_change_the_cutting(source: str) -> None:
    plain = source.replace("\r\n", "\n").replace("\r", "\n")
    windows = plain.replace("\n", "\r\n")

    assert types(windows) == types(plain)
    assert [content.replace("\r\n", "\n") for content in contents(windows)] == contents(plain)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("# Title", "heading"),
        ("Title\n===", "heading"),
        ("Some *text*\nin two lines", "paragraph"),
        ("```py\nx = 1\n\ny = 2\n```", "code_block"),
        ("    indented", "code_block"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "table"),
        ("<div>\n<p>x</p>\n</div>", "html_block"),
        ("***", "divider"),
        ("![a picture](x.png)", "figure"),
        ("[![a picture](x.png)](https://example.org)", "figure"),
        ("![a picture](x.png) and words", "paragraph"),
        ("![no picture]", "paragraph"),
        ("> # A quote\n> with more", "other"),
        ("[ref]: https://example.org 'title'", "definition"),
        ("Term\n: what it means\n: or else", "definition"),
        ("[^1]: A note\n\n    in two paragraphs", "footnote"),
        ("---\na: b\n---", "other"),
        ("- item\n\n  in two paragraphs", "list_item"),
        ("1. [x] done", "checkbox"),
        ("- [ ] to do", "checkbox"),
        ("- [y] not a box", "list_item"),
    ],
)
def test_each_kind_of_node_is_one_block_of_its_type(text: str, type_: str) -> None:
    assert types(text) == [type_]
    assert contents(text) == [text]


def test_every_item_is_a_block_of_its_own_at_every_depth() -> None:
    text = "- a\n  - b\n    more b\n    1. c\n- d\n\n  more d"

    assert contents(text) == ["- a", "  - b\n    more b", "    1. c", "- d\n\n  more d"]


def test_text_after_a_nested_list_is_an_item_of_its_own() -> None:
    assert contents("- a\n  - b\n\n  more a\n- c") == ["- a", "  - b", "  more a", "- c"]


def test_items_that_start_on_one_line_are_one_block() -> None:
    assert contents("- - a\n  - b") == ["- - a", "  - b"]


def test_a_list_inside_a_quote_is_not_taken_apart() -> None:
    assert types("> - a\n> - b") == ["other"]


def test_blocks_know_the_titles_above_them() -> None:
    blocks = read_text("# A\n\nx\n\n### B `c`\n\ny\n\n## D\n\nz\n\n# E").blocks

    assert [(block.content, block.headings) for block in blocks] == [
        ("# A", ()),
        ("x", ("A",)),
        ("### B `c`", ("A",)),
        ("y", ("A", "B c")),
        ("## D", ("A",)),
        ("z", ("A", "D")),
        ("# E", ()),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## Under\n\n# The *real*\n# Second", "The real"),
        ("> # Quoted", ""),
        ("text", ""),
        ("# ![logo](x.png) Name", "logo Name"),
    ],
)
def test_the_title_is_the_first_heading_of_level_one(text: str, title: str) -> None:
    assert read_text(text).title == title


def test_offsets_count_code_points() -> None:
    (first, second) = read_text("😀😀\n\nx").blocks

    assert offsets(first) == (0, 2)
    assert offsets(second) == (4, 5)
