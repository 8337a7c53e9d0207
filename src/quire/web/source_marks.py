"""Source marks: where in a block the words of an answer stand.

Quotes are marked by the places that were found when the answer was judged. Values of fields
without quotes are looked for as they are written, as whole words.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.quotes import Quote
from quire.domain.reviews import FieldView

SHORTEST = 2  # characters of a value that is looked for; single letters stand everywhere
MOST_PLACES = 20  # of one value that are marked
SHOWN = 20_000  # characters of a block; more is in its document


class SourcePiece(NamedTuple):
    """Text of a block, and the field whose value it shows; empty: none."""

    text: str
    field: str = ""


class MarkedSource(NamedTuple):
    """A block as it is shown."""

    pieces: tuple[SourcePiece, ...]
    cut_before: int = 0  # characters that are not shown
    cut_after: int = 0


class _Span(NamedTuple):
    start: int
    end: int
    field: str


def mark_source(content: str, fields: Sequence[FieldView]) -> MarkedSource:
    """A block in pieces, of which some show values; a long one as far as it is about them."""
    spans = _parted_spans([*_quote_spans(content, fields), *_value_spans(content, fields)])
    begin = max(0, min(spans[0].start - 200, len(content) - SHOWN)) if spans else 0
    end = min(len(content), begin + SHOWN)
    return MarkedSource(_cut(content, spans, begin, end), begin, len(content) - end)


def mark_leaf(text: str, content: str, fields: Sequence[FieldView]) -> tuple[SourcePiece, ...]:
    """A text between elements of a formatted block, in pieces.

    Places in the block say nothing about places in it; so a quote is marked where its words stand
    only once in the whole block.
    """
    quotes = [
        _Span(start, start + len(quote.text), field.name)
        for field in fields
        for quote in field.quotes
        if content.count(quote.text) == 1 and (start := text.find(quote.text)) >= 0 and quote.text
    ]
    return _cut(text, _parted_spans([*quotes, *_value_spans(text, fields)]), 0, len(text))


def _cut(content: str, spans: Sequence[_Span], begin: int, end: int) -> tuple[SourcePiece, ...]:
    pieces, at = list[SourcePiece](), begin
    for span in spans:
        if span.end > end:
            break
        if span.start > at:
            pieces.append(SourcePiece(content[at : span.start]))
        pieces.append(SourcePiece(content[span.start : span.end], span.field))
        at = span.end
    if at < end:
        pieces.append(SourcePiece(content[at:end]))
    return tuple(pieces)


def _quote_spans(content: str, fields: Sequence[FieldView]) -> Iterator[_Span]:
    for field in fields:
        for quote in field.quotes:
            if _stands_there(content, quote):
                yield _Span(quote.start, quote.end, field.name)


def _stands_there(content: str, quote: Quote) -> bool:
    return quote.start < quote.end and content[quote.start : quote.end] == quote.text


def _value_spans(content: str, fields: Sequence[FieldView]) -> Iterator[_Span]:
    """The longest values first: what stands inside another is not marked again."""
    wanted = {
        (text, field.name)
        for field in fields
        if not field.quotes
        for text in _texts_in(field.value)
        if len(text) >= SHORTEST
    }
    for text, name in sorted(wanted, key=lambda pair: (-len(pair[0]), pair)):
        for start in _places(content, text):
            yield _Span(start, start + len(text), name)


def _texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts_in(inner)
    else:
        for inner in value:
            yield from _texts_in(inner)


def _places(content: str, text: str) -> Iterator[int]:
    at, found = content.find(text), 0
    while at >= 0 and found < MOST_PLACES:
        if _is_whole(content, at, at + len(text)):
            found += 1
            yield at
        at = content.find(text, at + len(text))


def _is_whole(content: str, start: int, end: int) -> bool:
    """Whether neither end is in the middle of a word or a number."""
    before, after = content[start - 1 : start], content[end : end + 1]
    first, last = content[start], content[end - 1]
    return not (before.isalnum() and first.isalnum()) and not (after.isalnum() and last.isalnum())


def _parted_spans(spans: Sequence[_Span]) -> list[_Span]:
    """Spans that do not overlap, in order; of two that would, the one that came first stays."""
    taken = list[_Span]()
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in taken):
            taken.append(span)
    return sorted(taken)
