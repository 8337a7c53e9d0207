"""A vendor's server reduced to the least: reads a call, answers its blocks, keeps nothing."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

_END = b"\r\n\r\n"
# What every answer says of our limits, in the words of both vendors.
_LIMITS = (
    b"x-ratelimit-limit-requests: %(requests)d\r\nx-ratelimit-remaining-requests: %(left)d\r\n"
    b"x-ratelimit-reset-requests: 6ms\r\nx-ratelimit-limit-tokens: 1000000000\r\n"
    b"x-ratelimit-remaining-tokens: 999000000\r\nx-ratelimit-reset-tokens: 6ms\r\n"
    b"anthropic-ratelimit-requests-limit: %(requests)d\r\n"
    b"anthropic-ratelimit-requests-remaining: %(left)d\r\n"
)
_NO_LIMIT = 10_000_000  # requests a minute
_LENGTH = b"content-length:"
_OPENAI_USAGE = {
    "input_tokens": 1_000,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 1_050,
}


class Lean(asyncio.Protocol):
    """One connection: a call, its answer, the next call."""

    def __init__(self, limits: bytes) -> None:
        """Begin with nothing read; every answer says the same of limits."""
        self._read = b""
        self._limits = limits
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember whom to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every call that is there as a whole."""
        self._read += data
        while (head_end := self._read.find(_END)) >= 0:
            head = self._read[:head_end].lower()
            length = int(head[head.index(_LENGTH) + len(_LENGTH) :].split(b"\r\n", 1)[0])
            end = head_end + len(_END) + length
            if len(self._read) < end:
                return
            body, self._read = self._read[head_end + len(_END) : end], self._read[end:]
            answer = orjson.dumps(_answer(head.split(b" ", 2)[1], orjson.loads(body)))
            assert self._transport is not None
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%b"
                b"Content-Length: %d\r\n\r\n%b" % (self._limits, len(answer), answer)
            )


def _answer(path: bytes, body: dict[str, Any]) -> dict[str, Any]:
    if path.endswith(b"/messages"):
        return _message(body["model"], _answer_text(body["messages"][0]["content"]))
    return _response(body["model"], _answer_text(body["input"][-1]["content"]))


def _answer_text(user: str) -> str:
    """The records of the blocks on the last line."""
    blocks = orjson.loads(user[user.rindex("\n") + 1 :])["blocks"]
    results = [
        {
            "block_uid": block["block_uid"],
            "word_count": len(block["block_content"].split()),
            "has_question": "?" in block["block_content"],
        }
        for block in blocks
    ]
    return orjson.dumps({"results": results}).decode()


def _response(model: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": model,
        "output": [{**message, "content": [part]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "store": False,
        "usage": _OPENAI_USAGE,
    }


def _message(model: str, text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1_000, "output_tokens": 50},
    }


@contextmanager
def lean_server(requests: int = _NO_LIMIT, left: int = _NO_LIMIT) -> Iterator[str]:
    """Run the server in a process of its own, so that its time is not ours; gives its URL.

    It says that so many requests may come in a minute, and that so many are left; it holds nobody
    to it.
    """
    command = [sys.executable, "-m", "benchmarks.lean", str(requests), str(left)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


async def serve() -> None:
    """Say the port, and serve until whoever started this is gone."""
    loop = asyncio.get_running_loop()
    requests, left = map(int, sys.argv[1:])
    limits = _LIMITS % {b"requests": requests, b"left": left}
    server = await loop.create_server(lambda: Lean(limits), "127.0.0.1", 0, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(serve())
