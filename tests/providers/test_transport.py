"""The way out: any exchange comes back whatever its status, and files go up from disk."""

import gzip
import hashlib
import tracemalloc
from pathlib import Path

import pytest
from aiohttp import web

from quire.domain.errors import ProviderError, Remedy
from quire.providers.decompression import Decompressor
from quire.providers.transport import Transport
from tests.providers.http_calls import failure_of
from tests.providers.sample_calls import KEY
from tests.providers.transports import MIB, a_request, hanging, run_against


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "PATCH"])
@pytest.mark.parametrize("status", [200, 204, 302, 404, 500])
def test_an_exchange_brings_back_any_status_of_any_method(method: str, status: int) -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        said = b"" if status == 204 else f"{request.method} {await request.text()}".encode()
        return web.Response(status=status, body=said, headers={"X-Thing": "a"})

    found = run_against(
        handler,
        lambda transport, base: transport.exchange(a_request(base, method, b"hello")),
    )

    assert found.status == status
    assert found.headers["x-thing"] == "a"
    assert found.body == (b"" if status == 204 else f"{method} hello".encode())


def test_a_file_goes_up_from_disk_with_its_length_and_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    line = b'{"custom_id":"q2345-1","body":{}}\n'
    path.write_bytes(line * (48 * MIB // len(line)))
    pieces = (b"--head\r\n", path, b"\r\n--tail--\r\n")
    whole = pieces[0] + path.read_bytes() + pieces[2]
    expected, length = hashlib.sha256(whole).hexdigest(), len(whole)
    del whole

    async def handler(request: web.Request) -> web.Response:
        assert request.headers["Content-Length"] == str(length)
        assert "Transfer-Encoding" not in request.headers
        assert request.headers["Content-Type"] == "application/json"
        digest = hashlib.sha256()
        async for part in request.content.iter_chunked(2**16):
            digest.update(part)
        return web.Response(text=digest.hexdigest())

    tracemalloc.start()
    try:
        found = run_against(
            handler,
            lambda transport, base: transport.exchange(a_request(base, "POST"), pieces),
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found.body.decode() == expected
    assert peak < 12 * MIB


def test_a_file_that_is_not_there_is_told_by_its_name_and_nothing_is_sent(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        raise AssertionError

    async def work(transport: Transport, base: str) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await transport.exchange(a_request(base, "POST"), (tmp_path / "gone.jsonl",))
        return caught.value

    error = run_against(handler, work)

    assert error.remedy is Remedy.RETRY
    assert "gone.jsonl cannot be sent: No such file or directory" in str(error)


def test_a_file_that_shrinks_while_it_is_sent_is_no_success(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"x" * 32 * MIB)

    async def handler(request: web.Request) -> web.Response:
        await request.content.read(1)
        with path.open("r+b") as file:
            file.truncate(MIB)
        await request.content.read()
        raise AssertionError

    async def work(transport: Transport, base: str) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await transport.exchange(a_request(base, "POST"), (path,))
        return caught.value

    error = run_against(handler, work)

    assert error.remedy is Remedy.RETRY
    assert "became shorter while it was sent" in str(error)


def test_a_refusal_before_the_upload_has_ended_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"x" * 8 * MIB)

    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "no"}}, status=401)

    found = run_against(
        handler, lambda transport, base: transport.exchange(a_request(base, "POST"), (path,))
    )

    assert found.status == 401


def test_an_exchange_that_is_never_answered_may_have_been_carried_out() -> None:
    async def work() -> None:
        transport = Transport(silent=0.2)
        async with hanging() as base:
            try:
                await transport.exchange(a_request(base, "POST"))
            finally:
                await transport.close()

    assert failure_of(work).remedy is Remedy.LOST


@pytest.mark.parametrize("cut", [1, 20])
def test_half_of_a_packed_answer_is_kept_where_it_was_paid_and_no_answer_elsewhere(
    cut: int,
) -> None:
    packed = gzip.compress(b'{"choices": [], "id": "a-1"}')

    async def handler(request: web.Request) -> web.Response:
        body = packed if request.method == "GET" else packed[:-cut]
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    async def work(transport: Transport, base: str) -> bytes:
        paid = await transport.post(a_request(base, "POST", b"{}"))
        assert (paid.body, "broke off" in paid.problem) == (packed[:-cut], True)
        with pytest.raises(ProviderError, match="broke off") as caught:
            await transport.exchange(a_request(base, "POST", b"{}"))
        assert caught.value.remedy is Remedy.LOST
        return (await transport.exchange(a_request(base))).body

    assert run_against(handler, work) == b'{"choices": [], "id": "a-1"}'


@pytest.mark.parametrize("tail", [b"\0" * 512, b"\r\n", b"\x1f", b"\x1fno stream"])
@pytest.mark.parametrize("size", [1, 2**16])
def test_what_follows_a_whole_packed_answer_is_ignored(tail: bytes, size: int) -> None:
    packed = gzip.compress(b'{"choices": [],') + gzip.compress(b' "id": "a-1"}') + tail
    decompressor = Decompressor("gzip")

    pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
    parts = [part for piece in pieces for part in decompressor.add(piece)]

    assert b"".join(parts) == b'{"choices": [], "id": "a-1"}'
    assert decompressor.is_whole


def test_half_a_stream_behind_a_whole_one_is_missed() -> None:
    decompressor = Decompressor("gzip")

    parts = list(decompressor.add(gzip.compress(b"whole") + gzip.compress(b"half")[:-9]))

    assert parts[0] == b"whole"
    assert not decompressor.is_whole


def test_a_paid_answer_with_a_tail_is_read() -> None:
    async def handler(request: web.Request) -> web.Response:
        body = gzip.compress(b'{"id": "a-1"}') + b"\n\ntail"
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    found = run_against(
        handler, lambda transport, base: transport.post(a_request(base, "POST", b"{}"))
    )

    assert (found.body, found.problem) == (b'{"id": "a-1"}', "")
