"""A call is priced by its size and its way, in whole micro-dollars, rounded up once."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.models import ModelFacts, Price, Tier, Usage
from quire.domain.pricing import dollars, price_call

COUNTS = st.integers(min_value=0, max_value=10**15)
PRICE = Price(
    input=3_000_000,
    output=15_000_000,
    cached=300_000,
    written_short=3_750_000,
    written_long=6_000_000,
)
HALF = Price(**{kind: getattr(PRICE, kind) // 2 for kind in Price.__slots__})
LARGE = Price(**{kind: getattr(PRICE, kind) * 2 for kind in Price.__slots__})


def facts_of(price: Price) -> ModelFacts:
    return ModelFacts(name="some/model", window=200_000, max_output=8_000, price=price)


TIERED = replace(
    facts_of(PRICE),
    tiers=(Tier(1_000, LARGE),),
    batch_price=HALF,
    batch_tiers=(Tier(1_000, PRICE),),
)


def test_each_kind_of_token_has_its_own_price() -> None:
    usage = Usage(input=1000, output=100, cached=10_000, written_short=200, written_long=50)

    assert price_call(facts_of(PRICE), usage) == 3000 + 1500 + 3000 + 750 + 300


def test_the_sum_is_rounded_up_once_and_not_each_part() -> None:
    third = Price(input=333_333, output=333_333, cached=333_334, written_short=0, written_long=0)

    assert price_call(facts_of(third), Usage(input=1, output=1, cached=1)) == 1


def test_the_smallest_part_of_a_micro_dollar_costs_a_whole_one() -> None:
    cheap = Price(input=1, output=1, cached=1, written_short=1, written_long=1)

    assert price_call(facts_of(cheap), Usage(input=1)) == 1
    assert price_call(facts_of(cheap), Usage()) == 0


def test_reasoning_is_already_part_of_the_output() -> None:
    assert price_call(facts_of(PRICE), Usage(output=500, reasoning=400)) == price_call(
        facts_of(PRICE), Usage(output=500)
    )


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_no_precision_is_lost_however_large_the_numbers(
    tokens: int, price: int, answered: int, answer_price: int
) -> None:
    prices = Price(input=price, output=answer_price, cached=0, written_short=0, written_long=0)

    charged = price_call(facts_of(prices), Usage(input=tokens, output=answered))

    assert type(charged) is int
    assert charged == ceil(Fraction(tokens * price + answered * answer_price, 1_000_000))


@pytest.mark.parametrize(
    ("usage", "batched", "price"),
    [
        (Usage(input=900, cached=100), False, PRICE),
        (Usage(input=900, cached=101), False, LARGE),
        (Usage(input=900, cached=100), True, HALF),
        (Usage(input=900, cached=101), True, PRICE),
    ],
)
def test_all_input_of_a_call_and_its_way_choose_the_price(
    usage: Usage, batched: bool, price: Price
) -> None:
    assert price_call(TIERED, usage, batched=batched) == price_call(facts_of(price), usage)


def test_a_batch_whose_price_is_unknown_is_priced_as_direct_calls() -> None:
    unpriced = replace(TIERED, batch_price=None)

    assert price_call(unpriced, Usage(input=2_000), batched=True) == 12_000


@pytest.mark.parametrize(
    ("micro", "shown"),
    [
        (0, "$0"),
        (1, "$0.000001"),
        (9_999, "$0.009999"),
        (10_000, "$0.0100"),
        (1_234_500, "$1.2345"),
        (100_000_000, "$100.00"),
        (1_234_567_890_000, "$1,234,567.89"),
        (-1_500_000, "-$1.5000"),
    ],
)
def test_an_amount_is_shown_as_a_person_reads_it(micro: int, shown: str) -> None:
    assert dollars(micro) == shown
