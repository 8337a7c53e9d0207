"""Header numbers: what was spent today and how many workers live, read at most every few seconds.

Every page shows them, and every open page asks again and again: however many there are, the ledger
is asked once in a while.
"""

import threading
from datetime import datetime, timedelta
from typing import NamedTuple

from fastapi import FastAPI

from quire.engine import Engine
from quire.web.page_words import cents

KEPT = timedelta(seconds=3)


class Header(NamedTuple):
    """What stands at the top of every page."""

    spent: str
    title: str
    workers: int


class HeaderMemory:
    """The header of each workspace, as it was read last."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lock = threading.Lock()
        self._read: dict[str, tuple[datetime, Header]] = {}

    def read(self, engine: Engine, workspace: str) -> Header:
        """The header; one at a time asks the ledger, and the others take what it found."""
        with self._lock:
            now = engine.runtime.now()
            at, header = self._read.get(workspace, (None, None))
            if header is None or at is None or not at <= now < at + KEPT:
                header = _read_header(engine, now)
                self._read[workspace] = now, header
            return header


def _read_header(engine: Engine, now: datetime) -> Header:
    today = engine.spend.of_day(now)
    words = f"since midnight UTC: {cents(today.cost)}"
    if today.presumed:
        words += f", and {cents(today.presumed)} presumed"
    if today.simulated:
        words += f"; simulated models, which cost nothing, came to {cents(today.simulated)}"
    return Header(cents(today.cost), words, engine.workers())


def read_header(app: FastAPI, engine: Engine, workspace: str) -> Header:
    """The header of a workspace's pages."""
    memory: HeaderMemory = app.state.header
    return memory.read(engine, workspace)
