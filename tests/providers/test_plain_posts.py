"""Calls past aiohttp's session: the same words out and in, the same failures, at less CPU."""

import asyncio
import cProfile
from collections.abc import Callable

import pytest

from quire.domain.errors import ProviderError
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.transport import Transport
from tests.providers.servers import Talk, answering, read_request, talking
from tests.providers.transports import HEADERS, a_request

HELLO = b"HTTP/1.1 200 OK\r\nX-Thing: a\r\nContent-Length: 5\r\n\r\nhello"
BREAKS = {
    "nothing": b"",
    "not HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": HELLO[:-2],
    "no body": HELLO[:-5],
    "a bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n",
    "a head without end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2**17,
}
Said = tuple[object, ...]


def post(talk: Talk, times: int = 1) -> list[Said]:
    """What calls bring back from a server that talks so."""

    async def work() -> list[Said]:
        transport = Transport()
        async with asyncio.timeout(60), talking(talk) as port:
            request = a_request(f"http://127.0.0.1:{port}", "POST", b"{}")
            said = [await _outcome(transport, request, port) for _ in range(times)]
            await transport.close()
            return said

    return asyncio.run(work())


async def _outcome(transport: Transport, request: HttpRequest, port: int) -> Said:
    try:
        found = await transport.post(request)
    except ProviderError as error:
        return (str(error).replace(str(port), "PORT"), error.remedy, error.fault)
    problem = found.problem.replace(str(port), "PORT")
    return (found.status, found.headers, found.body, problem)


@pytest.fixture
def by_session(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on, calls go by the session, over connections of the same kind."""
    return lambda: monkeypatch.setattr(
        "quire.providers.transport.is_plain_body", lambda body: False
    )


def test_a_call_says_what_the_session_would_have_said(by_session: Callable[[], None]) -> None:
    heads: list[list[bytes]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await read_request(reader)
        host = next(line for line in head.split(b"\r\n") if line.startswith(b"Host: "))
        heads.append(sorted(head.replace(host, b"Host: here").split(b"\r\n")))
        writer.write(HELLO)

    answers = post(talk)
    by_session()

    assert post(talk) == answers
    assert heads[0] == heads[1]
    assert b"POST /things HTTP/1.1" in heads[0]


@pytest.mark.parametrize("raw", BREAKS.values(), ids=BREAKS.keys())
def test_what_breaks_is_told_as_the_session_tells_it(
    raw: bytes, by_session: Callable[[], None]
) -> None:
    told = post(answering(raw))
    by_session()

    assert post(answering(raw)) == told


@pytest.mark.parametrize(
    ("raw", "connections"), [(HELLO, 1), (HELLO.replace(b"X-Thing: a", b"Connection: close"), 3)]
)
def test_a_connection_is_used_again_unless_the_server_ends_it(raw: bytes, connections: int) -> None:
    opened: list[object] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        for _ in range(len(bodies) if connections == 1 else 1):
            await read_request(reader)
            writer.write(raw)

    bodies = [b"hello"] * 3
    said = post(talk, times=len(bodies))

    assert [body for _, _, body, _ in said] == bodies
    assert len(opened) == connections


def test_what_is_said_before_the_answer_is_passed_over() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"

    (said,) = post(answering(early + HELLO))

    assert said[:3] == (200, {"x-thing": "a", "content-length": "5"}, b"hello")


def test_an_answer_to_a_call_given_up_is_not_taken_for_that_of_the_next() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await read_request(reader)
        if b"/slow" in head:
            await reader.read()  # until the other end hangs up
        writer.write(HELLO)

    async def work() -> HttpResponse:
        transport = Transport()
        async with asyncio.timeout(60), talking(talk) as port:
            base = f"http://127.0.0.1:{port}"
            slow = asyncio.create_task(transport.post(HttpRequest(f"{base}/slow", HEADERS, b"{}")))
            await asyncio.sleep(0.05)
            slow.cancel()
            await asyncio.wait([slow])
            found = await transport.post(a_request(base, "POST", b"{}"))
            await transport.close()
            return found

    assert asyncio.run(work()).body == b"hello"


def test_a_line_break_in_a_header_is_never_sent() -> None:
    async def work() -> str:
        transport = Transport()
        request = HttpRequest("http://127.0.0.1:9/v1", {"X-Thing": "a\r\nX-Other: b"}, b"{}")
        with pytest.raises(ProviderError) as caught:
            await transport.post(request)
        await transport.close()
        return str(caught.value)

    assert "the call cannot be addressed" in asyncio.run(work())


def test_a_call_takes_a_third_fewer_steps_than_with_a_session(
    by_session: Callable[[], None],
) -> None:
    ours = count_steps()
    by_session()

    assert 3 * ours < 2 * count_steps()  # the loop and the server count for both


def count_steps() -> int:
    """Functions called for twenty calls, and the least that a server can do."""
    profile = cProfile.Profile()

    async def work() -> None:
        transport, left = Transport(), asyncio.Event()
        server = await asyncio.get_running_loop().create_server(lambda: Repeat(left), "127.0.0.1")
        async with asyncio.timeout(60), server:
            port = server.sockets[0].getsockname()[1]
            request = a_request(f"http://127.0.0.1:{port}", "POST", b"{}")
            await transport.post(request)
            profile.enable()
            for _ in range(20):
                await transport.post(request)
            profile.disable()
            await transport.close()
            await left.wait()

    asyncio.run(work())
    return sum(entry.callcount for entry in profile.getstats())


class Repeat(asyncio.Protocol):
    """Says the same to every call."""

    def __init__(self, left: asyncio.Event) -> None:
        """Say when the other end is gone."""
        self._left = left

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember whom to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer once the body is there."""
        if data.endswith(b"{}"):
            self._transport.write(HELLO)

    def connection_lost(self, error: Exception | None) -> None:
        """Say so."""
        self._left.set()
