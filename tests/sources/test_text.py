"""Cutting plain text into paragraphs."""

from hypothesis import given
from hypothesis import strategies as st

from quire.sources.text import text_blocks


def test_paragraphs_end_at_blank_lines() -> None:
    blocks = list(text_blocks("one\ntwo\n\n \t\n  three\r\n\r\nfour"))

    assert [block.content for block in blocks] == ["one\ntwo", "  three", "four"]


def test_white_space_alone_is_no_paragraph() -> None:
    assert list(text_blocks(" \n\t\r\n\n")) == []


@given(st.text(st.sampled_from("ab \t\n\r\u2028\x0b😀")))
def test_paragraphs_are_exact_slices_that_miss_nothing(source: str) -> None:
    at = 0
    for place, block in enumerate(text_blocks(source)):
        assert isinstance(block.locator, dict)
        start, end = block.locator["start_offset"], block.locator["end_offset"]
        assert isinstance(start, int)
        assert isinstance(end, int)
        assert block.index == place
        assert block.content == source[start:end] != ""
        assert source[at:start].strip() == ""
        at = end
    assert source[at:].strip() == ""
