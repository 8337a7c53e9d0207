"""The server's clock: real time, moved on by whoever will not wait for a cache to grow old."""

import time


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
