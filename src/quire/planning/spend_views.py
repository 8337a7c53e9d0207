"""Spend views: attempts added up by run, stage, model, day, key or outcome; and what was saved.

Every view is a sum over the same groups, so that all of them come to the same. What was saved is
reckoned against the bill as it is, one thing at a time, and therefore does not add up:

- caching: all input at its plain price, instead of what was read from and written to a cache;
- batches: the same tokens, cached or not as they were, at the prices of direct calls;
- packing: the prefix of every pack once more for each task after the first, read from the cache
  as often as that of the packs was. The prefix is not billed apart, so its tokens are estimated:
  of a pack's input its share of the characters. Answers are taken to be as long alone;
- reuse: what the answers had cost that tasks took, each call shared equally among its tasks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta

from quire.domain.ids import RunId
from quire.domain.models import ModelFacts, Price
from quire.domain.pricing import price_at
from quire.domain.spend import SpendBy, SpendGroup, SpendOutcome

PricedModels = Mapping[tuple[RunId, str], ModelFacts]
Keys = dict[str, int | str]  # what a line is about, by the names of its columns

NO_TIERS = 2**62  # tokens: no call is that large
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendSums:
    """What some attempts come to; money in picodollars."""

    attempts: int = 0  # sent
    calls: int = 0  # answered
    batched_calls: int = 0  # of the answered ones, those inside batches
    tasks: int = 0  # in the answered ones
    input_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: int = 0
    simulated: int = 0  # of the cost: no money at all
    presumed: int = 0
    caching_saved: int = 0  # less than nothing where more was written than read
    batches_saved: int = 0
    packing_saved: int = 0  # estimated
    reused: int = 0  # tasks that took an answer that was there
    reuse_saved: int = 0

    def plus(self, other: "SpendSums") -> "SpendSums":
        """Both together."""
        names = [item.name for item in fields(SpendSums)]
        return SpendSums(**{name: getattr(self, name) + getattr(other, name) for name in names})


NOTHING_SPENT = SpendSums()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendLine:
    """One line of a view: what it is about, and what that comes to."""

    about: Keys
    sums: SpendSums


_LINE_KEYS: Mapping[SpendBy, Callable[[SpendGroup], Keys]] = {
    SpendBy.RUN: lambda group: {"run": group.run_id},
    SpendBy.STAGE: lambda group: {"run": group.run_id, "stage": group.stage},
    SpendBy.MODEL: lambda group: {"model": group.model},
    SpendBy.DAY: lambda group: {"day": (_EPOCH + timedelta(days=group.day)).isoformat()},
    SpendBy.KEY: lambda group: {"key": group.key_label},
    SpendBy.OUTCOME: lambda group: {"outcome": group.outcome},
}
_OUTCOMES = list(SpendOutcome)
_LINE_ORDER: Mapping[SpendBy, Callable[[SpendLine], int | str]] = {
    SpendBy.DAY: lambda line: line.about["day"],
    SpendBy.MODEL: lambda line: -line.sums.cost,
    SpendBy.KEY: lambda line: -line.sums.cost,
    SpendBy.OUTCOME: lambda line: _OUTCOMES.index(SpendOutcome(str(line.about["outcome"]))),
}


def smallest_tier(models: Iterable[ModelFacts]) -> int:
    """The input size above which the price of some call may differ from that of smaller ones."""
    sizes = (tier.above for facts in models for tier in (*facts.tiers, *facts.batch_tiers))
    return min(sizes, default=NO_TIERS)


def view_spend(groups: Iterable[SpendGroup], by: SpendBy, models: PricedModels) -> list[SpendLine]:
    """Add groups up by one thing: runs, stages, days and outcomes in order, others by cost."""
    about: dict[tuple[int | str, ...], Keys] = {}
    sums: dict[tuple[int | str, ...], SpendSums] = defaultdict(SpendSums)
    for group in groups:
        keys = _LINE_KEYS[by](group)
        line = tuple(keys.values())
        about[line] = keys
        sums[line] = sums[line].plus(_sum_group(group, models.get((group.run_id, group.model))))
    lines = [SpendLine(about=keys, sums=sums[line]) for line, keys in about.items()]
    return sorted(lines, key=_LINE_ORDER[by]) if by in _LINE_ORDER else lines


def total_spend(lines: Iterable[SpendLine]) -> SpendSums:
    """All lines of a view together."""
    total = NOTHING_SPENT
    for line in lines:
        total = total.plus(line.sums)
    return total


def _sum_group(group: SpendGroup, facts: ModelFacts | None) -> SpendSums:
    return SpendSums(
        attempts=group.attempts,
        calls=group.calls,
        batched_calls=group.calls if group.batched else 0,
        tasks=group.tasks,
        input_tokens=group.input_total,
        cached_tokens=group.cached,
        written_tokens=group.written_short + group.written_long,
        output_tokens=group.output,
        reasoning_tokens=group.reasoning,
        cost=group.cost,
        simulated=group.simulated_cost,
        presumed=group.presumed,
        reused=group.reused,
        reuse_saved=group.reuse_saved,
        **(_savings(group, facts) if facts is not None else {}),
    )


def _savings(group: SpendGroup, facts: ModelFacts) -> dict[str, int]:
    """What caching, batches and packing saved of one group."""
    batched = group.batched == 1
    price = price_at(facts, group.size, batched=batched)
    direct = price_at(facts, group.size)
    uncached = (
        group.cached * (price.input - price.cached)
        + group.written_short * (price.input - price.written_short)
        + group.written_long * (price.input - price.written_long)
    )
    return {
        "caching_saved": uncached,
        "batches_saved": _price(group, direct) - _price(group, price) if batched else 0,
        "packing_saved": (group.more_prefix - group.more_cached) * price.input
        + group.more_cached * price.cached,
    }


def _price(group: SpendGroup, price: Price) -> int:
    return (
        group.input * price.input
        + group.cached * price.cached
        + group.written_short * price.written_short
        + group.written_long * price.written_long
        + group.output * price.output
    )
