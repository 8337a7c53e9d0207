"""Bodies on their way in and out: small ones in memory, large ones from and to the disk."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from quire.rehearsal.batches.files import Shelf, Upload
from quire.rehearsal.exchange import Decision
from quire.rehearsal.forms import read_form
from quire.rehearsal.routes import Act, Route, too_large, unreadable

_PIECE = 1 << 18  # bytes
_FORM_ROOM = 100_000  # bytes that a form may need besides its file


class Taken(NamedTuple):
    """A body that was read; where that failed, an act that says so."""

    raw: bytes = b""
    upload: Upload | None = None
    act: Act | None = None


async def take(request: web.Request, route: Route, shelf: Shelf) -> Taken:
    """Read a body, to memory or to disk; where that fails, what is left to do is to say so."""
    try:
        if not route.most:
            return Taken(await request.read())
        return await _to_disk(request, shelf.fresh(), route.most)
    except web.HTTPRequestEntityTooLarge:
        return Taken(act=too_large)
    except Exception:  # noqa: BLE001 - what a stranger calls a form may fail in any way
        return Taken(act=unreadable)


def made_of(decision: Decision) -> web.StreamResponse:
    """Begin an answer."""
    if decision.file is None:
        return web.Response(
            status=decision.status or 500,
            body=decision.body,
            headers=decision.headers,
            content_type=decision.content_type,
        )
    response = web.StreamResponse(status=decision.status, headers=decision.headers)
    response.content_type = decision.content_type
    response.content_length = decision.file.stat().st_size
    return response


async def write(response: web.StreamResponse, decision: Decision) -> bool:
    """Send what the answer has, in pieces where it is a file; say whether that was all of it."""
    if decision.file is not None:
        left = decision.sent
        with decision.file.open("rb") as file:
            while left and (piece := file.read(min(left, _PIECE))):
                left -= len(piece)
                await response.write(piece)
        if decision.sent < (response.content_length or 0):
            return False
    await response.write_eof()
    return True


async def _to_disk(request: web.Request, path: Path, most: int) -> Taken:
    """Write a body to a file: the body itself, or the file that a form carries."""
    try:
        if request.content_type.startswith("multipart/"):
            upload = await _form_to_disk(request, path, most)
        else:
            upload = Upload(path, await _copied(request.content.readany, path, most))
    except BaseException:
        path.unlink(missing_ok=True)  # noqa: ASYNC240 - a file of ours, gone in microseconds
        raise
    return Taken(upload=upload)


async def _form_to_disk(request: web.Request, path: Path, most: int) -> Upload:
    """Keep the file that a form carries; the whole form is read first, however it arrives."""
    whole = path.with_suffix(".form")
    try:
        await _copied(request.content.readany, whole, most + _FORM_ROOM)
        return await asyncio.to_thread(read_form, whole, request.headers["Content-Type"], path)
    finally:
        whole.unlink(missing_ok=True)


async def _copied(read: Callable[[], Awaitable[bytes]], path: Path, most: int) -> int:
    size = 0
    with path.open("wb", _PIECE) as file:
        while piece := await read():
            size += len(piece)
            if size > most:
                raise web.HTTPRequestEntityTooLarge(max_size=most, actual_size=size)
            file.write(piece)
    return size
