"""Header numbers: what was spent today and how many workers live, at the top of every page."""

from datetime import datetime, timedelta
from typing import NamedTuple

from quire.engine import Engine
from quire.web.page_words import cents
from quire.web.short_memory import ShortMemory

KEPT = timedelta(seconds=3)


class Header(NamedTuple):
    """What stands at the top of every page."""

    spent: str
    simulated: str  # what models took that cost nothing; "": nothing
    title: str
    workers: int


HeaderMemory = ShortMemory[Header]


def read_header(memory: HeaderMemory, engine: Engine, workspace: str) -> Header:
    """The header of a workspace's pages."""
    now = engine.runtime.now()
    return memory.recall(workspace, now, lambda: _read_header(engine, now))


def _read_header(engine: Engine, now: datetime) -> Header:
    today = engine.spend.of_day(now)
    words = f"since midnight UTC: {cents(today.cost)}"
    if today.presumed:
        words += f", and {cents(today.presumed)} presumed"
    if today.simulated:
        words += f"; simulated models, which cost nothing, came to {cents(today.simulated)}"
    simulated = cents(today.simulated) if today.simulated else ""
    return Header(cents(today.cost), simulated, words, engine.workers())
