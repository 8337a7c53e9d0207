"""The HTTP session: requests to one server, with a token, and its errors as ours."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

from quire.domain import errors
from quire.domain.errors import Error, LedgerError, UsageError

TIMEOUT = 60.0  # seconds without a byte
PIECE = 1 << 16
MOST_ITEMS = 500  # on a page of a list


class HttpSession:
    """Asks a server; each request has a connection of its own, so that threads may share it."""

    def __init__(self, url: str, token: str | None = None, timeout: float = TIMEOUT) -> None:
        """Know where the server is, and who asks."""
        self.url = _server_address(url)
        parts = urlsplit(self.url)
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {_one_line(token)}"} if token else {}

    def get(self, path: str, **query: object) -> Any:
        """The JSON that a path answers."""
        return self.ask("GET", path, query=query)

    def list(
        self, path: str, most: int | None = None, page: int = MOST_ITEMS, **query: object
    ) -> Iterator[Any]:
        """Items of a list, page by page, at most so many."""
        cursor, left = None, most
        while left is None or left > 0:
            wanted = page if left is None else min(page, left)
            found = self.get(path, limit=wanted, cursor=cursor, **query)
            yield from found["items"]
            cursor, left = found["next"], None if left is None else left - len(found["items"])
            if cursor is None:
                return

    def post(self, path: str, body: object = None) -> Any:
        """The JSON that comes of an act, which is carried out once however often it is sent."""
        headers = {"Idempotency-Key": uuid4().hex, "Content-Type": "application/json"}
        return self.ask(
            "POST", path, json.dumps(body).encode() if body is not None else b"", headers
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> Any:
        """The JSON of an answer."""
        with self.open(method, path, body, headers, query) as answer:
            return json.loads(answer.read())

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer, to be read piece by piece."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout)
        try:
            address = f"{path}?{urlencode(given)}" if given else path
            connection.request(method, address, body, {**self._headers, **(headers or {})})
            answer = connection.getresponse()
            if answer.status >= 400:
                raise _read_error(answer.status, answer.read())
            yield answer
        except (OSError, http.client.HTTPException) as error:
            where = f"{self._host}:{self._port or ''}".rstrip(":")
            raise LedgerError(
                f"the server at {where} does not answer: {error}", "is `quire serve` running?"
            ) from error
        finally:
            connection.close()


def _one_line(token: str) -> str:
    """A token, perhaps read from a file whose line ends; a wrong one is not shown to anybody."""
    kept = token.strip()
    if not (kept.isascii() and kept.isprintable()):
        raise UsageError("that is no token: it has characters that no token has")
    return kept


def _server_address(url: str) -> str:
    """The address of a server, without the slash that may end it."""
    try:
        parts = urlsplit(url)
        readable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        readable = False
    if not readable:
        raise UsageError(f"{url!r} is no server's address", "such as http://localhost:8321")
    address = f"{parts.scheme}://{parts.netloc}"
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise UsageError(f"{url!r} is a page of a server", f"its address is {address}")
    return address


def _read_error(status: int, body: bytes) -> Error:
    """What the server refused, as the same error as here."""
    try:
        said = json.loads(body)["error"]
        kind = getattr(errors, str(said["kind"]), UsageError)
        if not (isinstance(kind, type) and issubclass(kind, Error)):
            kind = UsageError
        return _same_error(kind, said)
    except (ValueError, KeyError, TypeError):
        return LedgerError(f"the server answered {status}, and not as a quire server does")


def _same_error(kind: type[Error], said: Mapping[str, Any]) -> Error:
    """An error of a kind with the server's words; it is not made of its parts once more."""
    found = kind.__new__(kind)
    Error.__init__(found, str(said["message"]), str(said.get("fix", "")))
    if isinstance(found, errors.SchemaInvalid | errors.EditInvalid):
        listed = said.get("mistakes", ())
        found.mistakes = tuple(errors.Mistake(item["pointer"], item["message"]) for item in listed)
    return found
