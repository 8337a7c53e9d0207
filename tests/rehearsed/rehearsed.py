"""An engine whose calls go over HTTP to a rehearsal server, and what the server's log comes to."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any

from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.domain.models import ModelFacts, Usage
from quire.domain.pricing import price_call
from quire.engine import Engine, RunHandle
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.ledger.tables.views import AttemptView, RequestLine
from quire.providers.catalog import CATALOG
from quire.rehearsal.request_log import LogEntry
from quire.rehearsal.server import RehearsalThread
from quire.rehearsal.timing import Clock
from quire.settings import Settings
from tests.world import METADATA, Calm, World

OPENAI, ANTHROPIC, GEMINI = (
    "openai/gpt-5.6-luna",
    "anthropic/claude-haiku-5-5",
    "gemini/gemini-3.6-flash",
)
VENDORS = (OPENAI, ANTHROPIC, GEMINI)
KEYS = {
    "OPENAI_API_KEY": "sk-rehearsed-1234567890-open",
    "ANTHROPIC_API_KEY": "sk-ant-rehearsed-1234567890-anth",
    "GEMINI_API_KEY": "AIza-rehearsed-1234567890-goog",
}
POLL = 0.2  # seconds between two looks at a batch
BASES = {"OPENAI_BASE_URL": "/v1", "ANTHROPIC_BASE_URL": "", "GOOGLE_GEMINI_BASE_URL": ""}

LONG: dict[str, Json] = {  # its prefix is longer than any model's least
    **METADATA,
    "title": "long",
    "prompt_config": {"system_instructions": "Read every block with care, twice. " * 900},
}


class StillClock(Clock):
    """A clock that only moves by hand: nothing fills up while a busy machine takes its time."""

    def __init__(self) -> None:
        """Begin at the real time."""
        super().__init__()
        self._began = super().now()

    def now(self) -> float:
        """The time."""
        return self._began + self._ahead


class QuickClock(Clock):
    """A server's clock that runs so many times faster while an engine that goes by it rests.

    While anything is done it keeps the real time: a busy machine, on which everything takes longer,
    does not let a deadline or a lease pass that an idle one keeps.
    """

    def __init__(self, speed: float) -> None:
        """Begin at the real time."""
        super().__init__()
        self._speed = speed

    @property
    def poll(self) -> float:
        """Seconds between two looks at a batch; an engine that is always looking never rests."""
        return POLL / 4 * self._speed

    def fly(self, seconds: float) -> None:
        """Somebody rested so long."""
        self.advance(seconds * (self._speed - 1))


class FastClock(Clock):
    """A clock that always runs so many times faster, also while calls wait for a limit."""

    def __init__(self, speed: float) -> None:
        """Begin at the real time."""
        super().__init__()
        self._speed, self._began = speed, time()

    def now(self) -> float:
        """The time."""
        return super().now() + (time() - self._began) * (self._speed - 1)


class ByClock(Calm):
    """An engine's world that goes by a server's clock."""

    def __init__(self, clock: Clock) -> None:
        """Share the clock."""
        self._clock = clock

    def now(self) -> datetime:
        """The server's moment."""
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def rest(self, wait: Callable[[float], None], seconds: float) -> None:
        """Time flies."""
        began = time()
        wait(seconds)
        if isinstance(self._clock, QuickClock):
            self._clock.fly(time() - began)


@dataclass(kw_only=True)
class Rehearsed(World):
    """A world whose model is behind HTTP."""

    server: RehearsalThread
    asks: str = OPENAI
    poll: float = POLL
    tables: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)  # [models] of quire.toml

    def __post_init__(self) -> None:
        """Open the ledger."""
        settings = Settings(
            ledger=self.url,
            lease=self.lease,
            grace=self.grace,
            models=self.tables,
            poll=self.poll,
        )
        self.engine = Engine(make_context(settings, open_ledger(self.url), self.runtime))

    @property
    def clock(self) -> Clock:
        """What time it is at the server, and for the engine that goes by it."""
        assert isinstance(self.runtime, ByClock)
        return self.runtime._clock

    @property
    def facts(self) -> ModelFacts:
        """What the catalog says of the model."""
        return CATALOG[self.asks]

    def start(self, schema: dict[str, Json] | None = None, **policy: Any) -> RunHandle:
        """Order a run over everything."""
        return self.engine.run(schema=schema or METADATA, model=self.asks, **policy)

    def bill(self, *, pages: bool = True) -> int:
        """What the server carried out, at the catalog's prices; also what it answered with pages.

        For a page that comes in the place of a direct answer no money is presumed.
        """
        return sum(
            price_call(self.facts, usage, batched=entry.route == "batch")
            for entry, usage in billed_entries(self.server.entries())
            if pages or entry.route == "batch" or "garbage" not in entry.fault
        )

    def lines(self, run: RunId) -> list[RequestLine]:
        """Every request of a run."""
        return self.engine.queries.requests(run, 0, 1_000_000)

    def attempts(self, run: RunId) -> list[AttemptView]:
        """Every sending of a run."""
        lines = self.lines(run)
        return [
            attempt for line in lines for attempt in self.engine.queries.exchange(line.id).attempts
        ]


def billed_entries(entries: list[LogEntry]) -> Iterator[tuple[LogEntry, Usage]]:
    """The requests that were carried out, with what each is billed."""
    return ((entry, entry.usage) for entry in entries if entry.usage is not None)


def side_by_side(*worlds: Rehearsed, run: RunId) -> None:
    """Let several engines, each a worker, carry out one run together."""
    with ThreadPoolExecutor(len(worlds)) as threads:
        for done in [threads.submit(world.engine.drive, run) for world in worlds]:
            done.result()
