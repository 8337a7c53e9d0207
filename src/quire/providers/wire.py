"""The wire: URLs, headers that hide their key, and JSON, as every format writes and reads them."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import orjson

from quire.domain.accounts import Secret
from quire.domain.data import Json, JsonObject, plain_json
from quire.domain.errors import CallFault, OddBody, ProviderError, Remedy, Undecodable
from quire.domain.requests import Call, Role, Turn


class Headers(dict[str, str]):
    """Headers of a call; they are sent, and shown to nobody."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Show names only."""
        return f"Headers({', '.join(self)})"

    __str__ = __repr__


class IdentityKey:
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
        return isinstance(other, IdentityKey) and other.value is self.value


@lru_cache(maxsize=256)
def headers(
    name: str, key: Secret, prefix: str = "", *others: tuple[str, str]
) -> Mapping[str, str]:
    """Headers of a JSON call with its key, if there is one, and with others that have a value."""
    made = Headers({"Content-Type": "application/json", "Accept": "application/json"})
    if key:
        made[name] = prefix + check_header_value(key.reveal(), "the key")
    for other, value in others:
        if value:
            made[other] = check_header_value(value, other)
    return made


def check_header_value(value: str, what: str) -> str:
    """Check that a header can carry a value; a pasted line break is the usual reason."""
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise ProviderError(
            f"{what} has spaces or characters that cannot be sent; paste it again",
            remedy=Remedy.FIX_ACCOUNT,
            bad_key=what == "the key",
        )
    return value


@lru_cache(maxsize=256)
def endpoint_url(vendor: str, base: str, default_path: str, end: str) -> str:
    """Where calls go: a base URL, with the usual path if it has none, and the endpoint."""
    if not base:
        raise _url_error(f"{vendor}: no base URL is known; give one")
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:  # the value is not shown: it may be a key that was put in the wrong place
        raise _url_error(f"{vendor}: the base URL is not one; it must begin with https://")
    path = parts.path.rstrip("/") or default_path
    if not path.endswith(end):
        path += end
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def model_id(call: Call) -> str:
    """The vendor's name for the model: what the catalog says, or the rest of ours."""
    return call.wire.id or call.model.partition("/")[2]


class Message(NamedTuple):
    """One message of a call: what all calls of the stage have there, and what is its own."""

    role: Role
    kept: str  # worth a mark at its end; "" where nothing is to be marked
    text: str


def messages_of(call: Call, marking: Sequence[Role] = ()) -> list[Message]:
    """All that follows the system text; roles alternate, because some vendors refuse it otherwise.

    The stable head is marked at its last turn of these roles.
    """
    if not call.turns:
        return [Message(Role.USER, "", call.user)]
    stable = call.turns[: call.stable_turns]
    marks = [at for at, turn in enumerate(stable) if turn.role in marking]
    messages: list[Message] = []
    for at, turn in enumerate((*call.turns, Turn(Role.USER, call.user))):
        last = messages.pop() if messages and messages[-1].role is turn.role else None
        kept, text = (last.kept, join_texts(last.text, turn.text)) if last else ("", turn.text)
        if marks and at == marks[-1]:
            kept, text = join_texts(kept, text), ""
        messages.append(Message(turn.role, kept, text))
    return messages


def join_texts(first: str, second: str) -> str:
    """Two texts of one speaker, as one."""
    return f"{first}\n\n{second}" if first and second else first or second


def fragment(value: Json) -> orjson.Fragment:
    """JSON that is written once and sent often."""
    try:
        return orjson.Fragment(orjson.dumps(value))
    except TypeError:  # an integer beyond 64 bits, in somebody's schema
        return orjson.Fragment(plain_json(value).encode())


def _url_error(message: str) -> ProviderError:
    return ProviderError(message, remedy=Remedy.FIX_ACCOUNT, fault=CallFault.ADDRESS)


_VERSIONED = re.compile(r"(?P<before>.*)/(?P<version>v\d\w*)(?P<after>/.*)")


def url_below(url: str, *steps: str, query: Mapping[str, str] | None = None) -> str:
    """An address further down; steps are names, of which nothing leads anywhere else."""
    parts = urlsplit(url)
    path = "/".join((parts.path, *(quote(step, safe=":") for step in steps)))
    asked = "&".join(filter(None, (parts.query, urlencode(query or {}))))
    return urlunsplit((parts.scheme, parts.netloc, path, asked, ""))


@lru_cache(maxsize=64)
def url_before_version(url: str, word: str) -> str:
    """The same address with a word in front of its version: /v1/files becomes /word/v1/files."""
    parts = urlsplit(url)
    path = _VERSIONED.sub(rf"\g<before>/{word}/\g<version>\g<after>", parts.path, count=1)
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def url_at_host_of(url: str, other: str) -> str:
    """Another address, if it is one, at the host of this one: nobody sends us elsewhere."""
    parts, others = urlsplit(url), urlsplit(other)
    return urlunsplit((parts.scheme, parts.netloc, others.path, others.query, ""))


MOST_TOKENS = 10**7  # in one call: beyond any model, and its cost within what databases keep

_NOTHING: JsonObject = {}


def load(raw: bytes, parsed: JsonObject | None = None) -> JsonObject:
    """Read a body that must be a JSON object, or raise Undecodable; once is enough."""
    body = _unwrap(parse(raw)) if parsed is None else parsed
    if not isinstance(body, dict):
        raise _odd_body(raw)
    return body


_ANSWER_FIELDS = frozenset({"choices", "output", "content", "candidates"})


def _unwrap(body: Json) -> Json:
    """The answer that came in a list by itself; any other body as it is."""
    only = mapping(body[0]) if isinstance(body, list) and len(body) == 1 else _NOTHING
    return only if _ANSWER_FIELDS & only.keys() else body


def is_page(raw: bytes) -> bool:
    """Whether a body is a page for people, whatever its headers say."""
    return _PAGE.match(raw) is not None


_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype|!--|html|head|body|\?xml)", re.IGNORECASE)


def _odd_body(raw: bytes) -> Undecodable:
    """Name a body that is in no vendor's form."""
    if not raw.strip():
        return Undecodable("the answer is empty", OddBody.EMPTY)
    if is_page(raw):
        message = "an HTML page came in the place of an answer; check the base URL"
        return Undecodable(message, OddBody.PAGE)
    return Undecodable("the response is not a JSON object", OddBody.GARBLED)


def parse(raw: bytes) -> Json:
    """Read a body as JSON, with what Python's own writers get wrong forgiven; None if it is none.

    Half characters, byte order marks, and numbers without end (NaN, Infinity), which become null.
    """
    try:
        return orjson.loads(raw)  # type: ignore[no-any-return]  # JSON is what it returns
    except ValueError:
        pass
    try:  # a model that is cut off inside an emoji leaves half of it; the rest is still paid for
        body = json.loads(raw, parse_constant=_no_number, parse_float=_finite)
        text = json.dumps(body, ensure_ascii=False)
        return orjson.loads(text.encode("utf-8", "replace"))  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None


def _no_number(_name: str) -> None:
    return None


def _finite(digits: str) -> float | None:
    return number if math.isfinite(number := float(digits)) else None


def mapping(value: Json) -> JsonObject:
    """The object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: Json) -> Sequence[JsonObject]:
    """The objects of an array; whatever else it holds is left out."""
    if not isinstance(value, list):
        return ()
    return [item for item in value if isinstance(item, dict)]


def text(value: Json) -> str:
    """The string, or an empty one where something else stands."""
    return value if isinstance(value, str) else ""


class TokenCounts:
    """Token counts as a response states them, and whether they can be taken as they stand."""

    def __init__(self, usage: JsonObject) -> None:
        """Read from this object."""
        self.usage = usage
        self.exact = True

    def read(self, name: str, within: str = "") -> int:
        """A number of tokens; what is left out counts as none."""
        usage = mapping(self.usage.get(within)) if within else self.usage
        value = usage.get(name)
        if type(value) is int and 0 <= value <= MOST_TOKENS:
            return value
        if value is None:
            return 0
        self.exact = False  # a fraction, a text, or more than can be
        return _whole_tokens(value)

    def require(self, name: str) -> int:
        """A number of tokens that must be there: unknown is not nothing."""
        if self.usage.get(name) is None:
            self.exact = False
        return self.read(name)

    def uncached_input(self, taken: int, kept: int) -> int:
        """Input that no cache kept; all of it where more is said to be kept than there was."""
        if kept <= taken:
            return taken - kept
        self.exact = False
        return taken

    def complete(self, output: int, taken: int, total: str) -> int:
        """Output, with what the total says was used beyond all that is named.

        Of a total by itself nobody can say how much was output: an estimate is nearer.
        """
        stated, known = self.read(total), taken + output
        if not stated or not known or stated == known:
            return output
        self.exact = False  # which of them is right, nobody knows: the larger
        return output + max(0, stated - known)

    def spread(self, taken: int, output: int, reasoning: int) -> int:
        """Output with the reasoning that stands beside it, where the total says so."""
        total = self.read("total_tokens")
        beside = reasoning > output or (reasoning and total >= taken + output + reasoning)
        return output + reasoning if beside else output


def _whole_tokens(value: Json) -> int:
    """The number that a text or a fraction plainly is; 0 where it is none."""
    try:
        number = float(value) if isinstance(value, str | float) else 0.0
    except ValueError:
        return 0
    return int(number) if 0 <= number <= MOST_TOKENS and number == int(number) else 0
