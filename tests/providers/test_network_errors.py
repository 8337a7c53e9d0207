"""Between us and a server: certificates, proxies, and networks that fail."""

import asyncio
import socket
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.client_reqrep import ConnectionKey

from quire.domain.errors import CallFault, Remedy
from quire.providers.network_errors import explain, host_of
from quire.providers.protocol import RawResponse
from tests.providers.exchanges.openai import RESPONSES_ANSWERS
from tests.providers.http_calls import error_answered, failure_of, send
from tests.providers.servers import Tunnels, certificate, read_request, serving, talking

BODY, _ = RESPONSES_ANSWERS["answer"]
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def answer(request: web.Request) -> web.Response:
    return web.json_response(BODY)


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    _, tls = certificate(tmp_path)

    async def work() -> None:
        async with serving(answer, tls) as base:
            await send(base)

    error = failure_of(work)

    assert (error.remedy, error.bad_key) == (Remedy.FIX_ACCOUNT, False)
    assert "self-signed certificate" in str(error)
    assert "SSL_CERT_FILE" in str(error)


def test_an_authority_of_ones_own_is_trusted_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, tls = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(public))

    async def work() -> RawResponse:
        async with serving(answer, tls) as base:
            return await send(base)

    assert asyncio.run(work()).raw


def test_a_plain_call_to_a_port_that_speaks_tls_says_so(tmp_path: Path) -> None:
    _, context = certificate(tmp_path)

    async def work() -> None:
        async with serving(answer, context) as base:
            await send(base.replace("https://", "http://"))

    error = failure_of(work)

    assert (error.remedy, error.fault) == (Remedy.FIX_ACCOUNT, CallFault.ADDRESS)
    assert "speaks TLS" in str(error)
    assert "begin with https://" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        b"Client sent an HTTP request to an HTTPS server.\n",
        b"<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>",
    ],
)
def test_a_server_that_wants_tls_is_understood(body: bytes) -> None:
    error = error_answered(400, body)

    assert (error.remedy, error.fault) == (Remedy.FIX_ACCOUNT, CallFault.ADDRESS)
    assert "begin with https://" in str(error)


def test_a_server_without_tls_is_a_wrong_address() -> None:
    async def work() -> None:
        async with serving(answer) as base:
            await send(base.replace("http://", "https://"))

    error = failure_of(work)

    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "does not speak TLS" in str(error)


def test_calls_go_through_the_proxy_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, tls = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    proxy = Tunnels()

    async def work() -> tuple[RawResponse, str]:
        async with serving(answer, tls) as base, talking(proxy.talk) as port:
            monkeypatch.setenv("HTTPS_PROXY", f"http://user:word@127.0.0.1:{port}")
            return await send(base), base

    sent, base = asyncio.run(work())

    assert sent.raw
    place = base.removeprefix("https://").removesuffix("/v1")
    assert proxy.asked == [f"CONNECT {place} HTTP/1.1"]


def test_a_host_that_the_environment_exempts_is_asked_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, tls = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "example.test,127.0.0.1")

    async def work() -> RawResponse:
        async with serving(answer, tls) as base:
            return await send(base)

    assert asyncio.run(work()).raw


def test_calls_without_tls_go_through_their_proxy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await read_request(reader))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    async def work() -> RawResponse:
        async with talking(proxy) as port:
            monkeypatch.setenv("http_proxy", f"http://user:word@127.0.0.1:{port}")
            return await send("http://nowhere.invalid/v1")

    assert asyncio.run(work()).raw == b"{}"
    assert asked[0].startswith(b"POST http://nowhere.invalid/v1/responses HTTP/1.1")
    assert b"Proxy-Authorization: Basic dXNlcjp3b3Jk" in asked[0]


def test_a_proxy_that_is_not_there_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "127.0.0.1:1")

    error = failure_of(lambda: send("https://api.openai.com/v1"))

    assert error.remedy is Remedy.RETRY
    assert "the proxy at 127.0.0.1:1 cannot be reached; check HTTPS_PROXY" in str(error)


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", Remedy.FIX_ACCOUNT),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", Remedy.FIX_ACCOUNT),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", Remedy.RETRY),
    ],
)
def test_a_proxy_that_refuses_says_so(
    answer: bytes, remedy: Remedy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with talking(Tunnels(answer).talk) as port:
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
            await send("https://api.openai.com/v1")

    error = failure_of(work)

    assert error.remedy is remedy
    assert "the proxy answered" in str(error)


def test_a_proxy_of_a_kind_that_cannot_be_used_is_not_passed_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1080")

    error = failure_of(lambda: send("https://api.openai.com/v1"))

    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "HTTPS_PROXY" in str(error)


def test_a_name_server_that_is_out_for_now_needs_no_person() -> None:
    key = ConnectionKey("api.openai.com", 443, True, True, None, None, None)
    out = aiohttp.ClientConnectorDNSError(key, OSError(socket.EAI_AGAIN, "Temporary failure"))

    error = explain(out, "https://api.openai.com/v1/responses")

    assert error.remedy is Remedy.RETRY
    assert "api.openai.com" in str(error)


def test_a_connection_that_takes_too_long_was_not_carried_out() -> None:
    error = explain(aiohttp.ConnectionTimeoutError("…"), "http://10.0.0.1:8000/v1")

    assert error.remedy is Remedy.RETRY
    assert str(error).startswith("no connection to 10.0.0.1:8000 within 10 s")


@pytest.mark.parametrize(
    ("cause", "absent"),
    [(ConnectionRefusedError(111, "refused"), True), (OSError(101, "unreachable"), False)],
)
def test_only_a_machine_that_is_there_can_say_that_nobody_listens(
    cause: OSError, absent: bool
) -> None:
    key = ConnectionKey("api.openai.com", 443, True, True, None, None, None)

    error = explain(aiohttp.ClientConnectorError(key, cause), "https://api.openai.com/v1")

    assert (error.remedy, error.absent) == (Remedy.RETRY, absent)


def test_a_place_is_named_without_secrets() -> None:
    assert host_of("https://user:word@api.test/v1?key=1") == "api.test"
    assert host_of("http://api.test:8000/v1") == "api.test:8000"
    assert host_of("no url") == "the base URL"
