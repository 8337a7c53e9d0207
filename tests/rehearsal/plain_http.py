"""Bare HTTP, for what no vendor's client would send."""

import json
from http.client import HTTPConnection, HTTPResponse
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.rehearsal.clients import KEY
from tests.time_limits import PATIENCE

BEARER = {"authorization": f"Bearer {KEY}"}
ANTHROPIC = {"x-api-key": KEY, "anthropic-version": "2026-10-21"}
GOOGLE = {"x-goog-api-key": KEY}


class HttpAnswer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


def ask(
    url: str,
    path: str,
    body: object = None,
    headers: dict[str, str] | None = None,
    method: str = "",
) -> HttpAnswer:
    """Send one request; a body that is not bytes is sent as JSON."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    try:
        connection.request(method or ("GET" if data is None else "POST"), path, data, headers or {})
        return _read(connection.getresponse())
    finally:
        connection.close()


def _read(response: HTTPResponse) -> HttpAnswer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return HttpAnswer(response.status, headers, response.read())
