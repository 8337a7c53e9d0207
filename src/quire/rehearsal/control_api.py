"""The server's own paths under /_rehearsal: statistics, log, faults, clock, reset."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import Protocol

import orjson
from aiohttp import web

from quire.domain.data import Json, json_object
from quire.domain.errors import SettingsInvalid
from quire.rehearsal.server_state import ServerState

PREFIX = "/_rehearsal"
MOST_ENTRIES = 10_000  # in one answer


class ControlledServer(Protocol):
    """The server, as far as its own paths need it."""

    state: ServerState

    @property
    def stats(self) -> Mapping[str, Json]:
        """What the requests add up to."""

    @property
    def batches(self) -> Sequence[Mapping[str, Json]]:
        """Every batch that was made, in that order."""

    async def settle(self) -> None:
        """Wait until the batches that are due have ended."""


class _ControlApi:
    def __init__(self, server: ControlledServer) -> None:
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
        return _json_response(
            {"requests": [entry.as_json() for entry in entries], "next": following}
        )

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

    async def clock(self, request: web.Request) -> web.Response:
        seconds = (json_object(await request.read()) or {}).get("advance")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            return _refusal('send {"advance": 300}, in seconds')
        if not 0 <= seconds < inf:
            return _refusal("the clock is never moved back")
        self._state.clock.advance(seconds)
        return _json_response({"now": self._state.clock.now()})


def control_routes(server: ControlledServer) -> list[web.RouteDef]:
    """The paths under /_rehearsal; nothing that happens there is counted."""
    controls = _ControlApi(server)
    return [
        web.get(f"{PREFIX}/stats", controls.stats),
        web.get(f"{PREFIX}/batches", controls.batches),
        web.get(f"{PREFIX}/log", controls.log),
        web.post(f"{PREFIX}/reset", controls.reset),
        web.post(f"{PREFIX}/faults", controls.faults),
        web.post(f"{PREFIX}/clock", controls.clock),
    ]


def _json_response(value: Json) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


def _refusal(message: str) -> web.Response:
    body = orjson.dumps({"error": message})
    return web.Response(status=400, body=body, content_type="application/json")
