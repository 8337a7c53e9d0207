"""Telling: what becomes of runs and batches, a line each as it happens, for logs."""

import re
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from quire.cli.outstanding import in_words
from quire.cli.printing import counted, moment
from quire.domain.ids import RunId

if TYPE_CHECKING:
    from quire.domain.runs import Event
    from quire.engine import Engine

LATEST = 50  # events of a run, looked at each time
WHILE = 10.0  # seconds between two lines of a kind
KIND = 80  # characters that make messages alike
_CHANGING = re.compile(r"(?<!\S)(?![0-9]{3}\b)\S*[0-9]\S*")  # words with digits, but for statuses

# {what} stands before the first colon of an event, {more} after it.
_OF_BATCHES = {
    "batch_submitted": "{what} is with the provider: {more}",
    "batch_unknown": "{what} may or may not be with the provider: {more}",
    "batch_absent": "{what}, and is made again",
    "batch_made_twice": "{all}",
    "batch_ended": "{what}",
    "batch_collected": "{what} is collected: {more}",
    "batch_abandoned": "{what} is given up: {more}",
    "batch_cancel_asked": "the provider is asked to end {all}",
    "deadline_passed": "{all}",
}
_OF_RUNS = {
    "held": "held: {all}",
    "run_finish": "finished: {all}",
    "run_cancel": "cancelled: {all}",
}


class Sparing:
    """Tells at most one line of a kind in a while; a later one says how many were like it."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = monotonic) -> None:
        """Tell sparingly, by a clock of seconds."""
        self._tell, self._clock = tell, clock
        self._told: dict[str, float] = {}  # when, by kind
        self._kept: dict[str, tuple[int, str]] = {}  # how many since, and the last, by kind

    def __call__(self, message: str) -> None:
        """Tell it now, or count it."""
        kind, now = _CHANGING.sub("#", message)[:KIND], self._clock()
        if kind in self._told and now - self._told[kind] < WHILE:
            self._kept[kind] = (self._kept.get(kind, (0, ""))[0] + 1, message)
            return
        more, _ = self._kept.pop(kind, (0, ""))
        self._tell(f"{message} ({more:,} more like it)" if more else message)
        self._told[kind] = now

    def rest(self) -> None:
        """Tell what was counted and not yet told."""
        for count, last in self._kept.values():
            self._tell(f"{last} ({counted(count, 'time')} more)")
        self._kept.clear()


class News:
    """Tells of runs that go on; one that appears later is told from its beginning."""

    def __init__(
        self, engine: "Engine", tell: Callable[[str], None], only: RunId | None = None
    ) -> None:
        """Begin now, with one run or with all: what has happened is known."""
        self._engine = engine
        self._tell = tell
        self._only = only
        self._words = _OF_BATCHES if only is not None else _OF_BATCHES | _OF_RUNS
        self._followed: set[RunId] = set()
        self._known = set(self._events())

    def __call__(self) -> None:
        """Tell what is new."""
        for run, event in self._events():
            if (run, event) not in self._known:
                self._known.add((run, event))
                if event.kind in self._words:
                    self._tell(_line(run, event, self._words[event.kind]))

    def _events(self) -> "list[tuple[RunId, Event]]":
        """What happened lately to runs that go on, and to those that went on a moment ago."""
        running = {self._only} if self._only is not None else set(self._engine.look.running())
        told = self._followed | running
        # Its batches may come home after a run has ended.
        self._followed = {
            each for each in told if each in running or self._engine.progress(each).batches
        }
        look = self._engine.look
        return [(run, event) for run in sorted(told) for event in look.events(run, LATEST)]


def _line(run: RunId, event: "Event", words: str) -> str:
    what, _, more = event.detail.partition(": ")
    said = in_words(words.format(what=what, more=more, all=event.detail))
    return f"{moment(event.at)[11:]} run {run}: {said}"
