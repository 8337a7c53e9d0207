"""Which tests come first: the longest, for every process some, so that none is left for the end."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

LONG = (  # files with tests that take seconds, most of them waiting
    "tests/crash/test_batch_simulation.py",
    "tests/crash/test_kill_batches.py",
    "tests/crash/test_recipe_simulation.py",
    "tests/docs/test_pages.py",
    "tests/rehearsed/test_judge.py",
    "tests/rehearsed/test_limits.py",
    "tests/rehearsed/test_secrecy.py",
    "tests/rehearsed/test_sharing.py",
)


def longest_first(
    items: Sequence[Item], is_long: Callable[[Item], bool], processes: int
) -> list[Item]:
    """Order tests for processes that each take a part; what is alike stays in its order."""
    long = [item for item in items if is_long(item)]
    rest = [item for item in items if not is_long(item)]
    ordered: list[Item] = []
    for number in range(processes):
        left = processes - number
        here = long[number::processes]
        share = (len(items) - len(ordered)) // left
        taken = max(0, share - len(here))
        ordered += [*here, *rest[:taken]]
        rest = rest[taken:]
    return ordered
