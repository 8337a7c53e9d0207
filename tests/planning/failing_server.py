"""A server that fails by chance, in outages and at certain tasks, and a run that asks it.

Time is simulated, so that hours of waiting take milliseconds. The run does as ours: the first tasks
go before the rest, calls that failed go again later and later, and whoever is blamed goes in
halves, or fails.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from quire.domain.ids import LaneId, RequestId, TaskId
from quire.planning.call_health import CallHealth, SentCall
from quire.planning.job_forecasts import EARLY_TASKS
from quire.planning.packing import half_of

MAX_TRIES = 3
LANE = LaneId(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingServer:
    """When calls fail."""

    poisons: frozenset[int] = frozenset()  # tasks that break any call they are in
    chance: float = 0.0
    outages: Sequence[tuple[float, float]] = ()  # from and until when all fail, in seconds

    def fails(self, tasks: Sequence[int], now: float, draw: random.Random) -> bool:
        """Whether a call fails that comes back now."""
        down = any(begin <= now < end for begin, end in self.outages)
        return down or bool(self.poisons & set(tasks)) or draw.random() < self.chance


@dataclass(slots=True)
class Request:
    """One call, and how often it went."""

    id: int
    tasks: list[int]
    sent: int = 0


@dataclass
class Run:
    """A run of so many tasks against such a server."""

    server: FailingServer
    tasks: int = 100
    pack_size: int = 10
    concurrency: int = 4
    seed: int = 0
    done: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    halved: int = 0
    sendings: int = 0
    now: float = 0.0
    health: CallHealth = field(default_factory=CallHealth)

    def __post_init__(self) -> None:
        """Begin with nothing sent."""
        self._draw = random.Random(self.seed)
        self._ready = [(task, self.pack_size) for task in range(self.tasks)]
        self._waiting: list[tuple[float, int, Request]] = []
        self._out: list[tuple[float, int, Request]] = []
        self._packed = self._requests = 0

    def go(self, most_sendings: int, until: Callable[["Run"], bool] = lambda run: False) -> "Run":
        """Send until nothing is owed, or so often."""
        while len(self.done) + len(self.failed) < self.tasks and self.sendings < most_sendings:
            if until(self):
                break
            self._pack()
            self._send()
            if not self._out:
                self.now = self._waiting[0][0]
                continue
            self.now, _, request = heapq.heappop(self._out)
            self._take_back(request)
        return self

    def _pack(self) -> None:
        ended = len(self.done) + len(self.failed)
        room = self.tasks
        if ended < EARLY_TASKS:
            room = EARLY_TASKS - self._packed - ended + self.health.stuck_tasks([LANE])
        self._ready.sort()
        while room > 0 and self._ready:
            cap, tasks = self._ready[0][1], list[int]()
            while self._ready and len(tasks) < min(cap, self._ready[0][1], room):
                task, own = self._ready.pop(0)
                cap = min(cap, own)
                tasks.append(task)
            if not tasks:
                break
            self._requests += 1
            self._packed += len(tasks)
            room -= len(tasks)
            self._queue(Request(self._requests, tasks), self.now)

    def _queue(self, request: Request, at: float) -> None:
        heapq.heappush(self._waiting, (at, request.id, request))

    def _send(self) -> None:
        while (
            len(self._out) < self.concurrency and self._waiting and self._waiting[0][0] <= self.now
        ):
            request = heapq.heappop(self._waiting)[2]
            request.sent += 1
            self.sendings += 1
            back = self.now + 0.1 + self._draw.random()
            heapq.heappush(self._out, (back, request.id, request))

    def _take_back(self, request: Request) -> None:
        sent = SentCall(RequestId(request.id), LANE, len(request.tasks), request.sent)
        members = [TaskId(task) for task in request.tasks]
        if not self.server.fails(request.tasks, self.now, self._draw):
            self.health.note_answer(sent, members)
            self.done |= set(request.tasks)
            self._packed -= len(request.tasks)
            return
        self.health.note_failure(sent, members)
        if not self.health.is_culprit(sent, MAX_TRIES):
            delay = max(0.05, self._draw.random() * min(60.0, 2.0 ** min(request.sent, 6)))
            self._queue(request, self.now + delay)
            return
        self.health.note_split(sent, members)
        self._packed -= len(request.tasks)
        if len(request.tasks) == 1:
            self.failed |= set(request.tasks)
        else:
            self.halved += 1
            cap = half_of(len(request.tasks))
            self._ready += [(task, cap) for task in request.tasks]
