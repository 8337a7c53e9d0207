"""The rehearsal server: real HTTP in front of the simulated model, in a loop or a thread."""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from math import inf
from threading import Thread
from typing import Any, TypeVar

import orjson
from aiohttp import web

from quire.domain.data import Json, json_object
from quire.domain.errors import SettingsInvalid
from quire.rehearsal.batch_runner import SETTLE_TIMEOUT, BatchRunner
from quire.rehearsal.bodies import RequestBody, read_body, start_response, write_body
from quire.rehearsal.exchange import Exchange, ResponsePlan
from quire.rehearsal.request_log import LogEntry
from quire.rehearsal.routes import ServerRoute, guess_vendor, refuse_path, routes
from quire.rehearsal.server_state import ServerConfig, ServerState
from quire.rehearsal.timing import Clock
from quire.rehearsal.vendor_protocol import IncomingRequest

PREFIX = "/_rehearsal"  # of the paths by which the server itself is asked and steered
MOST_ENTRIES = 10_000  # in one answer
LARGEST_BODY = 32 * 1024 * 1024
_SHUTDOWN_SECONDS = 0.2  # seconds that calls in flight have to end when the server stops
_BACKLOG = 1_024  # connections may wait in such numbers while a burst is accepted

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RehearsalServer:
    """A provider's server; it counts what reaches it, and does as its configuration says."""

    def __init__(self, config: ServerConfig | None = None, clock: Clock | None = None) -> None:
        """Read the configuration; SettingsInvalid says what in it cannot be done."""
        self.state = ServerState(config or ServerConfig(), clock or Clock())
        self.url = ""
        self._http_runner: web.AppRunner | None = None
        self._stopping = asyncio.Event()
        self._batch_runner = BatchRunner(self.state, self._write_log)
        self._log_file = _open_log(self.state.config.log) if self.state.config.log else None

    @property
    def log(self) -> list[LogEntry]:
        """Every request so far."""
        return self.state.request_log.entries

    @property
    def stats(self) -> dict[str, Json]:
        """What the requests add up to."""
        return {**self.state.request_log.as_json(), "batches": self.state.jobs.as_json()}

    @property
    def batches(self) -> list[dict[str, Json]]:
        """Every batch that was made, in that order."""
        now = self.state.clock.now()
        return [job.as_json(now) for job in self.state.jobs.jobs.values()]

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Listen, and return the URL; port 0 takes any that is free."""
        app = web.Application(client_max_size=LARGEST_BODY)
        for route in routes():
            app.router.add_route(route.method, route.path, self._handler(route))
        app.router.add_routes(control_routes(self))
        anywhere = ServerRoute("*", "/{path:.*}", "unknown", None, refuse_path)
        app.router.add_route("*", anywhere.path, self._handler(anywhere))
        self._http_runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        await self._http_runner.setup()
        await web.TCPSite(self._http_runner, host, port, backlog=_BACKLOG).start()
        self._batch_runner.start()
        port = self._http_runner.addresses[0][1]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        return self.url

    async def stop(self) -> None:
        """Stop listening, cut off what hangs, and close the log."""
        self._stopping.set()
        await self._batch_runner.stop()
        if self._http_runner is not None:
            await self._http_runner.cleanup()
            self._http_runner = None
        self.state.files.close()
        if self._log_file is not None:
            os.close(self._log_file)
            self._log_file = None

    async def settle(self, patience: float = SETTLE_TIMEOUT) -> None:
        """Wait until the batches that are due have ended, though not for ever."""
        await self._batch_runner.settle(patience)

    def _handler(self, route: ServerRoute) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._serve(request, route)

        return handle

    async def _serve(self, request: web.Request, route: ServerRoute) -> web.StreamResponse:
        state = self.state
        entry = state.request_log.add_request(state.clock.now(), request.method, request.path[:500])
        entry.endpoint = route.endpoint
        plan: ResponsePlan | None = None
        body = RequestBody()
        try:
            if route.batches:
                await self.settle()
            incoming = IncomingRequest(
                request.method, request.path, request.match_info, request.query, request.headers
            )
            body = await read_body(request, route, state.files)
            exchange = Exchange(state, route.vendor or guess_vendor(incoming), entry, incoming)
            exchange.upload = body.upload
            plan = exchange.plan_response(body.action or route.action, body.raw)
            return await self._send(request, entry, plan)
        finally:
            if body.upload is not None:
                body.upload.path.unlink(missing_ok=True)  # unless somebody kept it
            if plan is not None and plan.points:
                state.cache.keep(plan.points, state.clock.now())
            state.request_log.end_request(entry)
            self._write_log(entry)

    async def _send(
        self, request: web.Request, entry: LogEntry, plan: ResponsePlan
    ) -> web.StreamResponse:
        """Wait as long as the answer takes, then send it, or do not."""
        if plan.end == "hang":
            await self._stopping.wait()
        elif plan.wait:
            await self.state.clock.wait(plan.wait)
        transport = request.transport
        if plan.end:
            if transport is not None:
                transport.close()
            return web.Response(status=500)
        response = start_response(plan)
        with suppress(ConnectionError):  # whoever asked has gone
            await response.prepare(request)
            entry.status = plan.status
            whole = await write_body(response, plan)
            if not whole and transport is not None:
                transport.close()
            entry.delivered = transport is not None and not transport.is_closing()
        return response

    def _write_log(self, entry: LogEntry) -> None:
        if self._log_file is not None:
            os.write(self._log_file, orjson.dumps(entry.as_json()) + b"\n")


def _open_log(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SettingsInvalid(
            f"the log {path} cannot be written ({error.strerror}); give --log another path"
        ) from None


class _ControlApi:
    def __init__(self, server: RehearsalServer) -> None:
        self._server = server
        self._state = server.state

    async def stats(self, request: web.Request) -> web.Response:
        await self._server.settle()
        return _json_response(self._server.stats)

    async def batches(self, request: web.Request) -> web.Response:
        await self._server.settle()
        found = self._server.batches
        creates = Counter(str(record["tag"]) for record in found)
        return _json_response({"batches": found, "creates": dict(creates)})

    async def log(self, request: web.Request) -> web.Response:
        after = request.query.get("after", "0")
        if not after.isdecimal():
            return _refusal("after must be a request's number")
        entries = self._state.request_log.entries_after(int(after), MOST_ENTRIES)
        following = entries[-1].number if len(entries) == MOST_ENTRIES else None
        listed = [entry.as_json() for entry in entries]
        return _json_response({"requests": listed, "next": following})

    async def reset(self, request: web.Request) -> web.Response:
        self._state.reset()
        return _json_response({"reset": True})

    async def faults(self, request: web.Request) -> web.Response:
        script = (json_object(await request.read()) or {}).get("faults")
        if not isinstance(script, str):
            return _refusal('send {"faults": "429=0.02,skip=0.01"}; "" ends them')
        try:
            self._state.change_faults(script)
        except SettingsInvalid as error:
            return _refusal(str(error))
        return _json_response({"faults": script})

    async def limit(self, request: web.Request) -> web.Response:
        rule = (json_object(await request.read()) or {}).get("limit")
        if not isinstance(rule, str):
            return _refusal('send {"limit": "requests=600"}; "" ends it')
        try:
            self._state.change_limit(rule)
        except SettingsInvalid as error:
            return _refusal(str(error))
        return _json_response({"limit": rule})

    async def clock(self, request: web.Request) -> web.Response:
        seconds = (json_object(await request.read()) or {}).get("advance")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            return _refusal('send {"advance": 300}, in seconds')
        if not 0 <= seconds < inf:
            return _refusal("the clock is never moved back")
        self._state.clock.advance(seconds)
        return _json_response({"now": self._state.clock.now()})


def control_routes(server: RehearsalServer) -> list[web.RouteDef]:
    """The paths under /_rehearsal; nothing that happens there is counted."""
    controls = _ControlApi(server)
    return [
        web.get(f"{PREFIX}/stats", controls.stats),
        web.get(f"{PREFIX}/batches", controls.batches),
        web.get(f"{PREFIX}/log", controls.log),
        web.post(f"{PREFIX}/reset", controls.reset),
        web.post(f"{PREFIX}/faults", controls.faults),
        web.post(f"{PREFIX}/clock", controls.clock),
        web.post(f"{PREFIX}/limit", controls.limit),
    ]


def _json_response(value: Json) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


def _refusal(message: str) -> web.Response:
    body = orjson.dumps({"error": message})
    return web.Response(status=400, body=body, content_type="application/json")


T = TypeVar("T")
_TIMEOUT = 600.0  # seconds to start, to stop, to answer a question, on however busy a machine


class RehearsalThread:
    """A server that runs in another thread, and what may be asked of it meanwhile."""

    def __init__(self, rehearsal: RehearsalServer, loop: asyncio.AbstractEventLoop) -> None:
        """Hold a server that listens."""
        self._rehearsal = rehearsal
        self._loop = loop
        self.url = rehearsal.url

    def stats(self) -> dict[str, Any]:
        """What the requests add up to."""
        return self._call_settled(lambda: self._rehearsal.stats)

    def log(self) -> list[dict[str, Any]]:
        """Every request so far."""
        return self._call_settled(lambda: [entry.as_json() for entry in self._rehearsal.log])

    def entries(self) -> list[LogEntry]:
        """Every request so far, as it is kept."""
        return self._call_settled(lambda: list(self._rehearsal.log))

    def batches(self) -> list[dict[str, Any]]:
        """Every batch that was made, in that order."""
        return self._call_settled(lambda: self._rehearsal.batches)

    def change_faults(self, script: str) -> None:
        """Follow another script from now on."""
        self._call_inside(lambda: self._rehearsal.state.change_faults(script))

    def change_limit(self, rule: str) -> None:
        """Allow more or less from now on."""
        self._call_inside(lambda: self._rehearsal.state.change_limit(rule))

    def advance(self, seconds: float) -> None:
        """Move the server's clock on."""
        self._call_inside(lambda: self._rehearsal.state.clock.advance(seconds))

    def reset(self) -> None:
        """Forget what was seen, kept and taken."""
        self._call_inside(self._rehearsal.state.reset)

    def settle(self) -> None:
        """Wait until the batches that are due have ended."""
        self._call_settled(lambda: None)

    def _call_settled(self, ask: Callable[[], T]) -> T:
        return self._call_inside(ask, settled=True)

    def _call_inside(self, ask: Callable[[], T], *, settled: bool = False) -> T:
        async def call() -> T:
            if settled:
                await self._rehearsal.settle(_TIMEOUT)
            return ask()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(_TIMEOUT)


@contextmanager
def rehearsal_server(
    *, host: str = "127.0.0.1", port: int = 0, clock: Clock | None = None, **options: Any
) -> Iterator[RehearsalThread]:
    """Run a server while the block runs; what else is given is the configuration's."""
    config = ServerConfig(**options)
    ready: Future[RehearsalThread] = Future()
    stop = asyncio.Event()

    async def serve() -> None:
        rehearsal = RehearsalServer(config, clock)
        try:
            await rehearsal.start(host, port)
            ready.set_result(RehearsalThread(rehearsal, asyncio.get_running_loop()))
            await stop.wait()
        finally:
            await rehearsal.stop()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = Thread(target=run, name="rehearsal", daemon=True)
    thread.start()
    server = ready.result(_TIMEOUT)
    try:
        yield server
    finally:
        server._loop.call_soon_threadsafe(stop.set)
        thread.join(_TIMEOUT)
