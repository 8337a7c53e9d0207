"""Amounts are shown as people read them."""

import pytest

from quire.domain.money import dollars


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
