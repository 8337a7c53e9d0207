"""A row of a batch is parsed once: what its decoder reads from that is what the bytes say."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.batches import BatchRow
from quire.domain.errors import Undecodable
from quire.domain.requests import Reply
from quire.providers.anthropic import Anthropic
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.compatible import Compatible
from quire.providers.gemini import Gemini, GeminiBatches
from quire.providers.mistral_batches import MistralBatches
from quire.providers.openai import OpenAI
from quire.providers.openai_batches import OpenAIBatches
from quire.providers.protocol import BatchApi, WireFormat
from quire.providers.vertex import Vertex, VertexBatches
from tests.providers.exchanges.anthropic import ANSWERS as MESSAGES
from tests.providers.exchanges.google import ANSWERS as CONTENTS
from tests.providers.exchanges.openai import CHAT_ANSWERS, RESPONSES_ANSWERS
from tests.providers.hostile import json_of
from tests.providers.sample_calls import account

LARGE = 123456789012345678901
HALF = "\ud83d"


class Way(NamedTuple):
    """How one vendor wraps an answer into a row."""

    vendor: WireFormat
    batching: BatchApi
    wrap: Callable[[object], object]
    answers: Mapping[str, tuple[dict[str, Any], Reply]]


def filed(body: object) -> object:
    return {"custom_id": "a-1", "response": {"status_code": 200, "body": body}, "error": None}


WAYS = {
    "openai": Way(OpenAI(), OpenAIBatches(), filed, {**RESPONSES_ANSWERS, **CHAT_ANSWERS}),
    "mistral": Way(Compatible("mistral"), MistralBatches(), filed, CHAT_ANSWERS),
    "anthropic": Way(
        Anthropic(),
        AnthropicBatches(),
        lambda body: {"custom_id": "a-1", "result": {"type": "succeeded", "message": body}},
        MESSAGES,
    ),
    "gemini": Way(
        Gemini(), GeminiBatches(), lambda body: {"key": "a-1", "response": body}, CONTENTS
    ),
    "vertex": Way(
        Vertex(), VertexBatches(), lambda body: {"custom_id": "a-1", "response": body}, CONTENTS
    ),
}
KNOWN = [(name, answer) for name, way in WAYS.items() for answer in way.answers]


def row_of(way: Way, body: object) -> BatchRow:
    return way.batching.row(json.dumps(way.wrap(body)).encode(), account())


def read_from(way: Way, row: BatchRow, *, parsed: bool) -> Reply | str:
    try:
        return way.vendor.decode(row.raw, row.body if parsed else None)
    except Undecodable as error:
        return str(error)


@pytest.mark.parametrize(("name", "answer"), KNOWN)
def test_an_answer_is_read_alike_from_its_json_and_from_its_bytes(name: str, answer: str) -> None:
    way = WAYS[name]
    body, reply = way.answers[answer]

    row = row_of(way, body)

    if row.error is None:  # a vendor may call it a failure
        assert row.body is not None
        assert read_from(way, row, parsed=True) == read_from(way, row, parsed=False) == reply


@pytest.mark.parametrize("name", WAYS)
@given(
    number=st.integers(0, 40),
    place=st.integers(0, 40),
    value=json_of(["text", "type"]) | st.sampled_from([LARGE, HALF]),
)
def test_so_is_one_with_something_strange_in_it(
    name: str, number: int, place: int, value: Any
) -> None:
    way = WAYS[name]
    answers = [body for body, _ in way.answers.values()]
    body = json.loads(json.dumps(answers[number % len(answers)]))
    holders = list(containers(body))
    holder = holders[place % len(holders)]
    holder[list(holder)[place % len(holder)]] = value

    row = row_of(way, body)

    if row.body is not None:
        assert read_from(way, row, parsed=True) == read_from(way, row, parsed=False)


def containers(value: Any) -> Any:
    """Every object of a JSON value that holds something."""
    if isinstance(value, dict):
        if value:
            yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from containers(item)
