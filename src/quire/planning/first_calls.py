"""First calls: how many go at a time while nobody has said, or shown, what a server allows.

A refusal is heard of a moment after its call was sent, and whatever went in that moment is refused
too. So only a twelfth of what went before goes within such a moment, unless answers show that it
was accepted: then a first refusal costs few calls, of a short run too. Twice as much goes every
three seconds; the window of calls in flight hardly widens sooner where answers take that long, and
where they are faster, they come before the moment is over.
"""

from collections.abc import Sequence
from typing import NamedTuple

SECOND = 1_000_000
WINDOW = 60 * SECOND  # what servers count in
HEARING = 300_000  # microseconds in which a refusal would have been heard of
HALF = HEARING // 2  # counted apart, so that no end of one moment meets the beginning of the next
LEAST_UNHEARD = 8  # calls that may go within that time
UNHEARD_PART = 12  # and of those that went before, one in so many


class SentSoFar(NamedTuple):
    """Calls that were sent while nothing was refused."""

    since: int
    last: int
    calls: int
    size: int  # bytes of their prompts
    unheard: int = 0  # of these neither an answer came nor enough time passed for a refusal
    unheard_since: int = 0
    unheard_before: int = 0  # the same, of the half of a moment before


def count_unheard_room(sofar: SentSoFar | None, at: int) -> int:
    """How many calls may go now, where nothing is known."""
    if sofar is None:
        return LEAST_UNHEARD
    now = _move_on(sofar, at)
    most = max(LEAST_UNHEARD, sofar.calls // UNHEARD_PART)
    return max(0, most - now.unheard - now.unheard_before)


def seconds_until_heard(sofar: SentSoFar, at: int) -> float:
    """How long it takes until a refusal of the earliest of the last calls would be heard of."""
    now = _move_on(sofar, at)
    until = now.unheard_since + (HALF if now.unheard_before else HEARING)
    return max(0.0, (until - at) / SECOND)


def _move_on(sofar: SentSoFar, at: int) -> SentSoFar:
    """Forget what a refusal would have been heard of by now."""
    age = at - sofar.unheard_since
    if 0 <= age < HALF:
        return sofar
    before = sofar.unheard if 0 <= age < HEARING else 0
    return sofar._replace(unheard=0, unheard_since=at, unheard_before=before)


def note_sent(sofar: SentSoFar | None, sizes: Sequence[int], at: int) -> SentSoFar:
    """Count calls; after a minute without any, the server has forgotten the earlier ones."""
    count, size = len(sizes), sum(sizes)
    if sofar is None or not 0 <= at - sofar.last < WINDOW:
        return SentSoFar(at, at, count, size, count, at)
    if at - sofar.since > 10 * WINDOW:  # the newer half says more
        middle = (sofar.since + at) // 2
        sofar = sofar._replace(since=middle, calls=sofar.calls // 2, size=sofar.size // 2)
    sofar = _move_on(sofar, at)
    return sofar._replace(
        last=at,
        calls=sofar.calls + count,
        size=sofar.size + size,
        unheard=sofar.unheard + count,
    )


def note_accepted(sofar: SentSoFar, sent: int, calls: int = 1) -> SentSoFar:
    """Calls that were sent at that moment were answered: the server took them."""
    if sent >= sofar.unheard_since:
        return sofar._replace(unheard=max(0, sofar.unheard - calls))
    if sent >= sofar.unheard_since - HALF:
        return sofar._replace(unheard_before=max(0, sofar.unheard_before - calls))
    return sofar
