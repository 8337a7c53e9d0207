"""Short memory: what many open pages ask for at once is read once, and kept for a moment."""

import threading
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

Value = TypeVar("Value")
MOST_KEPT = 500  # keys; more are forgotten, whatever they are


class ShortMemory(Generic[Value]):
    """Values by key, each as it was read last; of those who want one at once, one reads it."""

    def __init__(self, kept: timedelta) -> None:
        """Keep values for so long."""
        self._kept = kept
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._read: dict[Hashable, tuple[datetime, Value]] = {}

    def recall(self, key: Hashable, now: datetime, read: Callable[[], Value]) -> Value:
        """The value of a key, read again if that was too long ago."""
        with self._lock:
            if len(self._locks) >= MOST_KEPT:
                self._locks.clear()
                self._read.clear()
            own = self._locks.setdefault(key, threading.Lock())
        with own:
            at_and_value = self._read.get(key)
            if at_and_value is None or not at_and_value[0] <= now < at_and_value[0] + self._kept:
                at_and_value = now, read()
                self._read[key] = at_and_value
            return at_and_value[1]
