"""The server's time: a clock that tests may move on, and the latency of answers and batches."""

import asyncio
import time
from dataclasses import dataclass
from math import exp, inf
from random import Random

from quire.domain.errors import SettingsInvalid


class Clock:
    """Seconds since 1970; it may be moved on, never back."""

    def __init__(self) -> None:
        """Begin at the real time."""
        self._ahead = 0.0

    def now(self) -> float:
        """The time."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let that much time pass at once."""
        self._ahead += max(0.0, seconds)

    async def wait(self, seconds: float) -> None:
        """Wait until so much time has passed here; less of real time where it is moved on."""
        until = self.now() + seconds
        while (left := until - self.now()) > 0:  # noqa: ASYNC110 - nobody tells that it was moved
            await asyncio.sleep(min(left, _TICK))


_TICK = 0.1  # seconds between two looks
_SPREAD = 0.5  # of the logarithm: one call in forty takes more than 2.6 times the median
_UNITS = (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("", 1.0))
_SLOWER = 10  # times as long as usual, for the fault `slow`
_SLOW_AT_LEAST = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """A rule to draw waiting times by; the default is not to wait."""

    low: float = 0.0
    high: float = 0.0  # the same as low: always that long
    tail: bool = False  # low is the median of a log-normal distribution

    def draw(self, chance: Random) -> float:
        """Draw the seconds that one answer takes."""
        if self.tail:
            return self.low * exp(chance.gauss(0.0, _SPREAD))
        return self.low if self.low == self.high else chance.uniform(self.low, self.high)

    def slow_wait(self, usual: float) -> float:
        """What becomes of a usual wait where the script says slow."""
        return max(_SLOW_AT_LEAST, usual * _SLOWER)


def parse_latency(text: str) -> Latency:
    """Read `0.05`, `2s`, `50ms`, `3h`, `uniform:1s-3s` or `lognormal:2s`."""
    kind, colon, value = text.strip().partition(":")
    if not colon:
        kind, value = "", kind
    try:
        if kind == "uniform":
            low, _, high = value.partition("-")
            return _check_order(Latency(low=_seconds(low), high=_seconds(high)))
        if kind in ("", "lognormal"):
            seconds = _seconds(value)
            return Latency(low=seconds, high=seconds, tail=kind == "lognormal")
    except ValueError:
        pass
    raise SettingsInvalid(
        f"the latency {text!r} says nothing; write 0.05, 2s, 50ms, uniform:1s-3s or lognormal:2s"
    )


def _check_order(latency: Latency) -> Latency:
    if latency.low > latency.high:
        raise ValueError
    return latency


def _seconds(text: str) -> float:
    text = text.strip()
    unit, size = next(item for item in _UNITS if text.endswith(item[0]))
    number = float(text.removesuffix(unit))
    if not 0 <= number < inf:
        raise ValueError
    return number * size
