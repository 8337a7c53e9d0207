"""Learnt rates: how much a minute a server allows that says nothing but 429.

Whatever way a server counts (a bucket that fills steadily, windows from one turn of a minute to the
next, or the last sixty seconds at every call), calls that are spread evenly at its rate are all
accepted, and use all of it. So calls go evenly, and only the rate has to be learnt. A refusal tells
one thing exactly: at that moment nothing was left.

- Where it comes back steadily, what was accepted between two such moments is what came back in
  between, however much the bucket holds: the rate is that amount over that time, to within a call
  (`rate_between`). Spans from before a limit changed contradict newer ones, and are dropped.
- Where nothing at all gets through for a while after a refusal, the server counts minutes: then
  what was accepted in the last sixty seconds is its limit. Single calls feel out when it takes some
  again, each after a longer pause (`_pause`).

Between refusals calls go at the rate found, and after as many as a refusal is worth faster, then
faster and faster (`current_rate`): where the limit is as before, that costs a refusal in thirty
calls or more; where it is higher, twice the rate is reached within 1.6 times as many. Calls that
nobody had to hold back prove nothing, and do not count.

What a server limits may be calls or tokens. Both are counted, tokens by the bytes of prompts, which
are in proportion; the one in which the last refusals agree better is kept to (`_choose_unit`).

Only what was let go and what was refused is counted: answers come seconds later, refusals at once.
All workers of a ledger share one state; whoever sent calls before the first refusal adds them when
first seeing it (`add_sent`). Moments are microseconds and arguments; nothing here reads a clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from statistics import fmean
from typing import NamedTuple

from quire.domain.data import JsonObject
from quire.planning.first_calls import SECOND, WINDOW, SentSoFar
from quire.planning.rate_findings import (
    Mark,
    RateFinding,
    last_minute,
    oldest_call,
    rate_between,
    spread,
)

BURST_SECONDS = 3.0  # of the rate may go at once, after a worker was busy elsewhere
LEAST_CALLS = 30  # that go before the rate is felt out upwards, however slow it is
STEADY_SECONDS = 6.0  # of the rate go before that, where it comes back steadily
LEAST_WINDOW_CALLS, WINDOW_SECONDS = 50, 35.0  # and where minutes are counted
UNSURE_CALLS, UNSURE_SECONDS = 10, 2.0  # after a first refusal, which shows the rate only roughly
STEADY_ECHOES, UNSURE_ECHOES = 10.0, 4.0  # or so many times what it takes to hear of a refusal
GROWTH, POWER = 0.16, 4  # faster after that many calls, and after more by their fourth power
BOLD, BOLD_IN_MINUTES = 8.0, 3.0  # times as fast at first; minutes may turn meanwhile
MARGIN = 0.5  # of a call is left to the server after a refusal: calls do not arrive quite evenly
FIRST_PAUSE = 2.0  # seconds at most, after a first refusal
LONGEST_PAUSE, LONGEST_PAUSE_CALLS = 4.0, 12.0  # seconds between two calls into silence, or calls
LATE = 300_000  # microseconds that calls may arrive later than others
SHORTEST_ECHO, LONGEST_ECHO = 0.02, 3.0  # seconds until a refusal is heard of
SPANS = 8  # moments at which nothing was left that are remembered
MARK_EVERY = SECOND  # how much was accepted by then is remembered for a minute
FAR_APART = 1.3  # between what went last and what came back: then the truth is in the middle
RISE = 0.5  # of what a span has shown more than the rate was: a small bucket hides the rest
LITTLE_MORE, A_TOUCH = 1.15, 1.02  # so much may be of the minute before: little is believed
LEAST_FINDINGS = 5  # before calls and tokens are told from each other
CLEARER = 0.6  # times the spread of the other: then a unit is the better one
LEAST_RATE = 1 / 60  # calls a second
LAPSE = 3_600 * SECOND  # without a call, nothing is known any more


class RefusedCall(NamedTuple):
    """A call that was one too many."""

    sent: int
    size: int  # bytes of its prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRate:
    """What is known of a rate, and what may go by it."""

    rate: float  # calls a second, or bytes of prompts
    by_size: bool = False  # bytes are what is kept to
    sure: bool = False  # more than one refusal bears it out
    minutes: bool = False  # the server counts minutes: it was silent for a while
    at: int  # when so much could go:
    credit: float = 0.0
    calls: int  # let go, less those that were refused
    size: int  # bytes of them
    since: int  # when the first of them went
    grown: int = 0  # calls held back by the rate since the last refusal
    free_at: int = 0  # nothing goes before
    pause: float = 0.0  # seconds, the last one
    silence: int = 0  # refusals in a row without a call accepted in between
    silent_since: int = 0
    heard_at: int = 0  # of the last refusal
    probe_at: int = 0  # when the call went that feels out the server; -1: it may go
    echo: float = 0.3  # seconds from sending a call to hearing that it was refused
    empties: tuple[Mark, ...] = ()  # moments at which nothing was left
    minute: tuple[Mark, ...] = ()  # moments of the last minute, the first one before it
    findings: tuple[RateFinding, ...] = ()


def first_rate(sofar: SentSoFar, refused: Sequence[RefusedCall], at: int) -> LearntRate:
    """What a first refusal shows.

    A bucket that held a minute's worth is thought to have been full when the first call went:
    the lowest of the rates that there may be.
    """
    calls = max(1, sofar.calls - len(refused))
    size = max(1, sofar.size - sum(call.size for call in refused))
    seconds = (at - sofar.since) / SECOND
    start = LearntRate(
        rate=max(LEAST_RATE, calls / (60 + seconds)),
        at=at,
        calls=calls,
        size=size,
        since=sofar.since,
        silent_since=at,
        heard_at=at,
        echo=_echo(0.0, refused, at),
        empties=(Mark(at, calls, size),),
        minute=(Mark(at, calls, size),),
    )
    return _pause(start, at)


def add_sent(rate: LearntRate, sofar: SentSoFar) -> LearntRate:
    """Count what another worker sent before anybody was refused."""
    since = min(rate.since, sofar.since)
    more = replace(
        rate,
        calls=rate.calls + sofar.calls,
        size=rate.size + sofar.size,
        since=since,
        empties=tuple(_add(mark, sofar.calls, sofar.size) for mark in rate.empties),
        minute=tuple(_add(mark, sofar.calls, sofar.size) for mark in rate.minute),
    )
    if rate.sure or rate.minutes or len(more.empties) != 1:
        return more
    empty = more.empties[0]
    found = empty.calls / (60 + (empty.at - since) / SECOND)
    return replace(more, rate=max(rate.rate, found))


def let_go(rate: LearntRate, sizes: Sequence[int], at: int) -> tuple[int, LearntRate]:
    """Say how many of these calls may go now, and count them as accepted until they are refused."""
    rate = _fill(rate, at)
    if at < rate.free_at or not sizes:
        return 0, rate
    if rate.probe_at == -1:
        return 1, replace(rate, calls=rate.calls + 1, size=rate.size + sizes[0], probe_at=at)
    if rate.probe_at:
        if at < rate.probe_at + _gap(rate):
            return 0, rate
        rate = _recover(rate, at)
    most, credit, count = _burst(rate), rate.credit + 1e-9, 0
    for size in sizes:
        cost = size if rate.by_size else 1
        if credit < min(cost, most):  # a larger one leaves a debt
            break
        credit, count = credit - cost, count + 1
    if not count:  # so it is at most looks
        return 0, rate
    held_back = count if len(sizes) > count else 0
    return count, replace(
        rate,
        credit=credit,
        calls=rate.calls + count,
        size=rate.size + sum(sizes[:count]),
        grown=rate.grown + held_back,
    )


def seconds_until_free(rate: LearntRate, sizes: Sequence[int], at: int) -> float:
    """How long it takes until these calls, or as many as go at once, may go together."""
    if at < rate.free_at:
        return (rate.free_at - at) / SECOND
    if rate.probe_at > 0:
        return max(0.0, (rate.probe_at + _gap(rate) - at) / SECOND)
    wanted = sum(sizes) if rate.by_size else len(sizes)
    missing = min(wanted, _burst(rate)) - rate.credit
    return max(0.0, missing / current_rate(rate))


def note_refused(rate: LearntRate, refused: Sequence[RefusedCall], at: int) -> LearntRate:
    """Learn from refusals that were heard of together."""
    new = any(call.sent > rate.heard_at for call in refused)
    rate = _take_back(replace(rate, echo=_echo(rate.echo, refused, at)), refused)
    if not new:  # they were on their way when the last one was heard of
        return rate
    rate = replace(_fill(rate, at), heard_at=at)
    if rate.probe_at > 0 or (rate.empties and rate.calls <= rate.empties[-1].calls):
        return _pause(replace(rate, silence=rate.silence + 1, grown=0), at)
    went = current_rate(rate)
    empties = (*rate.empties, Mark(at, rate.calls, rate.size))[-SPANS:]
    rate = _learn(replace(rate, silence=0, silent_since=at, empties=empties), went)
    return _pause(replace(rate, grown=0), at)


def current_rate(rate: LearntRate) -> float:
    """What goes in a second now: the rate found, and more where nothing was refused since."""
    calls = rate.grown / _calls_before_growth(rate)
    most = max(BOLD_IN_MINUTES if rate.minutes else BOLD, calls)
    return rate.rate * min(most, 1 + GROWTH * calls**POWER)


def a_minute(rate: LearntRate) -> int:
    """Calls a minute that the server is thought to allow, of the size that they have now."""
    return max(1, round(_calls_a_second(rate) * 60))


def holds_back(rate: LearntRate) -> bool:
    """Whether calls waited for it when it was last looked at."""
    return rate.credit * 2 < _burst(rate) or rate.free_at >= rate.at


def has_lapsed(rate: LearntRate, at: int) -> bool:
    """Whether it was not used for so long that nothing is known any more."""
    return at - max(rate.at, rate.free_at) > LAPSE


def rate_to_json(rate: LearntRate) -> JsonObject:
    """What is known, as it is kept."""
    kept = asdict(rate)
    for name in ("empties", "minute", "findings"):
        kept[name] = [list(item) for item in getattr(rate, name)]
    return kept


def rate_from_json(kept: JsonObject) -> LearntRate | None:
    """What was kept; None where another version of Quire kept something else."""
    try:
        marks = {
            name: tuple(Mark(*mark) for mark in kept[name])  # type: ignore[union-attr,misc]
            for name in ("empties", "minute")
        }
        findings = tuple(RateFinding(*item) for item in kept["findings"])  # type: ignore[union-attr,misc]
        return LearntRate(**{**kept, **marks, "findings": findings})  # type: ignore[arg-type]
    except (KeyError, TypeError):
        return None


def _calls_before_growth(rate: LearntRate) -> float:
    least, seconds, echoes = LEAST_CALLS, STEADY_SECONDS, STEADY_ECHOES
    if rate.minutes:
        least, seconds = LEAST_WINDOW_CALLS, WINDOW_SECONDS
    elif not rate.sure:
        least, seconds, echoes = UNSURE_CALLS, UNSURE_SECONDS, UNSURE_ECHOES
    return max(least, max(seconds, echoes * rate.echo) * _calls_a_second(rate))


def _call_cost(rate: LearntRate) -> float:
    """What a call takes, as they were lately."""
    if not rate.by_size:
        return 1.0
    old = rate.minute[0] if rate.minute else Mark(0, 0, 0)
    calls, size = rate.calls - old.calls, rate.size - old.size
    return max(1.0, size / calls if calls > 0 else rate.size / max(1, rate.calls))


def _calls_a_second(rate: LearntRate) -> float:
    return rate.rate / _call_cost(rate)


def _burst(rate: LearntRate) -> float:
    return max(_call_cost(rate), BURST_SECONDS * current_rate(rate))


def _take_back(rate: LearntRate, refused: Sequence[RefusedCall]) -> LearntRate:
    """Count refused calls as accepted no longer, neither now nor since they went."""
    return replace(
        rate,
        calls=max(0, rate.calls - len(refused)),
        size=max(0, rate.size - sum(call.size for call in refused)),
        empties=tuple(_without(mark, refused) for mark in rate.empties),
        minute=tuple(_without(mark, refused) for mark in rate.minute),
    )


def _without(mark: Mark, refused: Iterable[RefusedCall]) -> Mark:
    gone = [call.size for call in refused if call.sent <= mark.at]
    return _add(mark, -len(gone), -sum(gone)) if gone else mark


def _add(mark: Mark, calls: int, size: int) -> Mark:
    return Mark(mark.at, mark.calls + calls, mark.size + size)


def _fill(rate: LearntRate, at: int) -> LearntRate:
    """Let time pass; a clock that is a little behind gains nothing, and one far behind is right."""
    if rate.at - at > WINDOW or rate.free_at - at > WINDOW:
        return replace(rate, at=at, free_at=at, minute=(Mark(at, rate.calls, rate.size),))
    if at <= rate.at:
        return rate
    credit = rate.credit + current_rate(rate) * (at - rate.at) / SECOND
    most = _burst(rate)
    if credit > 2 * most + 1:  # nobody wanted it: the server's bucket may be full
        rate = replace(rate, empties=())
    return replace(rate, at=at, credit=min(most, credit), minute=_mark(rate, at))


def _mark(rate: LearntRate, at: int) -> tuple[Mark, ...]:
    marks = rate.minute
    if marks and at - marks[-1].at < MARK_EVERY:
        return marks
    old = sum(mark.at <= at - WINDOW for mark in marks)
    return (*marks[max(0, old - 1) :], Mark(at, rate.calls, rate.size))


def _pause(rate: LearntRate, at: int) -> LearntRate:
    """Let a call's time pass after a refusal; after more of them feel out single calls."""
    spacing = (1 + MARGIN) * _call_cost(rate) / rate.rate
    unheard = rate.minutes and rate.echo > spacing  # others go before one is heard of
    if rate.silence == 0 and rate.sure and not unheard:
        credit = -MARGIN * _call_cost(rate)
        return replace(rate, at=at, credit=credit, pause=spacing, free_at=at, probe_at=0)
    longest = max(LONGEST_PAUSE, LONGEST_PAUSE_CALLS * _call_cost(rate) / rate.rate)
    pause = min(longest, max(2 * rate.pause, rate.echo))
    if rate.silence == 0:
        pause = max(rate.echo, min(spacing, FIRST_PAUSE))
    free_at = at + round(pause * SECOND)
    if rate.silence >= 2:  # minutes begin with a first call, or by the clock
        oldest = max(rate.since, oldest_call(rate.minute, at))
        turns = (oldest + WINDOW + LATE, at - at % WINDOW + WINDOW + LATE)
        free_at = min(
            (turn for turn in turns if pause / 4 < (turn - at) / SECOND < 1.5 * pause),
            default=free_at,
        )
    return replace(rate, pause=pause, free_at=free_at, at=free_at, credit=0.0, probe_at=-1)


def _recover(rate: LearntRate, at: int) -> LearntRate:
    """A call was not refused for long enough: the server takes calls again, since it went."""
    probe, cost = rate.probe_at, _call_cost(rate)
    silent = (probe - rate.silent_since) / SECOND
    rate = replace(rate, probe_at=0, at=at, silence=0)
    if rate.empties and silent > max(2.0, 4 * cost / rate.rate):
        empty = rate.empties[-1]
        seconds = max(60.0, (empty.at - rate.since) / SECOND)
        known = rate.rate if rate.sure else max(rate.rate, empty.calls / seconds)
        again = Mark(probe, rate.calls - 1, rate.size - round(cost))
        rate = replace(rate, rate=known, minutes=True, sure=True, empties=(again,))
    elif not rate.sure:
        rate = replace(rate, rate=max(rate.rate, cost / max(1.0, 1.5 * silent)))
    credit = current_rate(rate) * (at - probe) / SECOND
    return replace(rate, credit=min(_burst(rate), credit))


def _learn(rate: LearntRate, went: float) -> LearntRate:
    """Find the rate anew, now that nothing is left."""
    *before, last = rate.empties
    if rate.minutes:
        judged = last._replace(at=last.at - round(rate.echo * SECOND))  # a little earlier
        finding = last_minute(rate.minute, judged)
        if finding is None:
            return rate
        found = _of(finding, rate)
        if rate.rate < found < LITTLE_MORE * rate.rate:
            found = min(found, A_TOUCH * rate.rate)
        return _choose_unit(replace(rate, rate=_at_least(found, rate)), finding)
    if not before:
        seconds = max(0.001, (last.at - rate.since) / SECOND)
        least, most = last.calls / (60 + seconds), last.calls / seconds
        return replace(rate, rate=max(LEAST_RATE, min(max(rate.rate, least), most)))
    found, spans = rate_between(rate.empties, _call_cost(rate), by_size=rate.by_size)
    far = went > FAR_APART * found and spans < 2 and not rate.sure
    if far:
        found = sqrt(went * max(found, LEAST_RATE))
    elif rate.sure:
        found += RISE * max(0.0, found - rate.rate)
    seconds = max(0.001, (last.at - before[-1].at) / SECOND)
    finding = RateFinding(
        (last.calls - before[-1].calls) / seconds, (last.size - before[-1].size) / seconds
    )
    return _choose_unit(replace(rate, rate=_at_least(found, rate), sure=not far), finding)


def _choose_unit(rate: LearntRate, finding: RateFinding) -> LearntRate:
    """Keep to calls or to bytes, whichever the last refusals agree better in."""
    findings = (*rate.findings, finding)[-SPANS:]
    rate = replace(rate, findings=findings)
    if len(findings) < LEAST_FINDINGS:
        return rate
    calls = spread([item.calls for item in findings])
    size = spread([item.size for item in findings])
    mine, other = (size, calls) if rate.by_size else (calls, size)
    if other >= CLEARER * mine:
        return rate
    turned = replace(rate, by_size=not rate.by_size, credit=0.0)
    return replace(turned, rate=fmean(_of(item, turned) for item in findings[-3:]))


def _of(finding: RateFinding, rate: LearntRate) -> float:
    return finding.size if rate.by_size else finding.calls


def _gap(rate: LearntRate) -> int:
    """Until a call that was not refused counts as accepted."""
    return round((1.5 * rate.echo + 0.05) * SECOND)


def _echo(before: float, refused: Sequence[RefusedCall], at: int) -> float:
    slowest = max(((at - call.sent) / SECOND for call in refused), default=0.0)
    return min(LONGEST_ECHO, max(SHORTEST_ECHO, slowest, 0.9 * before))


def _at_least(found: float, rate: LearntRate) -> float:
    return max(LEAST_RATE * _call_cost(rate), found)
