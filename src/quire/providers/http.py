"""Calls over HTTP: one set of connections for all vendors, and every failure classified."""

import asyncio
import os
import ssl
from collections.abc import Callable
from functools import cache, lru_cache
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from yarl import URL

from quire.domain.accounts import Account, Rates
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call, Reply
from quire.domain.version import VERSION
from quire.providers.network import CONNECT_SECONDS, FAILURES, explain, where
from quire.providers.protocol import HttpRequest, HttpResponse, Sent, Vendor

LARGEST_BODY = 64 * 2**20
LARGEST_ERROR = 2**20  # what is said after this much is not read
LONGEST_MESSAGE = 300
CONNECTIONS = 1000
IDLE_SECONDS = 15.0  # less than any server keeps a connection, so that none is used as it closes

_LEAST_SECRET = 8  # characters; shorter keys are passwords of nobody, and common words


class Transport:
    """The connections of this process, opened when the first call needs one."""

    def __init__(self, largest: int = LARGEST_BODY) -> None:
        """Open nothing yet; an answer of more than `largest` bytes is not read to its end."""
        self._largest = largest
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxies: dict[str, URL | None] = {}  # by scheme and host

    async def post(self, request: HttpRequest) -> HttpResponse:
        """Carry one call and read its answer, or raise ProviderError."""
        try:
            return await self._post(request)
        except ProviderError:
            raise
        except FAILURES as error:
            failure = explain(error, request.url, request.starting)
        raise failure  # out here it does not drag the failed call, and its key, along

    async def close(self) -> None:
        """Close all connections; the next call would open new ones."""
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()

    async def _post(self, request: HttpRequest) -> HttpResponse:
        url = URL(request.url)
        async with self._open().post(
            url,
            data=request.body,
            headers=request.headers,
            allow_redirects=False,
            proxy=self._proxy(url),
        ) as response:
            good = 200 <= response.status < 300
            most = self._largest if good else min(self._largest, LARGEST_ERROR)
            body = await _read(response, most)
            if good and len(body) > most:
                raise ProviderError(
                    f"{where(request.url)} answered with more than {most >> 20} MB;"
                    " the rest was not read",
                    remedy=Remedy.LOST,
                )
            headers = {name.lower(): value for name, value in response.headers.items()}
            return HttpResponse(response.status, headers, body)

    def _open(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.closed or self._loop is not loop:
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=CONNECTIONS,
                    limit_per_host=0,
                    keepalive_timeout=IDLE_SECONDS,
                    ssl=_trust(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))),
                ),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": f"quire/{VERSION}"},
                max_line_size=2**16,
                max_field_size=2**16,
            )
        return self._session

    def _proxy(self, url: URL) -> URL | None:
        """Look the proxy up once a host: aiohttp would do it on a thread, twice a call."""
        place = f"{url.scheme}://{url.raw_authority}"
        if place not in self._proxies:
            self._proxies[place] = _find_proxy(url)
        return self._proxies[place]


@cache
def _trust(*places: str | None) -> ssl.SSLContext:
    """Whom to believe, as OpenSSL finds it in these places; reading it takes a while."""
    return ssl.create_default_context()


class HttpProvider:
    """A vendor behind HTTP."""

    def __init__(self, vendor: Vendor, transport: Transport) -> None:
        """Speak a vendor's format over a transport that others may share."""
        self.name = vendor.name
        self.decoder_version = vendor.decoder_version
        self._vendor = vendor
        self._transport = transport
        # Some vendors send errors with a 200; those can tell.
        self._failed: Callable[[bytes], HttpResponse | None] = getattr(vendor, "failed", _never)

    async def send(self, call: Call, account: Account) -> Sent:
        """Carry one call and return what came back, or raise ProviderError."""
        request = self._encode(call, account)
        response = await self._transport.post(request)
        if 200 <= response.status < 300:
            failed = self._failed(response.body)
            if failed is None:
                return Sent(_without_key(response.body, account), self._rates(response))
            response = failed._replace(headers=response.headers)
        raise _refusal(self._vendor, response, account, where(request.url))

    def decode(self, raw: bytes) -> Reply:
        """Read a raw body, or raise Undecodable."""
        return self._vendor.decode(raw)

    async def close(self) -> None:
        """Let go of connections; whoever shares the transport opens new ones when needed."""
        await self._transport.close()

    def _encode(self, call: Call, account: Account) -> HttpRequest:
        try:
            return self._vendor.encode(call, account)
        except ProviderError:
            raise
        except (TypeError, ValueError, LookupError, RecursionError) as error:  # a strange schema
            why = one_line(str(error))
        raise ProviderError(
            f"{self.name}: the call cannot be written as JSON: {why}"[:LONGEST_MESSAGE],
            remedy=Remedy.FIX_REQUEST,
        )

    def _rates(self, response: HttpResponse) -> Rates | None:
        try:
            return self._vendor.rates(response.headers)
        except Exception:  # noqa: BLE001 - strange headers must not cost the answer they came with
            return None


def one_line(text: str) -> str:
    """Somebody else's words as one line without anything that moves a cursor."""
    shown = "".join(each if each.isprintable() else " " for each in text[: 8 * LONGEST_MESSAGE])
    shown = " ".join(shown.split())
    return shown if len(shown) <= LONGEST_MESSAGE else shown[: LONGEST_MESSAGE - 1] + "…"


def _refusal(vendor: Vendor, response: HttpResponse, account: Account, place: str) -> ProviderError:
    """What the vendor says of an error, in one line, and never with the key in it."""
    if 300 <= response.status < 400:
        to = one_line(response.headers.get("location", "")).partition("?")[0]
        told = f"{response.status} from {place}: it points to {to or 'another place'}"
        told = _hide(f"{told}; put that address into the base URL", account)
        return ProviderError(one_line(told), remedy=Remedy.FIX_ACCOUNT)
    response = response._replace(body=_without_key(response.body, account))
    error = vendor.classify(response)
    page, remedy = _is_page(response), error.remedy
    if page and remedy is Remedy.FIX_REQUEST:  # whoever shows pages has not read the call
        remedy = Remedy.FIX_ACCOUNT
    told = (
        f"{response.status} from {place}: an HTML page, not an API answer" if page else str(error)
    )
    if page and remedy is Remedy.FIX_ACCOUNT:
        told += "; check the base URL, and what stands between here and there"
    return ProviderError(
        one_line(_hide(told, account)),
        remedy=remedy,
        retry_after=error.retry_after,
        spent=error.spent and not page,
        bad_key=error.bad_key and not page,  # a page is from somebody who never saw the key
    )


def _without_key(body: bytes, account: Account) -> bytes:
    """Take our key out of what came back, however JSON writes it."""
    key = account.key.reveal()
    if len(key) < _LEAST_SECRET:
        return body
    for form in _forms(key):
        if form in body:
            body = body.replace(form, b"...")
    return body


@lru_cache(maxsize=64)
def _forms(key: str) -> tuple[bytes, ...]:
    plain = orjson.dumps(key).decode()[1:-1]
    unicode = "".join(each if each.isalnum() else f"\\u{ord(each):04x}" for each in key)
    forms = (key, plain, plain.replace("/", "\\/"), unicode, plain.replace("+", "\\u002b"))
    return tuple(dict.fromkeys(form.encode() for form in forms))


def _hide(text: str, account: Account) -> str:
    key = account.key.reveal()
    return text.replace(key, repr(account.key)) if len(key) >= _LEAST_SECRET else text


def _is_page(response: HttpResponse) -> bool:
    if "html" in response.headers.get("content-type", "").lower():
        return True
    return response.body[:200].lstrip().lower().startswith((b"<!doctype", b"<html", b"<head"))


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Read a body, or a little more than `most` of it."""
    length = response.content_length
    if length is not None and length <= most and "Content-Encoding" not in response.headers:
        return await response.read()
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > most:
            break
    return b"".join(parts)


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
        )
    return proxy


def _never(raw: bytes) -> HttpResponse | None:
    """Whoever sends no errors with a 200."""
    return None
