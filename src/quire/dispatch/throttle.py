"""Throttling: how many calls to a model may be out, felt out from how it answers."""

from datetime import datetime, timedelta

FIRST = 8  # calls that go out at once before anything is known
SLOWER = 0.75  # of the calls in flight, when the provider says that there are too many
PAUSE = timedelta(seconds=1)  # calls pushed back at the same time count as one


class Throttle:
    """The window of one model: doubled by success until the first push-back, then one by one."""

    def __init__(self) -> None:
        """Begin small."""
        self._window = float(FIRST)
        self._starting = True
        self._most = 0  # the most that any policy allowed so far
        self._answered = 0  # since the window last grew
        self._pushed: datetime | None = None

    def allows(self, most: int) -> int:
        """How many calls to the model may be out, those of runs with other policies included."""
        self._most = max(self._most, most)
        return max(1, min(int(self._window), self._most))

    def answered(self) -> None:
        """A call was answered: after a window of these there is room for more."""
        self._answered += 1
        if self._answered >= self._window:
            self._answered = 0
            wider = self._window * 2 if self._starting else self._window + 1
            self._window = min(wider, float(self._most)) if self._most else wider

    def pushed_back(self, now: datetime) -> None:
        """The provider asked to wait."""
        if self._pushed is not None and now - self._pushed < PAUSE:
            return
        self._pushed, self._starting, self._answered = now, False, 0
        self._window = max(1.0, self._window * SLOWER)
