"""What the rehearsal server does not speak is refused in a line, as docs/rehearsal.md says."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from quire.providers.catalog import CATALOG
from quire.rehearsal.server import RehearsalThread, rehearsal_server

HELLO = {"role": "user", "content": "Hello"}
GEMINI = "/v1beta/models/gemini-3.6-flash"
TOOL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "4"}
NOT_SPOKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "a tool's message": (
        "/v1/chat/completions",
        {
            "messages": [
                HELLO,
                {"role": "assistant", "content": None, "tool_calls": [TOOL]},
                {"role": "tool", "tool_call_id": "c1", "content": "4"},
            ]
        },
    ),
    "an image": ("/v1/chat/completions", {"messages": [{"role": "user", "content": [PICTURE]}]}),
    "an earlier response": ("/v1/responses", {"input": "Hi", "previous_response_id": "resp_1"}),
    "a function's output": (
        "/v1/responses",
        {"input": [{"type": "function_call_output", "call_id": "a", "output": "4"}]},
    ),
    "a tool's result": (
        "/v1/messages",
        {"max_tokens": 50, "messages": [{"role": "user", "content": [RESULT]}]},
    ),
    "a function's response": (
        f"{GEMINI}:generateContent",
        {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": {}}}]}]},
    ),
    "a count of tokens": (f"{GEMINI}:countTokens", {"contents": [{"parts": [{"text": "Hi"}]}]}),
}
HEADERS = {
    "Content-Type": "application/json",
    "Authorization": "Bearer sk-test-1234567890",
    "anthropic-version": "2023-06-01",
    "x-goog-api-key": "AIza-test-1234567890",
}


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalThread]:
    """One server for all."""
    with rehearsal_server(models=CATALOG) as running:
        yield running


@pytest.mark.parametrize("what", NOT_SPOKEN)
def test_what_is_not_spoken_is_refused_in_a_line(server: RehearsalThread, what: str) -> None:
    path, body = NOT_SPOKEN[what]
    model = {"/v1/messages": "claude-haiku-5-5"}.get(path, "gpt-5.6-luna")
    named = body if path.startswith(GEMINI) else {"model": model, **body}
    key = {"x-api-key": "sk-ant-test-1234567890"} if path == "/v1/messages" else {}

    with pytest.raises(HTTPError) as caught:
        urlopen(Request(server.url + path, json.dumps(named).encode(), HEADERS | key))

    assert caught.value.code in (400, 404)
    assert json.loads(caught.value.read())["error"]["message"]
