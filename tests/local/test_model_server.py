"""Whoever asks gets an answer, or is told when to come again; one call is answered at a time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import BytesIO

import aiohttp
import orjson
import pytest
from aiohttp import web

from quire.local.model_server import LARGEST_BODY, QueueingProxy, bind
from tests.local.test_narrow_schema import FIELDS, call
from tests.planning.examples import make_stage
from tests.providers.servers import serving

ASKED = {"model": "smollm2", "messages": [{"role": "user", "content": "Hello?"}]}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Model:
    """Stands in for the model: slow where it is told to be, and it remembers what it was asked."""

    def __init__(self) -> None:
        """Be fast, and answer well."""
        self.seen: list[bytes] = []
        self.passes: list[str] = []
        self.at_once = self.most_at_once = 0
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.entered, self.broken_off = asyncio.Event(), asyncio.Event()
        self.statuses = [200]

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one call."""
        self.seen.append(await request.read())
        self.passes.append(request.headers.get("Authorization", ""))
        self.at_once += 1
        self.entered.set()
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.go_on.wait()
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.broken_off.set()
            raise
        finally:
            self.at_once -= 1
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return web.json_response({"choices": [], "path": request.path}, status=status)


@asynccontextmanager
async def proxy(
    model: Model, turn_timeout: float = 30.0
) -> AsyncIterator[tuple[str, QueueingProxy]]:
    """A doorkeeper before a model; gives the address, and the doorkeeper."""
    runner = web.AppRunner(_application(model), shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    where = f"http://127.0.0.1:{runner.addresses[0][1]}"
    with bind(0) as bound:
        keeper = QueueingProxy(where, {"Authorization": "Bearer pass"}, turn_timeout)
        await keeper.start(bound)
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}", keeper
        finally:
            await keeper.stop()
            await runner.cleanup()


def _application(model: Model) -> web.Application:
    application = web.Application(client_max_size=LARGEST_BODY)
    application.router.add_route("*", "/{path:.*}", model.answer)
    return application


async def post(url: str, body: object = ASKED, path: str = "/v1/chat/completions") -> "ErrorAnswer":
    """Ask, and read the answer."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    async with (
        aiohttp.ClientSession() as session,
        session.post(url + path, data=BytesIO(raw)) as answer,
    ):
        return ErrorAnswer(answer.status, dict(answer.headers), await answer.read())


class ErrorAnswer:
    """What came back."""

    def __init__(self, status: int, headers: dict[str, str], raw: bytes) -> None:
        """Read the body."""
        self.status, self.headers, self.body = status, headers, orjson.loads(raw)

    @property
    def message(self) -> str:
        """What an error says."""
        return str(self.body["error"]["message"])


def test_calls_reach_the_model_one_after_the_other_with_its_pass() -> None:
    async def play() -> None:
        model = Model()
        async with proxy(model) as (url, keeper):
            answer = await asyncio.gather(*(post(url) for _ in range(5)))

            assert [error_answer.status for error_answer in answer] == [200] * 5
            assert (model.most_at_once, keeper.answered) == (1, 5)
            assert set(model.passes) == {"Bearer pass"}
            assert orjson.loads(model.seen[0]) == ASKED

    asyncio.run(play())


def test_who_has_waited_too_long_is_told_to_come_again_instead_of_being_lost() -> None:
    async def play() -> None:
        model = Model()
        model.go_on.clear()
        async with proxy(model, turn_timeout=0.05) as (url, _keeper):
            first = asyncio.ensure_future(post(url))
            await model.entered.wait()
            second = await post(url)
            model.go_on.set()

            assert (second.status, second.headers["Retry-After"]) == (429, "2")
            assert "one call at a time" in second.message
            assert (await first).status == 200
            assert (await post(url)).status == 200

    asyncio.run(play())


def test_a_call_whose_sender_went_away_is_broken_off_and_the_next_has_its_turn() -> None:
    async def play() -> None:
        model = Model()
        model.go_on.clear()
        async with proxy(model) as (url, _keeper):
            gone = asyncio.ensure_future(post(url))
            await model.entered.wait()
            gone.cancel()
            await model.broken_off.wait()
            model.go_on.set()

            assert (await post(url)).status == 200

    asyncio.run(play())


def test_what_the_narrow_form_cannot_bind_is_asked_as_it_came() -> None:
    async def play() -> None:
        model = Model()
        model.statuses = [400, 200]
        asked = orjson.dumps(call(make_stage(FIELDS)))
        async with proxy(model) as (url, keeper):
            answer = await post(url, asked)

            assert (answer.status, keeper.answered) == (200, 1)
            assert b"prefixItems" in model.seen[0]
            assert model.seen[1] == asked

    asyncio.run(play())


def test_an_error_of_the_model_is_passed_on() -> None:
    async def play() -> None:
        model = Model()
        model.statuses = [400]
        async with proxy(model) as (url, keeper):
            assert (await post(url)).status == 400
            assert (len(model.seen), keeper.answered) == (1, 0)

    asyncio.run(play())


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"", 400, "not a JSON object"),
        (b"[1]", 400, "not a JSON object"),
        (b"\xff", 400, "not a JSON object"),
        (b"[" * 5_000, 400, "not a JSON object"),
        (b'{"model": "gpt-6"}', 404, "no model 'gpt-6' here; ask for local/smollm2"),
        (b'{"model": 7}', 404, "no model '7' here"),
        (b" " * (LARGEST_BODY + 1), 413, "more than 1 MB"),
    ],
)
def test_a_call_that_cannot_be_carried_out_is_refused_at_the_door(
    body: bytes, status: int, told: str
) -> None:
    async def play() -> None:
        model = Model()
        async with proxy(model) as (url, _keeper):
            answer = await post(url, body)

            assert answer.status == status
            assert told in answer.message
            assert model.seen == []

    asyncio.run(play())


def test_a_call_nested_beyond_measure_goes_on_as_it_came() -> None:
    async def play() -> None:
        model = Model()
        asked = b'{"messages": ' + b"[" * 500 + b"]" * 500 + b"}"
        async with proxy(model) as (url, _keeper):
            assert (await post(url, asked)).status == 200
            assert model.seen == [asked]

    asyncio.run(play())


@pytest.mark.parametrize("path", ["/", "/v1/completions", "/slots", "/v1/chat/completions/x"])
def test_nothing_else_of_the_runtime_can_be_reached(path: str) -> None:
    async def play() -> None:
        model = Model()
        async with proxy(model) as (url, _keeper):
            answer = await post(url, path=path)

            assert answer.status == 404
            assert model.seen == []

    asyncio.run(play())


def test_the_list_of_models_is_there() -> None:
    async def play() -> None:
        async with (
            proxy(Model()) as (url, _keeper),
            aiohttp.ClientSession() as session,
            session.get(f"{url}/v1/models") as answer,
        ):
            assert (await answer.json())["path"] == "/v1/models"

    asyncio.run(play())


def test_a_model_that_is_gone_is_an_error_to_try_again() -> None:
    async def nobody(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async def play() -> None:
        async with serving(nobody) as where:
            with bind(0) as bound:
                keeper = QueueingProxy(where.removesuffix("/v1"), {})
                await keeper.start(bound)
                answer = await post(f"http://127.0.0.1:{bound.getsockname()[1]}")
                await keeper.stop()

                assert answer.status == 502
                assert "`quire local serve` starts it again" in answer.message

    asyncio.run(play())
