"""The packed job in batches, as it is and cached: which calls go in them, and what that costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.batches import BatchRules
from quire.domain.models import ModelFacts, Price
from quire.domain.policy import Policy
from quire.plan.batch_caching import BatchCaching, batch_caching, not_cached, whole_hits
from quire.plan.costing import NOTHING, UNKEPT, Keeping, Loads, bill, primed
from quire.plan.variants import PACKED_BATCH, PACKED_CACHED_BATCH, Variant, called, variant

FEWEST = 2  # calls that one would call a batch


class BatchWays(NamedTuple):
    """The ways with batches."""

    caching: BatchCaching  # how the prefix is treated in them
    plain: Variant
    cached: Variant | None  # None where caching inside batches does not pay
    least: int  # calls from which on they go in a batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a job's batches go by."""

    facts: ModelFacts  # with a price in batches
    policy: Policy
    rules: BatchRules
    prefix: float  # tokens that every call begins with
    caching: bool  # the prefix is long enough to be kept, and may be
    hits: float  # of direct calls that find it
    batch_hits: float | None  # of rows, where that was seen
    cap: int  # tasks that may share a call

    def price_at(self, input_tokens: int) -> Price:
        """What tokens cost in a batch."""
        price = self.facts.batch_price_at(input_tokens)
        assert price is not None
        return price


def batch_ways(terms: Terms, steps: Sequence[Loads]) -> BatchWays | None:
    """Price a job whose steps are gathered one after the other; those that are few go direct.

    Where all are, it is told what they would cost in batches all the same.
    """
    sizes = [each.calls for each in steps if each.calls]
    if not sizes:
        return None
    least = terms.policy.min_batch_size
    if max(sizes) < least:
        least = min(max(FEWEST, min(sizes)), max(sizes))
    direct = [each for each in steps if each.calls < least]
    batched = [each for each in steps if each.calls >= least]
    before, rows = (sum(each.calls for each in some) for some in (direct, batched))
    kept = _kept(terms, before, rows)
    first = UNKEPT
    if terms.caching and before > 1:  # a lone call does not bother
        first = primed(before, terms.facts, terms.hits, long_lived=kept.long_lived)

    def told(name: str, first: Keeping, then: Keeping) -> Variant:
        total = NOTHING
        for each in direct:
            total = total.plus(bill(each, terms.facts.price_at, first))
        for each in batched:
            total = total.plus(bill(each, terms.price_at, then))
        wait = terms.rules.window * len(batched)  # a step begins when the one before is home
        return variant(called(name, terms.cap), total, batched=rows, seconds=wait or None)

    if not kept.mark:
        return BatchWays(kept, told(PACKED_BATCH, first, UNKEPT), None, least)
    then = Keeping(whole_hits(rows, kept.hits) / rows, kept.written)
    plain = told(PACKED_BATCH, UNKEPT, UNKEPT)
    return BatchWays(kept, plain, told(PACKED_CACHED_BATCH, first, then), least)


def _kept(terms: Terms, before: int, rows: int) -> BatchCaching:
    tokens = math.ceil(terms.prefix)
    found = batch_caching(
        terms.facts, tokens, rows, terms.rules.caches, pilot=before > 1, hits=terms.batch_hits
    )
    if terms.caching or not found.mark:
        return found
    off = terms.policy.caching == "off"
    return not_cached(found.uncached, "caching is off" if off else "too short to be kept")
