"""Servers that allow so much a minute and say only no, and workers that learn how much."""

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import NamedTuple, Protocol

from quire.planning.first_calls import SentSoFar, count_unheard_room, note_accepted, note_sent
from quire.planning.learnt_rates import (
    LearntRate,
    RefusedCall,
    add_sent,
    first_rate,
    let_go,
    note_refused,
    seconds_until_free,
)
from quire.planning.provider_limits import Throttle

BEGIN = 10**15  # microseconds
LATENCY, REFUSAL = 2.0, 0.15  # seconds until an answer, and until a refusal
STEP = 0.25  # seconds between two looks where a limit binds
LEAST_STEP = 0.05
MEAN_SIZE = 1_000


class Server(Protocol):
    """What allows so much, calls or sizes of calls, and counts how much it could have allowed."""

    allowed: float

    def change(self, limit: float, now: float) -> None:
        """Allow so much a minute from now on."""

    def take(self, amount: float, now: float) -> bool:
        """Whether a call of this amount is accepted."""

    def end(self, now: float) -> None:
        """Count what was allowed until now."""


@dataclass
class Bucket:
    """What is allowed comes back steadily, up to a minute's worth."""

    limit: float
    seconds: float = 60.0  # worth of calls that it holds
    at: float = 0.0

    def __post_init__(self) -> None:
        """Begin full."""
        self.level = self.allowed = self.most

    @property
    def most(self) -> float:
        """What it holds."""
        return max(1.0, self.limit * self.seconds / 60)

    def change(self, limit: float, now: float) -> None:
        """Allow so much a minute from now on."""
        self.end(now)
        self.limit = limit
        self.level = min(self.level, self.most)

    def take(self, amount: float, now: float) -> bool:
        """Whether a call of this amount is accepted."""
        self.end(now)
        accepted = self.level >= amount
        self.level -= accepted * amount
        return accepted

    def end(self, now: float) -> None:
        """Count what was allowed until now."""
        came = max(0.0, now - self.at) * self.limit / 60
        self.allowed += came
        self.level, self.at = min(self.most, self.level + came), max(now, self.at)


@dataclass
class Windows:
    """All comes back at the turn of a minute, which is not ours."""

    limit: float
    phase: float = 17.0
    used: float = 0.0
    window: int = 0
    allowed: float = 0.0
    at: float = 0.0

    def __post_init__(self) -> None:
        """Begin in the midst of a window, of which all is there."""
        self.allowed = self.limit * self.phase / 60

    def change(self, limit: float, now: float) -> None:
        """Allow so much a minute from now on."""
        self.end(now)
        self.limit = limit

    def take(self, amount: float, now: float) -> bool:
        """Whether a call of this amount is accepted."""
        self.end(now)
        accepted = self.used + amount <= self.limit
        self.used += accepted * amount
        return accepted

    def end(self, now: float) -> None:
        """Count what was allowed until now: nothing, where more was used than is allowed since."""
        if self.used <= self.limit:
            self.allowed += max(0.0, now - self.at) * self.limit / 60
        self.at = max(now, self.at)
        window = int((now + self.phase) // 60)
        if window > self.window:
            self.window, self.used = window, 0.0


@dataclass
class Sliding:
    """What was accepted in the last sixty seconds counts, at every call."""

    limit: float
    used: float = 0.0
    allowed: float = 0.0
    at: float = 0.0
    taken: deque[tuple[float, float]] = field(default_factory=deque)

    def change(self, limit: float, now: float) -> None:
        """Allow so much a minute from now on."""
        self.end(now)
        self.limit = limit

    def take(self, amount: float, now: float) -> bool:
        """Whether a call of this amount is accepted."""
        self.end(now)
        accepted = self.used + amount <= self.limit
        if accepted:
            self.taken.append((now, amount))
            self.used += amount
        return accepted

    def end(self, now: float) -> None:
        """Count what was allowed until now: nothing, where more was used than is allowed since."""
        while self.taken and self.taken[0][0] <= now - 60:
            self.used -= self.taken.popleft()[1]
        if self.used <= self.limit:
            self.allowed += max(0.0, now - self.at) * self.limit / 60
        self.at = max(now, self.at)


def equal_sizes() -> Iterator[int]:
    """Calls of one size."""
    while True:
        yield MEAN_SIZE


def unequal_sizes(seed: int = 5) -> Iterator[int]:
    """Calls of 100 to 1,900 bytes, in no order."""
    chance = Random(seed)
    while True:
        yield chance.randint(MEAN_SIZE // 10, 2 * MEAN_SIZE - MEAN_SIZE // 10)


def drifting_sizes(seed: int = 5) -> Iterator[int]:
    """Documents one after another, each with 80 calls of about one size; some are thrice others."""
    chance = Random(seed)
    while True:
        middle = chance.randint(MEAN_SIZE // 2, MEAN_SIZE * 3 // 2)
        for _ in range(80):
            yield round(middle * chance.uniform(0.8, 1.2))


class Outcome(NamedTuple):
    """What came of a time of calls."""

    accepted: float  # calls, or their sizes, as the server counts
    allowed: float
    answered: int
    refused: int

    @property
    def busy(self) -> float:
        """Of what the server allows, the share that was used."""
        return self.accepted / self.allowed

    @property
    def in_vain(self) -> float:
        """Of the calls, the share that was refused."""
        return self.refused / max(1, self.answered + self.refused)


class Returned(NamedTuple):
    """A call on its way back."""

    at: float
    accepted: bool
    call: RefusedCall


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
    sizes: Iterator[int] = field(default_factory=equal_sizes)
    by_size: bool = False  # what the server counts
    rate: LearntRate | None = None
    refused: int = 0
    answered: int = 0
    accepted: float = 0.0
    queue: deque[int] = field(default_factory=deque)

    def work(self, minutes: float, change: float | None = None) -> Outcome:
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
        return Outcome(self.accepted, self.server.allowed, self.answered, self.refused)

    def _step(self, worker: Worker, now: float, chance: Random) -> float:
        """Take back what came, and send what may go; returns seconds until the next look."""
        at = BEGIN + round(now * 1e6)
        self._take_back(worker, now, at)
        room = worker.throttle.limit - len(worker.out)
        if self.rate is not None and worker.untold:
            self.rate, worker.untold = add_sent(self.rate, worker.untold), None
        waiting = self._next(room)
        if self.rate is None:
            count, wait = min(room, count_unheard_room(worker.untold, at)), LEAST_STEP
            if count:
                worker.untold = note_sent(worker.untold, waiting[:count], at)
        else:
            count, self.rate = let_go(self.rate, waiting, at)
            wait = seconds_until_free(self.rate, waiting, at)
        for _ in range(count):
            self._send(worker, self.queue.popleft(), now, chance)
        back = worker.out[0].at - now if worker.out else STEP
        return min(STEP, wait, back)

    def _next(self, count: int) -> list[int]:
        while len(self.queue) < count:
            self.queue.append(next(self.sizes))
        return list(islice(self.queue, count))

    def _send(self, worker: Worker, size: int, now: float, chance: Random) -> None:
        amount = size if self.by_size else 1
        accepted = self.server.take(amount, now + REFUSAL / 5)
        self.answered += accepted
        self.accepted += accepted * amount
        took = (LATENCY if accepted else REFUSAL) * chance.uniform(0.5, 1.5)
        call = RefusedCall(BEGIN + round(now * 1e6), size)
        heapq.heappush(worker.out, Returned(now + took, accepted, call))

    def _take_back(self, worker: Worker, now: float, at: int) -> None:
        refused = []
        while worker.out and worker.out[0].at <= now:
            back = heapq.heappop(worker.out)
            if back.accepted:
                worker.throttle.note_answer()
                if worker.untold:
                    worker.untold = note_accepted(worker.untold, back.call.sent)
            else:
                refused.append(back.call)
                self.queue.appendleft(back.call.size)
        self.refused += len(refused)
        if refused and self.rate is None:
            sofar = worker.untold or SentSoFar(at, at, 1, refused[0].size)
            self.rate, worker.untold = first_rate(sofar, refused, at), None
        elif refused and self.rate is not None:
            self.rate = note_refused(self.rate, refused, at)


SERVERS: Mapping[str, Callable[[float], Server]] = {
    "bucket": Bucket,
    "windows": Windows,
    "sliding": Sliding,
}


class Case(NamedTuple):
    """A server, what becomes of its limit halfway, and who calls it for how long."""

    kind: str
    limit: int  # calls a minute, or a thousand times as many bytes
    factor: float = 1.0
    workers: int = 1
    minutes: float = 10.0
    sizes: Callable[[], Iterator[int]] | None = None  # of calls, where those are what is limited


def learn(case: Case) -> Outcome:
    """Let workers call a server that says only no."""
    limit = case.limit * (MEAN_SIZE if case.sizes else 1)
    sizes = case.sizes or unequal_sizes
    concurrency = 64 if case.limit <= 600 else 1_000
    server = SERVERS[case.kind](limit)
    crowd = Crowd(server, case.workers, concurrency, sizes(), by_size=case.sizes is not None)
    return crowd.work(case.minutes, None if case.factor == 1 else limit * case.factor)
