"""Request and response bodies: small ones in memory, large ones and forms on the disk."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from email.message import Message
from email.parser import BytesParser
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from quire.rehearsal.exchange import ResponsePlan
from quire.rehearsal.file_store import FileStore, Upload
from quire.rehearsal.routes import Action, ServerRoute, refuse_too_large, refuse_unreadable

_COPY_SIZE = 1 << 20  # bytes
_LONGEST_FIELD = 10_000  # bytes
_LONGEST_HEAD = 10_000  # bytes


def read_form(whole: Path, content_type: str, target: Path) -> Upload:
    """Read a form; its file goes to `target`. Raises ValueError where it is none."""
    fields: dict[str, str] = {}
    name, size = "", 0
    with whole.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as body:
        for head, begin, end in _parts(body, _boundary(content_type)):
            filename = head.get_filename()
            if filename is None:
                field = body[begin : min(end, begin + _LONGEST_FIELD)]
                field_name = head.get_param("name", "", "content-disposition")
                fields[str(field_name)] = field.decode("utf-8", "replace")
            else:
                name, size = filename, end - begin
                with target.open("wb") as write:
                    for at in range(begin, end, _COPY_SIZE):
                        write.write(body[at : min(end, at + _COPY_SIZE)])
    if not name:
        target.touch()
    return Upload(target, size, name, fields)


def _boundary(content_type: str) -> bytes:
    head = Message()
    head["Content-Type"] = content_type
    boundary = head.get_boundary()
    if not boundary:
        raise ValueError("a form without a boundary")
    return b"--" + boundary.encode()


def _parts(body: mmap, mark: bytes) -> Iterator[tuple[Message, int, int]]:
    """The head of each part, and where what it carries begins and ends."""
    at = body.find(mark)
    while at >= 0:
        after = at + len(mark)
        if body[after : after + 2] == b"--":
            return
        begin = body.find(b"\r\n\r\n", after, after + _LONGEST_HEAD)
        end = body.find(b"\r\n" + mark, begin)
        if begin < 0 or end < 0:
            raise ValueError("a form that breaks off")
        yield BytesParser().parsebytes(body[after + 2 : begin + 4]), begin + 4, end
        at = end + 2
    raise ValueError("a form that breaks off")


_CHUNK = 1 << 18  # bytes
_FORM_ROOM = 100_000  # bytes that a form may need besides its file


class RequestBody(NamedTuple):
    """A body that was read; where that failed, an act that says so."""

    raw: bytes = b""
    upload: Upload | None = None
    action: Action | None = None


async def read_body(request: web.Request, route: ServerRoute, files: FileStore) -> RequestBody:
    """Read a body, to memory or to disk; where that fails, what is left to do is to say so."""
    try:
        if not route.most_bytes:
            return RequestBody(await request.read())
        return await _save_body(request, files.new_path(), route.most_bytes)
    except web.HTTPRequestEntityTooLarge:
        return RequestBody(action=refuse_too_large)
    except Exception:  # noqa: BLE001 - what a client calls a form may fail in any way
        return RequestBody(action=refuse_unreadable)


def start_response(plan: ResponsePlan) -> web.StreamResponse:
    """Begin an answer."""
    if plan.file is None:
        return web.Response(
            status=plan.status or 500,
            body=plan.body,
            headers=plan.headers,
            content_type=plan.content_type,
        )
    response = web.StreamResponse(status=plan.status, headers=plan.headers)
    response.content_type = plan.content_type
    response.content_length = plan.file.stat().st_size
    return response


async def write_body(response: web.StreamResponse, plan: ResponsePlan) -> bool:
    """Send what the answer has, in pieces where it is a file; say whether that was all of it."""
    if plan.file is not None:
        left = plan.sent
        with plan.file.open("rb") as file:
            while left and (piece := file.read(min(left, _CHUNK))):
                left -= len(piece)
                await response.write(piece)
        if plan.sent < (response.content_length or 0):
            return False
    await response.write_eof()
    return True


async def _save_body(request: web.Request, path: Path, most: int) -> RequestBody:
    """Write a body to a file: the body itself, or the file that a form carries."""
    try:
        if request.content_type.startswith("multipart/"):
            upload = await _save_form(request, path, most)
        else:
            upload = Upload(path, await _copy_to_file(request.content.readany, path, most))
    except BaseException:
        path.unlink(missing_ok=True)  # noqa: ASYNC240 - a file of ours, gone in microseconds
        raise
    return RequestBody(upload=upload)


async def _save_form(request: web.Request, path: Path, most: int) -> Upload:
    """Keep the file that a form carries; the whole form is read first, however it arrives."""
    whole = path.with_suffix(".form")
    try:
        await _copy_to_file(request.content.readany, whole, most + _FORM_ROOM)
        return await asyncio.to_thread(read_form, whole, request.headers["Content-Type"], path)
    finally:
        whole.unlink(missing_ok=True)


async def _copy_to_file(read: Callable[[], Awaitable[bytes]], path: Path, most: int) -> int:
    size = 0
    with path.open("wb", _CHUNK) as file:
        while piece := await read():
            size += len(piece)
            if size > most:
                raise web.HTTPRequestEntityTooLarge(max_size=most, actual_size=size)
            file.write(piece)
    return size
