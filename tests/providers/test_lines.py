"""Long answers come line by line, whole and in little memory, and what broke off is told."""

import asyncio
import gzip
import tracemalloc
import zlib
from contextlib import aclosing, suppress

import pytest
from aiohttp import web

from quire.domain.errors import ProviderError, Remedy
from quire.providers.transport import Transport
from tests.providers.http_calls import failure_of
from tests.providers.servers import answering, talking
from tests.providers.transports import (
    MIB,
    a_request,
    classify_openai,
    hanging,
    lines_of,
    run_against,
    spoken_lines,
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_lines_come_whole_however_they_were_cut(size: int, ending: bytes) -> None:
    lines = [b'{"a":1}', b"", "Grüße 👋".encode() * 50, b"\r", b"last"]
    whole = b"\n".join(lines) + ending

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, len(whole), size):
            await response.write(whole[start : start + size])
        await response.write_eof()
        return response

    found = run_against(handler, lambda transport, base: lines_of(transport, a_request(base)))

    assert found == lines


def test_an_answer_without_a_byte_has_no_lines() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=b"")

    assert run_against(handler, lambda way, base: lines_of(way, a_request(base))) == []


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_read_in_little_memory(packed: bool) -> None:
    line = b'{"custom_id":"q2345-1","response":{"status_code":200}}' * 20 + b"\n"
    count = 64 * MIB // len(line)

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if packed:
            response.enable_compression(web.ContentCoding.gzip)
        await response.prepare(request)
        for _ in range(count // 64):
            await response.write(line * 64)
        await response.write_eof()
        return response

    async def work(transport: Transport, base: str) -> int:
        seen = 0
        async for item in transport.lines(a_request(base), classify_openai):
            assert len(item) == len(line) - 1
            seen += 1
        return seen

    tracemalloc.start()
    try:
        seen = run_against(handler, work)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert seen == count // 64 * 64
    assert peak < 12 * MIB


def test_a_long_line_is_read_and_a_longer_one_is_an_error() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=b"a\n" + b"x" * 3 * MIB + b"\nb\n")

    async def read(transport: Transport, base: str) -> list[int]:
        return [len(line) for line in await lines_of(transport, a_request(base))]

    async def fail(transport: Transport, base: str) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await read(transport, base)
        return caught.value

    assert run_against(handler, read, 3 * MIB) == [1, 3 * MIB, 1]
    error = run_against(handler, fail, 2 * MIB)
    assert "a line of more than 2 MB" in str(error)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst\nsec",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nfirst\nse",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n0\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nfirst\nsec",
    ],
)
def test_an_answer_that_breaks_off_is_an_error_after_its_whole_lines(raw: bytes) -> None:
    lines, error = spoken_lines(raw)

    assert lines == [b"first"]
    assert error.remedy is Remedy.RETRY
    assert "broke off in the middle of" in str(error)


def sent(packed: bytes, packing: str, ending: str) -> bytes:
    """An answer as it travels, its end told by its length, in chunks, or by hanging up."""
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {packing}\r\n"
    if ending == "length":
        return f"{head}Content-Length: {len(packed)}\r\n\r\n".encode() + packed
    if ending == "chunks":
        parts = (packed[start : start + 7] for start in range(0, len(packed), 7))
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + packed


def bare(text: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(text) + packer.flush()


LINES = [b'{"custom_id":"n-%d"}' % number for number in range(2000)]
TEXT = b"\n".join(LINES) + b"\n"
PACKED = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "another name": ("X-GZip", gzip.compress(TEXT)),
    "parts": ("gzip", gzip.compress(TEXT[:5000]) + gzip.compress(TEXT[5000:])),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "without a head": ("deflate", bare(TEXT)),
    "not packed": ("identity", TEXT),
}


@pytest.mark.parametrize("ending", ["length", "chunks", "close"])
@pytest.mark.parametrize("form", PACKED)
def test_what_was_packed_comes_whole(form: str, ending: str) -> None:
    packing, packed = PACKED[form]

    async def work() -> list[bytes]:
        transport = Transport()
        async with talking(answering(sent(packed, packing, ending))) as port:
            try:
                return await lines_of(transport, a_request(f"http://127.0.0.1:{port}"))
            finally:
                await transport.close()

    assert asyncio.run(work()) == LINES


@pytest.mark.parametrize("ending", ["length", "chunks", "close"])
@pytest.mark.parametrize("form", [form for form in PACKED if form != "not packed"])
@pytest.mark.parametrize("missing", [1, 9, 1000])
def test_what_was_packed_and_cut_is_an_error_whatever_its_length_says(
    form: str, ending: str, missing: int
) -> None:
    packing, packed = PACKED[form]

    lines, error = spoken_lines(sent(packed[:-missing], packing, ending))

    assert lines == LINES[: len(lines)]
    assert error.remedy is Remedy.RETRY
    assert "broke off in the middle of its answer" in str(error)


@pytest.mark.parametrize("packing", ["br", "gzip, gzip", "gzip"])
def test_what_cannot_be_unpacked_is_an_error(packing: str) -> None:
    lines, error = spoken_lines(sent(b"first\nsecond\n", packing, "length"))

    assert (lines, error.remedy) == ([], Remedy.RETRY)


def test_much_that_was_packed_into_little_is_read_to_its_very_end() -> None:
    whole = b"x" * (2**18 - 1) + b"\n"

    async def handler(request: web.Request) -> web.Response:
        body = gzip.compress(whole * 40)
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    found = run_against(handler, lambda transport, base: lines_of(transport, a_request(base)))

    assert found == [whole[:-1]] * 40


def test_an_error_that_was_packed_is_named() -> None:
    async def handler(request: web.Request) -> web.Response:
        body = b'{"error":{"message":"slow down","code":"rate_limit_exceeded"}}'
        packed = {"Content-Encoding": "gzip"}
        return web.Response(status=429, body=gzip.compress(body), headers=packed)

    async def work(transport: Transport, base: str) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await lines_of(transport, a_request(base))
        return caught.value

    assert "slow down" in str(run_against(handler, work))


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_a_connection_that_breaks_before_the_first_line_may_be_tried_again(raw: bytes) -> None:
    lines, error = spoken_lines(raw)

    assert lines == []
    assert error.remedy is Remedy.RETRY


def test_whoever_stops_sending_in_the_middle_is_not_waited_for_for_ever() -> None:
    async def work() -> None:
        transport = Transport(silent=0.2)
        async with hanging(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst\n") as base:
            try:
                await lines_of(transport, a_request(base))
            finally:
                await transport.close()

    error = failure_of(work)

    assert error.remedy is Remedy.RETRY
    assert "did not answer in time" in str(error)


def test_an_answer_that_is_no_success_is_named_and_not_read_as_lines() -> None:
    async def handler(request: web.Request) -> web.Response:
        body = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
        return web.json_response(body, status=429, headers={"Retry-After": "7"})

    async def work(transport: Transport, base: str) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await lines_of(transport, a_request(base))
        return caught.value

    error = run_against(handler, work)

    assert (error.remedy, error.retry_after) == (Remedy.WAIT, 7.0)


def test_whoever_stops_reading_lets_go_of_the_connection() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"line\n" * 10_000)
        ended.set()
        return response

    async def work(transport: Transport, base: str) -> bytes:
        async with aclosing(transport.lines(a_request(base), classify_openai)) as found:
            first = await anext(found)
        await ended.wait()
        return first

    ended = asyncio.Event()

    assert run_against(handler, work) == b"line"
