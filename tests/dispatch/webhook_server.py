"""A small real server that webhooks are sent to, and that misbehaves as it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

ENDLESS = b"x" * 65536


class HeardPost(NamedTuple):
    """What came."""

    path: str
    headers: dict[str, str]
    body: bytes


class WebhookServer:
    """Hears, and answers with the next of its answers: a status, or a way to misbehave."""

    def __init__(self) -> None:
        """Answer 200 until told otherwise."""
        self.heard: list[HeardPost] = []
        self.answers: list[int | str] = []
        self.released = threading.Event()  # whoever is kept waiting
        self.url = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: WebhookServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.owner.heard.append(HeardPost(self.path, dict(self.headers), body))
        answer = self.owner.answers.pop(0) if self.owner.answers else 200
        with suppress(OSError):  # who asked may be gone
            self._answer(answer)

    def _answer(self, answer: int | str) -> None:
        self.close_connection = True
        match answer:
            case int():
                self.send_response(answer)
                self.send_header("Content-Length", "0")
                self.send_header("Location", "/elsewhere")
                self.end_headers()
            case "silent":
                self.owner.released.wait(600)
            case "endless":
                self.send_response(200)
                self.end_headers()
                while not self.owner.released.is_set():
                    self.wfile.write(ENDLESS)
            case _:
                self.wfile.write(b"SSH-2.0-nobody\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of connections that break."""


@contextmanager
def webhook_server() -> Iterator[WebhookServer]:
    """A server at an address of its own."""
    state = WebhookServer()
    handler = type("Handler", (_Handler,), {"owner": state})
    with _Quiet(("127.0.0.1", 0), handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}/hook"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            state.released.set()
            server.shutdown()
            thread.join()
