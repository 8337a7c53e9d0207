"""A pace of time that several processes share: no test waits the minutes that a provider may."""

import time
from datetime import UTC, datetime
from typing import NamedTuple

from quire.rehearsal.timing import Clock

VARIABLE = "VICTIM_PACE"


class Pace(NamedTuple):
    """How fast time runs, and since when."""

    began: float = 0.0
    speed: float = 1.0
    ahead: float = 0.0  # seconds that were skipped

    def now(self) -> float:
        """Seconds since 1970."""
        return self.began + (time.time() - self.began) * self.speed + self.ahead

    def moment(self) -> datetime:
        """The present."""
        return datetime.fromtimestamp(self.now(), UTC)

    def __str__(self) -> str:
        """As it travels in an environment."""
        return " ".join(map(repr, self))

    @classmethod
    def parse(cls, text: str) -> "Pace":
        """Read it there; nothing said is real time."""
        return cls(*map(float, text.split()))


class PacedClock(Clock):
    """A server's clock that keeps the pace."""

    def __init__(self, speed: float) -> None:
        """Begin now."""
        super().__init__()
        self.pace = Pace(time.time(), speed)

    def now(self) -> float:
        """The time."""
        return self.pace.now()

    def advance(self, seconds: float) -> None:
        """Skip some time."""
        self.pace = self.pace._replace(ahead=self.pace.ahead + seconds)
