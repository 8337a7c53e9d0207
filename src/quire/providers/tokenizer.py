"""The exact tokenizer of OpenAI's models, for those who installed `quire[tokens]`."""

import warnings
from collections.abc import Callable
from functools import cache

from quire.domain.models import ModelFacts
from quire.providers.vendors import vendor_facts

_ENCODING = "o200k_base"  # gpt-4o and later; what GPT-6 uses is not published


def token_counter(facts: ModelFacts) -> Callable[[str], int] | None:
    """Count a text's tokens as the model would; None where nobody here knows how it counts."""
    return _load() if vendor_facts(facts.provider).exact_tokenizer else None


@cache
def _load() -> Callable[[str], int] | None:
    """Load the vocabulary, which takes a second and 140 MB, once and only for those who count."""
    with warnings.catch_warnings():  # it reads its vocabulary in an old way
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            import bpe_openai  # type: ignore[import-untyped]  # it ships no types
        except ImportError:
            return None
        encoding = bpe_openai.get_encoding(_ENCODING)

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return count
