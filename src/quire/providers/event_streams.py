"""Event streams: the events of a server that only streams become the answer they add up to.

Nobody asks for a stream where whole answers can be had, but some servers know no other way. It is
stored as it came, and put together whenever it is read: Chat Completions from their chunks, a
response of OpenAI's from its last event, a message of Anthropic's from its blocks, Gemini's from
its parts. A stream without its end is no answer: what was cut off cannot be told from what was left
out.
"""

import json
from collections.abc import Sequence
from typing import TypeAlias

from quire.domain.data import Json, JsonObject
from quire.domain.errors import Undecodable
from quire.providers import wire

_Events: TypeAlias = Sequence[JsonObject]
_FIRST_WORDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_NOTHING_SAID = (b"", b"[DONE]")
_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
_JOINED = ("content", "refusal", "reasoning_content", "reasoning")  # texts of a chat's message
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def load_answer(raw: bytes, parsed: JsonObject | None = None) -> JsonObject:
    """Read a body that is a JSON object or a stream of events, or raise Undecodable."""
    try:
        return wire.load(raw, parsed)
    except Undecodable:
        if not raw.lstrip()[:6].startswith(_FIRST_WORDS):
            raise
        events = _events(raw)
        whole = None if events is None else _assemble(events)
        if whole is None:
            raise
    # Half a character may end one event, and the other half begin the next: written and read
    # again they are one.
    return wire.mapping(wire.parse(json.dumps(whole).encode()))


def _events(raw: bytes) -> _Events | None:
    """What the events say, their names included; None where one of them cannot be read.

    An answer without a piece out of its middle would look whole.
    """
    found: list[JsonObject] = []
    for block in raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
        events = _read_data([b"\n".join(lines)])
        if events is None:  # events that no empty line parts: each in a line of its own
            events = _read_data(lines)
        if events is None:
            return None
        found += events
    return found


def _read_data(pieces: Sequence[bytes]) -> list[JsonObject] | None:
    """The objects that the data of some events are; None where one cannot be read."""
    try:
        events = [json.loads(data) for data in pieces if data not in _NOTHING_SAID]
    except (ValueError, RecursionError):
        return None
    return [event for event in events if isinstance(event, dict)]


def _assemble(events: _Events) -> dict[str, Json] | None:
    """The answer that the events add up to; None where they are nobody's, or have no end."""
    for event in reversed(events):
        if event.get("type") in _RESPONSE_ENDS:
            return dict(wire.mapping(event.get("response")))
    if any(event.get("type") == "message_stop" for event in events):
        return _message(events)
    if any("candidates" in event for event in events):
        return _contents(events)
    return _completion(events)


def _completion(events: _Events) -> dict[str, Json] | None:
    """A chat completion from its chunks: the first of its choices."""
    texts: dict[str, str] = {}
    tools: dict[Json, dict[str, str]] = {}
    finish: Json = None
    for event in events:
        choice = next((c for c in wire.items(event.get("choices")) if not c.get("index")), {})
        delta = wire.mapping(choice.get("delta"))
        for name in _JOINED:
            if text := wire.text(delta.get(name)):
                texts[name] = texts.get(name, "") + text
        for call in wire.items(delta.get("tool_calls")):
            said, tool = wire.mapping(call.get("function")), tools.setdefault(call.get("index"), {})
            tool["name"] = tool.get("name", "") + wire.text(said.get("name"))
            tool["arguments"] = tool.get("arguments", "") + wire.text(said.get("arguments"))
        finish = choice.get("finish_reason") or finish
    if finish is None:
        return None
    message: dict[str, Json] = {"content": None, **texts}
    if tools:
        message["tool_calls"] = [{"function": {**tool}} for tool in tools.values()]
    return {
        **_last(events, "usage"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


def _message(events: _Events) -> dict[str, Json]:
    """A message of Anthropic's from its blocks."""
    message: dict[str, Json] = {}
    usage: dict[str, Json] = {}
    blocks: dict[Json, dict[str, Json]] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = {**wire.mapping(event.get("message"))}
                usage.update(wire.mapping(message.get("usage")))
            case "content_block_start":
                blocks[event.get("index")] = {**wire.mapping(event.get("content_block"))}
            case "content_block_delta":
                delta = wire.mapping(event.get("delta"))
                name = _DELTAS.get(wire.text(delta.get("type")), "")
                block = blocks.setdefault(event.get("index"), {})
                block[name] = wire.text(block.get(name)) + wire.text(delta.get(name))
            case "message_delta":
                message.update(wire.mapping(event.get("delta")))
                usage.update(wire.mapping(event.get("usage")))
    content: list[Json] = [_block(block) for block in blocks.values()]
    return {**message, "content": content, "usage": usage}


def _block(block: dict[str, Json]) -> dict[str, Json]:
    """A block whose tool's argument came as text; half of one is left as text."""
    if (partial := block.pop("partial_json", None)) is None:
        return block
    try:
        return {**block, "input": json.loads(wire.text(partial))}
    except (ValueError, RecursionError):
        return {"type": "text", "text": partial}


def _contents(events: _Events) -> dict[str, Json] | None:
    """Gemini's answer from its parts: the first of its candidates."""
    candidates = [wire.items(event.get("candidates")) for event in events]
    firsts = [found[0] for found in candidates if found]
    parts = [
        part
        for first in firsts
        for part in wire.items(wire.mapping(first.get("content")).get("parts"))
    ]
    ends = [first for first in firsts if first.get("finishReason")]
    if not ends:
        return None
    content: dict[str, Json] = {"role": "model", "parts": parts}
    return {**_last(events, "usageMetadata"), "candidates": [{**ends[-1], "content": content}]}


def _last(events: _Events, name: str) -> dict[str, Json]:
    """The last event that says something by this name, or the very last one."""
    saying = [event for event in events if event.get(name)]
    return {**(saying or events)[-1]}
