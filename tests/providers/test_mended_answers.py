"""Answers in broken HTTP: whoever began to answer was paid, so what came is kept and read."""

import asyncio
from collections.abc import Callable

import pytest

from quire.domain.errors import Remedy
from quire.providers.protocol import HttpResponse
from quire.providers.transport import Transport
from tests.providers.servers import answering, read_request, talking
from tests.providers.test_plain_posts import HELLO, by_session, post
from tests.providers.transports import a_request

__all__ = ["by_session"]

BODY = b'{"a": 1}'
CHUNKS = b"8\r\n" + BODY + b"\r\n0\r\n\r\n"
JUNK = b"<!-- served by gw7 -->\n"


def answer(*headers: bytes, body: bytes = BODY, status: bytes = b"200 OK") -> bytes:
    """An answer, with nothing in it that was not given."""
    return b"\r\n".join((b"HTTP/1.1 " + status, *headers, b"", body))


LENGTH, CHUNKED = b"Content-Length: 8", b"Transfer-Encoding: chunked"
READ = {
    "junk after it": answer(LENGTH, body=BODY + JUNK),
    "junk after its chunks": answer(CHUNKED, body=CHUNKS + JUNK),
    "junk after what an early hint announced": b"HTTP/1.1 103 Early\r\n\r\n"
    + answer(LENGTH, body=BODY + JUNK),
    "a length too small": answer(b"Content-Length: 3"),
    "a length below nought": answer(b"Content-Length: -1"),
    "two lengths": answer(LENGTH, b"Content-Length: 5"),
    "chunks and a length": answer(CHUNKED, b"Content-Length: 5", body=CHUNKS),
    "a header that is none": answer(b"Bad header line", LENGTH),
    "a header with nought": answer(b"X: a\0b", LENGTH),
}
KEPT = {
    "bad chunks": (answer(CHUNKED, body=b"zz\r\n" + BODY), b"zz\r\n" + BODY),
    "neither length is right": (answer(LENGTH, body=b'{"a": 12345'), b'{"a": 12345'),
    "not all of it came": (answer(b"Bad line", b"Content-Length: 9", body=BODY[:5]), BODY[:5]),
}


@pytest.mark.parametrize("raw", READ.values(), ids=READ.keys())
def test_what_was_answered_is_read_whatever_is_wrong_around_it(
    raw: bytes, by_session: Callable[[], None]
) -> None:
    ((status, _, body, problem),) = said = post(answering(raw))
    by_session()

    assert (status, body, problem) == (200, BODY, "")
    assert post(answering(raw)) == said


@pytest.mark.parametrize(("raw", "came"), KEPT.values(), ids=KEPT.keys())
def test_what_cannot_be_read_is_kept_as_it_came(raw: bytes, came: bytes) -> None:
    ((status, _, body, _),) = post(answering(raw))

    assert (status, body) == (200, came)


def test_the_lines_of_a_long_answer_end_where_it_says() -> None:
    lines = BODY + b"\n" + BODY + b"\n"

    ((_, _, body, _),) = post(answering(answer(b"Content-Length: 18", body=lines + JUNK)))

    assert body == lines


def test_a_refusal_with_junk_after_it_counts_by_its_status() -> None:
    raw = answer(LENGTH, b"Retry-After: 7", status=b"429 Too Many", body=BODY + JUNK)

    ((status, headers, _, _),) = post(answering(raw))

    assert (status, headers["retry-after"]) == (429, "7")  # type: ignore[index]  # it is a dict


@pytest.mark.parametrize("raw", [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2**17, b"HTTP/1.1 2x\r\n\r\n"])
def test_an_answer_without_a_head_that_can_be_read_may_have_been_paid(raw: bytes) -> None:
    ((message, remedy, fault),) = post(answering(raw))

    assert message == "127.0.0.1:PORT answered in HTTP that cannot be read"
    assert (remedy, fault) == (Remedy.LOST, None)


def test_what_follows_an_answer_late_is_not_taken_for_a_wrong_address() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HELLO)
        await read_request(reader)
        writer.write(JUNK + HELLO)

    first, second = post(talk, times=2)

    assert first[2] == b"hello"
    assert second[1:] == (Remedy.LOST, None)


def test_what_comes_unasked_ends_its_connection_and_no_call() -> None:
    async def work() -> list[HttpResponse]:
        answered, left = asyncio.Event(), asyncio.Event()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(HELLO)
            if not answered.is_set():
                await answered.wait()
                writer.write(JUNK)
                await reader.read()  # until the other end hangs up
                left.set()

        transport = Transport()
        async with asyncio.timeout(60), talking(talk) as port:
            request = a_request(f"http://127.0.0.1:{port}", "POST", b"{}")
            first = await transport.post(request)
            answered.set()
            await left.wait()
            second = await transport.post(request)
            await transport.close()
            return [first, second]

    assert [response.body for response in asyncio.run(work())] == [b"hello"] * 2
