"""The schedule of batches: what fits, when one goes, when it is polled, and backoff."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.batches import Batch, BatchRules, PollCadence

JSON_GROWTH = 1.3  # a prompt written as JSON inside JSON grows by its quotes and line breaks
ENVELOPE = 1_000  # bytes around a call: its name, its parameters
NEAR_END = 1_800.0  # seconds before a window ends, when it is worth looking often again
FIRST_WAIT, LONGEST_WAIT = 30.0, 900.0  # seconds, after the provider said no or nothing
LONGEST_RETRY_AFTER = 21_600.0  # seconds: whoever says more is asked again all the same
UNLIMITED = 10**18


class BatchRoom(NamedTuple):
    """What a batch may still take."""

    calls: int
    size: int  # bytes
    tokens: int


class CallSize(NamedTuple):
    """What one call adds to a batch, at most."""

    size: int  # bytes
    tokens: int


def room_in(rules: BatchRules, draft: Batch, allowance: int | None) -> BatchRoom:
    """What a draft may still take; the allowance is of tokens queued at the provider."""
    tokens = UNLIMITED if allowance is None else allowance - draft.tokens
    return BatchRoom(rules.calls - draft.calls, rules.size - draft.size, tokens)


def written_size(n_bytes: int) -> int:
    """Bytes to allow for a call whose texts have so many; the file itself is measured later."""
    return int(n_bytes * JSON_GROWTH) + ENVELOPE


def count_fitting_calls(room: BatchRoom, loads: Sequence[CallSize], *, empty: bool) -> int:
    """How many of the next calls fit; into an empty batch one always goes, or it never would."""
    calls, size, tokens = room
    for count, load in enumerate(loads):
        size -= load.size
        tokens -= load.tokens
        if count >= calls or size < 0 or tokens < 0:
            return max(count, int(empty and calls > 0))
    return len(loads)


def is_due(queued: int, rules: BatchRules, *, more: bool, waited: bool) -> bool:
    """Whether what is queued goes now: it fills a batch, no more comes, or it waited enough."""
    return queued >= rules.calls or not more or waited


def seconds_to_next_poll(cadence: PollCadence, age: float, window: float) -> float:
    """Seconds until a batch of this age is asked for again: often, then rarely, then often."""
    near_end = window > 0 and window - NEAR_END <= age <= window + NEAR_END
    return cadence.first if age < cadence.after or near_end else cadence.later


def backoff_seconds(failures: int, retry_after: float | None) -> float:
    """Seconds to wait after so many failures in a row, or as the provider said."""
    doubled = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures, 10))
    if retry_after is None or retry_after < 1.0:  # "at once" again and again would never end
        return doubled
    return min(retry_after, LONGEST_RETRY_AFTER)
