"""Answers that come whole: read at once where they are plain, and else as aiohttp reads them."""

import asyncio
from collections.abc import Callable

import pytest

from quire.providers import plain_posts
from quire.providers.whole_answers import read_plain_answer
from tests.providers.servers import answering, read_request
from tests.providers.test_plain_posts import HELLO, by_session, count_steps, post

__all__ = ["by_session"]

ODD = {
    "an error": HELLO.replace(b"200 OK", b"429 Too Many"),
    "an older server": HELLO.replace(b"HTTP/1.1", b"HTTP/1.0"),
    "no length": HELLO.replace(b"Content-Length: 5\r\n", b""),
    "two lengths": HELLO.replace(b"X-Thing: a", b"Content-Length: 5"),
    "two other lengths": HELLO.replace(b"X-Thing: a", b"Content-Length: 4"),
    "a length with a sign": HELLO.replace(b"Length: 5", b"Length: +5"),
    "a header twice": HELLO.replace(b"X-Thing: a", b"X-Thing: a\r\nX-Thing: b"),
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "chunks and a length": HELLO.replace(b"X-Thing: a", b"Transfer-Encoding: chunked"),
    "another encoding": HELLO.replace(b"X-Thing: a", b"Content-Encoding: br"),
    "the last on its connection": HELLO.replace(b"X-Thing: a", b"Connection: close"),
    "a space before the colon": HELLO.replace(b"X-Thing: a", b"X-Thing : a"),
    "a folded line": HELLO.replace(b"X-Thing: a", b"X-Thing: a\r\n b"),
    "a bare line feed": HELLO.replace(b"X-Thing: a", b"X-Thing: a\nX-Other: b"),
    "a header beyond ASCII": HELLO.replace(b"X-Thing: a", "X-Thing: ä".encode()),
    "no header at all": b"HTTP/1.1 200 OK\r\n\r\n",
    "more than its body": HELLO + b"!",
    "two answers": HELLO + HELLO,
    "less than its body": HELLO[:-1],
    "half a head": HELLO[:30],
    "an early hint": b"HTTP/1.1 103 Early Hints\r\n\r\n" + HELLO,
    "a very long head": HELLO.replace(b"X-Thing: a", b"X-Thing: " + b"a" * 5000),
}


@pytest.mark.parametrize("raw", ODD.values(), ids=ODD.keys())
def test_what_is_not_plain_is_left_to_aiohttp(raw: bytes, by_session: Callable[[], None]) -> None:
    said = post(answering(raw))
    by_session()

    assert read_plain_answer(raw) is None
    assert post(answering(raw)) == said


@pytest.mark.parametrize("lines", [b"x-thing:a", b"X-Thing:  a b \t", b"X-Thing:", b"A: b:c"])
def test_a_plain_answer_is_what_the_session_makes_of_it(
    lines: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = HELLO.replace(b"X-Thing: a", lines)

    said = post(answering(raw))
    monkeypatch.setattr(plain_posts, "_KNOWN", False)

    whole = read_plain_answer(raw)
    assert whole is not None
    assert (*whole, "") == said[0] == post(answering(raw))[0]


def test_an_answer_in_pieces_is_read_to_its_end() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await read_request(reader)
            for part in (HELLO[:20], HELLO[20:-2], HELLO[-2:]):
                await asyncio.sleep(0.01)
                writer.write(part)
                await writer.drain()

    bodies = [body for _, _, body, _ in post(talk, times=2)]

    assert bodies == [b"hello", b"hello"]


def test_whole_answers_and_others_share_a_connection() -> None:
    opened: list[object] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        for raw in (HELLO, ODD["chunks"], HELLO):
            await read_request(reader)
            writer.write(raw)

    bodies = [body for _, _, body, _ in post(talk, times=3)]

    assert bodies == [b"hello"] * 3
    assert len(opened) == 1


def test_a_whole_answer_takes_an_eighth_fewer_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = count_steps()
    monkeypatch.setattr("quire.providers.whole_answers.read_plain_answer", lambda data: None)

    assert 8 * whole < 7 * count_steps()  # the loop and the server count for both
