"""Access: who asks, what they may do, and which requests are refused before anybody looks at them.

The idea. A server on this machine lets everybody in who sits at it, so it must know that a request
comes from there: a page of another site could make a browser send one (forged requests), or give
its own name this machine's address (rebinding). So the Host must be a name of ours, and whatever
changes something must come from a page of ours, or from no page at all.
"""

import math
from time import monotonic
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request

from quire.domain.access import AccessRole, AccessToken
from quire.domain.errors import UsageError
from quire.engine import Engine
from quire.server.site import Site

__all__ = [
    "AccessRole",
    "AskedEngine",
    "Forbidden",
    "Principal",
    "TooManyTries",
    "Unauthorized",
    "find_engine",
    "find_principal",
    "recognise_token",
    "refusal_of_request",
    "requires",
    "site_of",
    "token_of",
]

COOKIE = "quire_token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGES = frozenset({"same-origin", "none"})  # what a browser says of requests that we want


class Principal(NamedTuple):
    """Who asks, as what, and in which workspace."""

    name: str
    role: AccessRole
    workspace: str
    local: bool = False  # nobody signed in: whoever sits at this machine


class Forbidden(UsageError):
    """This is not for you."""


class Unauthorized(UsageError):
    """Sign in first."""


class TooManyTries(Unauthorized):
    """This one is wrong too, and so were many before it."""

    def __init__(self, seconds: int) -> None:
        """Say how long it takes until that is forgotten."""
        super().__init__(f"too many wrong tokens; wait {seconds} seconds")
        self.seconds = seconds


def site_of(request: Request) -> Site:
    """The site that a request came to."""
    site: Site = request.app.state.site
    return site


def token_of(request: Request) -> str:
    """The token that a request came with, in its header or its cookie; empty: with none."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if given:
        return given.strip() if kind.lower() == "bearer" else ""
    return request.cookies.get(COOKIE, "")


def find_principal(request: Request) -> Principal:
    """Who sent a request."""
    site = site_of(request)
    if site.settings.local:
        return Principal("", AccessRole.ADMIN, site.settings.workspace, local=True)
    token = token_of(request)
    if not token:
        raise Unauthorized("sign in first", "send a token: Authorization: Bearer qt_…")
    known = recognise_token(request, token)
    return Principal(known.name, AccessRole[known.role.upper()], known.workspace)


def recognise_token(request: Request, token: str) -> AccessToken:
    """The token that somebody came with; a right one lets in, however many wrong ones came before.

    Wrong ones are counted by address, also where they stand in a header or a cookie.
    """
    site, now = site_of(request), monotonic()
    known = site.engine(site.settings.workspace).access_tokens.find(token)
    if known is not None:
        return known
    address = request.client.host if request.client else ""
    if wait := site.sign_in_limit.seconds_to_wait(address, now):
        raise TooManyTries(math.ceil(wait))
    site.sign_in_limit.note_failure(address, now)
    raise Unauthorized(
        "this token lets nobody in; it may have expired", "`quire token create` makes one"
    )


def requires(role: AccessRole) -> Any:
    """Let a route be used by this role and those above it."""

    def check(principal: Annotated[Principal, Depends(find_principal)]) -> Principal:
        if principal.role < role:
            needed, own = role.name.lower(), principal.role.name.lower()
            raise Forbidden(f"this needs the role {needed}, and yours is {own}")
        return principal

    return Depends(check)


def find_engine(
    request: Request, principal: Annotated[Principal, Depends(find_principal)]
) -> Engine:
    """The engine of the workspace of whoever asks."""
    return site_of(request).engine(principal.workspace)


AskedEngine = Annotated[Engine, Depends(find_engine)]


def refusal_of_request(request: Request) -> str:
    """Why a request is refused whoever sent it; empty: it is not."""
    settings = site_of(request).settings
    host = request.headers.get("host", "")
    name, port = _host_parts(host.lower())
    if name not in settings.host_names or not (port.isascii() and port.isdecimal()):
        return f"this server is not called {host or 'nothing'}"
    if request.method in SAFE_METHODS:
        return ""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        return "this request comes from a page of another site"
    if request.headers.get("sec-fetch-site", "none") not in _OWN_PAGES:
        return "this request comes from a page of another site"
    return ""


def _host_parts(host: str) -> tuple[str, str]:
    """The name and the port of a Host header; without a port it is the usual one."""
    name, _, port = host.rpartition(":")
    return (host, "80") if not name or host.endswith("]") else (name, port)
