"""Compression: a prompt that does not fit gives up what matters least to it, piece by piece.

Pieces are documents and results that a prompt shows, and the middle of its history; its own words
are never touched. The least useful piece (declared relevance times similarity to the prompt; turns
by age) is replaced by an extract of that piece, made for this prompt. All is counted again after
every step, and a step that saves nothing is not taken. An extract is as large as it may be, in
64ths of its piece, so that tasks which differ by a word share it; no piece goes below a quarter
before every other was tried, nor below a sixteenth before all are at a quarter.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from quire.domain.extracts import Piece, PieceKind, Ranker
from quire.plan.passages import Span, cut_passages, make_extract

FLOORS = (16, 4, 1)  # 64ths of a piece that are left of it at least, pass by pass
PARTS = 64
SMALLEST_PIECE = 1000  # bytes; a shorter one is a part of the prompt
HEAD_TURNS, TAIL_TURNS = 2, 4  # of a history, that are never touched
_BEST = 3  # passages by which a piece is compared with others

Measure = Callable[[Mapping[bytes, str]], int]  # bytes of all that is sent, with these extracts


class PieceExtract(NamedTuple):
    """What takes the place of a piece."""

    piece: Piece
    size: int  # bytes that it was to have at most: what it is stored under
    text: str


class Compression(NamedTuple):
    """What became of a prompt that did not fit."""

    extracts: Mapping[bytes, PieceExtract]  # by the piece's hash
    before: int  # bytes of all that would have been sent
    size: int  # bytes of all that is sent
    over: int  # bytes by which it still does not fit; 0: it does


def text_hash(text: str) -> bytes:
    """Name a text, or a prompt, by what it says."""
    return sha256(text.encode()).digest()[:16]


def prompt_hash(prompt: str, ranker: str) -> bytes:
    """Name what extracts are made for: a prompt, as one version of a ranker reads it."""
    return text_hash(f"{ranker}\n{prompt}")


class Extractor:
    """Makes extracts for one prompt; what was made before is not made again."""

    def __init__(
        self, ranker: Ranker, prompt: str, known: Mapping[tuple[bytes, int], str] | None = None
    ) -> None:
        """`known` are extracts for this prompt, by piece and size."""
        self._ranker = ranker
        self._prompt = prompt
        self.made = dict(known or {})
        self._ranked: dict[bytes, tuple[list[Span], Sequence[float]]] = {}

    def extract(self, piece: Piece, size: int) -> str:
        """The passages of a piece that matter most to the prompt, within so many bytes."""
        key = (text_hash(piece.text), size)
        if key not in self.made:
            self.made[key] = make_extract(piece.text, *self._rank(piece), size)
        return self.made[key]

    def values(self, pieces: Sequence[Piece]) -> list[float]:
        """How useful each piece is to the prompt; alike for all while there is but one."""
        turns = [no for no, piece in enumerate(pieces) if piece.kind is PieceKind.TURN]
        ages = {no: age / len(turns) for age, no in enumerate(turns)}
        others = [piece for no, piece in enumerate(pieces) if no not in ages]
        likeness = iter(self._similarities(others))
        return [
            ages[no] if no in ages else piece.relevance * next(likeness)
            for no, piece in enumerate(pieces)
        ]

    def _similarities(self, pieces: Sequence[Piece]) -> list[float]:
        """The best passages of all pieces are ranked together, so that they can be compared."""
        if len(pieces) < 2:
            return [1.0] * len(pieces)
        best = [self._best_passages(piece) for piece in pieces]
        scores = iter(self._ranker.scores(self._prompt, [text for few in best for text in few]))
        return [sum(next(scores) for _ in few) / max(1, len(few)) for few in best]

    def _best_passages(self, piece: Piece) -> list[str]:
        spans, scores = self._rank(piece)
        order = sorted(range(len(spans)), key=lambda no: (-scores[no], no))
        return [piece.text[slice(*spans[no])] for no in order[:_BEST]]

    def _rank(self, piece: Piece) -> tuple[list[Span], Sequence[float]]:
        key = text_hash(piece.text)
        if key not in self._ranked:
            spans = cut_passages(piece.text)
            passages = [piece.text[slice(*span)] for span in spans]
            self._ranked[key] = spans, self._ranker.scores(self._prompt, passages)
        return self._ranked[key]


def compress(
    pieces: Sequence[Piece], most: int, measure: Measure, extractor: Extractor
) -> Compression:
    """Shrink pieces, the least useful first, until all that is sent has at most so many bytes."""
    prompt = _ShrinkingPrompt(measure, extractor)
    before = prompt.size
    if before > most and pieces:
        values = extractor.values(pieces)
        order = sorted(range(len(pieces)), key=lambda no: (values[no], no))
        for floor in FLOORS:
            for no in order:
                if prompt.size > most:
                    prompt.shrink(pieces[no], prompt.size - most, floor)
    return Compression(prompt.made, before, prompt.size, max(0, prompt.size - most))


class _ShrinkingPrompt:
    """A prompt with what has taken the place of its pieces so far."""

    def __init__(self, measure: Measure, extractor: Extractor) -> None:
        self._measure = measure
        self._extractor = extractor
        self.made: dict[bytes, PieceExtract] = {}
        self.size = measure({})

    def shrink(self, piece: Piece, over: int, floor: int) -> None:
        """Replace a piece by an extract, if that saves anything."""
        key = text_hash(piece.text)
        now = len((self.made[key].text if key in self.made else piece.text).encode())
        target = _target(len(piece.text.encode()), now - over, floor)
        text = self._extractor.extract(piece, target)
        if not text or len(text.encode()) >= now:
            return
        texts = {known: found.text for known, found in self.made.items()} | {key: text}
        smaller = self._measure(texts)
        if smaller < self.size:
            self.made[key] = PieceExtract(piece, target, text)
            self.size = smaller


def _target(whole: int, wanted: int, floor: int) -> int:
    """Bytes to leave of a piece: the most 64ths of it that will do, and no fewer than the floor."""
    parts = max(floor, wanted * PARTS // whole)
    return whole * parts // PARTS
