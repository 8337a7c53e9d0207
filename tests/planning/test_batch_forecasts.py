"""The ways with batches: the first tasks go before, few calls go direct, and the route decides."""

from dataclasses import replace

import pytest

from quire.domain.batches import BatchLookup, BatchRules, PollCadence
from quire.domain.models import CacheMarking, Limits, Price, Wire
from quire.domain.policy import Policy
from quire.planning.job_forecasts import forecast
from quire.planning.variants import Forecast
from tests.planning.examples import make_facts, make_stage

RULES = BatchRules(
    calls=50_000, size=200_000_000, lookup=BatchLookup.TAG, cadence=PollCadence(30, 120, 600)
)
STAGE = make_stage(instructions="Read closely. " * 2_000)
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
PLAIN = replace(make_facts(), price=PRICE, batch_price=HALF)
MARKED = replace(PLAIN, name="anthropic/test", wire=Wire(marking=CacheMarking.BREAKPOINT))


def make_forecast(tasks: int, policy: Policy | None = None, *, marked: bool = False) -> Forecast:
    facts = MARKED if marked else PLAIN
    return forecast([400] * tasks, STAGE, facts, policy or Policy(), (), RULES)


def test_all_ways_are_named_as_people_see_them() -> None:
    assert [variant.name for variant in make_forecast(1_000, marked=True).variants] == [
        "one per call",
        "one per call + cached",
        "packed",
        "packed + cached",
        "packed + batch",
        "packed + cached + batch",
    ]


def test_the_first_fifty_tasks_go_direct_where_they_are_too_few_for_a_batch() -> None:
    found = make_forecast(1_050)

    assert found.packed_batch is not None
    assert (found.packed_batch.requests, found.packed_batch.batched) == (105, 100)
    # Five of 105 equal calls cost all, a hundred cost half.
    share = (5 + 100 / 2) / 105
    assert found.packed_batch.cost == pytest.approx(found.packed.cost * share, abs=1)
    assert found.packed_cached_batch is None


def test_single_calls_of_the_first_tasks_fill_a_batch() -> None:
    found = make_forecast(80, Policy(packing=False))

    assert found.packed_batch is not None
    assert found.packed_batch.batched == 80
    assert found.packed_batch.cost == pytest.approx(found.packed.cost / 2, abs=1)


def test_few_calls_go_direct_and_what_they_would_cost_in_batches_is_told() -> None:
    few = make_forecast(340, Policy(route="batch"))
    enough = make_forecast(350, Policy(route="batch"))

    assert few.packed_batch is not None
    assert (few.batch_from, few.packed_batch.requests, few.packed_batch.batched) == (5, 34, 34)
    assert few.packed_batch.cost == pytest.approx(few.packed.cost / 2, abs=1)
    assert (few.batch, few.expected, few.cheapest) == (None, few.packed, few.packed)
    assert enough.batch_from is None
    assert enough.expected is enough.packed_batch
    forced = make_forecast(340, Policy(route="batch", min_batch_size=5))
    assert (forced.batch_from, forced.expected) == (None, few.packed_batch)


@pytest.mark.parametrize(
    ("tasks", "least", "batched"), [(5, 1, 1), (20, 2, 2), (55, 2, 5), (65, 2, 7), (340, 5, 34)]
)
def test_a_batch_has_two_calls_where_there_are_two(tasks: int, least: int, batched: int) -> None:
    found = make_forecast(tasks)

    assert found.packed_batch is not None
    assert (found.batch_from, found.packed_batch.batched) == (least, batched)


def test_what_goes_direct_although_batches_were_asked_for_is_kept_for_them() -> None:
    asked, plain = (
        make_forecast(340, Policy(route="batch"), marked=True),
        make_forecast(340, marked=True),
    )

    assert asked.packed_cached is not None
    assert plain.packed_cached is not None
    prefix = asked.packed_cached.cached_tokens / 33
    assert asked.expected is asked.packed_cached
    assert asked.expected.cost - plain.expected.cost == pytest.approx(
        prefix * (6 - 3.75) * 10**6, rel=1e-3
    )


def test_a_prefix_below_the_minimum_is_not_kept_in_batches_either() -> None:
    # With the schema beside it, and in the model's own tokens, it would be long enough.
    facts = replace(MARKED, cache_minimum=7_200, token_factor=1.3)
    found = forecast([400] * 1_050, STAGE, facts, Policy(route="batch"), (), RULES)

    assert found.cacheable < 7_200
    assert (found.packed_cached, found.packed_cached_batch) == (None, None)
    assert found.expected is found.packed_batch
    assert found.expected.cached_tokens == 0


def test_rows_read_what_a_direct_call_wrote_for_an_hour() -> None:
    found = make_forecast(1_050, marked=True)
    batch = found.packed_cached_batch

    assert batch is not None
    assert found.batch_caching is not None
    assert found.batch_caching.primer
    prefix = batch.cached_tokens / (4 + 100 * 0.9)
    assert found.packed_cached is not None
    assert prefix == pytest.approx(found.packed_cached.cached_tokens / 104, abs=1)
    rest = batch.input_tokens - 105 * prefix
    assert batch.cost / 10**6 == pytest.approx(
        prefix * (6 + 4 * 0.3 + 100 * (0.9 * 0.15 + 0.1 * 3))
        + rest * (5 * 3 + 100 * 1.5) / 105
        + batch.output_tokens * (5 * 15 + 100 * 7.5) / 105,
        rel=1e-4,
    )


def test_without_caching_nothing_is_kept_in_batches_either() -> None:
    found = make_forecast(1_050, Policy(caching="off"), marked=True)

    assert (found.packed_cached, found.packed_cached_batch) == (None, None)
    assert found.packed_batch is not None


def test_where_batches_keep_nothing_only_what_goes_before_them_is_cached() -> None:
    rules = replace(RULES, caches=False)
    found = forecast([400] * 1_050, STAGE, MARKED, Policy(route="batch"), (), rules)

    assert found.packed_cached is not None
    assert found.packed_cached_batch is None
    assert found.expected is found.packed_batch
    # Four of the first five calls read what the first one wrote.
    assert found.expected.cached_tokens == pytest.approx(
        found.packed_cached.cached_tokens * 4 / 104, abs=1
    )


def test_of_equals_the_usual_way_is_recommended() -> None:
    found = make_forecast(20, Policy(packing=False))

    assert found.cheapest is found.packed


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        ("direct", "packed"),
        ("paced", "packed"),
        ("batch", "packed + batch"),
        ("auto", "packed + batch"),
    ],
)
def test_what_is_expected_follows_the_route(route: str, expected: str) -> None:
    found = make_forecast(1_000, Policy(route=route))

    assert found.expected.name == expected
    assert found.cheapest.name == "packed + batch"


def test_auto_stays_direct_where_reading_a_long_prefix_from_the_cache_is_cheaper() -> None:
    # A tenth of the price for all but the first, against half of it for rows that may miss.
    longer = make_stage(instructions="Read closely. " * 8_000)
    found = forecast([10] * 1_000, longer, MARKED, Policy(route="auto"), (), RULES)

    assert found.batch is not None
    assert found.direct.cost < found.batch.cost
    assert (found.route.route, found.expected) == ("direct", found.packed_cached)


def test_without_batches_or_their_price_there_are_no_such_ways() -> None:
    blind = forecast([400] * 1_000, STAGE, PLAIN, Policy(route="batch"))
    unpriced = replace(PLAIN, batch_price=None)
    free = forecast([400] * 1_000, STAGE, unpriced, Policy(route="auto"), (), RULES)

    assert (blind.batch, free.batch) == (None, None)
    assert blind.route.problem
    assert blind.expected is blind.packed
    assert free.route.route == "direct"


def test_time_is_told_where_limits_are_known() -> None:
    limited = replace(PLAIN, limits=Limits(requests=50))
    found = forecast([400] * 1_000, STAGE, limited, Policy(), (), RULES)

    assert found.packed.seconds == pytest.approx(100 / (50 * 0.85) * 60)
    assert found.packed_batch is not None
    assert found.packed_batch.seconds == 24 * 3600
    assert make_forecast(1_000).packed.seconds is None


def test_few_calls_in_flight_take_their_time() -> None:
    limited = replace(PLAIN, limits=Limits(requests=1_000_000))
    one = forecast([400] * 1_000, STAGE, limited, Policy(concurrency=1)).packed
    many = forecast([400] * 1_000, STAGE, limited, Policy(concurrency=10)).packed

    assert one.seconds is not None
    assert many.seconds is not None
    assert one.seconds == pytest.approx(10 * many.seconds)
    assert one.seconds > 100  # a second each, and more for what is written
