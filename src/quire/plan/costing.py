"""What calls cost, from counts alone: one by one or packed, cached or not, direct or in batches."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.models import Marking, ModelFacts, Price
from quire.domain.money import MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """What calls take, in tokens: each of them, each task in them, each byte of its content."""

    prefix: float  # input that all calls begin with, and that a provider may keep
    head: float = 0.0  # input of every call besides
    task_input: float = 0.0
    byte_input: float = 0.0
    call_output: float = 0.0
    task_output: float = 0.0
    byte_output: float = 0.0

    def input(self, calls: float, tasks: float, content: float) -> float:
        """Input of so many calls, without what all begin with."""
        return calls * self.head + tasks * self.task_input + content * self.byte_input

    def output(self, calls: float, tasks: float, restated: float) -> float:
        """Output of so many calls."""
        return calls * self.call_output + tasks * self.task_output + restated * self.byte_output


class Load(NamedTuple):
    """Calls of one price tier, added up."""

    calls: int = 0
    tasks: int = 0
    content: int = 0  # bytes, as JSON
    restated: int = 0  # bytes of it that answers may say again


class Loads:
    """Calls, added up while they stream past, each in the tier that it is priced by."""

    def __init__(self, takes: Takes, facts: ModelFacts) -> None:
        """Start with none."""
        self.takes = takes
        self._above = sorted({0} | {each.above for each in (*facts.tiers, *facts.batch_tiers)})
        self._sums = [[0, 0, 0, 0] for _ in self._above]

    def add(self, tasks: int, content: int, restated: int) -> None:
        """Add one call."""
        ordinal = 0
        if len(self._above) > 1:
            size = self.takes.prefix + self.takes.input(1, tasks, content)
            ordinal = max(0, bisect_left(self._above, size) - 1)
        sums = self._sums[ordinal]
        sums[0] += 1
        sums[1] += tasks
        sums[2] += content
        sums[3] += restated

    def __iter__(self) -> Iterator[tuple[int, Load]]:
        """The input size that each tier begins above, and the calls in it."""
        return ((above, Load(*sums)) for above, sums in zip(self._above, self._sums, strict=True))

    @property
    def calls(self) -> int:
        """How many there are."""
        return sum(sums[0] for sums in self._sums)


class Keeping(NamedTuple):
    """What becomes of the prefix in a set of calls."""

    hits: float  # the share of calls that read it from the cache
    written: str  # what the others pay for it: a field of Price


UNKEPT = Keeping(0.0, "input")


def primed(
    calls: int, facts: ModelFacts, hits: float = 1.0, *, long_lived: bool = False
) -> Keeping:
    """One call goes first and writes the prefix, the others read it, or that share of them."""
    written = "written_long" if long_lived else "written_short"
    if facts.wire.marking is not Marking.BREAKPOINT:
        written = "input"
    return Keeping(hits * (calls - 1) / calls if calls else 0.0, written)


class Bill(NamedTuple):
    """What a set of calls takes and costs."""

    requests: int = 0
    input: float = 0.0  # tokens, all of them
    cached: float = 0.0  # of these, read from the cache
    output: float = 0.0
    cost: float = 0.0  # micro-dollars

    def plus(self, other: "Bill") -> "Bill":
        """Both together."""
        return Bill(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))  # type: ignore[arg-type]  # the first is whole

    @property
    def micro(self) -> int:
        """The cost, rounded up once; a trace of binary fractions is no part of it."""
        return math.ceil(round(self.cost, 6))


NOTHING = Bill()


def bill(loads: Loads, price_at: Callable[[int], Price], keeping: Keeping = UNKEPT) -> Bill:
    """Price calls, each by its own tier."""
    total = NOTHING
    for above, load in loads:
        if load.calls:
            total = total.plus(_bill(loads.takes, load, price_at(above + 1), keeping))
    return total


def _bill(takes: Takes, load: Load, price: Price, keeping: Keeping) -> Bill:
    prefix = takes.prefix * load.calls
    read = prefix * keeping.hits
    rest = takes.input(load.calls, load.tasks, load.content)
    output = takes.output(load.calls, load.tasks, load.restated)
    cost = (
        rest * price.input
        + read * price.cached
        + (prefix - read) * int(getattr(price, keeping.written))
        + output * price.output
    )
    return Bill(load.calls, prefix + rest, read, output, cost / MILLION)
