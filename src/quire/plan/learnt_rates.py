"""Learnt rates: how many calls a minute a server allows that says nothing but 429.

A refusal tells one thing exactly: at that moment nothing was left. What was accepted between two
such moments is what came back in between, however large the server's bucket is; so the rate is that
count over that time, to within one call, and several such spans narrow it further
(`_rate_between`). Spans from before a limit changed contradict the newer ones, and are dropped.

Servers count in two ways. Where what is allowed comes back steadily, one call gets through soon
after a refusal. Where it comes back at once, at the turn of a minute, nothing gets through until
then. So after a refusal single calls feel out when the server takes some again, each after a longer
pause; a long silence means windows, the first call that gets through tells when they begin, and
what was accepted in one is its limit, exactly. Then nothing is asked between the end of one and the
beginning of the next.

Between refusals calls go at the rate found, and after as many as a refusal is worth a little
faster, then faster and faster (`_growth`): where the limit is as before, that costs a refusal in
fifty calls or fewer; where it is higher, twice the rate is reached within some 120 calls. Calls
that nobody had to hold back prove nothing, and do not count.

Only what was let go and what was refused is counted: answers come seconds later, refusals at once.
All workers of a ledger share one state; whoever sent calls before the first refusal adds them when
first seeing it (`SentSoFar`). Moments are microseconds and arguments; nothing here reads a clock.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import NamedTuple

from quire.domain.data import JsonObject

SECOND = 1_000_000
WINDOW = 60 * SECOND  # what servers count in
BURST_SECONDS = 3.0  # of the rate may go at once, after a worker was busy elsewhere
LEAST_CALLS = 50  # that go before the rate is felt out upwards, however slow it is
STEADY_SECONDS = 6.0  # of the rate go before that, where calls come back steadily
WINDOW_SECONDS = 40.0  # and in windows: a refusal is to be at their end
UNSURE_CALLS, UNSURE_SECONDS = 10, 2.0  # after a first refusal, which shows the rate only roughly
STEADY_ECHOES, UNSURE_ECHOES = 10.0, 4.0  # or so many times what it takes to hear of a refusal
GROWTH = 0.08  # faster after that many calls; it grows with their third power
MOST_GROWTH = 1_000.0
LONGEST_PAUSE = 4.0  # seconds between two calls that feel out a silent server
SHORTEST_ECHO, LONGEST_ECHO = 0.02, 3.0  # seconds until a refusal is heard of
SPANS = 8  # moments at which nothing was left that are remembered
FAR_APART = 1.3  # between what went last and what came back: then the truth is in the middle
INEXACT = 0.03  # of what was accepted in a span, because calls are under way for a while
UPWARDS = 0.3  # of the way between them, where they are near: a small bucket loses what is left
SOON = 5 * SECOND  # a window that begins so soon is waited for
LEAST_RATE = 1 / 60  # calls a second
LAPSE = 3_600 * SECOND  # without a call, nothing is known any more


class SentSoFar(NamedTuple):
    """Calls that were sent while nothing was refused."""

    since: int
    last: int
    calls: int


def note_sent(sofar: SentSoFar | None, count: int, at: int) -> SentSoFar:
    """Count calls; after a minute without any, the server has forgotten the earlier ones."""
    if sofar is None or not 0 <= at - sofar.last < WINDOW:
        return SentSoFar(at, at, count)
    if at - sofar.since > 10 * WINDOW:  # the newer half says more
        sofar = SentSoFar((sofar.since + at) // 2, at, sofar.calls // 2)
    return SentSoFar(sofar.since, at, sofar.calls + count)


class Empty(NamedTuple):
    """A moment at which nothing was left, and how many calls had been accepted by then."""

    at: int
    accepted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRate:
    """What is known of a rate, and what may go by it."""

    rate: float  # calls a second
    sure: bool = False  # more than one refusal bears it out
    at: int  # when this many calls could go:
    tokens: float = 0.0
    accepted: int  # calls let go, less those that were refused
    since: int  # when the first of them went
    grown: int = 0  # calls held back by the rate since the last refusal
    went: float = 0.0  # calls a second when it came
    free_at: int = 0  # nothing goes before
    pause: float = 0.0  # seconds, the last one
    silence: int = 0  # refusals in a row without a call accepted in between
    silent_since: int = 0
    heard_at: int = 0  # of the last refusal
    refused_probe: int = 0  # when the last call went that felt out the server in vain
    probe_at: int = 0  # when the call went that feels out the server; -1: it may go
    echo: float = 0.3  # seconds from sending a call to hearing that it was refused
    boundary: int = 0  # when the current window began, at the latest; 0: there are none
    doubt: int = 0  # how much earlier that may have been
    base: int = 0  # accepted before it
    counted: int = 0  # accepted in it when the last refusal was heard of
    empties: tuple[Empty, ...] = ()


def first_rate(sofar: SentSoFar, refused: Sequence[int], at: int) -> LearntRate:
    """What a first refusal shows; `refused` are the moments at which those calls were sent.

    A bucket that held a minute's worth is thought to have been full when the first call went:
    the lowest of the rates that there may be.
    """
    accepted = max(1, sofar.calls - len(refused))
    seconds = (at - sofar.since) / SECOND
    start = LearntRate(
        rate=_at_least(accepted / (60 + seconds)), at=at, accepted=accepted, since=sofar.since
    )
    return _pause(
        replace(start, echo=_echo(0.0, refused, at), empties=(Empty(at, accepted),), heard_at=at),
        at,
    )


def add_sent(rate: LearntRate, sofar: SentSoFar) -> LearntRate:
    """Count what another worker sent before anybody was refused."""
    since = min(rate.since, sofar.since)
    accepted = rate.accepted + sofar.calls
    empties = tuple(Empty(at, count + sofar.calls) for at, count in rate.empties)
    more = replace(
        rate, accepted=accepted, since=since, base=rate.base + sofar.calls, empties=empties
    )
    if rate.sure or len(empties) != 1:
        return more
    found = empties[0].accepted / (60 + (empties[0].at - since) / SECOND)
    return replace(more, rate=_at_least(max(rate.rate, found)))


def let_go(rate: LearntRate, wanted: int, at: int) -> tuple[int, LearntRate]:
    """Say how many calls may go now, and count them as accepted until they are refused."""
    rate = _fill(rate, at)
    if at < rate.free_at or not wanted:
        return 0, rate
    if rate.probe_at == -1:
        return 1, replace(rate, probe_at=at, accepted=rate.accepted + 1)
    if rate.probe_at:
        if at < rate.probe_at + _gap(rate):
            return 0, rate
        rate = _recover(rate, at)
    count = min(wanted, int(rate.tokens + 1e-9))
    return count, replace(
        rate,
        tokens=rate.tokens - count,
        accepted=rate.accepted + count,
        grown=rate.grown + count if wanted > count else rate.grown,
    )


def seconds_until_free(rate: LearntRate, wanted: int, at: int) -> float:
    """How long it takes until so many calls, or as many as go at once, may go together."""
    if at < rate.free_at:
        return (rate.free_at - at) / SECOND
    if rate.probe_at > 0:
        return max(0.0, (rate.probe_at + _gap(rate) - at) / SECOND)
    missing = min(wanted, int(_burst(rate))) - rate.tokens
    return max(0.0, missing / current_rate(rate))


def note_refused(rate: LearntRate, refused: Sequence[int], at: int) -> LearntRate:
    """Learn from refusals of calls that were sent at these moments, heard of together."""
    heard = rate.heard_at
    old = sum(sent <= heard for sent in refused)  # on their way when the last one was heard of
    rate = replace(
        rate,
        accepted=max(0, rate.accepted - len(refused)),
        base=rate.base - sum(sent < rate.boundary for sent in refused),
        counted=rate.counted - old,
        echo=_echo(rate.echo, refused, at),
        empties=_with_last(rate.empties, -old),
    )
    if old == len(refused):
        return rate if rate.silence or rate.boundary else _learn(rate)
    rate = _fill(rate, at)
    if rate.probe_at > 0 or (rate.empties and rate.accepted <= rate.empties[-1].accepted):
        rate = replace(rate, silence=rate.silence + 1, refused_probe=rate.probe_at, grown=0)
        return _pause(replace(rate, heard_at=at), at)
    rate = replace(
        rate,
        went=current_rate(rate),
        silence=0,
        counted=rate.accepted - rate.base,
        empties=(*rate.empties, Empty(at, rate.accepted))[-SPANS:],
        heard_at=at,
    )
    return _pause(replace(rate if rate.boundary else _learn(rate), grown=0), at)


def current_rate(rate: LearntRate) -> float:
    """Calls a second that go now: the rate found, and faster where nothing was refused since."""
    return rate.rate * _growth(rate.grown / _calls_before_growth(rate))


def a_minute(rate: LearntRate) -> int:
    """Calls a minute that the server is thought to allow."""
    return max(1, round(rate.rate * 60))


def holds_back(rate: LearntRate) -> bool:
    """Whether calls waited for it when it was last looked at."""
    return rate.tokens * 2 < _burst(rate) or rate.free_at >= rate.at


def has_lapsed(rate: LearntRate, at: int) -> bool:
    """Whether it was not used for so long that nothing is known any more."""
    return at - max(rate.at, rate.free_at) > LAPSE


def rate_to_json(rate: LearntRate) -> JsonObject:
    """What is known, as it is kept."""
    return {**asdict(rate), "empties": [list(empty) for empty in rate.empties]}


def rate_from_json(kept: JsonObject) -> LearntRate | None:
    """What was kept; None where another version of Quire kept something else."""
    try:
        empties = tuple(Empty(*pair) for pair in kept["empties"])  # type: ignore[union-attr,misc]
        return LearntRate(**{**kept, "empties": empties})  # type: ignore[arg-type]
    except (KeyError, TypeError):
        return None


def _growth(calls: float) -> float:
    return min(MOST_GROWTH, 1 + GROWTH * calls**3)


def _calls_before_growth(rate: LearntRate) -> float:
    if rate.boundary:
        return max(LEAST_CALLS, WINDOW_SECONDS * rate.rate)
    if rate.sure:
        return max(LEAST_CALLS, max(STEADY_SECONDS, STEADY_ECHOES * rate.echo) * rate.rate)
    return max(UNSURE_CALLS, max(UNSURE_SECONDS, UNSURE_ECHOES * rate.echo) * rate.rate)


def _burst(rate: LearntRate) -> float:
    return max(1.0, BURST_SECONDS * current_rate(rate))


def _fill(rate: LearntRate, at: int) -> LearntRate:
    """Let time pass; a clock that is a little behind gains nothing, and one far behind is right."""
    if rate.at - at > WINDOW and rate.free_at - at > WINDOW:
        return replace(rate, at=at, free_at=at)
    if at <= rate.at:
        return rate
    if rate.boundary and at >= rate.boundary + WINDOW:
        turns = (at - rate.boundary) // WINDOW
        rate = replace(rate, boundary=rate.boundary + turns * WINDOW, base=rate.accepted)
    came = current_rate(rate) * (at - rate.at) / SECOND
    tokens = rate.tokens + came
    most = _burst(rate)
    if tokens > most + max(1.0, most):  # nobody wanted them: the server's bucket may be full
        rate = replace(rate, empties=(), since=at)
    return replace(rate, at=at, tokens=min(most, tokens))


def _pause(rate: LearntRate, at: int) -> LearntRate:
    """Send nothing for a while, then a single call, unless calls are known to come back soon."""
    first = rate.silence == 0
    shortest = max(1 / rate.rate, rate.echo)
    pause = min(LONGEST_PAUSE, shortest if first else max(2 * rate.pause, rate.echo))
    free_at = at + round(pause * SECOND)
    if rate.boundary:
        turn = rate.boundary + WINDOW * (1 + max(0, at - rate.boundary) // WINDOW)
        early = turn - rate.doubt // 2
        turn = early if early > at + SECOND // 4 else turn
        free_at = turn if turn - at <= SOON or rate.silence >= 2 else min(free_at, turn)
        if rate.silence and (at - rate.boundary) % WINDOW < SOON:  # it begins about now
            free_at = at + round(max(rate.echo, 0.3) * SECOND)
    elif rate.silence >= 3:  # windows begin with a first call, or with the minute
        turns = (rate.since + WINDOW, at - at % WINDOW + WINDOW)
        free_at = min([free_at, *(turn for turn in turns if turn > at + SECOND)])
    probes = not first or not rate.sure or rate.boundary
    return replace(
        rate,
        pause=pause,
        free_at=free_at,
        at=free_at,
        tokens=1.0,
        probe_at=-1 if probes else 0,
        silent_since=at if first else rate.silent_since,
    )


def _recover(rate: LearntRate, at: int) -> LearntRate:
    """A call was not refused for long enough: the server takes calls again, since it went."""
    probe, before = rate.probe_at, rate.accepted - 1  # without that call
    long = rate.silence and probe - rate.silent_since > SECOND * max(2.0, 3 / rate.rate)
    off = (probe - rate.boundary) % WINDOW
    turned = off <= max(2 * SECOND, rate.doubt) and rate.silent_since <= probe - off
    on_turn = rate.boundary and (turned or WINDOW - off <= rate.doubt)
    doubt = probe - max(rate.silent_since, rate.refused_probe)
    tokens = current_rate(rate) * (at - probe) / SECOND
    rate = replace(rate, probe_at=0, at=at, tokens=min(_burst(rate), tokens), silence=0, pause=0.0)
    if not long and not on_turn:
        return replace(rate, boundary=0, sure=rate.sure or bool(rate.boundary))
    counted = rate.counted
    if not rate.boundary:
        counted = before if rate.since >= probe - WINDOW - 2 * SECOND else 0
    if counted > 0:
        rate = replace(rate, rate=_at_least(counted / 60), sure=True)
    narrower = min(doubt, rate.doubt) if on_turn and rate.doubt else doubt
    return replace(rate, boundary=probe, doubt=narrower, base=before)


def _learn(rate: LearntRate) -> LearntRate:
    """Find the rate anew, now that nothing is left."""
    last = rate.empties[-1]
    if len(rate.empties) < 2:
        seconds = max(0.001, (last.at - rate.since) / SECOND)
        least, most = last.accepted / (60 + seconds), last.accepted / seconds
        return replace(rate, rate=_at_least(min(max(rate.rate, least), most)))
    found, spans = _rate_between(rate.empties)
    far = rate.went > FAR_APART * found and spans < 2 and not rate.sure
    nearer = found + UPWARDS * max(0.0, min(rate.went, FAR_APART * found) - found)
    found = sqrt(rate.went * max(found, LEAST_RATE)) if far else nearer
    return replace(rate, rate=_at_least(found), sure=not far)


def _rate_between(empties: Sequence[Empty]) -> tuple[float, int]:
    """The rate that fits the spans back from the last moment, and how many of them agree."""
    last = empties[-1]
    low, high, spans = 0.0, float("inf"), 0
    for empty in reversed(empties[:-1]):
        seconds = max(0.001, (last.at - empty.at) / SECOND)
        count = last.accepted - empty.accepted
        slack = 1 + INEXACT * count
        lowest, highest = (count - slack) / seconds, (count + slack) / seconds
        if lowest > high or highest < low:
            break  # the limit was another then
        low, high, spans = max(low, lowest), min(high, highest), spans + 1
    return max(0.0, low + high) / 2, spans


def _with_last(empties: tuple[Empty, ...], change: int) -> tuple[Empty, ...]:
    if not empties or not change:
        return empties
    return (*empties[:-1], empties[-1]._replace(accepted=empties[-1].accepted + change))


def _gap(rate: LearntRate) -> int:
    """Until a call that was not refused counts as accepted."""
    return round((1.5 * rate.echo + 0.05) * SECOND)


def _echo(before: float, refused: Sequence[int], at: int) -> float:
    slowest = max(((at - sent) / SECOND for sent in refused), default=0.0)
    return min(LONGEST_ECHO, max(SHORTEST_ECHO, slowest, 0.9 * before))


def _at_least(rate: float) -> float:
    return max(LEAST_RATE, rate)
