"""Funding: how many of the next calls some money covers, how large a slice is, what is missing."""

from collections.abc import Sequence
from itertools import accumulate

SLICE_GROUPS = 8  # groups of calls that a slice is to last for: so often a wallet's row is written
FAIR_SHARE = 8  # a slice takes at most this part of what is left, beyond what is needed now


def count_affordable(reserves: Sequence[int], money: int) -> int:
    """How many of these calls, from the first on, can be reserved for."""
    return sum(total <= money for total in accumulate(reserves))


def slice_size(needed: int, group: int, available: int) -> int:
    """How much to take for a worker's next calls.

    `needed` is missing for those that go now, `group` is what all of them reserve. More is taken
    than that, for the next groups, but never so much that others who want some find nothing.
    """
    return min(available, max(needed, min(SLICE_GROUPS * group, available // FAIR_SHARE)))


def missing_funds(owed: int, per_task: int, next_call: int, available: int) -> int:
    """How much more a run needs to go to its end, as far as that is known.

    So many tasks cost what those before them did; the last call is reserved for at its most.
    """
    return owed * per_task + next_call - available
