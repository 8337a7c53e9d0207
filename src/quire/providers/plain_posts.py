"""Calls written to aiohttp's connections at once, past its session, which is most of their CPU.

A session readies every request for redirects, cookies, uploads, tracing and more; a call needs none
of it, and two thirds of what it cost went there. Looking up, connecting, TLS, keeping connections
and reading what comes back stay aiohttp's, so that calls fail in the same words.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import NamedTuple, TypeGuard

import aiohttp
from aiohttp import hdrs, http
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from quire.providers.whole_answers import AnswerHandler, PlainAnswer

LARGEST = 2**19  # bytes of a body; more is written as it goes

_INTERIM = range(100, 200)  # an answer is still to come
_SWITCHED = 101  # and this is none of them
# What is inside other versions is not tested: calls go by their session, and cost more CPU.
_KNOWN = aiohttp.__version__.startswith("3.14.")


def is_plain_body(body: object) -> TypeGuard[bytes]:
    """Whether a call can be written at once; any other is left to the session."""
    return _KNOWN and isinstance(body, bytes) and len(body) <= LARGEST


def is_plain_url(url: URL) -> bool:
    """Whether all of an address says where a call goes; a name in it is the session's to send."""
    return url.raw_user is None and url.raw_password is None


class Place:
    """Where calls go, and how they begin; it has a key in it, and is shown to nobody."""

    __slots__ = ("head", "headers", "request")

    def __init__(
        self, headers: Mapping[str, str], request: aiohttp.ClientRequest, head: str
    ) -> None:
        """Keep the head up to the length of the body; the request names the connection."""
        self.headers, self.request, self.head = headers, request, head


class Response(NamedTuple):
    """An answer whose body is still to be read."""

    status: int
    headers: CIMultiDictProxy[str]
    content: aiohttp.StreamReader


class PlainPosts:
    """Posts over the connections of a session."""

    def __init__(self, session: aiohttp.ClientSession, timeout: aiohttp.ClientTimeout) -> None:
        """Begin with no place known."""
        self._session = session
        self._timeout = timeout
        self._places: dict[str, Place] = {}  # by URL, as it was called last
        if _KNOWN and session.connector is not None:
            handler: type[ResponseHandler] = AnswerHandler
            session.connector._factory = partial(handler, loop=asyncio.get_running_loop())

    def start(self, url: str, headers: Mapping[str, str], body: bytes) -> "PlainPost":
        """A call that is sent when it is entered."""
        place = self._places.get(url)
        if place is None or place.headers != headers:
            place = self._places[url] = self._make_place(url, headers)
        assert self._session.connector is not None
        return PlainPost(self._session.connector, place, body, self._timeout)

    def _make_place(self, url: str, headers: Mapping[str, str]) -> Place:
        sent = CIMultiDict(self._session.headers)
        sent.update(headers)
        loop = asyncio.get_running_loop()
        request = aiohttp.ClientRequest(
            hdrs.METH_POST, URL(url), headers=sent, loop=loop, session=self._session
        )
        lines = [
            f"{name}: {value}\r\n"
            for name, value in request.headers.items()
            if name != hdrs.CONTENT_LENGTH
        ]
        if any(character in line[:-2] for line in lines for character in "\r\n\0"):
            raise ValueError("a header has a line break in it")
        head = f"{hdrs.METH_POST} {request.url.raw_path_qs} HTTP/1.1\r\n{''.join(lines)}"
        return Place(headers, request, head)


class PlainPost:
    """One call: sent when entered, and over when left."""

    __slots__ = ("_body", "_connection", "_connector", "_place", "_timeout")

    def __init__(
        self,
        connector: aiohttp.BaseConnector,
        place: Place,
        body: bytes,
        timeout: aiohttp.ClientTimeout,
    ) -> None:
        """Send nothing yet."""
        self._connector, self._place, self._body = connector, place, body
        self._timeout = timeout
        self._connection: Connection | None = None

    async def __aenter__(self) -> Response | PlainAnswer:
        """Send it, and wait for its answer, or the head of it."""
        place = self._place
        try:
            connection = await self._connector.connect(place.request, [], self._timeout)
            self._connection = connection
            protocol = connection.protocol
            assert isinstance(protocol, AnswerHandler)
            assert protocol.transport is not None
            head = f"{place.head}{hdrs.CONTENT_LENGTH}: {len(self._body)}\r\n\r\n"
            answer = protocol.expect_answer()
            protocol.transport.writelines((head.encode(), self._body))
            return await answer or await self._read_answer(protocol)
        except BaseException as error:
            if isinstance(error, TimeoutError) and self._connection is None:
                raise aiohttp.ConnectionTimeoutError("not connected in time") from error
            self._leave(error)
            if isinstance(error, OSError) and not isinstance(
                error, aiohttp.ClientError | TimeoutError
            ):
                raise aiohttp.ClientOSError(*error.args) from error
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Keep the connection, if all that was said on it was heard."""
        self._leave(error)

    async def _read_answer(self, protocol: AnswerHandler) -> Response:
        """The head of an answer that aiohttp reads."""
        while True:
            try:
                message, content = await protocol.read()
            except http.HttpProcessingError as error:
                raise aiohttp.ClientResponseError(
                    self._place.request.request_info, (), status=error.code, message=error.message
                ) from error
            if message.code not in _INTERIM or message.code == _SWITCHED:
                return Response(message.code, message.headers, content)

    def _leave(self, error: BaseException | None) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if error is None:
            connection.release()  # which closes it where something is left to read
        else:
            connection.close()
