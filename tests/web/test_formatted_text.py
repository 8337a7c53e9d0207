"""Formatted text: markdown becomes elements of ours, and nothing that a document says does."""

import re

import pytest

from quire.web.formatted_text import format_markdown

OURS = re.compile(
    r"</?(p|strong|em|blockquote|ul|ol|li|table|thead|tbody|tr|th|td|dl|dt|dd|pre|code|br|hr|span)"
    r'( (class="[a-z0-9 -]+"|start="\d+"|title="[^"<>]*"))*>'
)


def test_headings_emphasis_lists_and_tables_become_elements() -> None:
    text = "## 1. *Rent*\n\n**Marrow** pays `$5`.\n\n3. first\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n"

    shown = format_markdown(text)

    assert '<p class="title title-2">1. <em>Rent</em></p>' in shown
    assert "<p><strong>Marrow</strong> pays <code>$5</code>.</p>" in shown
    assert '<ol start="3"><li>first</li></ol>' in shown
    assert '<th>a</th><th class="number">b</th>' in shown
    assert '<td>1</td><td class="number">2</td>' in shown


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<div onclick=x>\n\nin\n\n</div>",
        "[click](javascript:alert(1))",
        '[click](https://evil.example/"onmouseover="x "title")',
        "![<b>](https://evil.example/x.png)",
        "<https://evil.example>",
        "```<script>\n</pre><script>alert(1)</script>\n```",
        "| <b> | `</td>` |\n|---|---|\n| <script> | x |",
        "[a]: javascript:x\n\n[a]",
        "---\ntitle: <b>\n---\n",
        "[^1]: <b>note</b>",
        "term <i>\n: <b>meaning",
        "escape \x1b[31m \u202e",
        "> " * 500 + "deep",
        "&lt;script&gt; &#60;b&#62;",
    ],
)
def test_nothing_that_a_document_says_becomes_an_element(text: str) -> None:
    shown = format_markdown(text)

    left = OURS.sub("", shown)
    assert not set("<>") & set(left)
    assert "href" not in OURS.sub("", shown).replace("&#34;", "")
    assert "\x1b" not in shown
