"""Servers on this machine for the tests of HTTP: good ones, broken ones, and a proxy."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A web server; gives its base URL."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    _, port = runner.addresses[0][:2]
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{port}/v1"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[int]:
    """A server that says whatever it likes on each connection; gives its port."""

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await talk(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve_connection, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def answering(raw: bytes) -> Talk:
    """Read one request to its end, say this, and hang up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(raw)
        await writer.drain()

    return talk


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """The head of a request; its body is read too, and dropped."""
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.partition(b":")[2]))
    return head


class Tunnels:
    """A proxy that remembers whom it was asked for."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        """Answer every CONNECT so; what is no success ends there."""
        self.asked: list[str] = []
        self._answer = answer

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Open one tunnel."""
        head = await read_request(reader)
        self.asked.append(head.split(b"\r\n")[0].decode())
        writer.write(self._answer)
        if b" 200 " not in self._answer:
            return
        host, _, port = head.split()[1].decode().rpartition(":")
        inward, outward = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_pour(reader, outward), _pour(inward, writer))


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(2**16):
            sink.write(data)
            await sink.drain()
    sink.close()


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate that signs itself, and a server's context that shows it."""
    from cryptography import x509  # few servers have one
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "quire test")])
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=3650))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "public.pem", folder / "private.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context
