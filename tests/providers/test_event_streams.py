"""Servers that only stream: their events add up to the answer, usage included."""

import json

import pytest

from quire.domain.data import Json
from quire.domain.errors import OddBody, Undecodable
from quire.domain.models import Usage
from quire.domain.requests import Reply, Stop
from quire.providers.anthropic import Anthropic
from quire.providers.compatible import Compatible
from quire.providers.event_streams import load_answer
from quire.providers.gemini import Gemini
from quire.providers.openai import OpenAI
from quire.providers.protocol import WireFormat


def stream(*events: Json, end: str = "") -> bytes:
    """Events as a server sends them, with a comment before."""
    lines = [f"event: any\ndata: {json.dumps(event)}\n\n" for event in events]
    return (": a comment\n\n" + "".join(lines) + end).encode()


def chunk(finish: str | None = None, **delta: Json) -> Json:
    """A chunk of a chat completion."""
    choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "id": "c-1", "choices": [choice], "usage": None}


def usage(prompt: int, completion: int) -> Json:
    """The last chunk: what was used."""
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


CHAT = stream(
    chunk(role="assistant", content=""),
    chunk(reasoning_content="Hm"),
    chunk(content='{"results": '),
    chunk(content="[]} \ud83d"),
    chunk(content="\ude00"),
    chunk(finish="stop"),
    usage(12, 5),
    end="data: [DONE]\n\n",
)
TOOL = stream(
    chunk(tool_calls=[{"index": 0, "id": "t", "function": {"name": "answer", "arguments": ""}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"a":'}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": " 1}"}}], finish="tool_calls"),
    usage(3, 4),
)
RESPONSE = stream(
    {"type": "response.created", "response": {"status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "delta": "yes"},
    {
        "type": "response.completed",
        "response": {
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "yes"}]}],
            "usage": {"input_tokens": 7, "output_tokens": 2},
        },
    },
)
MESSAGE = stream(
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Hm"},
    },
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ye"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "s"}},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "max_tokens"},
        "usage": {"output_tokens": 4},
    },
    {"type": "message_stop"},
)
ARGUMENT = stream(
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "input": {}}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'},
    },
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
)
CONTENT = stream(
    {"candidates": [{"content": {"parts": [{"text": "ye"}]}}]},
    {
        "candidates": [{"content": {"parts": [{"text": "s"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 6, "candidatesTokenCount": 2, "totalTokenCount": 8},
    },
)
COMPATIBLE = Compatible("compatible")


@pytest.mark.parametrize(
    ("vendor", "raw", "reply"),
    [
        (
            COMPATIBLE,
            CHAT,
            Reply('{"results": []} \U0001f600', Stop.END, Usage(input=12, output=5), "Hm"),
        ),
        (COMPATIBLE, TOOL, Reply('{"a": 1}', Stop.END, Usage(input=3, output=4))),
        (OpenAI(), CHAT.replace(b"\n", b"\r\n"), None),
        (OpenAI(), CHAT.replace(b"\n", b"\r"), None),
        (OpenAI(), CHAT.replace(b"\n\n", b"\n"), None),
        (OpenAI(), RESPONSE, Reply("yes", Stop.END, Usage(input=7, output=2))),
        (Anthropic(), MESSAGE, Reply("yes", Stop.LENGTH, Usage(input=9, output=4), "Hm")),
        (Anthropic(), ARGUMENT, Reply('{"a":1}', Stop.END, Usage(input=9, output=4))),
        (Gemini(), CONTENT, Reply("yes", Stop.END, Usage(input=6, output=2))),
    ],
)
def test_the_events_of_a_stream_are_read_as_the_answer_they_add_up_to(
    vendor: WireFormat, raw: bytes, reply: Reply | None
) -> None:
    assert vendor.decode(raw) == (reply or COMPATIBLE.decode(CHAT))


@pytest.mark.parametrize(
    ("vendor", "raw"),
    [
        (COMPATIBLE, stream(chunk(content="half"))),
        (COMPATIBLE, b"data: [DONE]\n\n"),
        (OpenAI(), RESPONSE[: RESPONSE.index(b"response.completed")]),
        (Anthropic(), MESSAGE[: MESSAGE.index(b"message_stop")]),
        (Gemini(), CONTENT[: CONTENT.index(b"finishReason")]),
    ],
)
def test_a_stream_without_its_end_is_no_answer(vendor: WireFormat, raw: bytes) -> None:
    with pytest.raises(Undecodable) as caught:
        vendor.decode(raw)

    assert caught.value.odd is OddBody.GARBLED


@pytest.mark.parametrize("broken", [b'data: {"choices": [{"delta": {"con\n\n', b"data: half\n\n"])
def test_a_stream_that_lost_a_piece_in_its_middle_is_no_answer(broken: bytes) -> None:
    first = b'data: {"choices": [{"delta": {"content": "do not "}}]}\n\n'
    last = b'data: {"choices": [{"delta": {"content": "pay"}, "finish_reason": "stop"}]}\n\n'
    end = b"data: [DONE]\n\n"

    assert load_answer(first + last + end)["choices"]
    with pytest.raises(Undecodable):
        load_answer(first + broken + last + end)


def test_a_stream_without_empty_lines_that_lost_a_piece_is_no_answer() -> None:
    with pytest.raises(Undecodable):
        load_answer(CHAT.replace(b"\n\n", b"\n").replace(b'"choices"', b'"cho', 1))
