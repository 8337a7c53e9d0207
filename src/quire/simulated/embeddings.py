"""Simulated embeddings: a vector of hashed words, so that texts are near which share some."""

import math
import re
from collections.abc import Sequence
from zlib import crc32

USUAL_DIMENSIONS = 64
BYTES_PER_TOKEN = 4  # as the simulated model counts
_WORD = re.compile(r"\w+")


def embed_text(text: str, dimensions: int = 0) -> list[float]:
    """Embed one text; the same text is the same vector everywhere."""
    vector = [0.0] * (dimensions or USUAL_DIMENSIONS)
    for word in _WORD.findall(text.casefold()):
        number = crc32(word.encode())
        vector[number % len(vector)] += 1.0 if number & 0x10000 else -1.0
    length = math.sqrt(sum(number * number for number in vector if number)) or 1.0
    return [round(number / length, 6) if number else 0.0 for number in vector]  # most are none


def embedded_tokens(texts: Sequence[str]) -> int:
    """What embedding some texts is billed as."""
    return sum(-(-len(text.encode()) // BYTES_PER_TOKEN) for text in texts)
