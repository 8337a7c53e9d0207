"""The log of every request and of every row of a batch, and the statistics that they add up to."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.models import Usage

WINDOW = 60.0  # seconds
DIRECT, BATCH = "direct", "batch"
_COUNTED = ("answered", "blocks", "cache_writes", "cache_hits")  # of every model, and of all


@dataclass(slots=True, kw_only=True)
class LogEntry:
    """One request, from its arrival to its end."""

    number: int
    at: float
    method: str
    path: str
    endpoint: str = ""
    model: str = ""
    key: str = ""  # its last four characters
    blocks: int = 0
    route: str = ""  # of a call: direct or batch
    batch: str = ""  # the id of the batch that this is about, or that the call came in
    tag: str = ""  # by which the maker of that batch knows it
    rows: int = 0  # of a batch that this made
    usage: Usage | None = None  # what it is billed; None where nothing is
    status: int = 0  # 0: no answer was sent
    fault: str = ""  # names of the script, parted by commas
    problem: str = ""  # what was said to be wrong
    delivered: bool = False  # the answer went out on an open connection
    ended: bool = False

    def as_json(self) -> dict[str, Json]:
        """All of it, for the log."""
        body: dict[str, Json] = {name: getattr(self, name) for name in self.__slots__}
        body["usage"] = None if self.usage is None else self.usage._asdict()
        return body


class _WindowCall(NamedTuple):
    at: float
    input: int
    output: int


@dataclass(slots=True)
class _Tally:
    """What one model did."""

    requests: int = 0
    answered: int = 0
    blocks: int = 0
    cache_writes: int = 0
    cache_hits: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    rows: int = 0  # of the answered, those that came in batches
    row_tokens: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)  # in any window
    recent: deque[_WindowCall] = field(default_factory=deque)
    sums: Counter[str] = field(default_factory=Counter)  # of the recent ones


class RequestLog:
    """Counts everything that reaches the server, and keeps the log."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self.entries: list[LogEntry] = []
        self.numbers = 0
        self.clear()

    def clear(self) -> None:
        """Forget everything but the numbers given out, so that later requests keep new ones."""
        self.entries.clear()
        self.in_flight = 0
        self.most_in_flight = 0
        self._endpoints: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._ended = 0
        self._delivered = 0

    def add_request(self, at: float, method: str, path: str) -> LogEntry:
        """Put a request on record before anything answers it."""
        self.numbers += 1
        entry = LogEntry(number=self.numbers, at=at, method=method, path=path)
        self.entries.append(entry)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return entry

    def add_row(self, at: float, call: tuple[str, str], batch: str) -> LogEntry:
        """Put a row of a batch on record; nobody waits for it on a connection."""
        most = self.most_in_flight
        entry = self.add_request(at, *call)
        entry.route, entry.batch = BATCH, batch
        self.most_in_flight = most
        return entry

    def bill(self, entry: LogEntry, usage: Usage, counted: int) -> None:
        """Bill a call: its usage, and as how much input the vendor's limits count it."""
        entry.usage = usage
        tally = self._tallies[entry.model]
        tally.answered += 1
        tally.blocks += entry.blocks
        tally.cache_writes += bool(usage.written_short or usage.written_long)
        tally.cache_hits += bool(usage.cached)
        tally.tokens.update(usage._asdict())
        if entry.route == BATCH:  # for which no limit of a minute holds
            tally.requests += 1
            tally.rows += 1
            tally.row_tokens.update(usage._asdict())
            return
        entry.route = DIRECT
        _count_in_window(tally, _WindowCall(entry.at, counted, usage.output))

    def count_refusal(self, entry: LogEntry) -> None:
        """Count a request that got no answer from the model."""
        if entry.model and entry.route == BATCH:
            self._tallies[entry.model].requests += 1
        elif entry.model:
            _count_in_window(self._tallies[entry.model], _WindowCall(entry.at, 0, 0))

    def end_request(self, entry: LogEntry) -> None:
        """Count what became of a request."""
        entry.ended = True
        self.in_flight = max(0, self.in_flight - 1)
        self._ended += 1
        self._delivered += entry.delivered
        self._endpoints[entry.endpoint] += 1
        self._statuses[str(entry.status or "none")] += 1
        self._faults.update(entry.fault.split(",") if entry.fault else ())

    def entries_after(self, number: int, most: int) -> list[LogEntry]:
        """The requests that came after one of that number."""
        first = self.entries[0].number if self.entries else 0
        start = max(0, number - first + 1)
        return self.entries[start : start + most]

    def as_json(self) -> dict[str, Json]:
        """Everything counted."""
        tallies = self._tallies.values()
        return {
            "requests": self._ended + self.in_flight,
            "ended": self._ended,
            "delivered": self._delivered,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "endpoints": dict(self._endpoints),
            "statuses": dict(self._statuses),
            "faults": dict(self._faults),
            **{name: sum(getattr(tally, name) for tally in tallies) for name in _COUNTED},
            "models": dict(self._model_stats()),
        }

    def _model_stats(self) -> Iterator[tuple[str, Json]]:
        nothing = Usage()._asdict()
        for name, tally in self._tallies.items():
            yield (
                name,
                {
                    "requests": tally.requests,
                    **{name: getattr(tally, name) for name in _COUNTED},
                    "tokens": {**nothing, **tally.tokens},
                    "batch": {"answered": tally.rows, "tokens": {**nothing, **tally.row_tokens}},
                    "most_in_a_minute": {
                        kind: tally.most[kind] for kind in ("requests", "input", "output", "total")
                    },
                },
            )


def _count_in_window(tally: _Tally, call: _WindowCall) -> None:
    """Slide the window to a new request, and remember the fullest one."""
    tally.requests += 1
    recent, sums = tally.recent, tally.sums
    recent.append(call)
    sums["input"] += call.input
    sums["output"] += call.output
    while recent[0].at <= call.at - WINDOW:
        gone = recent.popleft()
        sums["input"] -= gone.input
        sums["output"] -= gone.output
    sums["requests"], sums["total"] = len(recent), sums["input"] + sums["output"]
    for kind, size in sums.items():
        tally.most[kind] = max(tally.most[kind], size)
