"""Passages: a text cut where it may be cut, and the extract made of those that matter most.

A passage is a few sentences of one paragraph, short enough that one fact fills much of it and long
enough that it can be read alone. Passages are spans of the text and leave nothing out between them,
so that neighbours that are both kept read as they did, to the byte, and a mark stands exactly where
something was left out.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LONGEST_PASSAGE = 240  # characters
MARK = "\n[…]\n"  # stands where text was left out
_MARK_BYTES = len(MARK.encode())
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n")


class Span(NamedTuple):
    """A part of a text, by its characters."""

    start: int
    end: int


def cut_passages(text: str) -> list[Span]:
    """Cut a text into passages, none of which is longer than 240 characters."""
    passages: list[Span] = []
    for paragraph in _cut_at(_PARAGRAPH, text, Span(0, len(text))):
        passages += _join_short(_short_spans(text, paragraph))
    return passages


def _short_spans(text: str, paragraph: Span) -> Iterator[Span]:
    """The sentences of a paragraph; a long one is cut between words, or where it must be."""
    for sentence in _cut_at(_SENTENCE, text, paragraph):
        start = sentence.start
        while sentence.end - start > LONGEST_PASSAGE:
            most = start + LONGEST_PASSAGE
            space = text.rfind(" ", start + LONGEST_PASSAGE // 2, most)
            cut = space + 1 if space >= 0 else most
            yield Span(start, cut)
            start = cut
        yield Span(start, sentence.end)


def _cut_at(pattern: re.Pattern[str], text: str, whole: Span) -> Iterator[Span]:
    """Cut after every match, so that the parts together are the whole."""
    start = whole.start
    for match in pattern.finditer(text, whole.start, whole.end):
        if start < match.end() < whole.end:
            yield Span(start, match.end())
            start = match.end()
    if start < whole.end:
        yield Span(start, whole.end)


def _join_short(spans: Iterator[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        if joined and span.end - joined[-1].start <= LONGEST_PASSAGE:
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def make_extract(text: str, passages: Sequence[Span], scores: Sequence[float], size: int) -> str:
    """The best passages that fit into so many bytes, in their order, with marks between them.

    Among equals the earlier goes first. Every passage is counted with a mark, so that the extract
    is never larger than it may be.
    """
    order = sorted(range(len(passages)), key=lambda no: (-scores[no], no))
    kept: set[int] = set()
    room = size - _MARK_BYTES
    for no in order:
        taken = len(text[slice(*passages[no])].encode()) + _MARK_BYTES
        if taken <= room:
            kept.add(no)
            room -= taken
    return _with_marks(text, passages, kept).replace("\0", "")  # which PostgreSQL does not store


def _with_marks(text: str, passages: Sequence[Span], kept: set[int]) -> str:
    if not kept:
        return ""
    parts: list[str] = []
    left_out = False
    for no, span in enumerate(passages):
        if no not in kept:
            left_out = True
            continue
        if left_out:
            parts.append(MARK if parts else MARK.lstrip())
        parts.append(text[slice(*span)])
        left_out = False
    if left_out:
        parts.append(MARK.rstrip())
    return "".join(parts)
