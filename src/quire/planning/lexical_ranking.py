"""Lexical ranking: passages by the words they share with a prompt, where nothing is installed."""

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W_]+")
_SATURATION = 1.2  # of a word that comes again (k1 of BM25)
_LENGTH_WEIGHT = 0.5  # of a passage's length (b of BM25)
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s")  # of English, roughly


class LexicalRanker:
    """BM25 over the passages of one text, brought to the range from 0 to 1."""

    version = "lexical/1"

    def scores(self, prompt: str, passages: Sequence[str]) -> list[float]:
        """How many of the prompt's words a passage has; rare ones count for more."""
        bags = [Counter(_words(passage)) for passage in passages]
        found = Counter(word for bag in bags for word in bag)
        weights = {
            word: math.log(1 + (len(bags) - found[word] + 0.5) / (found[word] + 0.5))
            for word in sorted(set(_words(prompt)))
            if word in found
        }
        most = sum(weights.values()) * (1 + _SATURATION)
        if not most:
            return [0.0] * len(bags)
        mean = sum(bag.total() for bag in bags) / len(bags) or 1.0
        return [round(_bm25(bag, weights, bag.total() / mean) / most, 6) for bag in bags]


def _bm25(bag: Counter[str], weights: dict[str, float], length: float) -> float:
    """The weights of the words that are there, each a little more where it comes again."""
    damping = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * length)
    return sum(
        weight * bag[word] * (1 + _SATURATION) / (bag[word] + damping)
        for word, weight in weights.items()
        if word in bag
    )


def _words(text: str) -> list[str]:
    """Words in a common form; of scripts without spaces every character is one."""
    return [_stem(word) for word in _WORD.findall(text.casefold())]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word
