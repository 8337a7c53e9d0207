"""A server that answers by a script and remembers what it was asked, for the tests of batches."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import orjson
from aiohttp import web

from quire.domain.accounts import Account
from quire.domain.batches import BatchRow, BatchStatus
from quire.providers.protocol import BatchApi, HttpClient
from quire.providers.transport import Transport
from tests.providers.sample_calls import account
from tests.providers.servers import serving

T = TypeVar("T")
Work = Callable[[HttpClient, Account], Awaitable[T]]


class Heard(NamedTuple):
    """What the server was asked."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class Scripted:
    """Answers by method and path: a status and a body, the next of a list, or a function."""

    def __init__(self, **answers: Any) -> None:
        """Take the script; what is not in it is a 404."""
        self.heard: list[Heard] = []
        self._answers = answers

    def during(self, work: Work[T], provider: str = "openai", query: str = "") -> T:
        """What some work brings back while this server runs."""

        async def run() -> T:
            transport = Transport(silent=10)
            async with asyncio.timeout(30), serving(self._handle) as base:
                try:
                    return await work(transport, account(provider, f"{base}{query}"))
                finally:
                    await transport.close()

        return asyncio.run(run())

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [f"{heard.method} {heard.path}" for heard in self.heard]

    async def _handle(self, request: web.Request) -> web.Response:
        heard = Heard(
            request.method, request.path, dict(request.query), request.headers, await request.read()
        )
        self.heard.append(heard)
        answer = self._answers.get(f"{heard.method} {heard.path.removeprefix('/v1')}", (404, {}))
        if isinstance(answer, list):
            answer = answer.pop(0)
        if callable(answer):
            answer = answer(heard)
        status, body = answer
        return web.Response(
            status=status, body=body if isinstance(body, bytes) else orjson.dumps(body)
        )


def rows_of(batches: BatchApi, results: tuple[str, ...]) -> Work[list[BatchRow]]:
    """Read all rows of a batch that has ended."""

    async def work(http: HttpClient, by: Account) -> list[BatchRow]:
        found = batches.fetch(http, by, "batch_1", BatchStatus(results=results))
        return [row async for row in found]

    return work


def jsonl(*rows: object) -> bytes:
    """A file of rows."""
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)
