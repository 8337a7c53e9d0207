"""The arithmetic of costs, from token counts alone: the seeds' own example, tiers, batches."""

from dataclasses import replace

import pytest

from quire.domain.models import CacheMarking, ModelFacts, Price, Tier, Wire
from quire.planning.job_costs import (
    CallTotals,
    PrefixCaching,
    TokenUse,
    price_calls,
    primed_caching,
)
from tests.planning.examples import make_facts

# $3 and $15 a million; a cache is written for 1.25 and read for 0.10 of that; batches cost half.
PRICE = Price(
    input=3_000_000,
    output=15_000_000,
    cached=300_000,
    written_short=3_750_000,
    written_long=6_000_000,
)
HALF = Price(
    input=1_500_000,
    output=7_500_000,
    cached=150_000,
    written_short=1_875_000,
    written_long=3_000_000,
)
FACTS = replace(
    make_facts(), price=PRICE, batch_price=HALF, wire=Wire(marking=CacheMarking.BREAKPOINT)
)

# 25,000 tokens of system text, 500 of a tool, 100 of a prompt, 325 of a block, 200 of an answer.
SYSTEM_KEPT = TokenUse(prefix=25_000, head=600, task_input=325, task_output=200)
TOOL_KEPT = TokenUse(prefix=25_500, head=100, task_input=325, task_output=200)


def loads(takes: TokenUse, per_call: int, facts: ModelFacts = FACTS) -> CallTotals:
    """200 blocks, so many in a call."""
    found = CallTotals(takes, facts)
    for _ in range(200 // per_call):
        found.add(per_call, 0, 0)
    return found


def costs(takes: TokenUse) -> list[float]:
    """Dollars: one per call, the same cached, packed by ten, the same cached."""
    alone, packed = loads(takes, 1), loads(takes, 10)
    found = [
        price_calls(item, FACTS, keeping)
        for item in (alone, packed)
        for keeping in (PrefixCaching(0, "input"), primed_caching(item.calls, FACTS))
    ]
    return [round(item.picodollars / 10**12, 2) for item in found]


def test_the_example_of_the_seeds_costs_what_its_own_numbers_say() -> None:
    assert costs(SYSTEM_KEPT) == [16.16, 2.74, 2.33, 1.07]
    assert costs(TOOL_KEPT) == [16.16, 2.47, 2.33, 1.04]


@pytest.mark.parametrize("takes", [SYSTEM_KEPT, TOOL_KEPT])
@pytest.mark.parametrize("per_call", [1, 10])
def test_in_batches_it_costs_half_if_as_many_rows_find_the_prefix(
    takes: TokenUse, per_call: int
) -> None:
    found = loads(takes, per_call)
    for keeping in (PrefixCaching(0, "input"), primed_caching(found.calls, FACTS)):
        direct, batch = (
            price_calls(found, FACTS, keeping),
            price_calls(found, FACTS, keeping, batched=True),
        )

        assert batch.picodollars == direct.picodollars // 2
        assert batch[:4] == direct[:4]


def test_rows_that_miss_write_the_prefix_again() -> None:
    keeping = PrefixCaching(0.7, "written_short")
    found = price_calls(loads(SYSTEM_KEPT, 10), FACTS, keeping, batched=True)

    rest = ((20 * 600 + 200 * 325) * 1.5 + 200 * 200 * 7.5) * 10**6
    assert found.picodollars == round(20 * 25_000 * (0.7 * 0.15 + 0.3 * 1.875) * 10**6 + rest)
    assert found.cached == 14 * 25_000


def test_every_call_is_priced_by_its_own_size() -> None:
    dear = Price(**{kind: 10 * getattr(PRICE, kind) for kind in Price.__slots__})
    tiered = replace(FACTS, tiers=(Tier(30_000, dear),))
    takes = TokenUse(prefix=25_000, byte_input=1, task_output=200)
    found = CallTotals(takes, tiered)
    for content in (4_000, 5_000, 5_001, 9_000):  # their mean is below the limit
        found.add(1, content, 0)

    cheap, large = 2 * 25_000 + 9_000, 2 * 25_000 + 14_001
    tokens = 3 * cheap + 30 * large + (400 * 15 + 400 * 150)
    assert price_calls(found, tiered).picodollars == tokens * 10**6


def test_calls_without_tasks_or_prefix_cost_nothing() -> None:
    assert price_calls(CallTotals(TokenUse(prefix=0), FACTS), FACTS).picodollars == 0
    assert primed_caching(0, FACTS).hits == 0
