"""Planted facts: how many survive compression to a quarter, beside simpler ways to shorten."""

import random
import sys
from collections.abc import Callable
from time import process_time

from benchmarks.planted_facts import PlantedCase, planted_cases
from quire.domain.extracts import Ranker, ShownText, TextKind
from quire.local.embeddings import EmbeddingRanker
from quire.planning.compression import Extractor
from quire.planning.lexical_ranking import LexicalRanker
from quire.planning.passages import cut_passages, make_extract
from quire.planning.rare_words import RareWordRanker

CASES = 240
SIZE = 40_000  # bytes of a document
SHARE = 4  # what is left is one part in so many
FEWEST_KEPT = 0.90  # of the facts, by embeddings

Shorten = Callable[[PlantedCase, int], str]


def by_ranking(ranker: Ranker) -> Shorten:
    """Shorten as a run does."""

    def shorten(case: PlantedCase, size: int) -> str:
        shown = ShownText("document", TextKind.DOCUMENT, case.text)
        return Extractor(ranker, case.prompt).extract(shown, size)

    return shorten


def drop_oldest(case: PlantedCase, size: int) -> str:
    """Keep the end."""
    return case.text[-size:]


def head_and_tail(case: PlantedCase, size: int) -> str:
    """Keep the beginning and the end."""
    return case.text[: size // 2] + case.text[-size // 2 :]


def random_passages(case: PlantedCase, size: int) -> str:
    """Keep passages by chance."""
    spans, chance = cut_passages(case.text), random.Random(case.text[:200])
    return make_extract(case.text, spans, [chance.random() for _ in spans], size)


WAYS: dict[str, Shorten] = {
    "extract, local embeddings": by_ranking(RareWordRanker(EmbeddingRanker())),
    "extract, lexical": by_ranking(LexicalRanker()),
    "random passages": random_passages,
    "head and tail": head_and_tail,
    "oldest dropped first": drop_oldest,
}


def survival(cases: int, size: int = SIZE) -> dict[str, float]:
    """The share of planted facts that each way keeps."""
    kept = dict.fromkeys(WAYS, 0)
    for case in planted_cases(cases, size):
        for name, shorten in WAYS.items():
            kept[name] += case.fact.key in shorten(case, len(case.text) // SHARE)
    return {name: number / cases for name, number in kept.items()}


def main() -> int:
    """Print what survives; 1 if embeddings keep too little, or no more than simpler ways."""
    before = process_time()
    kept = survival(CASES)
    print(f"{CASES} documents of {SIZE:,} bytes, compressed to 1/{SHARE}: facts that survive")
    for name, share in kept.items():
        print(f"{share:7.1%}  {name}")
    print(f"{process_time() - before:.1f} s CPU in all")
    best, *others = kept.values()
    return int(best < FEWEST_KEPT or best <= max(others))


if __name__ == "__main__":
    sys.exit(main())
