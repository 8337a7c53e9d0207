"""Size samples: some stretches of very many blocks, whose sizes stand for those of all.

A run that begins keeps a forecast, and must not wait until every block has been looked at. So some
stretches of neighbours are sized, spread evenly, the first blocks among them: neighbours share
calls, and the first tasks go before all others. How much text there is in all is known without
looking; what the stretches have more or less of it than their share, their sizes are put right by.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

STRETCH = 50  # neighbours that are sized together


class Stretch(NamedTuple):
    """Where some neighbours begin."""

    document: int  # its place among the documents
    first: int  # block in it


class SampledSize(NamedTuple):
    """One block of a sample."""

    json_bytes: int
    characters: int


@dataclass(frozen=True, slots=True)
class SizeSample:
    """Sizes of contents as JSON strings, and how many tasks there are that are like them."""

    sizes: Iterable[int]
    tasks: int


def spread_stretches(blocks: Sequence[int], most: int) -> Iterator[Stretch]:
    """Where stretches of so many blocks in all begin, in documents that have so many blocks."""
    ends = list(accumulate(blocks))
    count = max(2, most // STRETCH)
    for no in range(count):
        first = no * (ends[-1] - STRETCH) // (count - 1)
        document = bisect_right(ends, first)
        yield Stretch(document, first - (ends[document] - blocks[document]))


def fit_to_mean(sample: Sequence[SampledSize], mean: float) -> list[int]:
    """Sizes as JSON, all larger or smaller by as much as takes the mean length to that."""
    characters = sum(size.characters for size in sample)
    times = mean * len(sample) / characters if characters else 1.0
    return [round(size.json_bytes * times) for size in sample]
