"""Bundling: which pieces of evidence are judged together, the same for every model and sample."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest

from quire.kits.judge.seeding import shuffled

ROUND_ROBIN, RANDOM = "window_round_robin", "random_bundle"
STRATEGIES = (ROUND_ROBIN, RANDOM)


@lru_cache(maxsize=16)  # asked for once a rubric, with the same answer
def bundles(
    windows: tuple[int, ...], size: int, strategy: str, seed: int
) -> tuple[tuple[int, ...], ...]:
    """Positions of evidence, by bundle; `windows` holds the window of each piece."""
    positions = range(len(windows))
    order = shuffled(positions, seed) if strategy == RANDOM else _by_turns(windows)
    return tuple(tuple(order[start : start + size]) for start in range(0, len(order), size))


def bundle_signature(evidence: Sequence[str]) -> str:
    """Name a bundle by what is in it, whatever the order."""
    return "|".join(sorted(evidence))


def _by_turns(windows: Sequence[int]) -> tuple[int, ...]:
    """One piece of each window in turn, windows and pieces in their own order."""
    of_window: dict[int, list[int]] = {}
    for position, window in enumerate(windows):
        of_window.setdefault(window, []).append(position)
    rounds = zip_longest(*(of_window[window] for window in sorted(of_window)))
    return tuple(position for each in rounds for position in each if position is not None)
