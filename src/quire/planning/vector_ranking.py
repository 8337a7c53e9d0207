"""Vector ranking: passages by how near their embeddings are to a prompt's.

What all passages of a text have in common is taken out first, as of local embeddings: it says
nothing about which of them is meant.
"""

import math
from collections.abc import Mapping, Sequence
from operator import mul, sub

from quire.planning.embedding_groups import prompt_parts

_FEWEST = 16  # passages that have something in common which can be told

Vector = Sequence[float]


class VectorRanker:
    """Cosines of vectors that are there already; a passage without one has nothing to say."""

    def __init__(self, version: str, vectors: Mapping[str, Vector]) -> None:
        """`vectors` are by passage, the parts of prompts among them."""
        self.version = version
        self._vectors = vectors

    def scores(self, prompt: str, passages: Sequence[str]) -> list[float]:
        """Cosines, cut off at 0; rounded, so that machines agree."""
        parts = [self._vectors[part] for part in prompt_parts(prompt) if part in self._vectors]
        found = [self._vectors[passage] for passage in passages if passage in self._vectors]
        if not parts or not found:
            return [0.0] * len(passages)
        asked: Vector = _mean(parts)
        common: Vector = _mean(found) if len(found) >= _FEWEST else ()
        asked = _unit(asked, common)
        nearness = iter([_cosine(_unit(vector, common), asked) for vector in found])
        return [next(nearness) if passage in self._vectors else 0.0 for passage in passages]


def _cosine(vector: Vector, asked: Vector) -> float:
    nearness: float = sum(map(mul, vector, asked))
    return max(0.0, round(nearness, 4))


def _mean(vectors: Sequence[Vector]) -> Vector:
    return [sum(numbers) / len(vectors) for numbers in zip(*vectors, strict=True)]


def _unit(vector: Vector, common: Vector) -> Vector:
    """The vector without what is common, of length 1."""
    apart = list(map(sub, vector, common)) if common else vector
    length = math.sqrt(sum(map(mul, apart, apart)))
    return [number / length for number in apart] if length else apart
