"""How values of results are shown in a table."""

import pytest

from quire.cli.results import _json_cell


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2020, "2020"), ([2020, 1999], "2020, 1999"), (True, "yes"), (None, "–"), (1.5, "1.5")],
)
def test_numbers_of_results_are_shown_as_they_are(value: object, shown: str) -> None:
    assert _json_cell(value) == shown
