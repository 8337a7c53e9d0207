"""Writing calls: addresses, headers that keep their key to themselves, and JSON kept ready."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

import orjson

from quire.domain.accounts import Secret
from quire.domain.data import Json, JsonObject, plain_json
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import Call


class Headers(dict[str, str]):
    """Headers of a call; they are sent, and shown to nobody."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Show names only."""
        return f"Headers({', '.join(self)})"

    __str__ = __repr__


class Same:
    """A value that equals only itself, so that work on it can be kept by an `lru_cache`."""

    __slots__ = ("value",)

    def __init__(self, value: JsonObject) -> None:
        """Hold the value, so that nothing else can take its place in memory."""
        self.value = value

    def __hash__(self) -> int:
        """One value, one hash."""
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        """Compare who, not what: comparing large schemas would cost more than it saves."""
        return isinstance(other, Same) and other.value is self.value


@lru_cache(maxsize=256)
def headers(
    name: str, key: Secret, prefix: str = "", *others: tuple[str, str]
) -> Mapping[str, str]:
    """Headers of a JSON call with its key, if there is one, and with others that have a value."""
    made = Headers({"Content-Type": "application/json", "Accept": "application/json"})
    if key:
        made[name] = prefix + sendable(key.reveal(), "the key")
    for each, value in others:
        if value:
            made[each] = sendable(value, each)
    return made


def sendable(value: str, what: str) -> str:
    """Check that a header can carry a value; a pasted line break is the usual reason."""
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise ProviderError(
            f"{what} has spaces or characters that cannot be sent; paste it again",
            remedy=Remedy.FIX_ACCOUNT,
            bad_key=what == "the key",
        )
    return value


@lru_cache(maxsize=256)
def address(vendor: str, base: str, default_path: str, end: str) -> str:
    """Where calls go: a base URL, with the usual path if it has none, and the endpoint."""
    if not base:
        raise _no_address(f"{vendor}: no base URL is known; give one")
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:  # the value is not shown: it may be a key that was put in the wrong place
        raise _no_address(f"{vendor}: the base URL is not one; it must begin with https://")
    path = parts.path.rstrip("/") or default_path
    if not path.endswith(end):
        path += end
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def model_id(call: Call) -> str:
    """The vendor's name for the model: what the catalog says, or the rest of ours."""
    return call.wire.id or call.model.partition("/")[2]


def fragment(value: Json) -> orjson.Fragment:
    """JSON that is written once and sent often."""
    try:
        return orjson.Fragment(orjson.dumps(value))
    except TypeError:  # an integer beyond 64 bits, in somebody's schema
        return orjson.Fragment(plain_json(value).encode())


def _no_address(message: str) -> ProviderError:
    return ProviderError(message, remedy=Remedy.FIX_ACCOUNT)
