"""Rate limits: a bucket of requests and of tokens for each key and model, filled by the minute.

Most servers fill a bucket steadily; some fill it at the turn of every minute (`fixed`), and some
count at every call what they let in during the last sixty seconds (`sliding`). Most say in headers
how much is left and when to come again; some say only 429 (`silent`).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import NamedTuple

from quire.domain.errors import SettingsInvalid
from quire.domain.models import Limits

KINDS = tuple(limit.name for limit in fields(Limits))  # requests, input, output, total
MINUTE = 60.0
SILENT = "silent"


class Refill(StrEnum):
    """How what was taken comes back."""

    STEADY = "steady"
    FIXED = "fixed"  # at the turn of every minute
    SLIDING = "sliding"  # sixty seconds after it was taken


class BucketLevel(NamedTuple):
    """How full one bucket is."""

    limit: int
    left: int
    full_in: float  # seconds


class Shortage(NamedTuple):
    """Why a call has to wait."""

    kind: str
    limit: int
    used: int
    wanted: int
    wait: float  # seconds; until the bucket holds enough, where it ever can


class LimitRule(NamedTuple):
    """What is allowed a minute, how it comes back, and whether anything is said of it."""

    limits: Limits = Limits()
    refill: Refill = Refill.STEADY
    silent: bool = False


@dataclass(slots=True)
class _Bucket:
    limit: int
    level: float
    at: float
    refill: Refill
    taken: deque[tuple[float, float]] = field(default_factory=deque)  # when, and how much

    def fill(self, now: float) -> None:
        if self.refill is Refill.STEADY:
            self.level = min(self.limit, self.level + (now - self.at) * self.limit / MINUTE)
        elif self.refill is Refill.FIXED and now // MINUTE > self.at // MINUTE:
            self.level = self.limit
        while self.taken and self.taken[0][0] <= now - MINUTE:
            self.level += self.taken.popleft()[1]
        self.at = now

    def spend(self, amount: float) -> None:
        self.level = min(self.limit, self.level - amount)
        if self.refill is not Refill.SLIDING:
            return
        at = self.at
        while amount < 0 and self.taken:  # what was held for nothing does not come back again
            at, last = self.taken.pop()
            amount += last
        if amount > 0:
            self.taken.append((at, amount))


_REFILLS = tuple(map(str, Refill))


class RateLimiter:
    """The buckets of one server; without limits it lets everything pass and says nothing."""

    def __init__(self, rule: LimitRule) -> None:
        """Begin with full buckets."""
        self._buckets: dict[tuple[str, str], dict[str, _Bucket]] = {}
        self.change(rule, 0.0)

    def change(self, rule: LimitRule, now: float) -> None:
        """Allow more or less from now on; what is left stays, up to what there is room for."""
        stated = ((kind, getattr(rule.limits, kind)) for kind in KINDS)
        self._limits: dict[str, int] = {kind: size for kind, size in stated if size is not None}
        self._refill, self.silent = rule.refill, rule.silent
        before, self._buckets = self._buckets, {}
        for owner, buckets in before.items():
            for kind, bucket in buckets.items():
                bucket.fill(now)
                if kind in self._limits:
                    size = self._limits[kind]
                    counted = rule.refill is not Refill.STEADY
                    level = bucket.level + (size - bucket.limit if counted else 0)
                    mine = self._buckets.setdefault(owner, {})
                    level = min(size, level)
                    mine[kind] = _Bucket(size, level, now, rule.refill, bucket.taken)

    def take(self, owner: tuple[str, str], wanted: Limits, now: float) -> Shortage | None:
        """Take what a call needs from every bucket, or from none and say which is short."""
        buckets = self._fill_buckets(owner, now)
        amounts = {kind: getattr(wanted, kind) or 0 for kind in buckets}
        for kind, bucket in buckets.items():
            # Output is known only afterwards: a bucket that is overdrawn lets nobody in.
            least = 1 if kind == "output" else amounts[kind]
            if bucket.level < least:
                wait = (least - bucket.level) * MINUTE / bucket.limit
                used = bucket.limit - int(max(0.0, bucket.level))
                return Shortage(kind, bucket.limit, used, least, wait)
        for kind, bucket in buckets.items():
            bucket.spend(amounts[kind])
        return None

    def settle(self, owner: tuple[str, str], changes: Limits, now: float) -> None:
        """Take what a call used besides; a negative amount is given back."""
        for kind, bucket in self._fill_buckets(owner, now).items():
            bucket.spend(getattr(changes, kind) or 0)

    def levels(self, owner: tuple[str, str], now: float) -> dict[str, BucketLevel]:
        """Say how full the buckets are, for the headers of an answer."""
        return {
            kind: BucketLevel(
                bucket.limit,
                max(0, int(bucket.level)),
                (bucket.limit - bucket.level) * MINUTE / bucket.limit,
            )
            for kind, bucket in self._fill_buckets(owner, now).items()
        }

    def clear(self) -> None:
        """Fill every bucket."""
        self._buckets.clear()

    def _fill_buckets(self, owner: tuple[str, str], now: float) -> dict[str, _Bucket]:
        if not self._limits:
            return {}
        if owner not in self._buckets:
            limits = self._limits.items()
            self._buckets[owner] = {
                kind: _Bucket(size, float(size), now, self._refill) for kind, size in limits
            }
        buckets = self._buckets[owner]
        for bucket in buckets.values():
            bucket.fill(now)
        return buckets


def parse_limits(text: str) -> Limits:
    """Read `requests=60,input=10000`; all of it is a minute's."""
    return parse_rule(text).limits


def parse_rule(text: str) -> LimitRule:
    """Read `requests=60,fixed,silent`: limits, and what kind of server has them."""
    entries = list(filter(None, (name.strip() for name in text.split(","))))
    refills = [Refill(entry) for entry in entries if entry in _REFILLS]
    sizes = [entry for entry in entries if entry not in (*_REFILLS, SILENT)]
    refill = refills[-1] if refills else Refill.STEADY
    return LimitRule(_parse_sizes(sizes), refill, SILENT in entries)


def _parse_sizes(entries: Sequence[str]) -> Limits:
    found: dict[str, int] = {}
    for entry in entries:
        kind, _, size = (name.strip() for name in entry.partition("="))
        if kind not in KINDS or not size.isdecimal() or not int(size):
            raise SettingsInvalid(
                f"the limit {entry!r} says nothing; write requests=60,input=10000, of"
                f" {', '.join(KINDS)}, each a whole number a minute; fixed, sliding and silent may"
                " follow"
            )
        found[kind] = int(size)
    return Limits(**found)
