"""Limits and prefix caches: what all workers share about a provider besides the work itself."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.accounts import Level, Pool
from quire.domain.models import Limits
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table

LEARNT_FOR = timedelta(
    hours=1
)  # what headers said of limits holds so long, if they do not say it again


class HeldLevel(NamedTuple):
    """What is left in a pool, and what is known of its limits."""

    level: Level
    stated: Limits  # by the provider's headers
    learnt: str = ""  # the rate that refusals taught, as JSON


class LimitLevels(Table):
    """What is left of the limits in this workspace."""

    def take_limit_level(self, pool: Pool, now: datetime) -> HeldLevel | None:
        """What is left and what the provider's headers allow, for this transaction alone."""
        rows = self._run("take_limit_level", **pool._asdict())
        if not rows:
            return None
        (*numbers, learnt) = rows[0]
        return HeldLevel(Level(*numbers[:5]), _learnt_limits(numbers[5:], now), learnt)

    def set_learnt_rate(self, pool: Pool, rate: str) -> None:
        """Write down what refusals taught, as JSON."""
        self._change("set_learnt_rate", **pool._asdict(), rate=rate)

    def list_learnt_rates(self) -> list[tuple[Pool, str]]:
        """Every pool whose rate was learnt from refusals."""
        return [(Pool(row[0], row[1]), row[2]) for row in self._run("list_learnt_rates")]

    def add_limit_level(self, pool: Pool, level: Level) -> None:
        """Begin to count for a pool; a no-op if somebody has."""
        self._change("add_limit_level", **pool._asdict(), **level._asdict())

    def set_limit_level(self, pool: Pool, level: Level) -> None:
        """Write down what is left."""
        self._change("set_limit_level", **pool._asdict(), **level._asdict())

    def learn_limits(self, pool: Pool, limits: Limits, now: datetime) -> None:
        """Write down what the provider's headers allow a minute; it holds for a while."""
        self._change(
            "learn_limits",
            **pool._asdict(),
            requests=limits.requests,
            input=limits.input,
            output=limits.output,
            total=limits.total,
            now=to_micros(now),
            since=to_micros(now - LEARNT_FOR),
        )

    def list_limit_levels(self, now: datetime) -> list[tuple[Pool, Level, Limits]]:
        """Every pool, for people."""
        return [
            (Pool(row[0], row[1]), Level(*row[2:7]), _learnt_limits(row[7:], now))
            for row in self._run("list_limit_levels")
        ]


def _learnt_limits(columns: Sequence[int | None], now: datetime) -> Limits:
    """What headers said, unless that is so long ago that it may not be so any more."""
    requests, input_, output, total, learnt_at = columns
    if (learnt_at or 0) < to_micros(now - LEARNT_FOR):
        return Limits()
    return Limits(requests=requests, input=input_, output=output, total=total)


class PrefixCaches(Table):
    """Which prefixes the providers keep for this workspace."""

    def get_prefix_cache(self, prefix: bytes, pool: Pool) -> tuple[int, int]:
        """When a prefix was last known to be kept, and until when somebody writes it."""
        rows = self._connection.run("get_prefix_cache", **self._key(prefix, pool))
        return (rows[0][0], rows[0][1]) if rows else (0, 0)

    def start_priming(self, prefix: bytes, pool: Pool, until: datetime, now: datetime) -> bool:
        """Be the one who writes it; false if another is."""
        key = self._key(prefix, pool)
        self._connection.change("add_prefix_cache", **key)
        moments = {"until": to_micros(until), "now": to_micros(now)}
        return self._connection.change("start_priming", **key, **moments) > 0

    def end_priming(self, prefix: bytes, pool: Pool, primed: datetime | None) -> None:
        """An answer shows that it is kept; or, with None, that another has to write it."""
        at = to_micros(primed) if primed else 0
        self._connection.change("end_priming", **self._key(prefix, pool), primed=at)

    def _key(self, prefix: bytes, pool: Pool) -> dict[str, object]:
        return {"workspace": self._workspace, "prefix": prefix, **pool._asdict()}
