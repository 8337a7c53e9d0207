"""Formatted text: markdown as people read it, made only of elements that are listed here.

Whatever a document says, nothing of it becomes an element, an address or a picture: HTML in it is
shown as the text that it is, a link as its words with the address beside them, a picture by its
words. Only the structure that the parser of the sources finds becomes elements of our own.
"""

from collections.abc import Callable, Iterator

from markdown_it.tree import SyntaxTreeNode
from markupsafe import Markup, escape

from quire.domain.documents import BlockType
from quire.domain.source_formats import SourceFormat
from quire.sources.markdown import make_parser
from quire.web.page_words import show_controls

Leaf = Callable[[str], Markup]  # how a text between elements is shown, escaped

_PARSER = make_parser()
_ELEMENTS = {  # by the name that the parser gives them
    "paragraph": "p",
    "strong": "strong",
    "em": "em",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    **{name: name for name in ("table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd")},
}
_TRANSPARENT = ("root", "inline", "footnote_reference")
_EMPTY = {"hardbreak": Markup("<br>"), "softbreak": Markup("\n"), "hr": Markup("<hr>")}
_AS_WRITTEN = {"fence": "pre", "code_block": "pre", "code_inline": "code", "front_matter": "pre"}


def reads_as_markdown(source_type: str, block_type: str, content: str) -> bool:
    """Whether a block is formatted: all of markdown files, of others their tables."""
    is_table = block_type == BlockType.TABLE and content.startswith("|")
    return is_table or source_type == SourceFormat.MARKDOWN


def escape_text(text: str) -> Markup:
    """Text as it is, whatever it says."""
    return escape(show_controls(text))


def format_markdown(text: str, leaf: Leaf = escape_text) -> Markup:
    """Markdown as elements, every text of it escaped."""
    return Markup("").join(_render(SyntaxTreeNode(_PARSER.parse(text)), leaf))


def _render(node: SyntaxTreeNode, leaf: Leaf) -> Iterator[Markup]:
    """The pieces of a node and of what is in it; what is not known is shown as text."""
    kind = node.type
    if kind in _TRANSPARENT or (kind == "paragraph" and node.hidden):
        yield from _children(node, leaf)
    elif kind == "heading":
        yield Markup('<p class="title title-{}">').format(min(int(node.tag[1:]), 4))
        yield from _children(node, leaf)
        yield Markup("</p>")
    elif kind in _ELEMENTS:
        name = Markup(_ELEMENTS[kind])  # noqa: S704 - one of those above
        yield Markup("<{}{}>").format(name, _attributes(node))
        yield from _children(node, leaf)
        yield Markup("</{}>").format(name)
    elif kind in _AS_WRITTEN:
        name = Markup(_AS_WRITTEN[kind])  # noqa: S704 - one of those above
        yield Markup("<{0}>{1}</{0}>").format(name, leaf(node.content))
    elif kind == "link":
        yield Markup('<span class="link" title="{}">').format(escape_text(str(node.attrs["href"])))
        yield from _children(node, leaf)
        yield Markup("</span>")
    elif kind == "image":
        yield Markup('<span class="quiet">[{}]</span>').format(
            escape_text(node.content or "picture")
        )
    else:
        yield _EMPTY.get(kind) or leaf(node.content)


def _children(node: SyntaxTreeNode, leaf: Leaf) -> Iterator[Markup]:
    for child in node.children:
        yield from _render(child, leaf)


def _attributes(node: SyntaxTreeNode) -> Markup:
    """Where a numbered list begins, and on which side figures stand: nothing else is taken over."""
    if node.type == "ordered_list" and isinstance(start := node.attrs.get("start"), int):
        return Markup(' start="{}"').format(start)
    if node.type in ("th", "td") and "right" in str(node.attrs.get("style", "")):
        return Markup(' class="number"')
    return Markup("")
