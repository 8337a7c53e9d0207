"""Distributions: how often a field has which values, of answers and of gold side by side."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.data import Json
from quire.planning.accuracy import NULL, label_of

MOST_BARS = 10
OTHERS = "(others)"


class ValueCount(NamedTuple):
    """A value, or a range of them, and how often it stands."""

    label: str
    answers: int
    gold: int


def count_values(answers: Sequence[Json], gold: Sequence[Json]) -> list[ValueCount]:
    """Count values: of numbers in ranges of equal width, of lists each element, the rest each."""
    ours, theirs = _flatten(answers), _flatten(gold)
    numbers = [value for value in (*ours, *theirs) if value is not None]
    is_numeric = numbers and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in numbers
    )
    if is_numeric and len(set(numbers)) > MOST_BARS:
        return _count_ranges(ours, theirs)
    said, meant = Counter(map(label_of, ours)), Counter(map(label_of, theirs))
    common = [label for label, _ in (said + meant).most_common()]
    kept = common if len(common) <= MOST_BARS else common[: MOST_BARS - 1]
    counted = [ValueCount(label, said[label], meant[label]) for label in kept]
    if len(common) > len(kept):
        rest = common[len(kept) :]
        counted.append(
            ValueCount(OTHERS, sum(said[name] for name in rest), sum(meant[name] for name in rest))
        )
    return counted


def _flatten(values: Sequence[Json]) -> list[Json]:
    found: list[Json] = []
    for value in values:
        found += value if isinstance(value, list | tuple) else [value]
    return found


def _count_ranges(answers: Sequence[Json], gold: Sequence[Json]) -> list[ValueCount]:
    numbers = [float(value) for value in (*answers, *gold) if isinstance(value, int | float)]
    low, high = min(numbers), max(numbers)
    width = (high - low) / MOST_BARS

    def place(value: Json) -> int:
        assert isinstance(value, int | float)
        return min(MOST_BARS - 1, int((value - low) / width))

    said = Counter(place(value) for value in answers if value is not None)
    meant = Counter(place(value) for value in gold if value is not None)
    counted = [
        ValueCount(f"{low + no * width:.4g} – {low + (no + 1) * width:.4g}", said[no], meant[no])
        for no in range(MOST_BARS)
    ]
    absent = ValueCount(NULL, list(answers).count(None), list(gold).count(None))
    return [*counted, absent] if absent.answers or absent.gold else counted
