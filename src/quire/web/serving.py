"""Serving: a socket, the app behind it, and workers beside it that end with it."""

import errno
import socket
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

import uvicorn

from quire.domain.errors import UsageError
from quire.engine import open_engine
from quire.server.site import LOCAL_NAMES, Site, SiteSettings
from quire.server.upload_folders import clear_left_over
from quire.web.site_app import make_site_app
from quire.web.workers_beside import WorkersBeside

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # addresses that only this machine reaches
GRACE = 5  # seconds that answers under way have when the server is stopped


class Serving(NamedTuple):
    """What was said when the server was started."""

    ledger: str | None
    host: str = "127.0.0.1"
    workers: int = 1  # for each workspace
    allow_hosts: tuple[str, ...] = ()  # names that others reach it by
    faults: str | None = None  # of the simulated model, for the workers


def run_site(listening: socket.socket, serving: Serving, tell: Callable[[str], None]) -> None:
    """Serve until somebody stops it; what workers have out is recorded first."""
    site = Site(
        lambda workspace: open_engine(serving.ledger, workspace=workspace),
        site_settings(serving),
    )
    try:
        if not site.settings.local:
            _require_token(site)
        clear_left_over()
        server = _Server(site)
        beside = WorkersBeside(serving.ledger, serving.workers, tell, serving.faults)
    except BaseException:
        site.close()
        raise
    name = f"[{serving.host}]" if ":" in serving.host else serving.host
    if serving.workers:
        beside.start()
    tell(f"Quire is at http://{name}:{listening.getsockname()[1]} · Ctrl-C stops it")
    try:
        server.run([listening])
    finally:
        beside.end()
        tell("Quire has stopped")


def listen(host: str, port: int) -> socket.socket:
    """Take a port; what stands in the way is told before anything is begun."""
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


def site_settings(serving: Serving) -> SiteSettings:
    """Whoever sits at this machine needs nothing; where others may come, tokens are needed."""
    local = serving.host in LOOPBACK and not serving.allow_hosts
    own = () if serving.host in LOOPBACK else (serving.host.lower(),)
    others = map(_read_host_name, serving.allow_hosts)
    return SiteSettings(local=local, host_names=(*LOCAL_NAMES, *own, *others))


def _read_host_name(typed: str) -> str:
    """A name as browsers send it; an address with more in it would never be theirs."""
    name = typed.strip().lower()
    bare = name[1:-1].replace(":", "") if name.startswith("[") and name.endswith("]") else name
    if not bare or any(letter in "/:@, " for letter in bare):
        raise UsageError(
            f"{typed!r} is no name of a host", "such as quire.example, without scheme and port"
        )
    return name


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
