"""Extracts: what takes the place of a text that is too long for a prompt, and who ranks for it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol


class TextKind(StrEnum):
    """What a part of a prompt is that may be compressed."""

    DOCUMENT = "document"
    RESULT = "result"  # of another stage
    TURN = "turn"  # of the history, neither among its first nor its last


class ShownText(NamedTuple):
    """A part of a prompt that may be compressed."""

    name: str  # where it stands, such as `documents/2`
    kind: TextKind
    text: str
    relevance: float = 1.0  # as the recipe declares it


class NewExtract(NamedTuple):
    """What takes the place of a text in a task's prompt, on its way into the ledger."""

    name: str
    source: bytes  # fingerprint of the whole text
    size: int  # bytes that it was to have at most
    text: str
    tokens: int  # of the whole text, as they are expected
    kept: int  # tokens of the extract
    instead: bool = False  # by shared words, because who was to rank could not


class CompressedText(NamedTuple):
    """A text of a prompt that was compressed, and from how many tokens to how many."""

    name: str
    tokens: int
    kept: int
    instead: bool = False  # by shared words, because who was to rank could not


class Ranker(Protocol):
    """Says which passages matter to a prompt; the same version always says the same."""

    @property
    def version(self) -> str:
        """What stored extracts are told apart by."""
        ...

    def scores(self, prompt: str, passages: Sequence[str]) -> Sequence[float]:
        """How much each passage has to do with the prompt, from 0 to 1."""
        ...
