"""Learning: what calls take, by rules of thumb at first, then by what answered ones really took."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from quire.domain.models import ModelFacts
from quire.domain.recipes import Stage
from quire.domain.requests import Sample
from quire.plan.batch_caching import HITS, whole_hits
from quire.plan.costing import Takes
from quire.plan.rendering import FRAMING_BYTES, USUAL_OVERHEAD, Prefix, billed_prefix_bytes
from quire.plan.sizing import FORECAST_BYTES
from quire.plan.typical_records import ANSWER_BYTES, expect

FEWEST_CALLS = 5  # before that, chance speaks louder than the model …
FEWEST_TASKS = 30  # … unless they were large
STIFFNESS = 0.01  # how much sizes must differ (its root, of their mean) before a slope is believed
NOTICED = 0.02  # of an answer: what is billed beyond that is reasoning, not chance
SURELY_KEPT = 0.95  # of the prefix that was read: then all of it was, and is as large as that


class Past(NamedTuple):
    """Answered calls that asked the same of the same model."""

    samples: Sequence[Sample] = ()
    calls: int = 0  # all that were answered, also beyond the samples
    output_tokens: int = 0  # of all of them, reasoning included
    cached_tokens: int = 0  # that all of them read from a cache
    batched: int = 0  # of the calls, those inside batches


NO_PAST = Past()


class Line(NamedTuple):
    """y = at_zero + slope × x."""

    at_zero: float
    slope: float


class Point(NamedTuple):
    """One observation, and how much it counts."""

    weight: float
    x: float
    y: float


class Learnt(NamedTuple):
    """What the past taught."""

    takes: Takes
    hits: float  # the share of direct calls, after the first, that read the prefix from a cache
    batch_hits: float | None  # the same of calls in batches; None where that is not known


def guess_takes(stage: Stage, facts: ModelFacts, head: Prefix) -> Takes:
    """Rules of thumb: a token for four bytes, a typical record, what vendors are known to bill."""
    each = facts.token_factor / FORECAST_BYTES
    written = max(1.0, facts.token_factor) / FORECAST_BYTES  # an answer is no denser than JSON is
    record = expect(stage.record)
    return Takes(
        prefix=billed_prefix_bytes(head, facts.wire.structured) * each,
        head=(len(stage.prompt.encode()) + FRAMING_BYTES) * each,
        task_input=USUAL_OVERHEAD * each,
        byte_input=each,
        call_output=ANSWER_BYTES * written,
        task_output=record.fixed * written,
        byte_output=record.restated * each,
    )


def learn_takes(past: Past, guessed: Takes, *, automatic: bool = False) -> Learnt | None:
    """Replace guesses by what was seen; None while too little was.

    `automatic` says that the provider keeps prefixes by itself: then one that was never read will
    not be. Where they are marked, it may be that nobody marked it.

    What every call takes is told apart from what its content takes by how calls of different sizes
    differ; where they hardly do, the guess for a byte stands, and the rest is the call's own.
    """
    usable = [each for each in past.samples if each.tasks > 0 and each.input_tokens > 0]
    tasks = sum(each.tasks for each in usable)
    if len(usable) < FEWEST_CALLS and tasks < FEWEST_TASKS:
        return None
    taken, written = _input(usable, guessed), _output(usable, guessed)
    own = guessed.prefix + guessed.head
    part = guessed.prefix / own if own else 0.0
    takes = Takes(
        prefix=taken.at_zero * part,
        head=taken.at_zero * (1 - part),
        task_input=taken.slope * USUAL_OVERHEAD,
        byte_input=taken.slope,
        call_output=_reasoning(past, usable),
        task_output=written.at_zero,
        byte_output=written.slope,
    )
    return _with_hits(past, takes, automatic)


def fit(points: Sequence[Point], slope: float) -> Line:
    """Fit a line, held towards a slope where the points hardly differ in x; never falling."""
    weight = sum(each.weight for each in points)
    x = sum(each.weight * each.x for each in points) / weight
    y = sum(each.weight * each.y for each in points) / weight
    spread = sum(each.weight * (each.x - x) ** 2 for each in points)
    common = sum(each.weight * (each.x - x) * (each.y - y) for each in points)
    stiff = STIFFNESS * weight * x * x
    if spread + stiff == 0:
        return Line(y, 0.0)
    found = max(0.0, (common + stiff * slope) / (spread + stiff))
    if found * x > y:  # nothing takes less than nothing
        return Line(0.0, y / x)
    return Line(y - found * x, found)


def _input(samples: Sequence[Sample], guessed: Takes) -> Line:
    points = [
        Point(1, each.tasks * USUAL_OVERHEAD + each.content_bytes, each.input_tokens)
        for each in samples
    ]
    return fit(points, guessed.byte_input)


def _output(samples: Sequence[Sample], guessed: Takes) -> Line:
    points = [
        Point(each.tasks, each.content_bytes / each.tasks, each.output_tokens / each.tasks)
        for each in samples
    ]
    return fit(points, guessed.byte_output)


def _reasoning(past: Past, samples: Sequence[Sample]) -> float:
    """Tokens of a call that were billed as output and are no part of the answer."""
    if past.calls < 1:
        return 0.0
    answers = sum(each.output_tokens for each in samples) / len(samples)
    more = past.output_tokens / past.calls - answers
    return more if more > NOTICED * answers else 0.0


def _with_hits(past: Past, takes: Takes, automatic: bool) -> Learnt:
    """Tell how often the prefix was read; where there were batches, that of their rows.

    Direct calls beside batches are few, and taken to have read it all but once, as they are meant
    to: what is missing was missed by rows.
    """
    whole, direct = takes.prefix, past.calls - past.batched
    if not whole or past.calls < 2 or not (past.cached_tokens or automatic):
        return Learnt(takes, 1.0, None)
    if past.batched:
        found = past.cached_tokens / whole - max(0, direct - 1)
        return Learnt(takes, 1.0, _batch_hits(found, past.batched))
    read = past.cached_tokens / (past.calls - 1)
    if read < whole * SURELY_KEPT:
        return Learnt(takes, read / whole, None)
    prefix = min(read, whole + takes.head)
    return Learnt(replace(takes, prefix=prefix, head=whole + takes.head - prefix), 1.0, None)


def _batch_hits(found: float, rows: int) -> float | None:
    """The share of rows that find the prefix; None while nothing speaks against the usual one.

    A row finds it or does not: of a share, whole rows show only so much.
    """
    if rows < FEWEST_CALLS or round(found) == whole_hits(rows, HITS):
        return None
    return min(1.0, max(0.0, (found + 0.5) / rows))
