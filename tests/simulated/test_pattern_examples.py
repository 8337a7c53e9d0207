"""Simple patterns get an example that matches them; the others get none."""

import re

import pytest

from quire.simulated.pattern_examples import example_match


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[A-Z]{2,4}$",
        r"^(?:EUR|USD) \d+(\.\d{2})?$",
        r"^[^a-zA-Z0-9 ]$",
        r"^\+?[0-9 ]{7,15}$",
        r"^(?P<year>\d{4})-(0[1-9]|1[0-2])$",
        r"^a{3}b*c+?\.$",
        r"^\x41\u00e9[\]x]$",
        r"^.{5,}\b$",
        r"",
    ],
)
@pytest.mark.parametrize("repeats", [0, 1, 7])
def test_the_example_of_a_simple_pattern_matches_it(pattern: str, repeats: int) -> None:
    written = example_match(pattern, repeats)

    assert written is not None
    assert re.search(pattern, written)


def test_more_repeats_make_a_longer_example_within_the_pattern() -> None:
    assert example_match("^a+b{1,2}$", 0) == "ab"
    assert example_match("^a+b{1,2}$", 4) == "aaaaabb"


@pytest.mark.parametrize(
    "pattern", [r"(?=a)b", r"(a)\1", r"\p{L}+", r"[a", r"(a", r"a)", r"*a", "\\"]
)
def test_an_exotic_or_broken_pattern_has_no_example(pattern: str) -> None:
    assert example_match(pattern) is None
