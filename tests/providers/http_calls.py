"""Calls over real connections, and errors that are checked to show no key."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable

import orjson
import pytest
from aiohttp import web

from quire.domain.errors import ProviderError
from quire.domain.requests import Call
from quire.providers.http import LONGEST_MESSAGE, HttpProvider
from quire.providers.openai import OpenAI
from quire.providers.protocol import RawResponse, WireFormat
from quire.providers.transport import Transport
from tests.providers.sample_calls import CALL, KEY, account
from tests.providers.servers import Handler, answering, serving, talking


async def send(
    base_url: str,
    vendor: WireFormat | None = None,
    call: Call = CALL,
) -> RawResponse:
    """Carry one call, and let go of the connections."""
    provider = HttpProvider(vendor or OpenAI(), Transport())
    try:
        return await provider.send(call, account("openai", base_url))
    finally:
        await provider.close()


def failure_of(work: Callable[[], Awaitable[object]]) -> ProviderError:
    """The error of some work that must fail; it shows no key, in any way that it could be shown."""

    async def run() -> None:
        async with asyncio.timeout(20):
            await work()

    with pytest.raises(ProviderError) as caught:
        asyncio.run(run())
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = str(error) + repr(error) + "".join(traceback.format_exception(error))
    assert KEY not in shown
    assert len(str(error)) <= LONGEST_MESSAGE
    assert str(error).isprintable()
    return error


def error_answered(status: int, body: object, **headers: str) -> ProviderError:
    """The error of a call that a server answers so."""

    async def handler(request: web.Request) -> web.Response:
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=raw, headers=named)

    return error_against(handler)


def error_against(handler: Handler, vendor: WireFormat | None = None) -> ProviderError:
    """The error of a call to this server."""

    async def work() -> None:
        async with serving(handler) as base:
            await send(base, vendor)

    return failure_of(work)


def error_spoken(raw: bytes) -> ProviderError:
    """The error of a call to a server that says just this."""

    async def work() -> None:
        async with talking(answering(raw)) as port:
            await send(f"http://127.0.0.1:{port}/v1")

    return failure_of(work)
