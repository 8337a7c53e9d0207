"""What caching, batches and packing saved, against the price of the same tokens without them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from quire.domain.ids import RunId
from quire.domain.models import ModelFacts, Price, Tier, Usage
from quire.domain.pricing import price_call
from quire.domain.spend import SpendBy, SpendGroup
from quire.planning.spend_views import NO_TIERS, smallest_tier, total_spend, view_spend

PRICE = Price(input=1_000, output=5_000, cached=100, written_short=1_250, written_long=2_000)
HALF = Price(input=500, output=2_500, cached=50, written_short=625, written_long=1_000)
DEAR = Price(input=2_000, output=7_500, cached=200, written_short=2_500, written_long=4_000)
FACTS = ModelFacts(
    name="any/model",
    window=1_000_000,
    max_output=10_000,
    price=PRICE,
    batch_price=HALF,
    tiers=(Tier(200_000, DEAR),),
)
EMPTY = SpendGroup(RunId(1), "extract", FACTS.name, *(None,) * 4, 20_000, 0, "", 0, *(0,) * 13)


def savings(group: SpendGroup) -> tuple[int, int, int]:
    """What a group saved by caching, batches and packing."""
    models = {(group.run_id, group.model): FACTS}
    (line,) = view_spend([group], SpendBy.RUN, models)
    return line.sums.caching_saved, line.sums.batches_saved, line.sums.packing_saved


def test_caching_saved_what_the_input_would_have_cost_at_its_plain_price() -> None:
    usage = Usage(input=500, output=300, cached=9_000, written_short=1_000)
    group = EMPTY._replace(input=500, output=300, cached=9_000, written_short=1_000)

    saved, _, _ = savings(group)

    plain = Usage(input=usage.input_total, output=usage.output)
    assert saved == price_call(FACTS, plain) - price_call(FACTS, usage)


def test_a_cache_that_was_written_and_never_read_cost_more() -> None:
    assert savings(EMPTY._replace(written_long=1_000))[0] == -1_000_000


def test_batches_saved_what_the_same_tokens_cost_direct() -> None:
    usage = Usage(input=500, output=300, cached=9_000)
    group = EMPTY._replace(batched=1, input=500, output=300, cached=9_000)

    _, saved, _ = savings(group)

    assert saved == price_call(FACTS, usage) - price_call(FACTS, usage, batched=True)
    assert savings(group._replace(batched=0))[1] == 0


def test_large_calls_are_reckoned_at_the_prices_of_their_size() -> None:
    group = EMPTY._replace(cached=300_000, size=300_000)

    assert savings(group)[0] == 300_000 * (DEAR.input - DEAR.cached)
    assert smallest_tier([FACTS, replace(FACTS, tiers=())]) == 200_000
    assert smallest_tier([replace(FACTS, tiers=())]) == NO_TIERS


def test_packing_saved_the_prefixes_that_lone_tasks_would_have_brought_with_them() -> None:
    group = EMPTY._replace(more_prefix=9_000, more_cached=4_000)

    assert savings(group)[2] == 5_000 * PRICE.input + 4_000 * PRICE.cached
    assert savings(group._replace(batched=1))[2] == 5_000 * HALF.input + 4_000 * HALF.cached
    assert savings(EMPTY)[2] == 0


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3),
            st.sampled_from(["a", "b"]),
            st.integers(0, 3),
            st.integers(0, 10**15),
            st.integers(0, 10**15),
        )
    )
)
def test_every_view_of_the_same_groups_comes_to_the_same(
    parts: list[tuple[int, str, int, int, int]],
) -> None:
    groups = [
        EMPTY._replace(
            run_id=RunId(run), stage=name, model=name, day=day, cost=cost, presumed=more
        )._replace(outcome="lost", batched=day % 2)
        for run, name, day, cost, more in parts
    ]

    totals = {by: total_spend(view_spend(groups, by, {})) for by in SpendBy}

    assert len(set(totals.values())) == 1
    assert totals[SpendBy.DAY].cost == sum(cost for *_, cost, _ in parts)


def test_days_are_told_in_order_and_keys_by_their_names() -> None:
    key = EMPTY._replace(
        key_provider="openai", key_source="stored", key_name="main", key_tail="1a2b", day=1
    )

    days = [line.about["day"] for line in view_spend([EMPTY, key], SpendBy.DAY, {})]
    keys = [line.about["key"] for line in view_spend([key, EMPTY], SpendBy.KEY, {})]

    assert days == ["1970-01-02", "2024-10-04"]
    assert keys == ["openai stored main …1a2b", ""]


def test_a_day_of_vendors_and_simulated_models_tells_their_money_apart() -> None:
    groups = [EMPTY._replace(cost=30), EMPTY._replace(model="simulated/small", cost=7)]

    (day,) = view_spend(groups, SpendBy.DAY, {})

    assert (day.sums.cost, day.sums.simulated) == (37, 7)
