"""Serving: a socket, the app behind it, and workers beside it that end with it."""

import errno
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

import uvicorn

from quire.domain.errors import UsageError
from quire.engine import Engine, open_engine
from quire.server.site import LOCAL_NAMES, Site, SiteSettings
from quire.web.site_app import make_site_app

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # addresses that only this machine reaches
REST = 1.0  # seconds before a worker that died is started again
MOST_REST = 60.0  # at most, where it dies again and again
GRACE = 5  # seconds that answers under way have when the server is stopped


class Serving(NamedTuple):
    """What was said when the server was started."""

    ledger: str | None
    host: str = "127.0.0.1"
    port: int = 8321
    workers: int = 1
    allow_hosts: tuple[str, ...] = ()  # names that others reach it by
    faults: str | None = None  # of the simulated model, for the workers


def run_site(serving: Serving, tell: Callable[[str], None]) -> None:
    """Serve until somebody stops it; what workers have out is recorded first."""
    listening = _listen(serving.host, serving.port)
    site = Site(
        lambda workspace: open_engine(serving.ledger, workspace=workspace),
        _site_settings(serving),
    )
    try:
        if not site.settings.local:
            _require_token(site)
        server = _Server(site)
        beside = [_Worker(serving, tell) for _ in range(serving.workers)]
    except BaseException:
        listening.close()
        site.close()
        raise
    name = f"[{serving.host}]" if ":" in serving.host else serving.host
    for worker in beside:
        worker.start()
    tell(f"Quire is at http://{name}:{listening.getsockname()[1]} · Ctrl-C stops it")
    try:
        server.run([listening])
    finally:
        for worker in beside:
            worker.ask_to_end()
        for worker in beside:
            worker.join()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} is in use, maybe by another quire serve",
                f"--port {port + 1}, or --port 0 for any that is free",
            ) from None
        raise UsageError(f"cannot listen at {host}:{port}: {error.strerror or error}") from None
    except OverflowError:
        raise UsageError(f"there is no port {port}; ports are 0 to 65535") from None


def _site_settings(serving: Serving) -> SiteSettings:
    """Whoever sits at this machine needs nothing; where others may come, tokens are needed."""
    local = serving.host in LOOPBACK and not serving.allow_hosts
    own = () if serving.host in LOOPBACK else (serving.host,)
    return SiteSettings(local=local, host_names=(*LOCAL_NAMES, *own, *serving.allow_hosts))


def _require_token(site: Site) -> None:
    if not site.engine(site.settings.workspace).access_tokens.count_usable():
        raise UsageError(
            "others could reach this server, and nobody has a token",
            "quire token create NAME --role admin makes one",
        )


class _Server(uvicorn.Server):
    """A server that lets those go who follow events, when it is stopped."""

    def __init__(self, site: Site) -> None:
        app = make_site_app(site)
        super().__init__(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE))
        self._site = site

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, at once for whoever only watches."""
        self._site.broadcast.close_soon()
        super().handle_exit(sig, frame)


class _Worker(threading.Thread):
    """A worker in a thread of its own; one that dies is told, and started again."""

    def __init__(self, serving: Serving, tell: Callable[[str], None]) -> None:
        super().__init__(name="worker beside the server")
        self._serving, self._tell = serving, tell
        self._ended = threading.Event()
        self._engine: Engine | None = None

    def run(self) -> None:
        rest = REST
        while not self._ended.is_set():
            try:
                self._work()
                rest = REST
            except Exception as error:  # noqa: BLE001 - whatever it is, the server goes on
                self._tell(f"a worker ended: {error}; another begins in {rest:g} s")
                self._ended.wait(rest)
                rest = min(2 * rest, MOST_REST)

    def _work(self) -> None:
        with open_engine(self._serving.ledger, faults=self._serving.faults) as engine:
            self._engine = engine
            if not self._ended.is_set():
                engine.work(self._ended.is_set)

    def ask_to_end(self) -> None:
        """Let it finish what is out."""
        self._ended.set()
        if self._engine is not None:
            self._engine.stop()
