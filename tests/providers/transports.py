"""The way out, used against servers on this machine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

from quire.domain.errors import ProviderError
from quire.providers.error_codes import classify
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.transport import Transport
from quire.providers.wire import headers
from tests.providers.http_calls import failure_of
from tests.providers.sample_calls import account
from tests.providers.servers import Handler, answering, read_request, serving, talking

MIB = 2**20
HEADERS = headers("Authorization", account().key, "Bearer ")

T = TypeVar("T")


def a_request(base: str, method: str = "GET", body: bytes = b"") -> HttpRequest:
    """A question with a key."""
    return HttpRequest(f"{base}/things", HEADERS, body, method=method)


def classify_openai(response: HttpResponse) -> ProviderError:
    """What OpenAI would mean by it."""
    return classify("openai", response)


def run_against(
    handler: Handler, work: Callable[[Transport, str], Awaitable[T]], largest: int = 64 * MIB
) -> T:
    """What some work with a server brings back."""

    async def run() -> T:
        transport = Transport(largest, silent=10)
        async with asyncio.timeout(60), serving(handler) as base:
            try:
                return await work(transport, base)
            finally:
                await transport.close()

    return asyncio.run(run())


async def lines_of(transport: Transport, request: HttpRequest) -> list[bytes]:
    """All lines of an answer."""
    async with aclosing(transport.lines(request, classify_openai)) as found:
        return [line async for line in found]


def spoken_lines(raw: bytes) -> tuple[list[bytes], ProviderError]:
    """The lines, and then the failure, of a server that says just this."""
    lines: list[bytes] = []

    async def work() -> None:
        transport = Transport()
        async with talking(answering(raw)) as port:
            try:
                async for line in transport.lines(
                    a_request(f"http://127.0.0.1:{port}"), classify_openai
                ):
                    lines.append(line)
            finally:
                await transport.close()

    error = failure_of(work)
    return lines, error


@asynccontextmanager
async def hanging(said: bytes = b"") -> AsyncIterator[str]:
    """A server that says this, and then nothing until the other end hangs up; gives its URL."""
    left = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(said)
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    async with talking(talk) as port:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await left.wait()
