"""Servers that allow so many calls a minute and say only no, and workers that learn how many."""

import heapq
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol

from quire.plan.learnt_rates import (
    LearntRate,
    SentSoFar,
    add_sent,
    first_rate,
    let_go,
    note_refused,
    note_sent,
    seconds_until_free,
)
from quire.plan.provider_limits import Throttle

BEGIN = 10**15  # microseconds
LATENCY, REFUSAL = 2.0, 0.15  # seconds until an answer, and until a refusal
STEP = 0.25  # seconds between two looks where a limit binds
LEAST_STEP = 0.05


class Server(Protocol):
    """What allows calls, and counts how many it could have allowed."""

    allowed: float

    def change(self, limit: int, now: float) -> None:
        """Allow so many a minute from now on."""

    def take(self, now: float) -> bool:
        """Whether a call is accepted."""

    def end(self, now: float) -> None:
        """Count what was allowed until now."""


@dataclass
class Bucket:
    """Calls come back steadily, up to a minute's worth."""

    limit: int
    seconds: float = 60.0  # worth of calls that it holds
    at: float = 0.0

    def __post_init__(self) -> None:
        """Begin full."""
        self.level = self.allowed = self.most

    @property
    def most(self) -> float:
        """What it holds."""
        return max(1.0, self.limit * self.seconds / 60)

    def change(self, limit: int, now: float) -> None:
        """Allow so many a minute from now on."""
        self.end(now)
        self.limit = limit
        self.level = min(self.level, self.most)

    def take(self, now: float) -> bool:
        """Whether a call is accepted."""
        self.end(now)
        accepted = self.level >= 1
        self.level -= accepted
        return accepted

    def end(self, now: float) -> None:
        """Count what was allowed until now."""
        came = max(0.0, now - self.at) * self.limit / 60
        self.allowed += came
        self.level, self.at = min(self.most, self.level + came), max(now, self.at)


@dataclass
class Windows:
    """All comes back at the turn of a minute, which is not ours."""

    limit: int
    phase: float = 17.0
    used: int = 0
    window: int = 0
    allowed: float = 0.0
    at: float = 0.0

    def __post_init__(self) -> None:
        """Begin in the midst of a window, of which all is there."""
        self.allowed = self.limit * self.phase / 60

    def change(self, limit: int, now: float) -> None:
        """Allow so many a minute from now on."""
        self.end(now)
        self.limit = limit

    def take(self, now: float) -> bool:
        """Whether a call is accepted."""
        self.end(now)
        accepted = self.used < self.limit
        self.used += accepted
        return accepted

    def end(self, now: float) -> None:
        """Count what was allowed until now."""
        self.allowed += max(0.0, now - self.at) * self.limit / 60
        self.at = max(now, self.at)
        window = int((now + self.phase) // 60)
        if window > self.window:
            self.window, self.used = window, 0


class Outcome(NamedTuple):
    """What came of a time of calls."""

    accepted: int
    refused: int
    allowed: float

    @property
    def busy(self) -> float:
        """Of what the server allows, the share that was used."""
        return self.accepted / self.allowed

    @property
    def in_vain(self) -> float:
        """Of the calls, the share that was refused."""
        return self.refused / (self.accepted + self.refused)


class Returned(NamedTuple):
    """A call on its way back."""

    at: float
    accepted: bool
    sent: int


@dataclass
class Worker:
    """One process: what it has out, and what it sent before anybody was refused."""

    out: list[Returned] = field(default_factory=list)
    untold: SentSoFar | None = None
    throttle: Throttle = field(default_factory=Throttle)


@dataclass
class Crowd:
    """Workers that share what they learn, before one server."""

    server: Server
    workers: int
    concurrency: int = 1_000
    rate: LearntRate | None = None
    refused: int = 0
    accepted: int = 0

    def work(self, minutes: float, change: int | None = None) -> Outcome:
        """Call as often as allowed, with another limit from half of the time on."""
        chance, end = Random(1), minutes * 60
        workers = [Worker() for _ in range(self.workers)]
        for worker in workers:
            worker.throttle.note_concurrency(self.concurrency)
        looks = [(number / 100, number) for number in range(self.workers)]
        while looks and looks[0][0] < end:
            now, number = heapq.heappop(looks)
            if change and now >= end / 2:
                self.server.change(change, now)
                change = None
            rest = self._step(workers[number], now, chance)
            heapq.heappush(looks, (now + max(LEAST_STEP, rest), number))
        self.server.end(end)
        return Outcome(self.accepted, self.refused, self.server.allowed)

    def _step(self, worker: Worker, now: float, chance: Random) -> float:
        """Take back what came, and send what may go; returns seconds until the next look."""
        at = BEGIN + round(now * 1e6)
        self._take_back(worker, now, at)
        room = worker.throttle.limit - len(worker.out)
        if self.rate is not None and worker.untold:
            self.rate, worker.untold = add_sent(self.rate, worker.untold), None
        if self.rate is None:
            count, wait = room, LEAST_STEP
            worker.untold = note_sent(worker.untold, count, at) if count else worker.untold
        else:
            count, self.rate = let_go(self.rate, room, at)
            wait = seconds_until_free(self.rate, room, at)
        for _ in range(count):
            accepted = self.server.take(now + REFUSAL / 5)
            self.accepted += accepted
            took = (LATENCY if accepted else REFUSAL) * chance.uniform(0.5, 1.5)
            heapq.heappush(worker.out, Returned(now + took, accepted, at))
        back = worker.out[0].at - now if worker.out else STEP
        return min(STEP, wait, back)

    def _take_back(self, worker: Worker, now: float, at: int) -> None:
        refused = []
        while worker.out and worker.out[0].at <= now:
            call = heapq.heappop(worker.out)
            if call.accepted:
                worker.throttle.note_answer()
            else:
                refused.append(call.sent)
        self.refused += len(refused)
        if refused and self.rate is None:
            self.rate = first_rate(worker.untold or SentSoFar(at, at, 1), refused, at)
            worker.untold = None
        elif refused and self.rate is not None:
            self.rate = note_refused(self.rate, refused, at)
