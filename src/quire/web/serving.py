"""Serving: a socket, the app behind it, and workers beside it that end with it."""

import socket
import threading
from collections.abc import Callable

import uvicorn

from quire.engine import Engine, open_engine
from quire.server.site import Site
from quire.web.site_app import make_site_app


def run_site(
    *, ledger: str | None, host: str, port: int, workers: int, tell: Callable[[str], None]
) -> None:
    """Serve until somebody stops it; what workers have out is recorded first."""
    listening = socket.create_server((host, port), reuse_port=False)
    place = f"http://{host}:{listening.getsockname()[1]}"
    site = Site(lambda workspace: open_engine(ledger, workspace=workspace))
    server = uvicorn.Server(uvicorn.Config(make_site_app(site), log_level="warning"))
    beside = [_Worker(open_engine(ledger)) for _ in range(workers)]
    for worker in beside:
        worker.start()
    tell(f"Quire is at {place} · Ctrl-C stops it")
    try:
        server.run([listening])
    finally:
        for worker in beside:
            worker.end()


class _Worker(threading.Thread):
    """A worker in a thread of its own."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(name="worker beside the server")
        self._engine, self._ended = engine, False

    def run(self) -> None:
        self._engine.work(lambda: self._ended)

    def end(self) -> None:
        """Let it finish what is out."""
        self._ended = True
        self._engine.stop()
        self.join()
        self._engine.close()
