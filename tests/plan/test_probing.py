"""The recommendation is the largest size that changes little enough and is cheaper."""

import pytest

from quire.plan.comparing import Comparison
from quire.plan.estimating import Paired, excess, rate
from quire.plan.probing import Finding, Recommendation, Spent, Trial, recommend

FIELDS = 300


def spent(cost: int, *, largest: int = 1, tokens: int = 1000) -> Spent:
    """Fifty blocks at a price."""
    return Spent(
        blocks=50,
        calls=50 // largest,
        blocks_per_call=float(largest),
        largest_call=largest,
        input_tokens=tokens,
        output_tokens=0,
        cost=cost,
    )


def trial(
    size: int, cost: int, table: Paired | None = None, *, largest: int = 0, tokens: int = 1000
) -> Trial:
    """One size, of whose fields so many differ in packs, alone again, or in both."""
    found = table or Paired(0, 0, 0, FIELDS)
    return Trial(
        size=size,
        spent=spent(cost, largest=largest or size, tokens=tokens),
        compared=Comparison(
            fields=rate(found.both + found.first, found.all),
            blocks=rate(0, 50),
            unanswered=0,
            noise=rate(found.both + found.second, found.all),
            excess=excess(found),
            by_field={},
        ),
    )


def test_the_largest_size_is_taken_where_nothing_differs() -> None:
    trials = [trial(5, 90), trial(50, 60), trial(10, 80), trial(25, 70)]

    found = recommend(spent(100), trials, 0.02)

    assert found == Recommendation(size=50, finding=Finding.WITHIN)


def test_a_size_that_changes_too_much_is_left_out() -> None:
    trials = [trial(10, 80, Paired(0, 6, 0, 294)), trial(25, 70, Paired(0, 7, 0, 293))]

    found = recommend(spent(100), trials, 0.02)

    assert [each.finding(0.02) for each in trials] == [Finding.LIKELY, Finding.BEYOND]
    assert (found.size, found.finding) == (10, Finding.LIKELY)
    assert recommend(spent(100), trials, 0.03).size == 25


def test_the_noise_of_the_model_is_not_held_against_a_size() -> None:
    noisy = trial(25, 70, Paired(20, 10, 10, 260))

    assert noisy.compared.fields.share == pytest.approx(0.1)
    assert noisy.finding(0.02) is Finding.LIKELY
    assert recommend(spent(100), [noisy], 0.02).size == 25


def test_one_per_call_is_recommended_where_nothing_else_holds() -> None:
    found = recommend(spent(100), [trial(5, 90, Paired(0, 30, 0, 270))], 0.02)

    assert found == Recommendation(size=1, finding=Finding.WITHIN)


def test_a_size_must_be_cheaper_than_the_one_taken_instead() -> None:
    beyond = Paired(0, 30, 0, 270)

    assert recommend(spent(100), [trial(5, 90), trial(10, 90)], 0.02).size == 5
    assert recommend(spent(100), [trial(5, 120)], 0.02).size == 1
    assert recommend(spent(100), [trial(5, 80, beyond), trial(10, 90)], 0.02).size == 10


def test_where_a_model_costs_nothing_tokens_decide() -> None:
    trials = [trial(5, 0, tokens=600), trial(10, 0, tokens=600), trial(25, 0, tokens=500)]

    assert recommend(spent(0), trials, 0.02).size == 25
    assert recommend(spent(0), trials[:2], 0.02).size == 5


def test_no_larger_call_is_recommended_than_was_tried() -> None:
    assert recommend(spent(100), [trial(25, 70, largest=14)], 0.02).size == 14


def test_a_small_sample_without_a_mismatch_says_how_many_blocks_would_be_sure() -> None:
    """Three fields a block: 189 fields that agree show two percent, so 63 blocks do."""
    found = recommend(spent(100), [trial(25, 70, Paired(0, 0, 0, 150))], 0.02)

    assert found == Recommendation(size=25, finding=Finding.LIKELY, blocks_to_be_sure=63)


def test_where_something_differs_nobody_knows_how_many_would_be_sure() -> None:
    found = recommend(spent(100), [trial(25, 70, Paired(0, 1, 0, 149))], 0.02)

    assert found == Recommendation(size=25, finding=Finding.LIKELY)
    zero = recommend(spent(100), [trial(25, 70)], 0)
    assert zero == Recommendation(size=25, finding=Finding.LIKELY)


def test_what_a_thousand_blocks_cost_is_told_from_the_sample() -> None:
    assert spent(100).cost_per_thousand == 2000
