"""What a job's calls cost, from counts: single or packed, cached or not, direct or batched."""

from bisect import bisect_left
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import starmap
from typing import NamedTuple

from quire.domain.models import CacheMarking, ModelFacts, Price
from quire.domain.pricing import price_at


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
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


class CallSums(NamedTuple):
    """Calls of one price tier, added up."""

    calls: int = 0
    tasks: int = 0
    content: int = 0  # bytes, as JSON
    restated: int = 0  # bytes of it that answers may say again


class CallTotals:
    """Calls, added up while they stream past, each in the tier that it is priced by."""

    def __init__(self, use: TokenUse, facts: ModelFacts) -> None:
        """Start with none."""
        self.use = use
        self._above = sorted({0} | {tier.above for tier in (*facts.tiers, *facts.batch_tiers)})
        self._sums = [[0, 0, 0, 0] for _ in self._above]

    def add(self, tasks: int, content: int, restated: int) -> None:
        """Add one call."""
        ordinal = 0
        if len(self._above) > 1:
            size = self.use.prefix + self.use.input(1, tasks, content)
            ordinal = max(0, bisect_left(self._above, size) - 1)
        sums = self._sums[ordinal]
        sums[0] += 1
        sums[1] += tasks
        sums[2] += content
        sums[3] += restated

    def plus(self, other: "CallTotals", times: float = 1.0) -> "CallTotals":
        """These and others of the same job, each of which stands for so many."""
        found = copy(self)
        pairs = zip(self._sums, other._sums, strict=True)
        found._sums = [
            [number + round(more * times) for number, more in zip(sums, added, strict=True)]
            for sums, added in pairs
        ]
        return found

    def __iter__(self) -> Iterator[tuple[int, CallSums]]:
        """The input size that each tier begins above, and the calls in it."""
        return zip(self._above, starmap(CallSums, self._sums), strict=True)

    @property
    def calls(self) -> int:
        """How many there are."""
        return sum(sums[0] for sums in self._sums)


class PrefixCaching(NamedTuple):
    """What becomes of the prefix in a set of calls."""

    hits: float  # the share of calls that read it from the cache
    miss_price: str  # what the others pay for it: a field of Price


UNCACHED = PrefixCaching(0.0, "input")


def primed_caching(
    calls: int, facts: ModelFacts, hits: float = 1.0, *, long_lived: bool = False
) -> PrefixCaching:
    """One call goes first and writes the prefix, the others read it, or that share of them."""
    miss_price = "written_long" if long_lived else "written_short"
    if facts.wire.marking is not CacheMarking.BREAKPOINT:
        miss_price = "input"
    return PrefixCaching(hits * (calls - 1) / calls if calls else 0.0, miss_price)


class Bill(NamedTuple):
    """What a set of calls takes and costs."""

    requests: int = 0
    input: float = 0.0  # tokens, all of them
    cached: float = 0.0  # of these, read from the cache
    output: float = 0.0
    cost: float = 0.0  # picodollars

    def plus(self, other: "Bill") -> "Bill":
        """Both together."""
        return Bill(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))  # type: ignore[arg-type]  # the first is whole

    @property
    def picodollars(self) -> int:
        """The cost as a whole number."""
        return round(self.cost)


EMPTY_BILL = Bill()


def price_calls(
    totals: CallTotals,
    facts: ModelFacts,
    caching: PrefixCaching = UNCACHED,
    *,
    batched: bool = False,
) -> Bill:
    """Price calls, each by its own tier."""
    total = EMPTY_BILL
    for above, sums in totals:
        if sums.calls:
            price = price_at(facts, above + 1, batched=batched)
            total = total.plus(_price_tier(totals.use, sums, price, caching))
    return total


def _price_tier(use: TokenUse, sums: CallSums, price: Price, caching: PrefixCaching) -> Bill:
    prefix = use.prefix * sums.calls
    read = prefix * caching.hits
    rest = use.input(sums.calls, sums.tasks, sums.content)
    output = use.output(sums.calls, sums.tasks, sums.restated)
    cost = (
        rest * price.input
        + read * price.cached
        + (prefix - read) * int(getattr(price, caching.miss_price))
        + output * price.output
    )
    return Bill(sums.calls, prefix + rest, read, output, cost)
