"""The guard: what is refused whoever asks, how large a body may be, and what browsers are told."""

import logging
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_to_bytes

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.server.access import refusal_of_request
from quire.server.error_responses import plain_error

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LOG = logging.getLogger(__name__)
_NOT_KEPT = (b"cache-control", b"no-store")  # by browsers and proxies: documents, secrets
STATIC = "/static/"  # what is the same for everybody
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
MAX_BODY = 8 * 1024 * 1024  # bytes of what is not an upload
_OUR_FAULT = "something went wrong in the server; its log says what"
UPLOADS = "/v1/documents"  # where files come in, as large as the site allows


class _TooLarge(HTTPException):
    """More bytes came than may; of this kind, because whoever reads the body passes it on."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, _too_large(limit))


def _too_large(limit: int) -> str:
    return f"this is larger than {limit:,} bytes; send less at once"


class Guard:
    """Stands before every route; it holds nothing of a body or of an answer."""

    def __init__(self, app: ASGIApp, max_upload: int) -> None:
        """Guard an app; uploads may have so many bytes together."""
        self._app, self._max_upload = app, max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what must be, let the rest through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        kept = scope["path"].startswith(STATIC)
        guarded = _with_headers(send, _HEADERS if kept else [*_HEADERS, _NOT_KEPT])
        request = Request(scope)
        if b"\x00" in unquote_to_bytes(scope["path"]) or b"%00" in scope.get("query_string", b""):
            await plain_error(400, "UsageError", "an address holds no NUL characters")(
                scope, receive, guarded
            )
            return
        if refusal := refusal_of_request(request):
            await plain_error(403, "Forbidden", refusal)(scope, receive, guarded)
            return
        limit = self._max_upload if scope["path"] == UPLOADS else MAX_BODY
        await self._answer(scope, _count_bytes(receive, limit), guarded, limit)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        sized = Request(scope).headers.get("content-length", "0")
        if sized.isdigit() and int(sized[:20]) > limit:
            await plain_error(413, "UsageError", _too_large(limit))(scope, receive, send)
            return
        begun = False

        async def send_on(packet: Message) -> None:
            nonlocal begun
            begun = True
            await send(packet)

        try:
            await self._app(scope, receive, send_on)
        except _TooLarge:
            if begun:
                raise
            await plain_error(413, "UsageError", _too_large(limit))(scope, receive, send)
        except ClientDisconnect:
            return  # nobody waits for an answer
        except Exception:
            if begun:
                raise
            _LOG.exception("%s %r went wrong", scope["method"], scope["path"])
            problem = plain_error(500, "InternalError", _OUR_FAULT)
            answer = await run_in_threadpool(_as_page, Request(scope), problem)
            await answer(scope, receive, send)


def _as_page(request: Request, problem: Response) -> Response:
    """An unexpected error as the pages show errors, where there are pages and one was asked for."""
    show = getattr(request.app.state, "show_problem", None)
    if show is None:
        return problem
    try:
        page: Response = show(request, problem)
    except Exception:  # noqa: BLE001 - what went wrong may be what a page needs
        _LOG.exception("no page could say that %r went wrong", request.url.path)
        return problem
    return page


def _with_headers(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> Send:
    async def send_with_headers(packet: Message) -> None:
        if packet["type"] == "http.response.start":
            known = {name for name, _ in packet["headers"]}
            added = [header for header in headers if header[0] not in known]
            packet = {**packet, "headers": [*packet["headers"], *added]}
        await send(packet)

    return send_with_headers


def _count_bytes(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def receive_counted() -> Message:
        nonlocal seen
        packet = await receive()
        seen += len(packet.get("body", b""))
        if seen > limit:
            raise _TooLarge(limit)
        return packet

    return receive_counted
