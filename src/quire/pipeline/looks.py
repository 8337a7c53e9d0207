"""Looks: what a sweep found nothing in, so that it looks again only where something has changed."""

from collections.abc import Hashable
from datetime import datetime, timedelta

AGAIN = timedelta(seconds=30)  # even where nothing seems to have changed


class Looks:
    """A worker's memory of looks in vain; without it they would cost a large stage all its time."""

    def __init__(self) -> None:
        """Start with nothing looked at."""
        self._vain: dict[Hashable, tuple[object, datetime]] = {}

    def was_vain(self, what: Hashable, state: object, now: datetime) -> bool:
        """Whether there was nothing a moment ago, and all stands as it did then."""
        seen, at = self._vain.get(what, (None, now))
        return seen == state and timedelta(0) <= now - at < AGAIN

    def note(self, what: Hashable, state: object, now: datetime) -> None:
        """Remember that there was nothing."""
        self._vain[what] = (state, now)
