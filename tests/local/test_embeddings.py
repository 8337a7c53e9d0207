"""Local embeddings: what a prompt asks for in other words is kept."""

import pytest

from benchmarks.bench_compression import survival
from quire.local.embeddings import EmbeddingRanker


def test_planted_facts_survive_and_simpler_ways_lose_more() -> None:
    pytest.importorskip("wordllama")

    embedded, *others = survival(cases=24, size=12_000).values()

    assert embedded >= 0.9
    assert embedded > max(others)


def test_what_says_the_same_in_other_words_is_nearest() -> None:
    pytest.importorskip("wordllama")
    passages = ["The boat sails at noon.", "Pears ripen in autumn.", ""]

    scores = EmbeddingRanker().scores("When does the ship leave?", passages)

    assert max(scores) == scores[0]
    assert scores[2] == 0.0
