"""Proxies on this machine that answer strangely, then let calls through to a server."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.request import Request, urlopen

from tests.time_limits import PATIENCE

_HOPS = ("connection", "transfer-encoding", "content-length", "host", "accept-encoding", "date")


class Answer(NamedTuple):
    """What a proxy says instead of letting a call through."""

    status: int
    body: bytes
    headers: dict[str, str]


Say = Callable[[int, str], Answer | None]  # by the number of the call and its key; None lets it in
Watch = Callable[[int, dict[str, str]], Answer | None]  # the same, by all headers of the call
DROPPED = Answer(0, b"", {})  # no answer at all: the connection ends


@contextmanager
def front_proxy(
    say: Say,
    behind: str = "",
    change: Callable[[Answer], Answer] = lambda answer: answer,
    watch: Watch = lambda number, headers: None,
    refuse: Callable[[bytes], Answer | None] = lambda body: None,
) -> Iterator[str]:
    """Stand before a server until the end, and change what it says; gives the URL to knock at."""
    numbers = iter(range(1, 1_000_000))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            key = headers.get("authorization", "").removeprefix("Bearer ")
            sent_key = headers.get("x-api-key") or headers.get("x-goog-api-key") or key
            number = next(numbers)
            answer = watch(number, headers) or say(number, sent_key) or refuse(body)
            answer = answer or change(_let_in(behind + self.path, headers, body))
            if answer is not DROPPED:
                _write(self, answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _write(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.send_response(answer.status)
    length = {"Content-Length": str(len(answer.body))}  # unless the answer lies about it
    for name, value in (length | answer.headers).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(answer.body)


def _let_in(url: str, headers: dict[str, str], body: bytes) -> Answer:
    passed = {name: value for name, value in headers.items() if name not in _HOPS}
    with urlopen(Request(url, body, passed), timeout=PATIENCE) as response:
        kept = {k: v for k, v in response.headers.items() if k.lower() not in _HOPS}
        return Answer(response.status, response.read(), kept)
