"""Quantiles equal those of the tables, and of other programs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.planning.quantiles import (
    beta_cdf,
    beta_quantile,
    student_quantile,
)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [  # of any printed table of Student's distribution
        (1, 12.706204736),
        (2, 4.302652730),
        (4, 2.776445105),
        (9, 2.262157163),
        (29, 2.045229642),
        (120, 1.979930405),
        (100_000, 1.959987708),
    ],
)
def test_students_quantiles_are_those_of_the_tables(degrees: int, expected: float) -> None:
    assert student_quantile(0.95, degrees) == pytest.approx(expected, rel=1e-8)


def test_known_values_of_the_distribution() -> None:
    assert beta_cdf(0.3, 1, 1) == pytest.approx(0.3, abs=1e-14)
    assert beta_cdf(0.5, 7, 7) == pytest.approx(0.5, abs=1e-14)
    assert beta_cdf(0.2, 2, 3) == pytest.approx(0.1808, abs=1e-12)  # 6x² - 8x³ + 3x⁴
    assert (beta_cdf(0, 2, 3), beta_cdf(1, 2, 3)) == (0.0, 1.0)


@given(st.floats(0.001, 0.999), st.floats(0.5, 500), st.floats(0.5, 500))
def test_a_quantile_has_its_probability_below_it(probability: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(probability, a, b), a, b) == pytest.approx(probability, abs=1e-9)
