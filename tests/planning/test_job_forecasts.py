"""Forecasts add up, stream, and know when packing does not pay."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.models import CacheMarking, ModelFacts, Price, Wire
from quire.domain.policy import Policy
from quire.planning.job_forecasts import break_even, forecast
from quire.planning.rendering import FRAMING_BYTES, USUAL_OVERHEAD, prefix_bytes, render_prefix
from quire.planning.size_samples import SizeSample
from tests.planning.examples import REVISION, make_facts, make_stage

STAGE = make_stage(instructions="Read closely. " * 100)
FACTS = make_facts()


def request_bytes() -> int:
    return prefix_bytes(render_prefix(STAGE)) + len(STAGE.prompt) + FRAMING_BYTES


def test_both_variants_are_named_as_people_see_them() -> None:
    names = [variant.name for variant in forecast([100], STAGE, FACTS, Policy()).variants]

    assert names == ["one per call", "packed"]


def test_one_per_call_is_computed_as_by_hand() -> None:
    found = forecast([102] * 3, STAGE, FACTS, Policy()).one_per_call

    sent = 3 * (request_bytes() + USUAL_OVERHEAD + 102)
    answered = 3 * len('{"results":[' + '{"block_uid":"12ab"},' + '"topic":"",' + "x" * 40 + "]}")
    assert (found.requests, found.input_tokens) == (3, -(-sent // 4))
    assert found.output_tokens == -(-answered // 4)
    assert found.cost == (sent / 4 * 3 + answered / 4 * 15) * 10**6


def test_packed_pays_the_prefix_once_a_pack() -> None:
    found = forecast([102] * 25, STAGE, FACTS, Policy()).packed

    tokens = -(-(3 * request_bytes() + 25 * (USUAL_OVERHEAD + 102)) // 4)
    assert (found.requests, found.input_tokens) == (3, tokens)


def test_the_forecast_says_what_it_packed_by() -> None:
    found = forecast([102] * 25, STAGE, FACTS, Policy(pack_size=7))

    assert (found.tasks, found.cap, found.budget.cap, found.packed.requests) == (25, 7, 7, 4)


def test_long_answers_close_packs_before_the_cap() -> None:
    # 625 + 3,000 ÷ 3 = 1,625 a task; 8,192 × 0.85 = 6,963 holds four of them.
    found = forecast([3_000] * 8, make_stage(REVISION), FACTS, Policy())

    assert (found.cap, found.packed.requests) == (6, 2)


def test_the_saving_is_in_percent_of_one_per_call() -> None:
    found = forecast([102] * 25, STAGE, FACTS, Policy())

    saved = found.one_per_call.cost - found.packed.cost
    assert found.saving_percent == pytest.approx(100 * saved / found.one_per_call.cost)
    assert found.saving_percent > 0


def test_a_free_model_saves_nothing() -> None:
    free = make_facts(input_price=0, output_price=0)

    assert forecast([102] * 25, STAGE, free, Policy()).saving_percent == 0


def test_a_job_without_tasks_takes_nothing() -> None:
    found = forecast([], STAGE, FACTS, Policy())

    assert [(variant.requests, variant.cost) for variant in found.variants] == [(0, 0), (0, 0)]


def test_without_packing_both_variants_take_the_same() -> None:
    found = forecast([102] * 5, STAGE, FACTS, Policy(packing=False))

    assert found.packed.cost == found.one_per_call.cost


def test_a_stream_of_sizes_is_read_once() -> None:
    found = forecast((102 for _ in range(25)), STAGE, FACTS, Policy())

    assert (found.tasks, found.packed.requests) == (25, 3)


@given(st.lists(st.integers(2, 400_000), max_size=60))
def test_packing_never_costs_more_in_a_forecast(sizes: list[int]) -> None:
    found = forecast(sizes, STAGE, FACTS, Policy())

    assert found.packed.cost <= found.one_per_call.cost
    assert found.packed.output_tokens <= found.one_per_call.output_tokens


def test_packing_without_growth_pays_from_two_on() -> None:
    assert break_even(STAGE, FACTS, Policy(), [102] * 50, 1.0) == 2


def test_longer_answers_move_the_break_even_up() -> None:
    # Sharing saves (1 − 1/n) of 1,700 µ$ a task; 28 % of 264 tokens at $15 takes 1,109 of it.
    fields: dict[str, Json] = {f"summary_{i}": {"type": "string"} for i in range(4)}
    wordy = make_stage(fields, instructions="Read closely. " * 87)
    sent = prefix_bytes(render_prefix(wordy)) + len(wordy.prompt) + FRAMING_BYTES
    assert 1_690 < sent / 4 * 3 < 1_710
    assert forecast([102], wordy, FACTS, Policy()).packed.output_tokens == 264

    assert break_even(wordy, FACTS, Policy(), [102] * 6_000, 1.28) == 3


def test_packing_that_is_never_cheaper_has_no_break_even() -> None:
    assert break_even(make_stage(), FACTS, Policy(), [102] * 100, 12.0) is None


def test_the_break_even_obeys_the_schema() -> None:
    stage = make_stage(instructions="Read closely. " * 100, max_batch_size=1)

    assert break_even(stage, FACTS, Policy(), [102] * 100, 1.0) is None


def test_the_break_even_does_not_ask_whether_packing_is_on() -> None:
    assert break_even(STAGE, FACTS, Policy(packing=False), [102] * 50, 1.0) == 2


def test_a_job_without_tasks_has_no_break_even() -> None:
    assert break_even(STAGE, FACTS, Policy(), [], 1.0) is None


CACHING = replace(
    FACTS,
    cache_minimum=10,
    wire=Wire(marking=CacheMarking.BREAKPOINT),
    price=Price(
        input=1_000_000, output=0, cached=100_000, written_short=1_250_000, written_long=2_000_000
    ),
)


def test_the_first_call_writes_the_prefix_and_the_others_read_it() -> None:
    plain = forecast([102] * 25, STAGE, CACHING, Policy(pack_size=5))
    cached = plain.packed_cached

    assert cached is not None
    written = prefix_bytes(render_prefix(STAGE)) / 4
    rest = (5 * (request_bytes() - 4 * written) + 25 * (USUAL_OVERHEAD + 102)) / 4
    assert (cached.requests, cached.cached_tokens) == (5, math.ceil(4 * written))
    assert cached.input_tokens == plain.packed.input_tokens
    assert cached.cost == (rest + written * 1.25 + 4 * written * 0.1) * 10**6
    assert plain.expected is cached


def test_what_the_provider_finds_by_itself_costs_nothing_to_write() -> None:
    automatic = replace(CACHING, wire=Wire(marking=CacheMarking.AUTOMATIC))
    found = forecast([102] * 25, STAGE, automatic, Policy(pack_size=5)).packed_cached
    marked = forecast([102] * 25, STAGE, CACHING, Policy(pack_size=5)).packed_cached

    assert found is not None
    assert marked is not None
    assert found.cost < marked.cost


@pytest.mark.parametrize(
    ("facts", "policy", "tasks"),
    [
        (replace(CACHING, cache_minimum=100_000), Policy(), 25),
        (CACHING, Policy(caching="off"), 25),
        (CACHING, Policy(), 3),
    ],
)
def test_a_short_prefix_an_unwilling_user_or_a_lone_call_caches_nothing(
    facts: ModelFacts, policy: Policy, tasks: int
) -> None:
    found = forecast([102] * tasks, STAGE, facts, policy)

    assert found.packed_cached is None
    assert found.expected is found.packed


@pytest.mark.parametrize("per_call", [1, 10])
def test_sizes_that_stand_for_more_tasks_forecast_what_all_of_them_would(per_call: int) -> None:
    policy = Policy(pack_size=per_call)

    found = forecast(SizeSample([100, 900] * 100, 2_000), STAGE, CACHING, policy)

    whole = forecast([100, 900] * 1_000, STAGE, CACHING, policy)
    assert found.packed_cached is not None
    assert (found.tasks, found.early) == (whole.tasks, whole.early)
    assert (found.packed_cached, found.one_per_call) == (whole.packed_cached, whole.one_per_call)
