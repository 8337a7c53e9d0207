"""Passages with a rare word of the prompt come first, whatever embeddings make of it."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from quire.domain.extracts import ShownText, TextKind
from quire.engine.context import best_ranker
from quire.planning.compression import Extractor
from quire.planning.lexical_ranking import LexicalRanker
from quire.planning.rare_words import FEWEST, RareWordRanker

SAID = [f"The ferry of day {no} carried people over the river." for no in range(60)]
NAMED = "QUIRE_DEBUG: any text; an error also shows where it came from."
WORDS = "What does {} do, and when is it used?"
DOCS = Path(__file__).parents[2] / "docs"


class EqualRanker:
    """Finds everything alike."""

    version = "equal/1"

    def scores(self, prompt: str, passages: Sequence[str]) -> list[float]:
        """Say half of each."""
        return [0.5] * len(passages)


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.soak)])
def test_names_that_a_long_text_has_once_are_kept_in_a_sixteenth_of_it(count: int) -> None:
    pytest.importorskip("wordllama")
    text = "".join((DOCS / name).read_text() for name in ("recipes.md", "reference.md"))
    shown = ShownText("document", TextKind.DOCUMENT, text)
    once = [name for name in re.findall(r"`([A-Za-z_]{8,})`", text) if text.count(name) == 1]
    names = once[:count]

    lost = [
        name
        for name in names
        if name not in Extractor(best_ranker(), WORDS.format(name)).extract(shown, len(text) // 16)
    ]

    assert len(names) == count
    assert lost == []


def test_what_many_passages_have_is_not_rare() -> None:
    scores = RareWordRanker(EqualRanker()).scores("Which ferry has QUIRE_DEBUG?", [*SAID, NAMED])

    assert scores == [0.25] * 60 + [0.75]


def test_parts_of_a_name_are_not_the_name() -> None:
    others = [*SAID, "A debug session of quire."]

    assert max(RareWordRanker(EqualRanker()).scores("QUIRE_DEBUG?", others)) == 0.25


def test_in_a_short_text_nothing_is_rare() -> None:
    few = [*SAID[: FEWEST - 2], NAMED]

    assert RareWordRanker(EqualRanker()).scores("QUIRE_DEBUG", few) == [0.5] * len(few)


def test_the_version_says_both_so_that_older_extracts_stay_as_they_are() -> None:
    assert RareWordRanker(LexicalRanker()).version == "lexical/1+rare/1"
