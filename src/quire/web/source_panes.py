"""The source pane: the block that a result is about, as it is written and, of markdown, formatted.

In both the words of the answer are marked. Where words stand across the markup of a block, only
the source as it is written can mark them: then that is shown first.
"""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from quire.domain.reviews import FieldView, SourceText
from quire.web.formatted_text import escape_text, format_markdown, reads_as_markdown
from quire.web.source_marks import SHOWN, MarkedSource, SourcePiece, mark_leaf, mark_source


class SourcePane(NamedTuple):
    """A block with those beside it."""

    marked: MarkedSource  # as it is written
    formatted: Markup | None  # as people read it; None: it is no markdown, or too long
    complete: bool  # every field that is marked in the one is marked in the other
    before: tuple[Markup, ...]  # the neighbours; formatted if the block is
    after: tuple[Markup, ...]


def make_source_pane(source: SourceText | None, fields: Sequence[FieldView]) -> SourcePane | None:
    """What the page shows of what a result is about."""
    if source is None:
        return None
    content, named = source.content, set[str]()
    marked = mark_source(content, fields)

    def show_leaf(text: str) -> Markup:
        pieces = mark_leaf(text, content, fields)
        named.update(piece.field for piece in pieces if piece.field)
        return Markup("").join(map(_show_piece, pieces))

    formats = reads_as_markdown(source.source_type, source.block_type, content)
    formatted = format_markdown(content, show_leaf) if formats and len(content) <= SHOWN else None
    return SourcePane(
        marked=marked,
        formatted=formatted,
        complete={piece.field for piece in marked.pieces if piece.field} <= named,
        before=tuple(
            _show_neighbour(source, item.block_type, item.content) for item in source.before
        ),
        after=tuple(
            _show_neighbour(source, item.block_type, item.content) for item in source.after
        ),
    )


def _show_piece(piece: SourcePiece) -> Markup:
    text = escape_text(piece.text)
    if not piece.field:
        return text
    mark = Markup('<mark data-field="{0}" title="{0}">{1}</mark>')
    return mark.format(escape_text(piece.field), text)


def _show_neighbour(source: SourceText, block_type: str, content: str) -> Markup:
    if not reads_as_markdown(source.source_type, block_type, content):
        return escape_text(content)
    return Markup('<div class="formatted">{}</div>').format(format_markdown(content))
