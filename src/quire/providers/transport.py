"""The HTTP connections of this process: one exchange, or a long answer read line by line."""

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.domain.version import VERSION
from quire.providers.certificates import trusted_certificates
from quire.providers.decompression import PACKED, PLAIN, decompress
from quire.providers.network_errors import (
    CONNECT_SECONDS,
    FAILURES,
    explain,
    host_of,
    speaks_tls,
    wants_tls,
)
from quire.providers.plain_posts import (
    LARGEST,
    PlainPost,
    PlainPosts,
    Response,
    is_plain_body,
    is_plain_url,
)
from quire.providers.protocol import Classify, HttpRequest, HttpResponse, Upload
from quire.providers.whole_answers import LONGEST_LINE, PlainAnswer
from quire.providers.wire import Headers

ACCEPT_ENCODING = "gzip, deflate"  # what we ask for

LARGEST_BODY = 64 * 2**20
LARGEST_ERROR = 2**20  # what is said after this much is not read
CONNECTIONS = 1000
IDLE_SECONDS = 15.0  # less than any server keeps a connection, so that none is used as it closes
SILENT_SECONDS = 120.0  # without a byte, after which whoever was asked is not waited for
SLOWEST_UPLOAD = 50_000  # bytes a second; while we send, nobody answers

_FILE_PIECE = 2**20


class Transport:
    """The connections of this process, opened when the first call needs one."""

    def __init__(
        self,
        largest: int = LARGEST_BODY,
        silent: float = SILENT_SECONDS,
        *,
        proxied: bool = True,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """Open nothing yet.

        An answer, or a line, of more than `largest` bytes is not read to its end; whoever is
        asked for more than a call may be silent for so many seconds. Unless `proxied`, calls go
        past all proxies. `now` tells when an answer came.
        """
        self._now = now
        self._largest = largest
        self._silent = silent
        self._proxied = proxied
        self._session: aiohttp.ClientSession | None = None
        self._posts: PlainPosts | None = None  # over its connections
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxies: dict[str, URL | None] = {}  # by scheme and host
        self._plain_urls: dict[str, bool] = {}  # whether calls there need no session
        self._tls_ports: dict[str, bool] = {}  # where a plain call was cut off

    def post(self, request: HttpRequest) -> Coroutine[Any, Any, HttpResponse]:
        """Carry one call and read its answer, however long it takes, or raise ProviderError.

        An answer that breaks off, or is packed in a way we do not speak, is paid for all the same:
        it is given as it came, with its problem.
        """
        return self._send(request, request.body, None)

    async def exchange(self, request: HttpRequest, upload: Upload = ()) -> HttpResponse:
        """Make one exchange and return it, whatever its status; raise where the network failed."""
        if not upload:
            return _whole(await self._send(request, request.body or None, self._silent))
        body = UploadBody(upload)
        timeout = self._silent + body.size / SLOWEST_UPLOAD
        headers = Headers(request.headers)
        headers["Content-Length"] = str(body.size)
        request = request._replace(headers=headers)
        try:
            return _whole(await self._send(request, body.stream(), timeout))
        except ProviderError:
            if not body.problem:
                raise
        raise ProviderError(body.problem, remedy=Remedy.RETRY)

    async def lines(self, request: HttpRequest, classify: Classify) -> AsyncGenerator[bytes]:
        """Read a long answer line by line, in little memory; raise where it broke off."""
        try:
            async with aclosing(self._lines(request, classify)) as lines:
                async for line in lines:
                    yield line
            return
        except ProviderError:
            raise
        except FAILURES as error:
            failure = explain(error, request.url, request.start_hint)
        if failure.remedy is Remedy.LOST:  # nothing is paid for by reading
            failure = ProviderError(str(failure), remedy=Remedy.RETRY)
        raise failure

    async def close(self) -> None:
        """Close all connections; the next call would open new ones."""
        session, self._session, self._posts = self._session, None, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()

    async def _send(
        self, request: HttpRequest, body: bytes | AsyncIterator[bytes] | None, silent: float | None
    ) -> HttpResponse:
        try:
            if (post := self._plain_post(request, body, silent)) is not None:
                async with post as answer:
                    if isinstance(answer, PlainAnswer):
                        return self._whole_response(request, answer)
                    return await self._read_response(request, answer)
            async with self._start(request, body, silent) as response:
                return await self._read_response(request, response)
        except ProviderError:
            raise
        except FAILURES as error:
            failure = explain(error, request.url, request.start_hint)
            cut_off = isinstance(
                error, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError
            )
        if cut_off and await self._is_tls_port(request.url):
            failure = wants_tls(host_of(request.url))
        raise failure  # out here it does not drag the failed call, and its key, along

    async def _is_tls_port(self, url: str) -> bool:
        """Whether a plain call went to a port that speaks TLS; asked once a host."""
        place = host_of(url)
        if url.startswith("https:") or self._proxy_for(URL(url)):
            return False
        if place not in self._tls_ports:
            self._tls_ports[place] = await asyncio.to_thread(speaks_tls, url)
        return self._tls_ports[place]

    def _plain_post(
        self, request: HttpRequest, body: bytes | AsyncIterator[bytes] | None, silent: float | None
    ) -> PlainPost | None:
        """A call that needs no session; None of any other, and of what is no call."""
        if silent is not None or request.method != "POST" or not is_plain_body(body):
            return None
        is_plain = self._plain_urls.get(request.url)
        if is_plain is None:
            url = URL(request.url)
            is_plain = is_plain_url(url) and self._proxy_for(url) is None
            self._plain_urls[request.url] = is_plain
        self._open_session()
        if not is_plain or self._posts is None:
            return None
        return self._posts.start(request.url, request.headers, body)

    def _start(
        self, request: HttpRequest, body: bytes | AsyncIterator[bytes] | None, silent: float | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        url = URL(request.url)
        proxy = self._proxy_for(url)
        return self._open_session().request(
            request.method,
            url,
            data=io.BytesIO(body) if isinstance(body, bytes) and len(body) > LARGEST else body,
            headers=request.headers,
            allow_redirects=False,
            proxy=proxy,
            timeout=_timeout(silent),
        )

    async def _read_response(
        self, request: HttpRequest, response: aiohttp.ClientResponse | Response
    ) -> HttpResponse:
        good = 200 <= response.status < 300
        most = self._largest if good else min(self._largest, LARGEST_ERROR)
        body, problem = await _read_body(response, most, host_of(request.url))
        if problem and not good:
            body = b""  # the status says enough
        if good and len(body) > most:
            raise _too_long(request, most)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpResponse(response.status, headers, body, problem if good else "", self._now())

    def _whole_response(self, request: HttpRequest, answer: PlainAnswer) -> HttpResponse:
        status, headers, body = answer
        if len(body) > self._largest:
            raise _too_long(request, self._largest)
        return HttpResponse(status, headers, body, "", self._now())

    async def _lines(self, request: HttpRequest, classify: Classify) -> AsyncGenerator[bytes]:
        async with self._start(request, None, self._silent) as response:
            if not 200 <= response.status < 300:
                raise classify(await self._read_response(request, response))
            buffer = LineBuffer()
            async with aclosing(_body_pieces(response)) as pieces:
                async for piece in pieces:
                    for line in buffer.add(piece):
                        yield line
                    if buffer.size > self._largest:
                        raise ProviderError(
                            f"{host_of(request.url)} answered with a line of more than"
                            f" {self._largest >> 20} MB; check the base URL",
                            remedy=Remedy.FIX_ACCOUNT,
                            fault=CallFault.ADDRESS,
                        )
            if last := buffer.take():
                if not _has_declared_end(response):
                    raise ProviderError(
                        f"{host_of(request.url)} broke off in the middle of a line",
                        remedy=Remedy.RETRY,
                    )
                yield last

    def _open_session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.closed or self._loop is not loop:
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=CONNECTIONS,
                    limit_per_host=0,
                    keepalive_timeout=IDLE_SECONDS,
                    ssl=trusted_certificates(),
                ),
                timeout=_timeout(None),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": f"quire/{VERSION}", "Accept-Encoding": ACCEPT_ENCODING},
                auto_decompress=False,  # it takes half a gzip stream for a whole one
                max_line_size=LONGEST_LINE,
                max_field_size=LONGEST_LINE,
            )
            self._posts = PlainPosts(self._session, _timeout(None))
        return self._session

    def _proxy_for(self, url: URL) -> URL | None:
        """Look the proxy up once a host: aiohttp would do it on a thread, twice a call."""
        place = f"{url.scheme}://{url.raw_authority}"
        if place not in self._proxies:
            self._proxies[place] = _find_proxy(url) if self._proxied else None
        return self._proxies[place]


class UploadBody:
    """A body in pieces, of which files are read as they are sent."""

    def __init__(self, upload: Upload) -> None:
        """Weigh it: whoever takes it is told its length before."""
        self.problem = ""  # with our own files
        self._pieces = [(item, size_of(item)) for item in upload]
        self.size = sum(size for _, size in self._pieces)

    async def stream(self) -> AsyncGenerator[bytes]:
        """Give the body, a little of it at a time."""
        for piece, size in self._pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            async with aclosing(self._stream_file(piece, size)) as parts:
                async for part in parts:
                    yield part

    async def _stream_file(self, path: Path, size: int) -> AsyncGenerator[bytes]:
        left = size
        file = await asyncio.to_thread(path.open, "rb")
        try:
            while left and (part := await asyncio.to_thread(file.read, min(left, _FILE_PIECE))):
                left -= len(part)
                yield part
        finally:
            file.close()
        if left:
            self.problem = f"{path} became shorter while it was sent"
            raise OSError(self.problem)


class LineBuffer:
    """What came of a line so far."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.size = 0
        self._parts: list[bytes] = []

    def add(self, piece: bytes) -> list[bytes]:
        """Take what came, and give the lines that it ends."""
        *ended, rest = piece.split(b"\n")
        if ended:
            ended[0] = self.take() + ended[0]
        if rest:
            self._parts.append(rest)
            self.size += len(rest)
        return ended

    def take(self) -> bytes:
        """Give the line as far as it came, and begin anew."""
        line = b"".join(self._parts)
        self._parts.clear()
        self.size = 0
        return line


def size_of(piece: bytes | Path) -> int:
    """The bytes of a part of a body; ProviderError where its file cannot be read."""
    if isinstance(piece, bytes):
        return len(piece)
    try:
        return piece.stat().st_size
    except OSError as error:
        why = error.strerror or "it cannot be read"
    raise ProviderError(f"{piece} cannot be sent: {why}", remedy=Remedy.RETRY)


@lru_cache(maxsize=16)
def _timeout(silent: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silent)


def _too_long(request: HttpRequest, most: int) -> ProviderError:
    place = host_of(request.url)
    message = f"{place} answered with more than {most >> 20} MB; the rest was not read"
    return ProviderError(message, remedy=Remedy.LOST)


def _has_declared_end(response: aiohttp.ClientResponse) -> bool:
    """Whether more than a closed connection tells where an answer ends."""
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
    return chunked or "Content-Length" in response.headers


def _whole(response: HttpResponse) -> HttpResponse:
    """The response, unless its body is not what was meant: nobody knows what was done then."""
    if response.problem:
        raise ProviderError(response.problem, remedy=Remedy.LOST)
    return response


async def _read_body(
    response: aiohttp.ClientResponse | Response, most: int, place: str
) -> tuple[bytes, str]:
    """Read a body, or a little more than `most` of it; where that fails, as it came, and why."""
    encoding, came, content = _encoding_of(response), list[bytes](), response.content
    pieces = content.iter_any()
    try:
        if content.is_eof() and encoding in PLAIN:  # a short one comes with its head
            return content.read_nowait(), ""
        if encoding not in PACKED:
            body = await _join(pieces, came, most)
            return body, "" if encoding in PLAIN else _unspoken(encoding, place)
        async with aclosing(decompress(_keep(pieces, came), encoding)) as unpacked:
            return await _join(unpacked, [], most), ""
    except TimeoutError:
        raise
    except (aiohttp.ClientError, OSError):
        if not came:
            raise
    return b"".join(came), f"{place} broke off in the middle of its answer"


def _unspoken(encoding: str, place: str) -> str:
    name = "".join(filter(str.isprintable, encoding))[:20]
    return f"the answer of {place} is packed as {name!r}, which was not asked for"


async def _keep(pieces: AsyncIterable[bytes], kept: list[bytes]) -> AsyncGenerator[bytes]:
    async for piece in pieces:
        kept.append(piece)
        yield piece


async def _join(pieces: AsyncIterable[bytes], parts: list[bytes], most: int) -> bytes:
    """Put pieces together in `parts`, until there are more than `most` bytes."""
    size = 0
    async for part in pieces:
        parts.append(part)
        size += len(part)
        if size > most:
            break
    return b"".join(parts)


def _body_pieces(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    return decompress(response.content.iter_any(), _encoding_of(response))


def _encoding_of(response: aiohttp.ClientResponse | Response) -> str:
    return response.headers.get("Content-Encoding", "").strip().lower()


def _find_proxy(url: URL) -> URL | None:
    """Who HTTPS_PROXY, HTTP_PROXY and NO_PROXY say is between us and a host."""
    found = getproxies().get(url.scheme)
    if not found or proxy_bypass(f"{url.host}:{url.port}"):
        return None
    proxy = URL(found if "://" in found else f"http://{found}")
    if proxy.scheme not in ("http", "https") or not proxy.host:
        raise ProviderError(
            f"{url.scheme.upper()}_PROXY names no http:// address; only such proxies can be used",
            remedy=Remedy.FIX_ACCOUNT,
            fault=CallFault.ADDRESS,
        )
    return proxy
