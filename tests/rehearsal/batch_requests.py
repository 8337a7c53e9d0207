"""What tests of batches ask: files of rows, made with OpenAI's own client, and what came back."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import openai

from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import GPT, MODELS, SCHEMA, message, openai_client

DAY = 24 * 3_600.0
RESPONSES, CHAT = "/v1/responses", "/v1/chat/completions"


class ServerAndClient(NamedTuple):
    """A server and a client of it."""

    server: RehearsalThread
    client: openai.OpenAI


@contextmanager
def server_and_client(
    faults: str = "", *, latency: str = "0", **how: Any
) -> Iterator[ServerAndClient]:
    """Run a server whose batches end at once, with a client."""
    options: dict[str, Any] = {"models": MODELS, "batch_latency": latency, "faults": faults, **how}
    with rehearsal_server(**options) as server, openai_client(server.url) as client:
        yield ServerAndClient(server, client)


def body(user: str = "", **how: Any) -> dict[str, Any]:
    """A call of OpenAI's Responses API."""
    form = {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
    messages = [
        {"role": "developer", "content": "Count words."},
        {"role": "user", "content": user or message()},
    ]
    return {"model": GPT, "input": messages, "text": {"format": form}, "store": False, **how}


def row(name: str, call: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
    """A line of a batch."""
    line = {"custom_id": name, "method": "POST", "url": RESPONSES, "body": call or body()}
    return {**line, **how}


def rows(count: int) -> list[dict[str, Any]]:
    """Lines that differ."""
    return [
        row(f"q-{number}", body(message("word " * (number % 7 + 1)))) for number in range(count)
    ]


def lines(rows_: list[dict[str, Any]]) -> bytes:
    """Lines as a file has them."""
    return "\n".join(map(json.dumps, rows_)).encode()


def upload(client: openai.OpenAI, content: bytes, name: str = "qabc.jsonl") -> str:
    """Upload a file for a batch."""
    return client.files.create(file=(name, content), purpose="batch").id


def order(
    client: openai.OpenAI, content: bytes, tag: str = "qabc", endpoint: Any = RESPONSES
) -> Any:
    """Upload a file and make a batch of it."""
    return client.batches.create(
        input_file_id=upload(client, content, f"{tag}.jsonl"),
        endpoint=endpoint,
        completion_window="24h",
        metadata={"quire": tag},
    )


def retrieve(client: openai.OpenAI, batch_id: str) -> Any:
    """How a batch stands."""
    return client.batches.retrieve(batch_id)


def read(client: openai.OpenAI, file_id: str | None) -> list[dict[str, Any]]:
    """The lines of a file; none where there is no file."""
    if file_id is None:
        return []
    return [json.loads(line) for line in client.files.content(file_id).text.splitlines()]


def names(rows_: list[dict[str, Any]]) -> list[str]:
    """The custom ids of lines."""
    return [record["custom_id"] for record in rows_]
