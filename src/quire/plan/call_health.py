"""Call health: whether a call fails by what is in it, or because nothing works just now.

A server may break down whenever one certain block is in the pack: such a call is in vain however
often it is sent, and its neighbours with it. But a server that is down fails all calls alike, and
then waiting is all that helps. What tells the two apart is what became of other calls: a failure
counts against a call only while most others are answered, and while something was answered since
the call failed first. And where a server fails now and then by chance, so many failures in a row
must be too unlikely for that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.ids import LaneId, RequestId, TaskId

REMEMBERED = 40  # requests whose last outcome is known
MOST_SPLIT_TASKS = 1000  # remembered
RECENT = 10  # of these, that say whether most calls are answered
FEW_FAILURES = 3  # that a pack must have had
MANY_FAILURES = 30  # sendings in vain: then one of the two signs is enough
MANY_FAILURES_OF_PACK = 6  # then most others answered is enough: halving costs little
UNLIKELY, VERY_UNLIKELY = 1e-3, 1e-6  # for a pack to be halved, for a lone task to be given up


class SentCall(NamedTuple):
    """A call that came back, as far as its health is concerned."""

    request: RequestId
    lane: LaneId
    tasks: int
    no: int  # which sending of its request this was


@dataclass(slots=True)
class _FailingRequest:
    lane: LaneId
    tasks: int
    answers_before: int  # of other calls, when it failed first or was split from others
    counted: int = 0  # failures that count against it


class CallHealth:
    """What became of the recent calls to one model, from one worker."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._answers = 0
        self._split_tasks: dict[TaskId, int] = {}  # tasks of split calls: answers until then
        self._outcomes: dict[RequestId, int] = {}  # sendings until the answer; 0: it fails
        self._failing: dict[RequestId, _FailingRequest] = {}

    def note_answer(self, call: SentCall) -> None:
        """A call was answered."""
        self._answers += 1
        self._failing.pop(call.request, None)
        self._remember(call.request, call.no)

    def knows(self, call: SentCall) -> bool:
        """Whether it has failed before."""
        return call.request in self._failing

    def note_failure(self, call: SentCall, members: Sequence[TaskId] = ()) -> int:
        """A call failed as a whole; returns how many failures count against its request.

        `members` are needed the first time: what was answered since they were split counts.
        """
        if not self.knows(call):
            splits = [self._split_tasks[task] for task in members if task in self._split_tasks]
            before = max(splits, default=self._answers)
            self._failing[call.request] = _FailingRequest(call.lane, call.tasks, before)
        failing = self._failing[call.request]
        if self._counts(call, failing):
            failing.counted += 1
        self._remember(call.request, 0)
        return failing.counted

    def note_split(self, call: SentCall, members: Sequence[TaskId]) -> None:
        """A call's tasks go apart: what is to blame among them, others' answers will show."""
        self.forget([call.request])
        self._split_tasks |= dict.fromkeys(members, self._answers)
        for task in list(self._split_tasks)[:-MOST_SPLIT_TASKS]:
            del self._split_tasks[task]

    def forget(self, requests: Sequence[RequestId]) -> None:
        """Requests were given back, for whatever reason."""
        for request in requests:
            self._failing.pop(request, None)
            self._outcomes.pop(request, None)

    def is_culprit(self, failures: int, tasks: int, max_tries: int) -> bool:
        """Whether so many failures are the fault of what a call carries."""
        answered = [sendings for sendings in self._outcomes.values() if sendings]
        chance = (sum(answered) - len(answered) + 0.5) / (sum(answered) + 1)
        if tasks > 1:
            return failures >= FEW_FAILURES and chance**failures <= UNLIKELY
        return failures >= max_tries and chance**failures <= VERY_UNLIKELY

    def stuck_tasks(self, lane: LaneId) -> int:
        """Tasks of calls that are suspected: nobody need wait for them."""
        return sum(
            failing.tasks
            for failing in self._failing.values()
            if failing.lane == lane and failing.counted
        )

    def _counts(self, call: SentCall, failing: _FailingRequest) -> bool:
        others = [
            sendings
            for request, sendings in reversed(self._outcomes.items())
            if request != call.request and not self._is_suspected(request)
        ][:RECENT]
        mostly_answered = 2 * sum(map(bool, others)) > len(others)
        answered_since = self._answers > failing.answers_before
        if call.tasks > 1 and call.no >= MANY_FAILURES_OF_PACK:
            return mostly_answered
        if call.no >= MANY_FAILURES:
            return mostly_answered or answered_since
        return mostly_answered and answered_since

    def _is_suspected(self, request: RequestId) -> bool:
        return request in self._failing and self._failing[request].counted > 0

    def _remember(self, request: RequestId, sendings: int) -> None:
        self._outcomes.pop(request, None)
        self._outcomes[request] = sendings
        if len(self._outcomes) > REMEMBERED:
            del self._outcomes[next(iter(self._outcomes))]
