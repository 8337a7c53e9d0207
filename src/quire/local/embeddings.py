"""Local embeddings: how near passages are to a prompt in meaning, without asking anybody.

A passage is as near as its nearest sentence: the mean of several would hide the one that matters.
What all sentences of a text have in common (its subject, its manner) is taken out first, because it
says nothing about which of them is meant; with that, twice as few planted facts are lost.

The package's weights are inside its wheel; told where they are and not to download, it never goes
online. It is loaded when it is first needed: that takes half a second and some 60 MB.
"""

import re
import threading
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_LOCK = threading.Lock()
_SLICE = 1024  # sentences embedded at once, which bounds the memory
_FEWEST = 16  # sentences that have something in common which can be told
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_loaded: list[Any] = []


class EmbeddingRanker:
    """Cosine of small static word embeddings (wordllama, 256 dimensions)."""

    version = "wordllama-256/1"

    def scores(self, prompt: str, passages: Sequence[str]) -> list[float]:
        """Cosines, cut off at 0; rounded, for processors differ in the last digits."""
        import numpy

        sentences = [(no, part) for no, text in enumerate(passages) for part in _sentences(text)]
        if not sentences:
            return [0.0] * len(passages)
        vectors = _embed([part for _, part in sentences])
        asked = _embed([prompt])[0]
        if len(sentences) >= _FEWEST:
            common = vectors.mean(axis=0)
            vectors, asked = vectors - common, asked - common
            vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
            asked /= numpy.linalg.norm(asked) + 1e-9
        best = [0.0] * len(passages)
        for (no, _), cosine in zip(sentences, vectors @ asked, strict=True):
            best[no] = max(best[no], round(float(cosine), 4))
        return best


@cache  # workers ask all the time
def embeddings_installed() -> bool:
    """Whether the extra `compress` is there; finding that out loads nothing."""
    return find_spec("wordllama") is not None


def _sentences(passage: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(passage) if part.strip()]


def _embed(texts: list[str]) -> Any:
    import numpy

    model = _load()
    slices = range(0, len(texts), _SLICE)
    return numpy.concatenate([model.embed(texts[at : at + _SLICE], norm=True) for at in slices])


def _load() -> Any:
    with _LOCK:
        if not _loaded:
            wordllama: Any = import_module("wordllama")  # an optional extra, without types
            folder = Path(wordllama.__file__).parent
            _loaded.append(wordllama.WordLlama.load(cache_dir=folder, disable_download=True))
        return _loaded[0]
