"""Rate limits: what may go now; each limit fills up with time, and calls take of it."""

from collections.abc import Sequence

from quire.domain.accounts import Level, Need, Rates
from quire.domain.models import Limits

# Together less than the limit in any minute: what may go at once, and what comes back in one. The
# rest is for calls that arrive later than they are sent, so that they meet those sent after them.
BURST_PERCENT = 10
STEADY_PERCENT = 85
MINUTE = 60_000_000  # microseconds
PARTS = 1000  # of a request or a token, so that slow limits fill up too
LEAST_PARTS = 20  # parts that must have come: of less, rounding down would take away too much


def narrowest_limits(*limits: Limits) -> Limits:
    """Hold to the smallest number that anybody states for each limit; servers say 0 for none."""
    return Limits(
        **{
            name: min((item for item in stated if item), default=None)
            for name in _NAMES
            if (stated := [getattr(one, name) for one in limits])
        }
    )


def is_limited(limits: Limits) -> bool:
    """Whether there is anything to hold to."""
    return any(getattr(limits, name) is not None for name in _NAMES)


def full_level(limits: Limits, at: int) -> Level:
    """All of it: nobody has taken anything."""
    return Level(at, *(_capacity(getattr(limits, name)) for name in _NAMES))


def refill(level: Level, limits: Limits, at: int) -> Level:
    """Let time fill up what is left; a clock that is behind fills nothing.

    Clocks of several machines differ a little, and nobody may gain from that. One that is more than
    a minute behind is right, and that of whoever was here before was not.

    Time that is too short to fill the slowest limit is not counted yet, however often one looks.
    """
    if level.at - at > MINUTE:
        return level._replace(at=at)
    passed = max(0, at - level.at)
    stated = [limit for name in _NAMES if (limit := getattr(limits, name)) is not None]
    if stated and _steady_rate(min(stated)) * passed < LEAST_PARTS * MINUTE:
        return level
    levels = []
    for name in _NAMES:
        limit = getattr(limits, name)
        grown = getattr(level, name) + _steady_rate(limit) * passed // MINUTE
        levels.append(getattr(level, name) if limit is None else min(_capacity(limit), grown))
    return Level(max(at, level.at), *levels)


def admit(level: Level, limits: Limits, needs: Sequence[Need]) -> tuple[int, Level]:
    """Say how many of these calls may go now, in order, and what is left after them.

    A call that needs more than may go at once goes when all of that is there, and leaves a debt.
    """
    count = 0
    for need in needs:
        if any(
            getattr(level, name) < _threshold(getattr(need, name), getattr(limits, name))
            for name in _NAMES
            if getattr(limits, name) is not None
        ):
            break
        level = _change_level(level, limits, need, -PARTS)
        count += 1
    return count, level


def low_limits(level: Level, limits: Limits) -> list[str]:
    """Name the limits of which less than half of what may go at once is left."""
    return [
        name
        for name in _NAMES
        if (limit := getattr(limits, name)) is not None
        and getattr(level, name) * 2 < _capacity(limit)
    ]


def refund(level: Level, limits: Limits, unused: Need) -> Level:
    """Put back what calls were reckoned at and did not take; below nothing, take the rest."""
    return _change_level(level, limits, unused, PARTS)


def correct_by_reported(level: Level, rates: Rates) -> Level:
    """Believe the provider where it says that less is left than we thought."""
    levels = (
        getattr(level, name)
        if (left := getattr(rates.left, name)) is None
        else min(getattr(level, name), left * PARTS)
        for name in _NAMES
    )
    return Level(level.at, *levels)


_NAMES = ("requests", "input", "output", "total")


def _capacity(limit: int | None) -> int:
    return 0 if limit is None else max(PARTS, limit * PARTS * BURST_PERCENT // 100)


def _steady_rate(limit: int | None) -> int:
    return 0 if limit is None else limit * PARTS * STEADY_PERCENT // 100


def _threshold(need: int, limit: int) -> int:
    return min(need * PARTS, _capacity(limit))


def _change_level(level: Level, limits: Limits, by: Need, times: int) -> Level:
    """Add to what is left of each stated limit; a debt is never more than a minute's worth."""
    levels = []
    for name in _NAMES:
        left, limit = getattr(level, name), getattr(limits, name)
        if limit is not None:
            left = left + getattr(by, name) * times
            left = max(-limit * PARTS, min(_capacity(limit), left))
        levels.append(left)
    return Level(level.at, *levels)
