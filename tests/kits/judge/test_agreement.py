"""Agreement: equal to published examples, and right at the edges."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.kits.judge.agreement import (
    NOMINAL,
    ORDINAL,
    Rating,
    Verdict,
    alpha_between_groups,
    cohen_kappa,
    estimate_alpha,
    estimate_kappa,
    krippendorff_alpha,
)


def _units(*observers: str) -> list[list[Verdict]]:
    """Units of what observers said, a character each; a dot is missing."""
    return [[(ord(said),) for said in unit if said != "."] for unit in zip(*observers, strict=True)]


# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), examples A, B and C
FOUR = _units("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
TWO = _units("0100000010", "1110010000")
NAMES = _units("aabbdcccedda", "babbbccceddd")


@pytest.mark.parametrize(
    ("units", "level", "published"),
    [
        (TWO, NOMINAL, 0.095),
        (NAMES, NOMINAL, 0.692),
        (FOUR, NOMINAL, 0.743),
        (FOUR, ORDINAL, 0.815),
    ],
)
def test_alpha_equals_published_examples(
    units: list[list[Verdict]], level: str, published: float
) -> None:
    assert krippendorff_alpha(units, level) == pytest.approx(published, abs=5e-4)


def test_kappa_equals_a_published_example() -> None:
    """Of 50 grants two readers both accepted 20 and both refused 15: kappa is 0.4."""
    yes, no = (1,), (2,)
    table: dict[tuple[Verdict, Verdict], int] = {
        (yes, yes): 20,
        (yes, no): 5,
        (no, yes): 10,
        (no, no): 15,
    }

    assert cohen_kappa(table) == pytest.approx(0.4)


def test_what_always_agrees_has_an_alpha_of_one_and_no_interval() -> None:
    ratings = [
        Rating(unit, "m", sample, (unit % 3 + 1,)) for unit in range(6) for sample in range(5)
    ]

    for level in (NOMINAL, ORDINAL):
        found = estimate_alpha(ratings, level)
        assert (found.value, found.low, found.observations, found.clusters) == (1, None, 30, 5)
    assert estimate_kappa((r.sample, r.value, r.value) for r in ratings).value == 1


def test_what_is_all_the_same_has_no_alpha() -> None:
    assert krippendorff_alpha([[(2,)] * 3] * 4, ORDINAL) is None
    assert krippendorff_alpha([[(2,)], [(3,)]], NOMINAL) is None  # no pair
    assert cohen_kappa({((1,), (1,)): 5}) is None
    assert estimate_alpha([], NOMINAL).value is None


def test_verdicts_by_chance_have_an_alpha_of_about_none() -> None:
    random = Random(5)
    ratings = [
        Rating(unit, group, sample, (random.randint(1, 4),))
        for unit in range(40)
        for sample in range(20)
        for group in "ab"
    ]

    for level in (NOMINAL, ORDINAL):
        own = estimate_alpha([rating for rating in ratings if rating.group == "a"], level)
        across = alpha_between_groups(ratings, level)
        assert own.low is not None
        assert own.high is not None
        assert own.low < 0 < own.high
        assert abs(across or 1) < 0.02


def test_a_shared_preference_for_lines_agrees_only_in_the_same_sample() -> None:
    random = Random(2)
    ratings = []
    for sample in range(40):
        first = random.randint(1, 4)  # the stage that stands first, whatever the evidence
        ratings += [Rating(unit, group, sample, (first,)) for unit in range(8) for group in "ab"]
    matched = [rating._replace(unit=(rating.unit, rating.sample)) for rating in ratings]

    assert estimate_alpha(matched, NOMINAL).value == 1
    assert (alpha_between_groups(ratings, NOMINAL) or 1) < 0.05


def test_near_misses_count_less_by_the_ordinal_measure() -> None:
    units: list[list[Verdict]] = [[(1,), (2,)], [(4,), (5,)], [(2,), (1,)], [(5,), (4,)]]

    nominal, ordinal = (krippendorff_alpha(units, level) for level in (NOMINAL, ORDINAL))

    assert nominal is not None
    assert ordinal is not None
    assert nominal < 0 < ordinal


def test_subsets_are_the_same_only_as_a_whole_but_lie_near_each_other() -> None:
    units: list[list[Verdict]] = [[(1, 2), (1,)], [(3, 4), (4,)], [(1, 2), (2,)], [(3, 4), (3,)]]

    assert (krippendorff_alpha(units, NOMINAL) or 0) < 0
    assert (krippendorff_alpha(units, ORDINAL) or 0) > 0.5


@given(
    st.lists(st.lists(st.integers(1, 4), max_size=5), max_size=8),
    st.permutations(list(range(5))),
)
def test_alpha_is_at_most_one_and_knows_no_order(said: list[list[int]], order: list[int]) -> None:
    units = [[(stage,) for stage in unit] for unit in said]
    mixed = [[unit[at] for at in order if at < len(unit)] for unit in units]

    for level in (NOMINAL, ORDINAL):
        found = krippendorff_alpha(units, level)
        again = krippendorff_alpha(mixed[::-1], level)
        assert (found is None) == (again is None)
        if found is not None:
            assert found <= 1 + 1e-12
            assert again == pytest.approx(found)
