"""Usage that contradicts itself: read as the dearer of what it may mean, and never as exact."""

import orjson
import pytest

from quire.domain.data import JsonObject
from quire.domain.models import Usage
from quire.providers.anthropic import Anthropic
from quire.providers.gemini import Gemini
from quire.providers.openai import OpenAI


def chat_usage(usage: JsonObject) -> Usage:
    choice = {"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}
    return OpenAI().decode(orjson.dumps({"choices": [choice], "usage": usage})).usage


def response_usage(usage: JsonObject) -> Usage:
    said = {"type": "message", "content": [{"type": "output_text", "text": "{}"}]}
    body = {"object": "response", "status": "completed", "output": [said], "usage": usage}
    return OpenAI().decode(orjson.dumps(body)).usage


def anthropic_usage(usage: JsonObject) -> Usage:
    said = [{"type": "text", "text": "{}"}]
    body = {"type": "message", "content": said, "stop_reason": "end_turn", "usage": usage}
    return Anthropic().decode(orjson.dumps(body)).usage


def gemini_usage(usage: JsonObject) -> Usage:
    said = {"content": {"parts": [{"text": "{}"}]}, "finishReason": "STOP"}
    return Gemini().decode(orjson.dumps({"candidates": [said], "usageMetadata": usage})).usage


CHAT = {"prompt_tokens": 10, "completion_tokens": 5}
RESPONSE = {"input_tokens": 10, "output_tokens": 5}
GEMINI = {"promptTokenCount": 10, "candidatesTokenCount": 5}


@pytest.mark.parametrize(
    "usage",
    [
        chat_usage({**CHAT, "prompt_tokens_details": {"cached_tokens": 99}}),
        response_usage({**RESPONSE, "input_tokens_details": {"cached_tokens": 99}}),
        gemini_usage({**GEMINI, "cachedContentTokenCount": 99}),
    ],
    ids=["chat", "responses", "gemini"],
)
def test_where_more_was_cached_than_read_all_that_was_read_is_counted_beside_it(
    usage: Usage,
) -> None:
    assert usage == Usage(input=10, output=5, cached=99, exact=False)


@pytest.mark.parametrize(
    ("total", "output", "exact"), [(15, 5, True), (30, 20, False), (12, 5, False)]
)
def test_where_a_total_does_not_add_up_the_larger_counts(
    total: int, output: int, exact: bool
) -> None:
    known = Usage(input=10, output=output, exact=exact)

    assert chat_usage({**CHAT, "total_tokens": total}) == known
    assert response_usage({**RESPONSE, "total_tokens": total}) == known
    assert gemini_usage({**GEMINI, "totalTokenCount": total}) == known


def test_parts_that_are_more_than_the_whole_are_not_taken_as_they_stand() -> None:
    usage: JsonObject = {"input_tokens": 10, "output_tokens": 5}

    thought = anthropic_usage({**usage, "output_tokens_details": {"thinking_tokens": 8}})
    written = anthropic_usage(
        {
            **usage,
            "cache_creation_input_tokens": 100,
            "cache_creation": {"ephemeral_5m_input_tokens": 70, "ephemeral_1h_input_tokens": 70},
        }
    )

    assert (thought.output, thought.exact) == (13, False)
    assert (written.written_short, written.written_long, written.exact) == (70, 70, False)


def test_less_than_nothing_is_not_taken_as_it_stands() -> None:
    usage = chat_usage({"prompt_tokens": -10, "completion_tokens": 5})

    assert (usage.input, usage.exact) == (0, False)
