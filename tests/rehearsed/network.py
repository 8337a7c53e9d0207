"""Wires between a run and its server: TLS in front of it, a proxy, and ports that stay silent."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.providers.servers import Talk, Tunnels
from tests.time_limits import PATIENCE


@contextmanager
def talk_server(talk: Talk, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server in a thread that says what it likes on each connection; gives its port."""
    loop = asyncio.new_event_loop()
    ready: list[int] = []
    up = threading.Event()
    stop = asyncio.Event()

    async def serve() -> None:
        server = await asyncio.start_server(_closing(talk), "127.0.0.1", 0, ssl=tls)
        ready.append(server.sockets[0].getsockname()[1])
        up.set()
        await stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for item in [*getattr(loop, "_transports", {}).values()]:  # what the cancelled left open
            item.abort()
        await asyncio.sleep(0)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert up.wait(PATIENCE)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)
        loop.close()


def _closing(talk: Talk) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            await talk(reader, writer)
        writer.close()

    return serve_connection


def passing_on(url: str) -> Talk:
    """Pour everything to a server, and back."""
    parts = urlsplit(url)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inward, outward = await asyncio.open_connection(parts.hostname, parts.port)
        await asyncio.gather(_pour(reader, outward), _pour(inward, writer))

    return talk


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Listen, and never say anything."""
    while await reader.read(2**16):
        pass


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(2**16):
            sink.write(data)
            await sink.drain()
    sink.close()


def tunnels() -> Tunnels:
    """A proxy that remembers whom it was asked for."""
    return Tunnels()


@contextmanager
def closed_port() -> Iterator[int]:
    """A port at which nobody listens: it is taken until the end, so that nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
