"""The event reader: what happens to a run, each event once, from some event on.

On PostgreSQL an event gets its number when it is written, and is seen when it is committed: one may
come to light after others with higher numbers. So every look goes a little way back.
"""

from quire.domain.ids import RunId
from quire.domain.runs import Event
from quire.ledger.ledger import Ledger

AT_ONCE = 200  # events read at a time
BEHIND = 100  # numbers that are looked at again


class EventReader:
    """News of one run."""

    def __init__(self, ledger: Ledger, run: RunId, after: int) -> None:
        """Begin behind an event; 0 = with the first."""
        self._ledger, self._run, self._begin = ledger, run, after
        self._newest = after
        self._returned: set[int] = set()  # of those that are looked at again

    def read_news(self) -> list[Event]:
        """What was not told yet, some of it at a time, the oldest first."""
        begin = max(self._begin, self._newest - BEHIND)
        with self._ledger.snapshot() as tx:
            seen = tx.events.events_after(self._run, begin, AT_ONCE + BEHIND)
        found = [event for event in seen if event.id not in self._returned]
        self._newest = max([self._newest, *(event.id for event in found)])
        self._returned.update(event.id for event in found)
        self._returned = {number for number in self._returned if number > self._newest - BEHIND}
        return found
