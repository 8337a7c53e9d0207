"""Compression: a prompt that does not fit gives up what matters least to it, text by text.

What may shrink are documents and results that a prompt shows, and the middle of its history; its
own words are never touched. The least useful text (declared relevance times similarity to the
prompt; turns by age) is replaced by an extract of that very text, made for this prompt. All is
counted again after every step, and a step that saves nothing is not taken. An extract is as large
as it may be, in 64ths of its text, so that tasks which differ by a word share it; none goes below a
quarter before every other was tried, nor below a sixteenth before all are at a quarter.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from quire.domain.extracts import Ranker, ShownText, TextKind
from quire.planning.passages import Span, cut_passages, make_extract

FLOORS = (16, 4, 1)  # 64ths of a text that are left of it at least, pass by pass
PARTS = 64
SMALLEST_TEXT = 1000  # bytes; a shorter one is a part of the prompt
HEAD_TURNS, TAIL_TURNS = 2, 4  # of a history, that are never touched
_BEST = 3  # passages by which a text is compared with others

Measure = Callable[[Mapping[bytes, str]], int]  # bytes of all that is sent, with these extracts


class TextExtract(NamedTuple):
    """What takes the place of a shown."""

    shown: ShownText
    size: int  # bytes that it was to have at most: what it is stored under
    text: str


class Compression(NamedTuple):
    """What became of a prompt that did not fit."""

    extracts: Mapping[bytes, TextExtract]  # by the text's hash
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
        """`known` are extracts for this prompt, by text and size."""
        self._ranker = ranker
        self._prompt = prompt
        self.made = dict(known or {})
        self._ranked: dict[bytes, tuple[list[Span], Sequence[float]]] = {}

    def extract(self, shown: ShownText, size: int) -> str:
        """The passages of a text that matter most to the prompt, within so many bytes."""
        key = (text_hash(shown.text), size)
        if key not in self.made:
            self.made[key] = make_extract(shown.text, *self._rank(shown), size)
        return self.made[key]

    def values(self, texts: Sequence[ShownText]) -> list[float]:
        """How useful each text is to the prompt; alike for all while there is but one."""
        turns = [no for no, shown in enumerate(texts) if shown.kind is TextKind.TURN]
        ages = {no: age / len(turns) for age, no in enumerate(turns)}
        others = [shown for no, shown in enumerate(texts) if no not in ages]
        likeness = iter(self._similarities(others))
        return [
            ages[no] if no in ages else shown.relevance * next(likeness)
            for no, shown in enumerate(texts)
        ]

    def _similarities(self, texts: Sequence[ShownText]) -> list[float]:
        """The best passages of all texts are ranked together, so that they can be compared."""
        if len(texts) < 2:
            return [1.0] * len(texts)
        best = [self._best_passages(shown) for shown in texts]
        scores = iter(self._ranker.scores(self._prompt, [text for few in best for text in few]))
        return [sum(next(scores) for _ in few) / max(1, len(few)) for few in best]

    def _best_passages(self, shown: ShownText) -> list[str]:
        spans, scores = self._rank(shown)
        order = sorted(range(len(spans)), key=lambda no: (-scores[no], no))
        return [shown.text[slice(*spans[no])] for no in order[:_BEST]]

    def _rank(self, shown: ShownText) -> tuple[list[Span], Sequence[float]]:
        key = text_hash(shown.text)
        if key not in self._ranked:
            spans = cut_passages(shown.text)
            passages = [shown.text[slice(*span)] for span in spans]
            self._ranked[key] = spans, self._ranker.scores(self._prompt, passages)
        return self._ranked[key]


def compress(
    texts: Sequence[ShownText], most: int, measure: Measure, extractor: Extractor
) -> Compression:
    """Shrink texts, the least useful first, until all that is sent has at most so many bytes."""
    prompt = _ShrinkingPrompt(measure, extractor)
    before = prompt.size
    if before > most and texts:
        values = extractor.values(texts)
        order = sorted(range(len(texts)), key=lambda no: (values[no], no))
        for floor in FLOORS:
            for no in order:
                if prompt.size > most:
                    prompt.shrink(texts[no], prompt.size - most, floor)
    return Compression(prompt.made, before, prompt.size, max(0, prompt.size - most))


class _ShrinkingPrompt:
    """A prompt with what has taken the place of its texts so far."""

    def __init__(self, measure: Measure, extractor: Extractor) -> None:
        self._measure = measure
        self._extractor = extractor
        self.made: dict[bytes, TextExtract] = {}
        self.size = measure({})

    def shrink(self, shown: ShownText, over: int, floor: int) -> None:
        """Replace a text by an extract, if that saves anything."""
        key = text_hash(shown.text)
        now = len((self.made[key].text if key in self.made else shown.text).encode())
        target = _target(len(shown.text.encode()), now - over, floor)
        text = self._extractor.extract(shown, target)
        if not text or len(text.encode()) >= now:
            return
        texts = {known: found.text for known, found in self.made.items()} | {key: text}
        smaller = self._measure(texts)
        if smaller < self.size:
            self.made[key] = TextExtract(shown, target, text)
            self.size = smaller


def _target(whole: int, wanted: int, floor: int) -> int:
    """Bytes to leave of a text: the most 64ths of it that will do, and no fewer than the floor."""
    parts = max(floor, wanted * PARTS // whole)
    return whole * parts // PARTS
