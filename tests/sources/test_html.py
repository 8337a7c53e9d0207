"""Pages: types by their tags, tables whole, and ranges that hold what a block was made of."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.documents import ReadOptions
from quire.sources.html import read_text
from quire.sources.source_reader import read_bytes


def shapes(page: str) -> list[tuple[str, str]]:
    """Type and content of every block."""
    return [(block.type.value, block.content) for block in read_text(page).blocks]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>one<br>two", [("paragraph", "one\ntwo")]),
        ("a <b>b</b>\n c<div>d</div>e", [("paragraph", text) for text in ("a b c", "d", "e")]),
        ("<ul><li>a<ul><li>b</ul>c<li>d</ul>", [("list_item", text) for text in "abcd"]),
        ("<li><input type=checkbox checked>yes", [("checkbox", "[x] yes")]),
        ("<pre>\n a\n  b</pre>", [("code_block", " a\n  b")]),
        ("<figure><img alt=Plan src=x><figcaption>F", [("figure", "Plan"), ("caption", "F")]),
        ("<p>see <img alt=this> here", [("paragraph", "see this here")]),
        ("<dl><dt>a<dd>b<dt>c</dl>", [("definition", "a\n: b"), ("definition", "c")]),
        ("<nav><li>Home</nav><footer>(c)", [("page_header", "Home"), ("page_footer", "(c)")]),
        ("<article><header>h</header>", [("paragraph", "h")]),
        ("<section class='footnotes'><ol><li><p>n</ol>", [("footnote", "n")]),
        ("<script>a<p></script><style>p{}</style><template><p>t</template>x", [("paragraph", "x")]),
        ("a<hr>b", [("paragraph", "a"), ("divider", "---"), ("paragraph", "b")]),
        ("<h1>a<p>b", [("heading", "a"), ("paragraph", "b")]),
        ("</div></p></table>x", [("paragraph", "x")]),
    ],
)  # fmt: skip
def test_a_block_is_what_its_tags_say(page: str, expected: list[tuple[str, str]]) -> None:
    assert shapes(page) == expected


def test_a_table_is_whole_with_its_spans_and_its_caption_apart() -> None:
    page = (
        "<table><caption>C</caption><tr><th>A<th colspan=2>B|b<tr><td rowspan=2>1<td>2<td>3"
        "<tr><td>4<td><p>5<p>6</table>"
    )

    assert shapes(page) == [
        ("caption", "C"),
        ("table", "| A | B\\|b |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n|  | 4 | 5 6 |"),
    ]


@pytest.mark.parametrize("wrapped", ["<h2>h</h2>", "<table><tr><td>h<td>i</table>"])
def test_a_table_that_only_arranges_a_page_is_none(wrapped: str) -> None:
    kinds = [kind for kind, _ in shapes(f"<table><tr><td>menu<td>{wrapped}text</table>")]

    assert kinds == ["paragraph", "table" if "i" in wrapped else "heading", "paragraph"]


def test_headings_stand_above_what_follows_by_their_levels() -> None:
    blocks = read_text("<h1>A</h1><h3>B</h3>x<h2>C</h2>y").blocks

    assert [block.headings for block in blocks] == [(), ("A",), ("A", "B"), ("A",), ("A", "C")]


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<b>", "</b>", "<li>", "<ul>", "</ul>", "<!-- c -->", " word ", "&amp;",
             "<h2>", "</h2>", "\r\n", "<td>", "<table>", "</table>", "<pre>", "</pre>", "&nbsp;"]
        ),
        max_size=25,
    )
)  # fmt: skip
def test_ranges_are_in_order_and_hold_the_words_of_their_blocks(pieces: list[str]) -> None:
    page = "".join(pieces)
    end = 0

    for block in read_text(page).blocks:
        place = block.locator
        assert isinstance(place, dict)
        if block.type.value != "table":
            assert place["start_offset"] >= end
            end = place["end_offset"]
            source = re.sub(r"<!--.*?-->|</?[a-z][^>]*>", "", page[place["start_offset"] : end])
            assert "".join(unescape(source).split()) == "".join(block.content.split())


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("<meta charset=iso-8859-1>", "cp1252"),
        ("<meta charset=utf-8>", "utf-8"),
        ("<?xml version='1.0' encoding='koi8-r'?>", "koi8-r"),
        ("", "utf-16"),
    ],
)
def test_a_page_is_read_in_the_encoding_that_it_states(head: str, encoding: str) -> None:
    text = "ж" if encoding == "koi8-r" else "é"

    (block,) = read_bytes(f"{head}<p>{text}".encode(encoding), "html", "f").blocks

    assert block.content == text


def test_a_stated_encoding_yields_to_the_option() -> None:
    raw = "<meta charset=utf-8><p>é".encode("latin-1")

    (block,) = read_bytes(raw, "html", "f", ReadOptions(encoding="latin-1")).blocks

    assert block.content == "é"
