"""Variants: the ways to carry out a job, direct and in batches, and what each takes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from quire.domain.batches import BatchRules
from quire.domain.models import Limits, ModelFacts
from quire.domain.policy import Policy
from quire.domain.pricing import to_usd
from quire.planning.batch_caching import (
    BatchCaching,
    choose_batch_caching,
    whole_hits,
    without_caching,
)
from quire.planning.job_costs import (
    EMPTY_BILL,
    UNCACHED,
    Bill,
    CallTotals,
    PrefixCaching,
    price_calls,
    primed_caching,
)
from quire.planning.provider_limits import STEADY_PERCENT
from quire.planning.routing import BATCH, RouteChoice
from quire.planning.sizing import Budget

ONE_PER_CALL = "one per call"
CACHED = "one per call + cached"
PACKED = "packed"
PACKED_CACHED = "packed + cached"
PACKED_BATCH = "packed + batch"
PACKED_CACHED_BATCH = "packed + cached + batch"

# For an estimate of time only, where the limits are known and the speed of the model is not.
FIRST_WORD = 1.0  # seconds until a model begins to write
WRITTEN_A_SECOND = 60.0  # tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to carry out the job, and what it takes."""

    name: str
    requests: int
    input_tokens: int
    output_tokens: int
    cost: int  # picodollars
    cached_tokens: int = 0  # of the input, read from the provider's prompt cache
    batched: int = 0  # of the requests, sent in batches
    seconds: float | None = None  # under the limits that are known; of batches the longest wait

    @property
    def cost_usd(self) -> float:
        """Its cost in dollars."""
        return to_usd(self.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The job, planned in memory in every way we know."""

    one_per_call: Variant
    packed: Variant
    cached: Variant | None  # the same with the prefix cached; None where the provider would not
    packed_cached: Variant | None
    packed_batch: Variant | None = None  # None where there are no batches
    packed_cached_batch: Variant | None = None  # None where caching inside batches does not pay
    batch_caching: BatchCaching | None = None  # how that was decided; None without batches
    batch_from: int | None = None  # the smallest batch these assume, where the policy's has no call
    early: int = 0  # packed calls about the first tasks, which go before all others
    route: RouteChoice  # that a run would take
    cacheable: int  # tokens that every call begins with, as far as they count towards a cache
    learnt: bool  # from calls that were answered, not only from rules of thumb
    tasks: int
    oversized: int  # tasks that no call to this model can hold
    cap: int
    budget: Budget

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All of them, the plainest idea first; where nothing is packed, no two that are equal."""
        ways = (
            *((self.one_per_call, self.cached) if self.cap > 1 else ()),
            self.packed,
            self.packed_cached,
            self.packed_batch,
            self.packed_cached_batch,
        )
        return tuple(way for way in ways if way is not None)

    @property
    def direct(self) -> Variant:
        """What a run does that sends every call at once: it packs, and caches where that can be."""
        return self.packed_cached or self.packed

    @property
    def batch(self) -> Variant | None:
        """What a run does that takes batches; None where there are none, or too few calls."""
        return None if self.batch_from else self.packed_cached_batch or self.packed_batch

    @property
    def expected(self) -> Variant:
        """What a run does, by the route it takes."""
        return (self.batch if self.route.route == BATCH else None) or self.direct

    @property
    def cheapest(self) -> Variant:
        """The way that costs least; of equals the one with fewer calls, the sooner, the usual.

        Batches that the policy finds too small are none of them.
        """
        usual = self.expected
        ways = [item for item in self.variants if not (item.batched and self.batch_from)]

        def rank(way: Variant) -> tuple[int, int, int, bool]:
            return way.cost, way.requests, way.batched, way is not usual

        return min(ways, key=rank)

    @property
    def saving_percent(self) -> float:
        """What a run saves of the cost of one per call; 0 where that is nothing."""
        whole = self.one_per_call.cost
        return 100 * (whole - self.expected.cost) / whole if whole else 0.0


def variant_name(name: str, cap: int) -> str:
    """The name of a packed way; where no two tasks share a call, it is not called packed."""
    return name if cap > 1 else name.replace(PACKED, ONE_PER_CALL, 1)


def make_variant(
    name: str, bill: Bill, *, batched: int = 0, seconds: float | None = None
) -> Variant:
    """Show a bill as a way to carry out the job."""
    return Variant(
        name=name,
        requests=bill.requests,
        input_tokens=_round_up(bill.input),
        output_tokens=_round_up(bill.output),
        cost=bill.picodollars,
        cached_tokens=_round_up(bill.cached),
        batched=batched,
        seconds=seconds,
    )


def direct_seconds(bill: Bill, limits: Limits, concurrency: int) -> float | None:
    """Say how long direct calls take under the limits that are known; None where none is."""
    needs = (
        (limits.requests, bill.requests),
        (limits.input, bill.input),
        (limits.output, bill.output),
        (limits.total, bill.input + bill.output),
    )
    waits = [need * 6_000.0 / (limit * STEADY_PERCENT) for limit, need in needs if limit]
    if not waits or not bill.requests:
        return None
    call_seconds = FIRST_WORD + bill.output / bill.requests / WRITTEN_A_SECOND
    return max(*waits, -(-bill.requests // max(1, concurrency)) * call_seconds)


def _round_up(tokens: float) -> int:
    return -int(-round(tokens, 6) // 1)


SMALLEST_BATCH = 2  # calls that one would call a batch


class BatchVariants(NamedTuple):
    """The ways with batches."""

    caching: BatchCaching  # how the prefix is treated in them
    plain: Variant
    cached: Variant | None  # None where caching inside batches does not pay
    least: int  # calls from which on they go in a batch


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerms:
    """What a job's batches go by."""

    facts: ModelFacts  # with a price in batches
    policy: Policy
    rules: BatchRules
    prefix: float  # tokens that every call begins with
    caching: bool  # the prefix is long enough to be kept, and may be
    hits: float  # of direct calls that find it
    batch_hits: float | None  # of rows, where that was seen
    cap: int  # tasks that may share a call


def price_batch_variants(terms: BatchTerms, steps: Sequence[CallTotals]) -> BatchVariants | None:
    """Price a job whose steps are gathered one after the other; those that are few go direct.

    Where all are, it is told what they would cost in batches all the same.
    """
    sizes = [step.calls for step in steps if step.calls]
    if not sizes:
        return None
    least = terms.policy.min_batch_size
    if max(sizes) < least:
        least = min(max(SMALLEST_BATCH, min(sizes)), max(sizes))
    direct = [step for step in steps if step.calls < least]
    batched = [step for step in steps if step.calls >= least]
    before, rows = (sum(item.calls for item in some) for some in (direct, batched))
    caching = _choose_caching(terms, before, rows)
    first = UNCACHED
    if terms.caching and before > 1:  # a lone call does not bother
        first = primed_caching(before, terms.facts, terms.hits, long_lived=caching.long_lived)

    def price_variant(name: str, first: PrefixCaching, then: PrefixCaching) -> Variant:
        bills = [price_calls(step, terms.facts, first) for step in direct]
        bills += [price_calls(step, terms.facts, then, batched=True) for step in batched]
        total = reduce(Bill.plus, bills, EMPTY_BILL)
        wait = terms.rules.window * len(batched)  # a step begins when the one before is home
        named = variant_name(name, terms.cap)
        return make_variant(named, total, batched=rows, seconds=wait or None)

    if not caching.mark:
        return BatchVariants(caching, price_variant(PACKED_BATCH, first, UNCACHED), None, least)
    then = PrefixCaching(whole_hits(rows, caching.hits) / rows, caching.miss_price)
    plain = price_variant(PACKED_BATCH, UNCACHED, UNCACHED)
    return BatchVariants(caching, plain, price_variant(PACKED_CACHED_BATCH, first, then), least)


def _choose_caching(terms: BatchTerms, before: int, rows: int) -> BatchCaching:
    tokens = math.ceil(terms.prefix)
    found = choose_batch_caching(
        terms.facts, tokens, rows, terms.rules.caches, pilot=before > 1, hits=terms.batch_hits
    )
    if terms.caching or not found.mark:
        return found
    off = terms.policy.caching == "off"
    return without_caching(found.uncached, "caching is off" if off else "too short to be kept")
