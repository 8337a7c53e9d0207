"""Asking about batches: what nobody knows the end of is LOST only where a batch may be made."""

import socket
from collections.abc import Awaitable, Callable

import orjson
import pytest
from aiohttp import web

from quire.domain.batches import BatchEnd, BatchStatus
from quire.domain.errors import ProviderError, Remedy
from quire.providers.batch_requests import (
    ApiCaller,
    not_found_error,
    read_counts,
    reference,
)
from quire.providers.protocol import HttpRequest
from quire.providers.transport import Transport
from tests.providers.http_calls import failure_of
from tests.providers.sample_calls import KEY, account
from tests.providers.servers import Handler, answering, serving, talking
from tests.providers.transports import a_request, classify_openai, hanging, run_against

Asked = Callable[[Transport, HttpRequest], Awaitable[object]]


def caller(transport: Transport) -> ApiCaller:
    return ApiCaller(transport, classify_openai, account())


async def create(transport: Transport, request: HttpRequest) -> str:
    return await caller(transport).create(request, "id")


async def get(transport: Transport, request: HttpRequest) -> object:
    return await caller(transport).ask_json(request, missing="batch b1")


async def read(transport: Transport, request: HttpRequest) -> object:
    return [line async for line in caller(transport).lines(request, "batch b1")]


def answered(ask: Asked, status: int, body: object, **headers: str) -> ProviderError:
    """What is raised where a server answers so; it is asked once."""
    calls: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        calls.append(request.path)
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=raw, headers=named)

    error = against(ask, handler)
    assert len(calls) == 1
    return error


def against(ask: Asked, handler: Handler) -> ProviderError:
    async def work() -> None:
        async with serving(handler) as base:
            await with_transport(ask, base)

    return failure_of(work)


async def with_transport(ask: Asked, base: str, silent: float = 10) -> None:
    transport = Transport(silent=silent)
    try:
        await ask(transport, a_request(base, "POST" if ask is create else "GET"))
    finally:
        await transport.close()


@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 520, 529, 408, 409, 425])
@pytest.mark.parametrize("body", [{"error": {"message": f"oh {KEY}"}}, b"<html>oh</html>", b""])
def test_a_create_that_the_server_failed_at_may_have_been_made(status: int, body: object) -> None:
    error = answered(create, status, body)

    assert error.remedy is Remedy.LOST
    assert str(error).startswith("nobody knows whether the batch was made: ")
    assert str(status) in str(error)


@pytest.mark.parametrize(
    "body", [b"", b"<html>ok</html>", b'{"id":"b', b"[]", {"id": None}, {"id": ["b1"]}, {"id": ""}]
)
def test_a_create_that_was_accepted_without_a_name_may_have_been_made(body: object) -> None:
    error = answered(create, 200, body)

    assert error.remedy is Remedy.LOST
    assert "answered 200 without naming it" in str(error)


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"])
def test_a_create_whose_connection_breaks_may_have_been_made_and_is_not_sent_again(
    raw: bytes,
) -> None:
    async def work() -> None:
        async with talking(answering(raw)) as port:
            await with_transport(create, f"http://127.0.0.1:{port}")

    assert failure_of(work).remedy is Remedy.LOST


def test_a_create_that_is_not_answered_in_time_may_have_been_made() -> None:
    async def work() -> None:
        async with hanging() as base:
            await with_transport(create, base, silent=0.2)

    error = failure_of(work)

    assert error.remedy is Remedy.LOST
    assert "did not answer in time" in str(error)


def test_a_create_that_reached_nobody_was_not_made() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    silent = failure_of(lambda: with_transport(create, f"http://127.0.0.1:{port}"))
    nowhere = failure_of(lambda: with_transport(create, "http://nowhere.invalid"))

    assert silent.remedy is Remedy.RETRY
    assert nowhere.remedy is Remedy.FIX_ACCOUNT


@pytest.mark.parametrize(
    ("status", "body", "remedy"),
    [
        (400, {"error": {"message": "bad"}}, Remedy.FIX_REQUEST),
        (413, {"error": {"message": "large"}}, Remedy.FIX_REQUEST),
        (422, {"error": {"message": "bad"}}, Remedy.FIX_REQUEST),
        (401, {"error": {"message": "who", "code": "invalid_api_key"}}, Remedy.FIX_ACCOUNT),
        (403, {"error": {"message": "no"}}, Remedy.FIX_ACCOUNT),
        (404, b"<html>Not found</html>", Remedy.FIX_ACCOUNT),
        (429, {"error": {"message": "slow"}}, Remedy.WAIT),
        (429, {"error": {"code": "insufficient_quota"}}, Remedy.FIX_ACCOUNT),
        (302, b"", Remedy.FIX_ACCOUNT),
    ],
)
def test_a_create_that_was_refused_was_not_made(status: int, body: object, remedy: Remedy) -> None:
    error = answered(create, status, body)

    assert error.remedy is remedy
    assert error.bad_key is (status in (401, 403))


def test_a_create_says_how_long_to_wait() -> None:
    assert answered(create, 429, {}, Retry_After="9").retry_after == 9.0


def test_a_create_returns_the_name_of_what_was_made() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"id": "batch_1"})

    found = run_against(handler, lambda way, base: create(way, a_request(base, "POST")))

    assert found == "batch_1"


@pytest.mark.parametrize("ask", [get, read])
def test_what_costs_nothing_is_never_lost(ask: Asked) -> None:
    async def broken() -> None:
        async with talking(answering(b"")) as port:
            await with_transport(ask, f"http://127.0.0.1:{port}")

    async def late() -> None:
        async with hanging() as base:
            await with_transport(ask, base, silent=0.2)

    assert failure_of(broken).remedy is Remedy.RETRY
    assert failure_of(late).remedy is Remedy.RETRY
    assert answered(ask, 500, {"error": {"message": KEY}}).remedy is Remedy.RETRY
    assert answered(ask, 413, {}).remedy is Remedy.FIX_REQUEST


@pytest.mark.parametrize("ask", [get, read])
def test_what_is_not_found_may_be_somebody_elses(ask: Asked) -> None:
    error = answered(ask, 404, {"error": {"message": "No such batch"}})

    assert (error.remedy, error.bad_key) == (Remedy.FIX_ACCOUNT, False)
    assert "batch b1 is not found with this key, which does not prove that it is gone" in str(error)


@pytest.mark.parametrize("body", [b"", b"<html>Sign in</html>", b'{"id":', b"[1]", b"null"])
def test_an_answer_that_is_no_object_is_asked_for_again(body: bytes) -> None:
    error = answered(get, 200, body)

    assert error.remedy is Remedy.RETRY
    assert "no JSON object" in str(error)


def test_no_key_is_in_what_comes_back() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps({"echo": KEY}) + b"\n\n  \n" + KEY.encode())

    async def whole(way: Transport, base: str) -> bytes:
        return (await caller(way).ask(a_request(base))).body

    body = run_against(handler, whole)
    found = run_against(handler, lambda way, base: read(way, a_request(base)))

    assert KEY.encode() not in body
    assert found == [b'{"echo":"..."}', b"..."]


@pytest.mark.parametrize(
    ("status", "stands", "raised"),
    [
        (200, BatchStatus(), None),
        (400, BatchStatus(end=BatchEnd.COMPLETED), None),
        (409, BatchStatus(cancelling=True), None),
        (409, BatchStatus(), Remedy.RETRY),
        (500, BatchStatus(end=BatchEnd.COMPLETED), Remedy.RETRY),
        (404, BatchStatus(end=BatchEnd.COMPLETED), Remedy.FIX_ACCOUNT),
    ],
)
def test_cancelling_what_has_ended_is_no_error(
    status: int, stands: BatchStatus, raised: Remedy | None
) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "no"}}, status=status)

    async def poll() -> BatchStatus:
        return stands

    async def work(way: Transport, base: str) -> Remedy | None:
        try:
            await caller(way).cancel(a_request(base, "POST"), poll, "batch b1")
        except ProviderError as error:
            return error.remedy
        return None

    assert run_against(handler, work) is raised


def test_names_and_numbers_are_taken_for_nothing_but_what_they_are() -> None:
    assert reference("batch_1") == "batch_1"
    assert [reference(string) for string in (None, 3, "", "a\nb", "x" * 301, ["a"])] == [""] * 6
    assert read_counts({"total": 3, "failed": None, "completed": True, "x": "1", "y": 10**30}) == {
        "total": 3
    }
    assert "\n" not in str(not_found_error("openai", "batch a\nb"))
