"""Network errors: what happened, what to check, and whether a call may have been paid."""

import asyncio
import socket
import ssl
from functools import lru_cache
from urllib.parse import urlsplit

import aiohttp

from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.providers.whole_answers import BrokenAnswer

CONNECT_SECONDS = 10.0
TLS_SECONDS = 3.0

FAILURES = (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError)

Failure = tuple[str, str, Remedy]  # what happened, what to check, what can be done
_FIX, _RETRY, _LOST = Remedy.FIX_ACCOUNT, Remedy.RETRY, Remedy.LOST


def explain(error: BaseException, url: str, start_hint: str = "") -> ProviderError:
    """Put a failure of the network into one line and a remedy; `start_hint` is how to start it."""
    place = host_of(url)
    message, fix, remedy = (
        _proxy_failure(error)
        or _tls_failure(error, place)
        or _connect_failure(error, place, start_hint)
        or _exchange_failure(error, place)
    )
    fault = CallFault.ADDRESS if remedy is _FIX else None
    failure = ProviderError(message, fix, remedy=remedy, absent=_is_refused(error), fault=fault)
    failure.nearby = failure.absent and _is_here(error, url)
    return failure


def speaks_tls(url: str) -> bool:
    """Whether TLS is spoken where a plain call was cut off; nothing is sent there. It blocks."""
    parts = urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = (parts.hostname or "", parts.port or 80)
    try:
        with (
            socket.create_connection(address, timeout=TLS_SECONDS) as plain,
            context.wrap_socket(plain),
        ):
            return True
    except (OSError, ValueError):
        return False


def wants_tls(place: str) -> ProviderError:
    """What to say where a plain call went to a port that speaks TLS."""
    message = f"{place} speaks TLS, and the call went there without"
    fix = "let the base URL begin with https://"
    return ProviderError(message, fix, remedy=_FIX, fault=CallFault.ADDRESS)


@lru_cache(maxsize=64)  # every answer is read with it
def host_of(url: str) -> str:
    """The host and port of a URL, and nothing else of it."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}[parts.scheme]
    except (ValueError, KeyError):
        return "the base URL"
    usual = port == (443 if parts.scheme == "https" else 80)
    host = parts.hostname or ""
    return host if usual else f"{host}:{port}"


def is_loopback(url: str) -> bool:
    """Whether a URL leads to the very machine that calls it."""
    try:
        return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
    except ValueError:
        return False


def _is_refused(error: BaseException) -> bool:
    """Whether a machine said that nothing listens there; a network that is out says less."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else None
    return isinstance(cause, ConnectionRefusedError)


def _is_here(error: BaseException, url: str) -> bool:
    """Whether it is this machine that said so: no network is between, and nobody else starts it."""
    return not isinstance(error, aiohttp.ClientProxyConnectionError) and is_loopback(url)


def _proxy_failure(error: BaseException) -> Failure | None:
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        said = f"the proxy at {error.host}:{error.port} cannot be reached"
        return said, "check HTTPS_PROXY and HTTP_PROXY", _RETRY
    if isinstance(error, aiohttp.ClientHttpProxyError):
        message = f"the proxy answered {error.status}"
        if error.status == 407:
            return message, "check its user and password in HTTPS_PROXY", _FIX
        if error.status < 500:
            return message, "it does not let this call pass: check HTTPS_PROXY and NO_PROXY", _FIX
        return message, "check HTTPS_PROXY", _RETRY
    return None


def _tls_failure(error: BaseException, place: str) -> Failure | None:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        reason = getattr(cause, "verify_message", "") or "it is not valid for this host"
        hint = "check the URL; for an authority of your own, set SSL_CERT_FILE"
        return f"the certificate of {place} is not trusted: {reason}", hint, _FIX
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        cause = error.os_error if isinstance(error, aiohttp.ClientSSLError) else error
        reason = str(getattr(cause, "reason", "") or "")
        if "WRONG_VERSION" in reason or "HTTP_REQUEST" in reason:
            return f"{place} does not speak TLS", "check whether the URL begins with http://", _FIX
        why = reason.lower() or "the handshake failed"
        return f"no TLS connection to {place}: {why}", "", _RETRY
    return None


def _connect_failure(error: BaseException, place: str, start_hint: str) -> Failure | None:
    """Whatever fails before there is a connection was not carried out."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        if getattr(error.os_error, "errno", None) == socket.EAI_AGAIN:  # nobody to ask, for now
            return f"{place} cannot be looked up just now", "check the network", _RETRY
        return f"there is no host {place}", "check the URL or the network", _FIX
    if isinstance(error, aiohttp.ClientConnectorError):
        if _is_refused(error):
            return _nothing_listens(place, start_hint)
        reason = error.os_error.strerror or "it cannot be reached"
        return f"no connection to {place}: {reason}", "check the network", _RETRY
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        within = f"within {CONNECT_SECONDS:g} s"
        return f"no connection to {place} {within}", "check the network", _RETRY
    return None


def _nothing_listens(place: str, start_hint: str) -> Failure:
    if start_hint:  # by the user and nobody else: there is no use in trying until then
        return f"nothing listens at {place}", start_hint, _FIX
    return f"nothing listens at {place}", "start the server, or check the URL", _RETRY


def _exchange_failure(error: BaseException, place: str) -> Failure:
    """What fails from here on may have been carried out, unless no API can be at the other end."""
    if isinstance(error, aiohttp.NonHttpUrlClientError | ValueError):
        hint = "check the base URL and the key for typing errors"
        return "the call cannot be addressed", hint, _FIX
    if isinstance(error, aiohttp.ClientResponseError) and "status line" in error.message.lower():
        return f"{place} answers, but not in HTTP", "check the URL", _FIX
    if isinstance(error, BrokenAnswer):
        return f"{place} answered in HTTP that cannot be read", "", _LOST
    if isinstance(error, aiohttp.ClientPayloadError):
        return f"{place} broke off in the middle of its answer", "", _LOST
    if isinstance(error, asyncio.TimeoutError):
        return f"{place} did not answer in time", "", _LOST
    return f"{place} dropped the connection before it answered", "", _LOST
