"""The order of tests that several processes share."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.schedule import LONG, longest_first

ROOT = Path(__file__).parents[1]


def is_long(test: str) -> bool:
    return test.startswith("long")


def test_every_process_begins_with_its_share_of_the_long_ones() -> None:
    tests = [*"abcdef", "long 1", "long 2", "long 3"]

    ordered = longest_first(tests, is_long, 3)

    assert ordered == ["long 1", "a", "b", "long 2", "c", "d", "long 3", "e", "f"]


@given(st.lists(st.sampled_from(["long", "short"])), st.integers(1, 5))
def test_no_test_is_lost_or_doubled_whatever_the_shares(kinds: list[str], processes: int) -> None:
    tests = [f"{kind} {number}" for number, kind in enumerate(kinds)]

    assert sorted(longest_first(tests, is_long, processes)) == sorted(tests)


def test_the_files_that_come_first_are_there() -> None:
    assert [item for item in LONG if not (ROOT / item).is_file()] == []
