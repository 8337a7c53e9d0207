"""A vendor's server for tests of batches: answers by method and path, all on record."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson
from aiohttp import web

from quire.domain.accounts import Account
from quire.domain.batches import (
    BatchEnd,
    BatchQuery,
    BatchRow,
    BatchStatus,
    RowEnd,
    Submission,
    custom_id,
)
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call
from quire.providers.protocol import BatchApi
from quire.providers.transport import Transport
from tests.providers.servers import serving

T = TypeVar("T")

NONCE = "qabcdefgh23"
SINCE = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


class Asked(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Read the body."""
        return orjson.loads(self.body)


class Answer(NamedTuple):
    """What to say; a status of 0 hangs up instead."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = {}


Answers = Mapping[str, "Answer | list[Answer] | Callable[[Asked], Answer]"]


class BatchServer:
    """A server that answers "GET /path" as it was told, in turn where it was told several."""

    def __init__(self, answers: Answers, account: Callable[[str], Account]) -> None:
        """Answer so, to an account made for the server's URL."""
        self.asked: list[Asked] = []
        self.http = Transport()
        self._answers = dict(answers)
        self._account = account
        self.account = account("")

    @asynccontextmanager
    async def open(self) -> AsyncIterator["BatchServer"]:
        """Serve."""
        async with serving(self._handle) as base:
            self.account = self._account(base.removesuffix("/v1"))
            try:
                yield self
            finally:
                await self.http.close()

    def requests_to(self, method: str, end: str) -> list[Asked]:
        """What was asked with this method at paths that end so."""
        return [call for call in self.asked if call.method == method and call.path.endswith(end)]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked = Asked(request.method, request.path, request.query, request.headers, body)
        self.asked.append(asked)
        answer = self._answer(asked)
        if answer.status == 0 and request.transport is not None:
            request.transport.close()
        raw = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
        return web.Response(status=answer.status or 500, body=raw, headers=dict(answer.headers))

    def _answer(self, asked: Asked) -> Answer:
        found = self._answers.get(f"{asked.method} {asked.path}")
        if found is None:
            return Answer({"error": {"message": f"nobody told me of {asked.path}"}}, 404)
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found if isinstance(found, Answer) else found(asked)


def run(server: BatchServer, work: Callable[[BatchServer], Awaitable[T]]) -> T:
    """Do some work against a server."""

    async def inside() -> T:
        async with asyncio.timeout(20), server.open():
            return await work(server)

    return asyncio.run(inside())


def failure_of(
    server: BatchServer, work: Callable[[BatchServer], Awaitable[object]]
) -> ProviderError:
    """The failure of some work, which must fail."""

    async def inside(server: BatchServer) -> ProviderError:
        try:
            done = await work(server)
        except ProviderError as error:
            return error
        raise AssertionError(f"it did not fail, and gave {done!r}")

    error = run(server, inside)
    key = server.account.key.reveal()
    assert key not in str(error)
    assert str(error).isprintable()
    return error


def submission(folder: Path, batching: BatchApi, calls: list[Call], account: Account) -> Submission:
    """A file of calls as the submitter writes it."""
    path = folder / "calls"
    written = [
        batching.line(call, account, custom_id(NONCE, number))
        for number, call in enumerate(calls, start=1)
    ]
    path.write_bytes(batching.rules.separator.join(written))
    return Submission(
        nonce=NONCE, model=calls[0].model, rows=len(calls), path=str(path), wire=calls[0].wire
    )


async def rows(
    batching: BatchApi, server: BatchServer, ref: str, status: BatchStatus | None = None
) -> list[BatchRow]:
    """Every row of a batch."""
    status = BatchStatus(end=BatchEnd.COMPLETED) if status is None else status
    return [row async for row in batching.fetch(server.http, server.account, ref, status)]


def readable(rows: Sequence[BatchRow], unread: int) -> list[BatchRow]:
    """Rows without those that nobody can read, of which there must be so many, with their lines."""
    left_out = [row for row in rows if row.end is RowEnd.UNREADABLE]
    assert len(left_out) == unread
    assert all(row.raw for row in left_out)
    return [row for row in rows if row.end is not RowEnd.UNREADABLE]


def batch_query(rows: int = 2, *known: str, input_ref: str = "") -> BatchQuery:
    """What is looked for after a create of which nobody knows the end."""
    return BatchQuery(NONCE, rows, input_ref, SINCE, frozenset(known))


async def survives(work: Awaitable[object]) -> None:
    """Whatever a server says, the worst is a classified failure, and asking loses nothing."""
    remedy = Remedy.RETRY
    try:
        await work
    except ProviderError as error:
        remedy = error.remedy
    assert remedy is not Remedy.LOST


def json_lines(*values: Any) -> bytes:
    """Lines of JSON."""
    return b"".join(orjson.dumps(value) + b"\n" for value in values)
