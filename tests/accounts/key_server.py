"""A vendor's server on this machine: takes one key, and says why not to others."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

GOOD = "sk-ant-the-key-that-is-let-in-1234"


class KeyServer(NamedTuple):
    """How to reach it, and who was there."""

    url: str
    seen: list[tuple[str, dict[str, str]]]  # path, and headers in lower case
    say: dict[str, Any]  # `status`, `body`, `headers`: what to say to everybody, if anything


@contextmanager
def serve_keys() -> Iterator[KeyServer]:
    """Serve until the end."""
    seen: list[tuple[str, dict[str, str]]] = []
    say: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = {name.lower(): value for name, value in self.headers.items()}
            seen.append((self.path, given))
            let_in = any(value in (GOOD, f"Bearer {GOOD}") for value in given.values())
            status = say.get("status", 200 if let_in else 401)
            refusal = f"Incorrect API key provided: {' '.join(given.values())}"
            usual: dict[str, Any] = (
                {"data": []} if let_in else {"error": {"message": refusal, "type": "auth"}}
            )
            body = say.get("body", json.dumps(usual).encode())
            self.send_response(status)
            for name, value in say.get("headers", {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield KeyServer(f"http://127.0.0.1:{server.server_port}", seen, say)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
