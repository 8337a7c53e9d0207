"""The small model and its server: one call at a time, Retry-After for those that wait too long."""

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from quire.domain.data import JsonObject, json_object
from quire.domain.errors import Error, SettingsInvalid
from quire.local.install import MODEL, RUNTIME_PACKAGE
from quire.local.narrow_schema import narrow_call

WINDOW = 4_096  # tokens, as the catalog says; the model was trained on twice as many, read slowly
_PROMPT_CACHE_MB = 64  # MB of prompts that need not be read again
LARGEST_BODY = 2**20  # many times what the window holds
TURN_TIMEOUT = 45.0  # seconds; whoever asks counts a call as lost after 120
RETRY_AFTER = "2"  # seconds
_SHUTDOWN_SECONDS = 0.2  # seconds that calls in flight have to end when the server stops


class LoadedModel:
    """The model in memory; it answers in OpenAI's words to whoever has its pass."""

    def __init__(self, weights: Path, threads: int = 1) -> None:
        """Read the weights, which takes seconds; Error says that they cannot be read."""
        self._api_key = secrets.token_hex(16)
        runtime = import_module(RUNTIME_PACKAGE)
        try:
            self._server: Any = runtime.Server(self._params(runtime, weights, threads))
        except RuntimeError as error:
            raise Error(
                f"{weights} could not be loaded ({error}); delete it, and `quire local install`"
                " fetches it again"
            ) from None
        self.url: str = self._server.listening_address
        self.headers = {"Authorization": f"Bearer {self._api_key}"}

    def __enter__(self) -> "LoadedModel":
        """Use as a context, closed at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Give the memory back; the runtime ends when nobody refers to it."""
        self._server = None

    def _params(self, runtime: Any, weights: Path, threads: int) -> Any:
        params = runtime.CommonParams()
        params.model.path = str(weights)
        params.model_alias = {MODEL}
        params.n_ctx = WINDOW
        params.n_parallel = 1  # one call at a time: two at once would only make both slow
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = _PROMPT_CACHE_MB
        params.api_keys = [self._api_key]
        params.ui = False
        params.verbosity = 0
        return params


class QueueingProxy:
    """Lets calls in, one after the other."""

    def __init__(
        self, url: str, headers: Mapping[str, str], turn_timeout: float = TURN_TIMEOUT
    ) -> None:
        """Stand before the model that answers at a URL to those with these headers."""
        self.answered = 0
        self._url = url
        self._headers = headers
        self._turn_timeout = turn_timeout
        self._turn = asyncio.Lock()  # those who wait get it in the order in which they came
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None

    async def start(self, bound: socket.socket) -> None:
        """Listen at an address that was taken before."""
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        app.router.add_route("*", "/{path:.*}", _refuse_path)
        # A call whose sender went away is not worth the model's time: it is cancelled.
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        await web.SockSite(self._runner, bound).start()

    async def stop(self) -> None:
        """Stop listening, and cut off what is in flight."""
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _complete(self, request: web.Request) -> web.Response:
        try:
            raw = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return _refusal(413, "request_too_large", f"more than {LARGEST_BODY >> 20} MB")
        body = _parse_call(raw)
        if isinstance(body, web.Response):
            return body
        try:
            async with asyncio.timeout(self._turn_timeout):
                await self._turn.acquire()
        except TimeoutError:
            message = f"{MODEL} answers one call at a time, and others came first; come again"
            return _refusal(429, "busy", message, {"Retry-After": RETRY_AFTER})
        try:
            return await self._answer(raw, body)
        finally:
            self._turn.release()

    async def _answer(self, raw: bytes, body: JsonObject) -> web.Response:
        """Answer in the narrowest form that the model can be held to."""
        try:
            narrow = orjson.dumps(narrow_call(body))
        except orjson.JSONEncodeError:  # nested too deeply to be written again
            narrow = raw
        answer = await self._ask("POST", "/v1/chat/completions", narrow)
        if answer.status == 400 and narrow != raw:  # a pattern, say, that it cannot bind
            answer = await self._ask("POST", "/v1/chat/completions", raw)
        self.answered += answer.status == 200
        return answer

    async def _models(self, request: web.Request) -> web.Response:
        return await self._ask("GET", "/v1/models")

    async def _ask(self, method: str, path: str, raw: bytes | None = None) -> web.Response:
        assert self._session is not None
        headers = {**self._headers, "Content-Type": "application/json"}
        try:
            async with self._session.request(
                method, self._url + path, data=raw, headers=headers
            ) as answer:
                body = await answer.read()
        except aiohttp.ClientError:
            message = f"{MODEL} broke off; `quire local serve` starts it again"
            return _refusal(502, "broken", message)
        return web.Response(status=answer.status, body=body, content_type=answer.content_type)


def _parse_call(raw: bytes) -> JsonObject | web.Response:
    """Read a call, or refuse it before it waits for its turn."""
    body = json_object(raw)
    if body is None:
        return _refusal(400, "invalid_request_error", "the body is not a JSON object")
    model = body.get("model", MODEL)
    if model != MODEL:
        message = f"there is no model {str(model)[:80]!r} here; ask for local/{MODEL}"
        return _refusal(404, "model_not_found", message)
    return body


async def _refuse_path(request: web.Request) -> web.Response:
    return _refusal(404, "not_found", "there are /v1/chat/completions and /v1/models here")


def _refusal(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    """An error in OpenAI's words."""
    body = orjson.dumps({"error": {"message": message, "type": code, "code": code}})
    form = "application/json"
    return web.Response(status=status, body=body, content_type=form, headers=headers or {})


HOST = "127.0.0.1"  # nobody is asked for a key, so nobody else may reach it
PORT = 8901  # as the provider `local` expects it


def serve(weights: Path, port: int, threads: int, announce: Callable[[str], None]) -> int:
    """Answer calls until Ctrl-C or SIGTERM; `announce` hears the address. Returns how many."""
    with bind(port) as bound, LoadedModel(weights, threads) as model:
        return asyncio.run(_serve(model, bound, announce))


def bind(port: int) -> socket.socket:
    """Take an address before anything slow is done; port 0 takes any that is free."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen()  # whoever comes while the model is loading waits a little
    except OSError as error:
        bound.close()
        raise SettingsInvalid(
            f"cannot listen on {HOST}:{port} ({error.strerror}); is `quire local serve` running"
            " already? Else give --port another value"
        ) from None
    return bound


async def _serve(model: LoadedModel, bound: socket.socket, announce: Callable[[str], None]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    proxy = QueueingProxy(model.url, model.headers)
    try:
        await proxy.start(bound)
        announce(f"http://{HOST}:{bound.getsockname()[1]}/v1")
        await stop.wait()
    finally:
        await proxy.stop()
    return proxy.answered
