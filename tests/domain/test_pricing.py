"""A call is priced by its size and its way, exactly; only what is shown is rounded."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.errors import UsageError
from quire.domain.models import ModelFacts, Price, Tier, Usage
from quire.domain.pricing import DOLLAR, cost_words, dollars, from_usd, price_call, to_usd

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

    assert price_call(facts_of(PRICE), usage) == (3000 + 1500 + 3000 + 750 + 300) * 10**6


def test_a_thousand_small_calls_cost_as_much_as_one_of_their_size() -> None:
    cheap = facts_of(
        Price(input=50_000, output=80_000, cached=5_000, written_short=1, written_long=1)
    )
    small = price_call(cheap, Usage(input=151, output=7, cached=3))

    assert 1000 * small == price_call(cheap, Usage(input=151_000, output=7_000, cached=3_000))
    assert price_call(cheap, Usage(written_short=1)) == 1
    assert price_call(cheap, Usage()) == 0


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
    assert charged == tokens * price + answered * answer_price


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

    assert price_call(unpriced, Usage(input=2_000), batched=True) == 12_000 * 10**6


@pytest.mark.parametrize(
    ("pico", "shown"),
    [
        (0, "$0"),
        (1, "$0.000000000001"),
        (80_000, "$0.00000008"),
        (10**6, "$0.000001"),
        (9_999 * 10**6, "$0.009999"),
        (9_999 * 10**6 + 1, "$0.009999"),
        (10**10, "$0.0100"),
        (1_234_500 * 10**6, "$1.2345"),
        (10**14, "$100.00"),
        (1_234_567_890_000 * 10**6, "$1,234,567.89"),
        (-1_500_000 * 10**6, "-$1.5000"),
    ],
)
def test_an_amount_is_shown_as_a_person_reads_it(pico: int, shown: str) -> None:
    assert dollars(pico) == shown


def test_programs_are_told_dollars() -> None:
    assert [to_usd(pico) for pico in (0, 1, 750_000, 31_200_000_000)] == [0, 1e-12, 7.5e-07, 0.0312]


@pytest.mark.parametrize(("written", "amount"), [("$1,500", 1500), ("234,567.00", 234_567)])
def test_commas_between_thousands_are_read(written: str, amount: int) -> None:
    assert from_usd(written) == amount * DOLLAR


@pytest.mark.parametrize("written", ["0,5", "1,50", "1,5000", ",5", "1,,500", "1,500,00"])
def test_a_comma_that_may_be_a_point_is_no_amount(written: str) -> None:
    with pytest.raises(UsageError, match="no amount of dollars"):
        from_usd(written)


def test_the_simulated_part_of_a_cost_is_told_apart() -> None:
    assert cost_words(0, 0) == "$0"
    assert cost_words(DOLLAR, 0) == "$1.0000"
    assert cost_words(DOLLAR, DOLLAR) == "$1.0000 simulated"
    assert cost_words(3 * DOLLAR, DOLLAR) == "$2.0000 + $1.0000 simulated"
