"""Calls over HTTP: answers come back whole, every failure is named, and no key is ever shown."""

import asyncio
import socket
import struct

import orjson
import pytest
from aiohttp import web

from quire.domain.accounts import Account, Secret
from quire.domain.errors import Remedy
from quire.providers.compatible import Compatible
from quire.providers.http import HttpProvider, refusal
from quire.providers.openai import OpenAI
from quire.providers.protocol import HttpResponse, RawResponse
from quire.providers.redaction import redact_answer
from quire.providers.transport import LARGEST_BODY, Transport
from tests.providers.exchanges.openai import RESPONSES_ANSWERS
from tests.providers.http_calls import error_against, error_answered, error_spoken, failure_of, send
from tests.providers.sample_calls import CALL, KEY, account, make_call
from tests.providers.servers import answering, serving, talking

BODY, REPLY = RESPONSES_ANSWERS["answer"]


def test_an_answer_comes_back_as_it_was_sent_with_what_it_says_of_our_limits() -> None:
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        assert orjson.loads(await request.read())["model"] == "gpt-6-luna"
        return web.json_response(BODY, headers={"x-ratelimit-limit-requests": "60"})

    async def work() -> RawResponse:
        async with serving(handler) as base:
            return await send(base)

    sent = asyncio.run(work())

    assert OpenAI().decode(sent.raw) == REPLY
    assert sent.rates is not None
    assert sent.rates.limits.requests == 60
    assert seen[0].path == "/v1/responses"
    assert seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert seen[0].headers["User-Agent"].startswith("quire/")


def test_calls_share_connections_and_loops_do_not() -> None:
    ports: list[int] = []
    transport = Transport()

    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return web.json_response(BODY)

    async def work() -> None:
        provider = HttpProvider(OpenAI(), transport)
        async with serving(handler) as base:
            for _ in range(3):
                await provider.send(CALL, account("openai", base))
            await provider.close()

    asyncio.run(work())
    asyncio.run(work())

    assert len(ports) == 6
    assert len(set(ports)) == 2


@pytest.mark.parametrize("body", [b"", b"<html>Sign in</html>", b'{"half":', b"\xff\xfe"])
def test_a_success_that_cannot_be_read_is_brought_back_all_the_same(body: bytes) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="text/html")

    async def work() -> RawResponse:
        async with serving(handler) as base:
            return await send(base)

    assert asyncio.run(work()).raw == body


def test_where_nothing_listens_the_call_was_not_carried_out() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    error = failure_of(lambda: send(f"http://127.0.0.1:{port}/v1"))

    assert error.remedy is Remedy.RETRY
    assert f"nothing listens at 127.0.0.1:{port}" in str(error)


def test_a_host_that_does_not_exist_needs_a_person() -> None:
    error = failure_of(lambda: send("http://nowhere.invalid/v1"))

    assert (error.remedy, error.bad_key) == (Remedy.FIX_ACCOUNT, False)
    assert "no host nowhere.invalid; check the URL or the network" in str(error)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
    ],
)
def test_a_connection_that_breaks_after_the_request_may_have_been_paid_for(raw: bytes) -> None:
    error = error_spoken(raw)

    assert error.remedy is Remedy.LOST
    assert "127.0.0.1" in str(error)


@pytest.mark.parametrize(
    ("raw", "came", "why"),
    [
        (b"Content-Length: 1000\r\n\r\n{", b"{", "broke off"),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\n{....", b"{....", "broke off"),
        (b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope", b"nope", "broke off"),
        (b"Content-Encoding: br\r\nContent-Length: 4\r\n\r\nnope", b"nope", "packed as 'br'"),
    ],
)
def test_what_arrived_and_cannot_be_read_is_brought_back_as_it_came(
    raw: bytes, came: bytes, why: str
) -> None:
    async def work() -> RawResponse:
        async with talking(answering(b"HTTP/1.1 200 OK\r\n" + raw)) as port:
            return await send(f"http://127.0.0.1:{port}/v1")

    response = asyncio.run(work())

    assert (response.raw, why in response.problem) == (came, True)


def test_an_error_in_an_encoding_we_do_not_speak_is_known_by_its_status() -> None:
    error = error_answered(429, b"\x0b\x02", Content_Encoding="br")

    assert error.remedy is Remedy.WAIT


def test_every_call_says_which_encodings_we_speak() -> None:
    asked: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.headers["Accept-Encoding"])
        return web.json_response({})

    async def work() -> None:
        async with serving(handler) as base:
            await send(base)

    asyncio.run(work())

    assert asked == ["gzip, deflate"]


def test_a_connection_that_is_reset_may_have_been_paid_for() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def work() -> None:
        async with talking(talk) as port:
            await send(f"http://127.0.0.1:{port}/v1")

    assert failure_of(work).remedy is Remedy.LOST


@pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"+OK POP3 ready\r\n\r\n"])
def test_a_server_of_another_kind_is_a_wrong_address(raw: bytes) -> None:
    error = error_spoken(raw)

    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "not in HTTP" in str(error)


def test_whoever_waits_for_a_server_that_never_answers_can_stop_waiting() -> None:
    reached = asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def work() -> bool:
        async with serving(handler) as base:
            waiting = asyncio.ensure_future(send(base))
            await asyncio.wait_for(reached.wait(), 10)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            return waiting.cancelled()

    assert asyncio.run(work())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_says_where_to_go(status: int) -> None:
    calls: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        calls.append(request.path)
        to = f"https://elsewhere.test/v2/responses?key={KEY}"
        return web.Response(status=status, headers={"Location": to})

    error = error_against(handler)

    assert calls == ["/v1/responses"]
    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "it points to https://elsewhere.test/v2/responses; put that" in str(error)


def test_a_wrong_key_is_known_as_one_and_an_echo_of_it_is_hidden() -> None:
    said = f"Incorrect API key provided: {KEY}."
    error = error_answered(401, {"error": {"message": said, "code": "invalid_api_key"}})

    assert (error.remedy, error.bad_key) == (Remedy.FIX_ACCOUNT, True)
    assert "Incorrect API key provided" in str(error)


def test_a_short_key_is_hidden_in_complaints_and_not_in_answers() -> None:
    mine = Account(provider="openai", credential="", key=Secret("pass12"))
    body = b'{"error": {"message": "pass12 is no key"}}'

    error = refusal(OpenAI().classify, HttpResponse(401, {}, body), mine, "here")

    assert "pass12" not in str(error)
    assert "is no key" in str(error)
    assert redact_answer(b"the word pass12", mine) == b"the word pass12"


def test_an_echo_of_the_key_beyond_what_is_shown_leaves_no_part_of_it() -> None:
    said = "x" * 165 + KEY + "y" * 500
    error = error_answered(400, {"error": {"message": said}})

    assert KEY[:8] not in str(error)


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(502, Remedy.RETRY), (503, Remedy.WAIT), (403, Remedy.FIX_ACCOUNT), (404, Remedy.FIX_ACCOUNT)],
)
def test_a_page_is_nobody_who_saw_the_key(status: int, remedy: Remedy) -> None:
    page = b"<!DOCTYPE html><html><body><h1>Bad gateway</h1></body></html>" * 99
    error = error_answered(status, page)

    assert (error.remedy, error.bad_key) == (remedy, False)
    assert str(error).startswith(f"{status} from 127.0.0.1:")
    assert "an HTML page, not an API answer" in str(error)


@pytest.mark.parametrize(
    ("status", "body", "perhaps"),
    [
        (403, {"error": {"message": "content blocked by policy"}}, True),
        (404, {"error": {"message": "no"}}, True),
        (403, b"<html>blocked</html>", True),
        (400, b"<html>blocked</html>", True),
        (400, {"error": {"message": "no"}}, False),
        (401, {"error": {"message": "no"}}, False),
        (403, {"error": {"code": "insufficient_quota", "message": "no money"}}, False),
    ],
)
def test_only_what_a_firewall_or_moderator_may_say_may_concern_one_call(
    status: int, body: object, perhaps: bool
) -> None:
    assert error_answered(status, body).may_concern_one is perhaps


def test_an_error_in_many_lines_and_colours_is_shown_in_one() -> None:
    said = "\x1b[31mred\x1b[0m\r\nline two\u202e\x00" + "long " * 500
    error = error_answered(400, {"error": {"message": said}})

    assert "line two" in str(error)


def test_a_rate_limit_brings_its_waiting_time_along() -> None:
    error = error_answered(429, {"error": {"code": "rate_limit_exceeded"}}, Retry_After="17")

    assert (error.remedy, error.retry_after) == (Remedy.WAIT, 17.0)


def test_an_error_that_comes_with_a_200_is_raised() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"error": {"code": 402, "message": f"No credits for {KEY}"}})

    error = error_against(handler, Compatible("openrouter"))

    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "No credits" in str(error)


@pytest.mark.parametrize(
    ("status", "packed", "remedy"),
    [(200, False, Remedy.LOST), (200, True, Remedy.LOST), (500, False, Remedy.RETRY)],
)
def test_a_body_without_end_is_not_read_to_its_end(
    status: int, packed: bool, remedy: Remedy
) -> None:
    written = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse(status=status)
        if packed:
            response.enable_compression(web.ContentCoding.gzip)
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" " * 2**20)
            written += 2**20
        await response.write_eof()
        return response

    error = error_against(handler)

    assert error.remedy is remedy
    assert written < 200 * 2**20 or packed
    assert status != 200 or f"more than {LARGEST_BODY >> 20} MB" in str(error)


def test_a_text_that_cannot_be_written_is_the_calls_own_fault() -> None:
    error = failure_of(lambda: send("http://127.0.0.1:1/v1", call=make_call(user="half \ud83d")))

    assert error.remedy is Remedy.FIX_REQUEST
    assert "cannot be written as JSON" in str(error)


@pytest.mark.parametrize(
    "base",
    ["https://x.test:99999/v1", "http://a..b/v1", "http://user:secret-pass@127.0.0.1:1/v1"],
)
def test_an_address_that_cannot_be_used_needs_a_person(base: str) -> None:
    error = failure_of(lambda: send(base))

    assert error.remedy is Remedy.FIX_ACCOUNT
    assert "base URL" in str(error)
    assert "secret-pass" not in str(error)
