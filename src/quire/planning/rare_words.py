"""Rare words: passages with a word that a prompt names, and the text has hardly anywhere else.

Embeddings find what is said in other words, and lose what has no meaning to them: names, numbers
and identifiers are rounded off in the mean of a sentence. A word of the prompt that only one or two
passages of a long text have says where to look, whatever it means. There are few such passages, so
that little room is taken from the others.
"""

import re
from collections import Counter
from collections.abc import Sequence

from quire.domain.extracts import Ranker

MOST_PASSAGES = 2  # that may have a word which is rare
FEWEST = 40  # passages of a text in which a word can be rare: in a short one most are
_WORD = re.compile(r"\w+(?:[-.]\w+)*")  # QUIRE_DEBUG, gpt-6-luna and 3.8 are one word each


class RareWordRanker:
    """Another ranker's order, after the passages that have a rare word of the prompt."""

    def __init__(self, ranker: Ranker) -> None:
        """Change the scores of this one."""
        self._ranker = ranker
        self.version = f"{ranker.version}+rare/1"

    def scores(self, prompt: str, passages: Sequence[str]) -> list[float]:
        """The other's scores in the lower half of the range; in the upper, where a word is rare."""
        scores = self._ranker.scores(prompt, passages)
        if len(passages) < FEWEST:
            return list(scores)
        asked = set(_words(prompt))
        shared = [asked.intersection(_words(passage)) for passage in passages]
        found = Counter(word for words in shared for word in words)
        rare = {word for word, times in found.items() if times <= MOST_PASSAGES}
        return [
            (score + (not rare.isdisjoint(words))) / 2
            for score, words in zip(scores, shared, strict=True)
        ]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
