"""Plans count tokens exactly where the model's own tokenizer is installed."""

from collections.abc import Callable
from typing import Any

from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]


def test_a_plan_counts_with_the_model_s_own_tokenizer(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    asked: dict[str, Any] = {"schema": METADATA, "model": "openai/gpt-5.4-mini"}
    rough = here.engine.plan(**asked).forecast

    here.engine.exact_tokens = True
    exact = here.engine.plan(**asked).forecast

    assert exact.one_per_call.input_tokens != rough.one_per_call.input_tokens
    assert 0.5 < exact.one_per_call.input_tokens / rough.one_per_call.input_tokens < 1.5


def test_a_model_whose_tokenizer_nobody_has_is_planned_as_before(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    asked: dict[str, Any] = {"schema": METADATA, "model": "anthropic/claude-haiku-4-5"}
    rough = here.engine.plan(**asked).forecast

    here.engine.exact_tokens = True

    assert here.engine.plan(**asked).forecast == rough
