"""The exact tokenizer, where it is installed, is near the rule of thumb on English prose."""

import pytest

from quire.providers.catalog import find_model
from quire.providers.model_facts import token_counter

ENGLISH = (
    "It was late in the afternoon when the surveyor came down from the hills, and the clerk, who"
    " had waited for him since noon, put the ledger away and asked whether the boundary had been"
    " found. It had not been found, he said, because the stones had been moved; but the old map"
    " agreed with what the farmers remembered, and that would have to be enough for the court. "
)


def test_it_is_within_a_quarter_of_a_token_for_four_bytes() -> None:
    pytest.importorskip("bpe_openai")
    count = token_counter(find_model("openai/gpt-5-mini"))

    assert count is not None
    assert count(ENGLISH) == pytest.approx(len(ENGLISH.encode()) / 4, rel=0.25)


def test_text_that_looks_like_a_control_token_is_counted_as_text() -> None:
    pytest.importorskip("bpe_openai")
    count = token_counter(find_model("openai/gpt-5-mini"))

    assert count is not None
    assert count("<|endoftext|>") > 1
    assert count("") == 0


def test_nobody_here_knows_how_others_count() -> None:
    assert token_counter(find_model("anthropic/claude-opus-5")) is None
    assert token_counter(find_model("simulated/small")) is None
