"""Again costs: what one task costs when it is asked again, by the call that answered it before.

A call of several is paid for once by all of them: what it begins with is shared. Whoever is asked
again alone pays for that in full, so that a share of the last call says far too little. What the
last call really took is kept as the measure; rules of thumb only say how that is divided.
"""

from typing import NamedTuple

from quire.domain.models import ModelFacts
from quire.domain.pricing import price_at
from quire.planning.job_costs import TokenUse


class PastCall(NamedTuple):
    """A call that answered a task."""

    tasks: float
    content: float  # bytes of what it was about, as JSON
    own: float  # of these, the task's
    input: float  # tokens
    cached: float  # of these, read from a cache
    output: float


class NextCall(NamedTuple):
    """The call in which a task is asked again."""

    tasks: float = 1  # that share it
    note: float = 0  # bytes that say what was wrong
    follows: bool = False  # others go before it, and keep the prefix cached
    batched: bool = False


def price_again(call: PastCall, following: NextCall, use: TokenUse, facts: ModelFacts) -> int:
    """What one task will cost in picodollars: its own, and its part of what all of them share."""
    part = 1 / following.tasks
    input_before = use.prefix + use.input(1, call.tasks, call.content)
    input_now = use.prefix * part + use.input(part, 1, call.own)
    output_before = use.output(1, call.tasks, call.content)
    output_now = use.output(part, 1, call.own)
    taken = call.input * _ratio(input_now, input_before, call.tasks)
    taken += following.note * use.byte_input
    cached = min(taken, call.cached * part) if following.follows else 0.0
    written = call.output * _ratio(output_now, output_before, call.tasks)
    size = round(taken * following.tasks)  # of all the call: its tier
    price = price_at(facts, size, batched=following.batched)
    return round((taken - cached) * price.input + cached * price.cached + written * price.output)


def _ratio(now: float, before: float, tasks: float) -> float:
    return now / before if before else 1 / tasks
