"""The recommendation is the largest size that changes little enough and is cheaper."""

import pytest

from quire.planning.pack_probe import (
    Comparison,
    Parity,
    ProbeSpend,
    Recommendation,
    Trial,
    recommend,
)
from quire.planning.share_estimates import PairCounts, estimate_excess, estimate_share

FIELDS = 300


def make_spend(cost: int, *, largest: int = 1, tokens: int = 1000) -> ProbeSpend:
    """Fifty blocks at a price."""
    return ProbeSpend(
        blocks=50,
        calls=50 // largest,
        blocks_per_call=float(largest),
        largest_call=largest,
        input_tokens=tokens,
        output_tokens=0,
        cost=cost,
    )


def make_trial(
    size: int, cost: int, table: PairCounts | None = None, *, largest: int = 0, tokens: int = 1000
) -> Trial:
    """One size, of whose fields so many differ in packs, alone again, or in both."""
    found = table or PairCounts(0, 0, 0, FIELDS)
    return Trial(
        size=size,
        spend=make_spend(cost, largest=largest or size, tokens=tokens),
        comparison=Comparison(
            fields=estimate_share(found.both + found.first, found.all),
            blocks=estimate_share(0, 50),
            unanswered=0,
            noise=estimate_share(found.both + found.second, found.all),
            excess=estimate_excess(found),
            by_field={},
        ),
    )


def test_the_largest_size_is_taken_where_nothing_differs() -> None:
    trials = [make_trial(5, 90), make_trial(50, 60), make_trial(10, 80), make_trial(25, 70)]

    found = recommend(make_spend(100), trials, 0.02)

    assert found == Recommendation(size=50, parity=Parity.WITHIN)


def test_a_size_that_changes_too_much_is_left_out() -> None:
    trials = [
        make_trial(10, 80, PairCounts(0, 6, 0, 294)),
        make_trial(25, 70, PairCounts(0, 7, 0, 293)),
    ]

    found = recommend(make_spend(100), trials, 0.02)

    assert [item.parity(0.02) for item in trials] == [Parity.LIKELY, Parity.BEYOND]
    assert (found.size, found.parity) == (10, Parity.LIKELY)
    assert recommend(make_spend(100), trials, 0.03).size == 25


def test_the_noise_of_the_model_is_not_held_against_a_size() -> None:
    noisy = make_trial(25, 70, PairCounts(20, 10, 10, 260))

    assert noisy.comparison.fields.share == pytest.approx(0.1)
    assert noisy.parity(0.02) is Parity.LIKELY
    assert recommend(make_spend(100), [noisy], 0.02).size == 25


def test_one_per_call_is_recommended_where_nothing_else_holds() -> None:
    found = recommend(make_spend(100), [make_trial(5, 90, PairCounts(0, 30, 0, 270))], 0.02)

    assert found == Recommendation(size=1, parity=Parity.WITHIN)


def test_a_size_must_be_cheaper_than_the_one_taken_instead() -> None:
    assert recommend(make_spend(100), [make_trial(5, 90), make_trial(10, 90)], 0.02).size == 5
    assert recommend(make_spend(100), [make_trial(5, 120)], 0.02).size == 1


def test_nothing_is_recommended_beyond_a_size_that_changes_too_much() -> None:
    beyond = PairCounts(0, 30, 0, 270)
    trials = [make_trial(10, 70), make_trial(5, 80, beyond), make_trial(2, 90)]

    assert recommend(make_spend(100), trials, 0.02).size == 2


def test_where_a_model_costs_nothing_tokens_decide() -> None:
    trials = [
        make_trial(5, 0, tokens=600),
        make_trial(10, 0, tokens=600),
        make_trial(25, 0, tokens=500),
    ]

    assert recommend(make_spend(0), trials, 0.02).size == 25
    assert recommend(make_spend(0), trials[:2], 0.02).size == 5


def test_no_larger_call_is_recommended_than_was_tried() -> None:
    assert recommend(make_spend(100), [make_trial(25, 70, largest=14)], 0.02).size == 14


def test_a_small_sample_without_a_mismatch_says_how_many_blocks_would_be_sure() -> None:
    """Three fields a block: 189 fields that agree show two percent, so 63 blocks do."""
    found = recommend(make_spend(100), [make_trial(25, 70, PairCounts(0, 0, 0, 150))], 0.02)

    assert found == Recommendation(size=25, parity=Parity.LIKELY, blocks_to_be_sure=63)


def test_where_something_differs_nobody_knows_how_many_would_be_sure() -> None:
    found = recommend(make_spend(100), [make_trial(25, 70, PairCounts(0, 1, 0, 149))], 0.02)

    assert found == Recommendation(size=25, parity=Parity.LIKELY)
    zero = recommend(make_spend(100), [make_trial(25, 70)], 0)
    assert zero == Recommendation(size=25, parity=Parity.LIKELY)


def test_what_a_thousand_blocks_cost_is_told_from_the_sample() -> None:
    assert make_spend(100).cost_per_thousand == 2000
