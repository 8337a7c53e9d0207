"""Call health: whether a call fails by what is in it, or because nothing works just now.

A server may break down whenever one certain block is in the pack: such a call is in vain however
often it is sent, and its neighbours with it. But a server that is down fails all calls alike, and
then waiting is all that helps. What tells the two apart is what became of other calls. A failure
*counts* against a call where another was answered since it failed last: the server was up in
between, and yet. Few such answers will do, for many calls may be broken at once; but where a server
fails now and then by chance, so many failures in a row must be too unlikely for that. How likely is
told by what answered calls took, without their failures in an outage, which nobody drew by chance.

A pack that is halved for nothing costs little, a lone task that fails for nothing is lost work. So
less is asked before a pack is halved. What follows is stronger: where one of a halved pack is to
blame and all others of it were answered, it is the one that is left. Else a lone task that nobody's
answer speaks against any more, because there is nothing else to be asked, needs many failures; and
where more than a few such tasks fail at once it is an outage, unless much speaks against them.

Where nothing is answered any more, it may be an outage, or nothing but culprits may be left. More
is sent then (`stuck_tasks`), to see; and after many failures one pack is halved to find out.

Where nothing was ever answered, waiting may help nobody: whoever is at the other end may carry all
calls out, bill them, and never answer. So calls that were lost there are counted together.

What a batch answered, or failed at among answers, speaks as loud: calls that are left of a batch
often go direct, where nothing else goes.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.ids import LaneId, RequestId, TaskId

REMEMBERED = 40  # requests whose last outcome is known
MOST_SPLIT_TASKS = 1000  # remembered
RECENT = 10  # of these, that say whether most calls are answered
CHANCE_FAILURES = 10  # in a row of all calls that may be chance; what follows is an outage
PUSHBACK_CAUTION = 2  # failures by push-back weigh as much as one by a breakdown
MOST_SENDINGS = 30  # of an answered call that say how long an outage may be
FEW_FAILURES = 3  # that a pack must have had
MANY_FAILURES_OF_PACK = 6  # sendings in vain: then most others answered is enough to halve it
SEVERAL_FAILURES = 15  # sendings in vain of a lone task that much speaks against,
MANY_FAILURES = 30  # or little: then nobody waits for another to be answered
VERY_MANY_FAILURES = 300
FEW_LONE_TASKS = 5  # that fail at once: the more there are, the more it looks like an outage
MOST_UNPROVEN_TASKS = 50  # that others are sent instead of, while it may be an outage
# for failures by chance: to speak against a call, to halve a pack, to give a lone task up
UNUSUAL, UNLIKELY, VERY_UNLIKELY = 0.02, 1e-3, 1e-6


class SentCall(NamedTuple):
    """A call that came back, as far as its health is concerned."""

    request: RequestId
    lane: LaneId
    tasks: int
    no: int  # which sending of its request this was
    lost: int = 0  # of those before, how many nobody knows the end of


class _HalvedPack(NamedTuple):
    """A pack that was halved."""

    suspects: frozenset[TaskId]  # one of them is to blame, as answers showed while they failed
    answers_before: int


@dataclass(slots=True)
class _FailingRequest:
    lane: LaneId
    members: frozenset[TaskId]
    pack: _HalvedPack | None  # that a lone task was in at last
    answers_before: int  # of other calls, when it failed first or was split from others
    answers_seen: int  # the same, when it failed last
    failures: int = 0
    witnessed: int = 0  # failures since whose last another was answered
    counted: int = 0  # failures that count against it
    by_chance: int = 0  # failures that were chance, if it is answered after all

    @property
    def is_suspect(self) -> bool:
        """Whether a lone task is what is left of a pack, one of which is to blame."""
        return self.pack is not None and bool(self.pack.suspects)


class CallHealth:
    """What became of the recent calls to one model, from one worker."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._answers = 0
        self._halved: dict[TaskId, _HalvedPack] = {}  # that each was in at last
        self._cleared: set[TaskId] = set()  # of these, those that were answered
        self._outcomes: dict[RequestId, bool] = {}  # whether they were answered at last
        self._in_vain = 0  # calls since the last answer
        self._lost = 0  # of these, how many nobody knows the end of
        self._sendings: deque[int] = deque(maxlen=REMEMBERED)  # that the last answers took,
        self._sendings_when_up: deque[int] = deque(maxlen=REMEMBERED)  # and without any outage
        self._failing: dict[RequestId, _FailingRequest] = {}
        self._has_answered = False  # ever, whoever asked
        self._explored: frozenset[TaskId] = frozenset()  # of the pack that is halved to find out
        self._explored_after = -1  # answers

    @property
    def seeks_culprit(self) -> bool:
        """Whether one of a halved pack is looked for: then it matters whose tasks are answered."""
        return len(self._halved) > len(self._cleared)

    def note_answer(self, call: SentCall, members: Sequence[TaskId] = ()) -> None:
        """A call was answered; `members` are needed while a culprit is sought."""
        self._answers += 1
        self._has_answered = True
        self._cleared.update(task for task in members if task in self._halved)
        failing = self._failing.pop(call.request, None)
        self._sendings.append(min(call.no, MOST_SENDINGS))
        self._sendings_when_up.append(1 + failing.by_chance if failing else 1)
        self._in_vain = self._lost = 0
        self._remember(call.request, answered=True)

    def note_past_answers(self) -> None:
        """The model has answered before this worker came."""
        self._has_answered = True

    def knows(self, call: SentCall) -> bool:
        """Whether it has failed before."""
        return call.request in self._failing

    def note_failure(
        self,
        call: SentCall,
        members: Sequence[TaskId] = (),
        *,
        among_answers: bool = False,
        lost: bool = False,
    ) -> None:
        """A call failed as a whole, perhaps in a batch whose other calls were answered.

        `members` are needed the first time: what was answered since they were split counts.
        """
        if not self.knows(call):
            self._failing[call.request] = self._begin_failing(call, members)
        failing = self._failing[call.request]
        failing.failures += 1
        self._in_vain += 1
        self._lost += lost
        if among_answers:  # they came with it
            failing.answers_before = min(failing.answers_before, self._answers - 1)
        witnessed = among_answers or self._answers > failing.answers_seen
        failing.by_chance += witnessed or self._in_vain <= CHANCE_FAILURES
        if witnessed:
            failing.witnessed += 1
            failing.counted += 1
        elif self._counts_unwitnessed(call, failing):
            failing.counted += 1
        failing.answers_seen = self._answers
        self._remember(call.request, answered=False)

    def _begin_failing(self, call: SentCall, members: Sequence[TaskId]) -> _FailingRequest:
        packs = [self._halved[task] for task in members if task in self._halved]
        before = max([pack.answers_before for pack in packs], default=self._answers)
        pack = packs[0] if call.tasks == 1 and packs else None
        return _FailingRequest(call.lane, frozenset(members), pack, before, before)

    def note_split(self, call: SentCall, members: Sequence[TaskId]) -> None:
        """A call's tasks go apart: what is to blame among them, others' answers will show.

        A lone one fails.
        """
        failing = self._failing.get(call.request)
        proven = failing is not None and failing.witnessed > 0
        self.forget([call.request])
        if call.tasks == 1:  # it is found, and goes no more
            self._halved.pop(members[0], None)
            return
        for task in members:
            known = self._halved[task].suspects if task in self._halved else frozenset[TaskId]()
            suspects = frozenset(members) if proven else known
            self._halved[task] = _HalvedPack(suspects, self._answers)
        self._cleared.difference_update(members)
        for task in list(self._halved)[:-MOST_SPLIT_TASKS]:
            del self._halved[task]
            self._cleared.discard(task)

    def forget(self, requests: Sequence[RequestId]) -> None:
        """Requests were given back, for whatever reason."""
        for request in requests:
            self._failing.pop(request, None)
            self._outcomes.pop(request, None)

    def is_culprit(self, call: SentCall, max_tries: int, *, pushed_back: bool = False) -> bool:
        """Whether the failures that count against a call are the fault of what it carries.

        A server that pushes calls back may have less room for large ones: more is asked then.
        """
        failing, weight = self._failing[call.request], PUSHBACK_CAUTION if pushed_back else 1
        counted, witnessed = failing.counted / weight, failing.witnessed / weight
        when_up = _chance(self._sendings_when_up)
        if call.tasks > 1:
            return counted >= FEW_FAILURES and when_up**counted <= UNLIKELY
        by_chance = when_up**witnessed * self._chance ** (counted - witnessed)
        return counted >= max_tries and by_chance <= VERY_UNLIKELY

    def is_alone_in_failing(self, call: SentCall) -> bool:
        """Whether others were answered while a call failed, more often than by accident.

        What is left of a halved pack may be two culprits, of whom neither clears the other.
        """
        failing = self._failing[call.request]
        evidence = failing.witnessed + failing.is_suspect
        by_chance = _chance(self._sendings_when_up) ** evidence
        return failing.witnessed >= FEW_FAILURES or (
            failing.witnessed > 0 and by_chance <= UNLIKELY
        )

    def is_suspected_in_batches(self, call: SentCall) -> bool:
        """Whether a failure counts against a call although nothing of its batch was answered.

        It failed before among answers. A lone task fails for good: more must speak against it.
        """
        failing = self._failing.get(call.request)
        if failing is None or not failing.witnessed:
            return False
        return call.tasks > 1 or failing.witnessed > 1 or self._is_left_over(failing)

    @property
    def calls_in_vain(self) -> int:
        """How many calls failed since the last answer."""
        return self._in_vain

    @property
    def lost_unheard(self) -> int:
        """How many calls were lost, each perhaps billed, where nothing was ever answered."""
        return 0 if self._has_answered else self._lost

    def forget_losses(self) -> None:
        """A person was asked about them: from here on they count anew."""
        self._lost = 0

    @property
    def _chance(self) -> float:
        """Of a sending to fail, whether by chance or in an outage."""
        return _chance(self._sendings)

    def stuck_tasks(self, lanes: Collection[LaneId]) -> int:
        """Tasks of calls that are suspected, whichever way they go: nobody need wait for them."""
        failing = [failing for failing in self._failing.values() if failing.lane in lanes]
        suspected = sum(len(item.members) for item in failing if item.counted)
        if not self._has_answered:
            return suspected
        unproven = [item for item in failing if not item.counted and item.failures >= FEW_FAILURES]
        return suspected + min(MOST_UNPROVEN_TASKS, sum(len(item.members) for item in unproven))

    def _counts_unwitnessed(self, call: SentCall, failing: _FailingRequest) -> bool:
        """Whether a failure counts although nothing was answered since the last one."""
        if call.tasks == 1:
            return self._is_left_over(failing) or self._is_in_vain(call, failing)
        if self._answers > failing.answers_before or call.no >= MANY_FAILURES_OF_PACK:
            return self._are_others_answered(call) or self._explores(call, failing)
        return False

    def _is_left_over(self, failing: _FailingRequest) -> bool:
        """Whether all others of a pack one of which is to blame were answered."""
        if failing.pack is None or not failing.is_suspect:
            return False
        return failing.pack.suspects - failing.members <= self._cleared

    def _explores(self, call: SentCall, failing: _FailingRequest) -> bool:
        """Whether a pack is halved to find out if anything works: one, until something does."""
        if not self._has_answered or call.no < MANY_FAILURES:
            return False
        if self._explored_after < self._answers:
            self._explored_after, self._explored = self._answers, failing.members
        return failing.members <= self._explored

    def _is_in_vain(self, call: SentCall, failing: _FailingRequest) -> bool:
        """Whether a lone task has failed so often that nobody waits for another's answer."""
        others = [item for item in self._failing.values() if item is not failing]
        lone = 1 + sum(len(item.members) == 1 for item in others)
        few_are_left = len(others) < lone <= FEW_LONE_TASKS
        alone = all(item.counted for item in others) or few_are_left
        evidence = failing.witnessed + (failing.is_suspect or alone)
        if not self._has_answered or not evidence:
            return False
        by_chance = self._chance**evidence
        if by_chance > UNUSUAL:  # it has failed when others did not, but so does everything here
            proven = failing.is_suspect or lone <= FEW_LONE_TASKS
            return proven and call.no >= VERY_MANY_FAILURES
        enough = SEVERAL_FAILURES if by_chance <= UNLIKELY else MANY_FAILURES
        return call.no >= min(VERY_MANY_FAILURES, enough * max(1, 1 + lone - FEW_LONE_TASKS))

    def _are_others_answered(self, call: SentCall) -> bool:
        others = [
            answered
            for request, answered in reversed(self._outcomes.items())
            if request != call.request and not self._is_suspected(request)
        ][:RECENT]
        return 2 * sum(others) > len(others)

    def _is_suspected(self, request: RequestId) -> bool:
        return request in self._failing and self._failing[request].counted > 0

    def _remember(self, request: RequestId, *, answered: bool) -> None:
        self._outcomes.pop(request, None)
        self._outcomes[request] = answered
        if len(self._outcomes) > REMEMBERED:
            del self._outcomes[next(iter(self._outcomes))]


def _chance(sendings: Collection[int]) -> float:
    """Of a sending to fail, by how many the answered calls took."""
    return (sum(sendings) - len(sendings) + 0.5) / (sum(sendings) + 1)
