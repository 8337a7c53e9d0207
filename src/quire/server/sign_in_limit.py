"""The limit on wrong tokens: how often one may be tried, from one address and from all."""

import threading
from collections import deque

WINDOW = 60.0  # seconds
MOST_FROM_ONE, MOST_FROM_ALL = 10, 100  # wrong tokens in that time
MOST_ADDRESSES = 10_000  # that are remembered


class SignInLimit:
    """Remembers wrong tries for a minute; `now` is in seconds. Safe to use from any thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_address: dict[str, deque[float]] = {}
        self._all: deque[float] = deque()
        self._lock = threading.Lock()

    def seconds_to_wait(self, address: str, now: float) -> float:
        """How long somebody has to wait before the next try; 0: they need not."""
        with self._lock:
            own = self._by_address.get(address, deque())
            return max(
                _wait_of(own, MOST_FROM_ONE, now),
                _wait_of(self._all, MOST_FROM_ALL, now),
            )

    def note_failure(self, address: str, now: float) -> None:
        """Remember a wrong try."""
        with self._lock:
            if address not in self._by_address and len(self._by_address) >= MOST_ADDRESSES:
                self._by_address.pop(next(iter(self._by_address)))
            self._by_address.setdefault(address, deque(maxlen=MOST_FROM_ONE)).append(now)
            self._all.append(now)
            while self._all and self._all[0] <= now - WINDOW:
                self._all.popleft()


def _wait_of(tries: deque[float], most: int, now: float) -> float:
    recent = [at for at in tries if at > now - WINDOW]
    return recent[-most] + WINDOW - now if len(recent) >= most else 0.0
