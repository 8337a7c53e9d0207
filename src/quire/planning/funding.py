"""Funding: how many of the next calls some money covers, how large a slice is, what is missing."""

import math
from collections.abc import Sequence
from itertools import accumulate

from quire.domain.pricing import DOLLAR

SLICE_GROUPS = 8  # groups of calls that a slice is to last for: so often a wallet's row is written
FAIR_SHARE = 8  # a slice takes at most this part of what is left, beyond what is needed now
ROOM_PERCENT = 125  # of what answers took before: so long they may be where money is short
AFTER_CUT = 4  # times as much after each call, once an answer was cut off
MOST_CUTS = 10  # by then it is as much as any model writes
LEAST_OUTPUT = 64  # tokens: no call is allowed less
SPARE_PERCENT = 125  # of what the rest of a run will probably cost: what it is said to need
SAID_TO = DOLLAR // 10_000  # rounded up to this: people pay in what they read


def count_affordable(reserves: Sequence[int], money: int) -> int:
    """How many of these calls, from the first on, can be reserved for."""
    return sum(total <= money for total in accumulate(reserves))


def slice_size(needed: int, group: int, available: int) -> int:
    """How much to take for a worker's next calls.

    `needed` is missing for those that go now, `group` is what all of them reserve. More is taken
    than that, for the next groups, but never so much that others who want some find nothing.
    """
    return min(available, max(needed, min(SLICE_GROUPS * group, available // FAIR_SHARE)))


def tight_output(usual: Sequence[int], cut: int) -> int:
    """Output tokens to allow a call where money is short, by what its tasks usually write.

    The usual is the 90th percentile. A quarter more is allowed, and as much again as one task
    writes: together tasks hardly write twice as much as they did, one alone may. An answer that
    was cut off gets four times as much with each call (`cut`), so that it is whole in the end.
    """
    allowed = math.ceil(sum(usual) * ROOM_PERCENT / 100) + max(usual)
    growth: int = AFTER_CUT ** min(cut, MOST_CUTS)
    return max(LEAST_OUTPUT, allowed) * growth


def missing_funds(rest: int, next_call: int, available: int) -> int:
    """How much more a run needs to go to its end, as far as that is known.

    The rest costs about so much, and some to spare; the last call is reserved for at its most.
    """
    return round_up(math.ceil(rest * SPARE_PERCENT / 100) + next_call - available)


def round_up(amount: int) -> int:
    """An amount that people are to pay in, in as many digits as they read."""
    return -(-amount // SAID_TO) * SAID_TO
