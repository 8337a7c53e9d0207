"""Serving the small model: from its weights to an address, until somebody says stop."""

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from quire.domain.errors import SettingsInvalid
from quire.local.answering import Doorkeeper
from quire.local.loading import Loaded

HOST = "127.0.0.1"  # nobody is asked for a key, so nobody else may reach it
PORT = 8901  # as the provider `local` expects it


def serve(weights: Path, port: int, threads: int, tell: Callable[[str], None]) -> int:
    """Answer calls until Ctrl-C or SIGTERM; `tell` hears the address. Returns calls answered."""
    with bind(port) as bound, Loaded(weights, threads) as model:
        return asyncio.run(_serve(model, bound, tell))


def bind(port: int) -> socket.socket:
    """Take an address before anything slow is done; port 0 takes any that is free."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen()  # whoever comes while the model is loading waits a little
    except OSError as error:
        bound.close()
        raise SettingsInvalid(
            f"cannot listen on {HOST}:{port} ({error.strerror}); is `quire local serve` running"
            " already? Else give --port another value"
        ) from None
    return bound


async def _serve(model: Loaded, bound: socket.socket, tell: Callable[[str], None]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    doorkeeper = Doorkeeper(model.url, model.headers)
    try:
        await doorkeeper.start(bound)
        tell(f"http://{HOST}:{bound.getsockname()[1]}/v1")
        await stop.wait()
    finally:
        await doorkeeper.stop()
    return doorkeeper.answered
