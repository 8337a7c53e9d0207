"""Rate limits and pacing: what may go now; each limit fills up with time, and calls take of it.

A provider allows so many requests and tokens in any minute, and counts them when they arrive. Each
limit is a bucket: it fills at a steady rate up to what may go at once, and a call takes what it
will need. Were a bucket to hold a whole minute's worth, a full bucket and the minute that follows
would together be twice the limit; so it holds a tenth (`BURST_PERCENT`), and fills with 85 % of the
limit in a minute (`STEADY_PERCENT`). The remaining 5 % are for calls that are under way for longer
than those sent after them.

What a call takes is not known before it is answered. Its input is reckoned at its bound, its output
at what answers took; what was too much is put back (`return_calls`) in the transaction that records
the answer; one larger than a bucket goes when the bucket is full, and leaves a debt, or it would
never go. What the provider reports is believed only where it is less than we think: its headers are
older than our latest calls, and somebody else may use the same key.

All workers of a ledger share a pool's level, each with a clock of its own. So a level carries the
moment it was true, a clock that is behind fills nothing, and amounts are whole thousandths:
rounding down at every look would starve a slow limit, which is why time too short to count is left
standing.

Not every limit is stated. How many calls a model takes at once is felt out by a window
(`Throttle`), which answers widen, and which a 429 or a lost call narrows: a server that takes one
call at a time lets the others wait until we give up, and works on them all the same. How long to
wait for an answer follows from how long answers take (`AnswerTimes`).
"""

from collections.abc import Sequence
from datetime import datetime
from math import inf

from quire.domain.accounts import Level, Need
from quire.domain.models import Limits

# Together less than the limit in any minute: what may go at once, and what comes back in one. The
# rest is for calls that arrive later than they are sent, so that they meet those sent after them.
BURST_PERCENT = 10
STEADY_PERCENT = 85
MINUTE = 60_000_000  # microseconds
PARTS = 1000  # of a request or a token, so that slow limits fill up too
LEAST_PARTS = 20  # parts that must have come: of less, rounding down would take away too much


_NAMES = ("requests", "input", "output", "total")


def narrowest_limits(*limits: Limits) -> Limits:
    """Hold to the smallest number that anybody states for each limit; servers say 0 for none."""
    by_name = zip(_NAMES, zip(*map(_values, limits), strict=True), strict=True)
    return Limits(**{name: min(filter(None, stated), default=None) for name, stated in by_name})


def latest_limits(stated: Sequence[Limits]) -> Limits:
    """What was stated last of each limit."""
    by_name = zip(_NAMES, zip(*map(_values, reversed(stated)), strict=True), strict=False)
    return Limits(
        **{name: next((it for it in said if it is not None), None) for name, said in by_name}
    )


def _least_limits(stated: Sequence[Limits]) -> list[int | None]:
    """The least that was stated of each limit; None where nobody did, and nothing by nobody."""
    by_limit = zip(*map(_values, stated), strict=True)
    return [min((it for it in said if it is not None), default=None) for said in by_limit]


def is_limited(limits: Limits) -> bool:
    """Whether there is anything to hold to."""
    return any(limit is not None for limit in _values(limits))


def full_level(limits: Limits, at: int) -> Level:
    """All of it: nobody has taken anything."""
    return Level(at, *map(_capacity, _values(limits)))


def refill(level: Level, limits: Limits, at: int) -> Level:
    """Let time fill up what is left; a clock that is behind fills nothing.

    Clocks of several machines differ a little, and nobody may gain from that. One that is more than
    a minute behind is right, and that of whoever was here before was not.

    Time that is too short to fill the slowest limit is not counted yet, however often one looks.
    """
    if level.at - at > MINUTE:
        return level._replace(at=at)
    passed = max(0, at - level.at)
    stated = _values(limits)
    slowest = min((limit for limit in stated if limit is not None), default=None)
    if slowest is not None and _steady_rate(slowest) * passed < LEAST_PARTS * MINUTE:
        return level
    levels = (
        left
        if limit is None
        else min(_capacity(limit), left + _steady_rate(limit) * passed // MINUTE)
        for left, limit in zip(level[1:], stated, strict=True)
    )
    return Level(max(at, level.at), *levels)


def admit(level: Level, limits: Limits, needs: Sequence[Need]) -> tuple[int, Level]:
    """Say how many of these calls may go now, in order, and what is left after them.

    A call that needs more than may go at once goes when all of that is there, and leaves a debt.
    """
    bounds = _bounds(limits)
    left = list(level[1:])
    together = _parts(_sum_needs(needs))
    if all([together[no] * PARTS <= left[no] <= most for no, _, most in bounds]):
        for no, _, _ in bounds:  # as a rule: there is enough for all of them
            left[no] -= together[no] * PARTS
        return len(needs), Level(level.at, *left)
    for count, need in enumerate(needs):
        parts = _parts(need)
        if any([left[no] < min(parts[no] * PARTS, most) for no, _, most in bounds]):
            return count, Level(level.at, *left)
        for no, least, most in bounds:
            left[no] = max(least, min(most, left[no] - parts[no] * PARTS))
    return len(needs), Level(level.at, *left)


def seconds_until_admitted(level: Level, limits: Limits, needs: Sequence[Need]) -> float:
    """How long it takes until these calls, or as many as go at once, may go together."""
    together = _sum_needs(needs)
    missing = (
        (min(part * PARTS, _capacity(limit)) - left) * MINUTE / max(1, _steady_rate(limit))
        for left, part, limit in zip(level[1:], _parts(together), _values(limits), strict=True)
        if limit is not None
    )
    return max(0.0, *missing) / 1e6


def low_limits(level: Level, limits: Limits) -> list[str]:
    """Name the limits of which less than half of what may go at once is left."""
    return [
        name
        for name, left, limit in zip(_NAMES, level[1:], _values(limits), strict=True)
        if limit is not None and left * 2 < _capacity(limit)
    ]


def return_calls(
    level: Level, limits: Limits, unused: Need, reported: Sequence[Limits] = ()
) -> Level:
    """Put back what calls that came back together did not take.

    What was reckoned too low is taken now. The provider is believed where any of its answers
    reported that less is left than we thought.
    """
    left, parts = list(level[1:]), _parts(unused)
    for no, least, most in _bounds(limits):
        left[no] = max(least, min(most, left[no] + parts[no] * PARTS))
    for no, it in enumerate(_least_limits(reported)):
        if it is not None:
            left[no] = min(left[no], it * PARTS)
    return Level(level.at, *left)


def _values(limits: Limits) -> tuple[int | None, ...]:
    return limits.requests, limits.input, limits.output, limits.total


def _sum_needs(needs: Sequence[Need]) -> Need:
    return Need(*map(sum, zip(*needs, strict=True))) if needs else Need(0, 0, 0)


def _parts(need: Need) -> tuple[int, ...]:
    return (*need, need.total)


def _capacity(limit: int | None) -> int:
    return 0 if limit is None else max(PARTS, limit * PARTS * BURST_PERCENT // 100)


def _steady_rate(limit: int) -> int:
    return limit * PARTS * STEADY_PERCENT // 100


def _bounds(limits: Limits) -> list[tuple[int, int, int]]:
    """The place of each stated limit in a level, and between what it moves.

    A debt is never more than a minute's worth.
    """
    return [
        (no, -limit * PARTS, _capacity(limit))
        for no, limit in enumerate(_values(limits))
        if limit is not None
    ]


FIRST_WINDOW = 8  # calls that go out at once before anything is known
FIRST_WINDOW_OF_OWN_SERVERS = 2  # many of them carry out one call at a time
WINDOW_SHRINK = 0.75  # what is left of the window when the provider says that it is too wide
WINDOW_SHRINK_AFTER_LOSS = 0.5  # less, because a lost call may be paid for
MOST_CAUTION = 64  # times as many answers as usual before the window is as wide as at a loss
PUSHBACK_MERGE_SECONDS = 1.0  # calls pushed back within it count as one


class Throttle:
    """The window of one model: doubled by success until the first push-back, then one by one.

    Where a call was lost, the window is not as wide again before a while that doubles each time.
    """

    def __init__(self, first: int = FIRST_WINDOW) -> None:
        """Begin small."""
        self._window = float(first)
        self._starting = True
        self._most = 0  # the most that any policy allowed so far
        self._answered = 0  # since the window last grew
        self._pushed: datetime | None = None
        self._lost_at = inf  # how wide the window was when a call was last lost
        self._caution = 1  # times as many answers as usual before it is as wide again

    @property
    def limit(self) -> int:
        """How many calls to the model may be out, those of runs with other policies included."""
        return max(1, min(int(self._window), self._most))

    def note_concurrency(self, most: int) -> None:
        """A policy allows so many calls at once: the widest that was seen bounds the window."""
        self._most = max(self._most, most)

    def note_answer(self) -> None:
        """A call was answered: after a window of these there is room for more."""
        self._answered += 1
        if self._answered < self._window:
            return
        if self._window > self._lost_at:  # wider than when calls were lost, and none was
            self._lost_at, self._caution = inf, max(1, self._caution // 2)
        wider = self._window * 2 if self._starting else self._window + 1
        if wider >= self._lost_at and self._answered < self._window * self._caution:
            return
        self._answered = 0
        self._window = min(wider, float(self._most)) if self._most else wider

    def note_pushback(self, now: datetime) -> None:
        """The provider asked to wait."""
        before = self._pushed
        if before is None or (now - before).total_seconds() >= PUSHBACK_MERGE_SECONDS:
            self._shrink(now, WINDOW_SHRINK)

    def note_loss(self, sent: datetime, now: datetime) -> None:
        """A call timed out, or its connection was dropped.

        One that was sent before the window last shrank says nothing new.
        """
        if self._pushed is not None and sent < self._pushed:
            return
        self._lost_at = int(self._window)
        self._caution = min(MOST_CAUTION, self._caution * 2)
        self._shrink(now, WINDOW_SHRINK_AFTER_LOSS)

    def _shrink(self, now: datetime, left: float) -> None:
        self._pushed, self._starting, self._answered = now, False, 0
        self._window = max(1.0, self._window * left)


TIMEOUT_FACTOR = 3.0  # times what the slowest of the recent answers took
TIMEOUT_GROWTH = 2.0  # times what was waited in vain
LONGEST_TIMEOUT = 8.0  # times what the policy says
TIMES_KEPT = 0.95  # of what is known, after each further answer


class AnswerTimes:
    """How long the calls to one model took, and so how long to wait for the next."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._slowest = 0.0
        self._in_vain = 0.0

    def note_answer(self, seconds: float) -> None:
        """An answer came after so long."""
        self._slowest = max(seconds, self._slowest * TIMES_KEPT)
        self._in_vain *= TIMES_KEPT

    def note_timeout(self, seconds: float) -> None:
        """No answer came for so long."""
        self._in_vain = max(self._in_vain, seconds)

    def timeout(self, stated: float) -> float:
        """Seconds after which a call counts as lost, where the policy says so many."""
        learned = max(self._slowest * TIMEOUT_FACTOR, self._in_vain * TIMEOUT_GROWTH)
        return min(max(stated, learned), stated * LONGEST_TIMEOUT)
