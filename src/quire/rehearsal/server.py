"""The rehearsal server: real HTTP in front of the simulated model, with everything on record."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson
from aiohttp import web

from quire.domain.data import Json
from quire.domain.errors import SettingsInvalid
from quire.rehearsal.batch_runner import Runner
from quire.rehearsal.clock import Clock
from quire.rehearsal.controlling import control_routes
from quire.rehearsal.counting import Entry
from quire.rehearsal.dialects.dialect import Incoming
from quire.rehearsal.exchange import Decision, Exchange
from quire.rehearsal.memory import Memory, Scene
from quire.rehearsal.routes import Route, nowhere, routes, spoken_to
from quire.rehearsal.transfer import Taken, made_of, take, write

LARGEST_BODY = 32 * 1024 * 1024
_GRACE = 0.2  # seconds that calls in flight have to end when the server stops
_BACKLOG = 1_024  # connections may wait in such numbers while a burst is accepted

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Rehearsal:
    """A provider's server; it counts what reaches it, and does as its scene says."""

    def __init__(self, scene: Scene | None = None, clock: Clock | None = None) -> None:
        """Read the scene; SettingsInvalid says what about it cannot be played."""
        self.memory = Memory(scene or Scene(), clock or Clock())
        self.url = ""
        self._runner: web.AppRunner | None = None
        self._stopping = asyncio.Event()
        self._running = Runner(self.memory, self._write_log)
        self._log_file = _open_log(self.memory.scene.log) if self.memory.scene.log else None

    @property
    def log(self) -> list[Entry]:
        """Every request so far."""
        return self.memory.witness.entries

    @property
    def stats(self) -> dict[str, Json]:
        """What the requests add up to."""
        return {**self.memory.witness.as_json(), "batches": self.memory.jobs.as_json()}

    @property
    def batches(self) -> list[dict[str, Json]]:
        """Every batch that was made, in that order."""
        now = self.memory.clock.now()
        return [job.as_json(now) for job in self.memory.jobs.jobs.values()]

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Listen, and return the URL; port 0 takes any that is free."""
        app = web.Application(client_max_size=LARGEST_BODY)
        for route in routes():
            app.router.add_route(route.method, route.path, self._handler(route))
        app.router.add_routes(control_routes(self))
        anywhere = Route("*", "/{path:.*}", "unknown", None, nowhere)
        app.router.add_route("*", anywhere.path, self._handler(anywhere))
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=_GRACE
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, backlog=_BACKLOG)
        await site.start()
        self._running.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        return self.url

    async def stop(self) -> None:
        """Stop listening, cut off what hangs, and close the log."""
        self._stopping.set()
        await self._running.stop()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        self.memory.shelf.close()
        if self._log_file is not None:
            os.close(self._log_file)
            self._log_file = None

    async def settle(self) -> None:
        """Wait until the batches that are due have ended, though not for ever."""
        await self._running.settle()

    def _handler(self, route: Route) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._serve(request, route)

        return handle

    async def _serve(self, request: web.Request, route: Route) -> web.StreamResponse:
        memory = self.memory
        entry = memory.witness.arrive(memory.clock.now(), request.method, request.path[:500])
        entry.endpoint = route.endpoint
        decision: Decision | None = None
        taken = Taken()
        try:
            if route.batches:
                await self.settle()
            incoming = Incoming(
                request.method, request.path, request.match_info, request.query, request.headers
            )
            taken = await take(request, route, memory.shelf)
            exchange = Exchange(memory, route.vendor or spoken_to(incoming), entry, incoming)
            exchange.upload = taken.upload
            decision = exchange.decide(taken.act or route.act, taken.raw)
            return await self._send(request, entry, decision)
        finally:
            if taken.upload is not None:
                taken.upload.path.unlink(missing_ok=True)  # unless somebody kept it
            if decision is not None and decision.points:
                memory.cache.keep(decision.points, memory.clock.now())
            memory.witness.end(entry)
            self._write_log(entry)

    async def _send(
        self, request: web.Request, entry: Entry, decision: Decision
    ) -> web.StreamResponse:
        """Wait as long as the answer takes, then send it, or do not."""
        if decision.end == "hang":
            await self._stopping.wait()
        elif decision.wait:
            await asyncio.sleep(decision.wait)
        transport = request.transport
        if decision.end:
            if transport is not None:
                transport.close()
            return web.Response(status=500)
        response = made_of(decision)
        with suppress(ConnectionError):  # whoever asked has gone
            await response.prepare(request)
            entry.status = decision.status
            whole = await write(response, decision)
            if not whole and transport is not None:
                transport.close()
            entry.delivered = transport is not None and not transport.is_closing()
        return response

    def _write_log(self, entry: Entry) -> None:
        if self._log_file is not None:
            os.write(self._log_file, orjson.dumps(entry.as_json()) + b"\n")


def _open_log(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SettingsInvalid(
            f"the log {path} cannot be written ({error.strerror}); give --log another path"
        ) from None
