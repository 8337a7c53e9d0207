"""Watching: a run's live line on a terminal, nothing in a pipe."""

import sys
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from quire.cli.outstanding import next_look, through
from quire.cli.printing import console, counted, note
from quire.domain.money import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    import rich.progress

    from quire.domain.batches import BatchView

WIDE = 100  # columns from which on there is room for a long bar
BAR, NARROW_BAR = 20, 8
_LEFT = len(" 0:00:00 left")


class Watcher:
    """Shows a run's progress on stderr while it is worked on; called from the ledger's thread."""

    def __init__(
        self,
        start: Progress,
        *,
        quiet: bool,
        batches: "Callable[[], Sequence[BatchView]]" = lambda: (),
    ) -> None:
        """Begin where the run stands; `batches` are those of the run, for how far they are."""
        self._start = start
        self._batches = batches
        self._views: Sequence[BatchView] = ()
        self._seen: object = None  # how batches stood when the views were read
        self._live: rich.progress.Progress | None = None
        self._shown = sys.stderr.isatty() and not quiet

    def __enter__(self) -> "Watcher":
        """Show the line."""
        if self._shown:
            self._live = _line()
            self._task = self._live.add_task(
                f"run {self._start.run_id}",
                total=goal(self._start),
                completed=ended(self._start),
                **self._fields(self._start),
            )
            self._live.start()
            # Left visible: a second Ctrl-C leaves at once, with nobody to show it again.
            self._live.console.show_cursor(True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Take the line away; the summary says it all."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, now: Progress) -> None:
        """Show how the run stands."""
        if self._live is not None:
            self._live.update(self._task, completed=ended(now), **self._fields(now))

    def _fields(self, now: Progress) -> dict[str, Any]:
        """What the line shows beside the bar."""
        stands = (now.batches, now.next_poll_at)
        if now.batches and stands != self._seen:  # their counts change only with a look
            self._views, self._seen = self._batches(), stands
        width = console(sys.stderr).width
        bar = NARROW_BAR if width < WIDE else BAR
        numbers = f"run {now.run_id} {goal(now):,}/{goal(now):,}"
        room = width - len(numbers) - bar - 3 - (0 if now.batches else _LEFT)
        return {"words": live_words(now, self._views, room), "waiting": bool(now.batches)}

    def tell(self, message: str) -> None:
        """Say something above the line."""
        if self._live is not None:
            self._live.console.print(message)
        else:
            note(message)


def goal(progress: Progress) -> int:
    """How many blocks the run is to end."""
    limit = progress.task_limit
    return progress.total if limit is None else min(limit, progress.total)


def ended(progress: Progress) -> int:
    """How many blocks are through, one way or the other."""
    return progress.done + progress.failed + progress.counts.get("cancelled", 0)


def live_words(now: Progress, views: Iterable["BatchView"], room: int) -> str:
    """What stands beside the bar: as much as there is room for, and nothing that is 0."""
    failed = f"{now.failed:,} failed" if now.failed else ""
    flying = f"{now.in_flight:,} in flight" if now.in_flight else ""
    calls = counted(now.calls, "call") if now.calls else ""
    tokens = _short(now.input_tokens + now.output_tokens)
    spent = f"{tokens} tokens" if now.calls else ""
    cost = dollars(now.cost + now.presumed)
    out, look, short = _batches(now, list(views))
    ways = (
        (failed, flying, out, look, calls, spent, cost),
        (failed, flying, out, look, cost),
        (failed, out, look, cost),
        (failed, short, look.removeprefix("next "), cost),
        (short, look.removeprefix("next "), cost),
    )
    told = [" · ".join(part for part in way if part) for way in ways]
    return next((each for each in told if len(each) <= room), told[-1])


def _batches(now: Progress, views: Sequence["BatchView"]) -> tuple[str, str, str]:
    """The batches that are out, the next look, and the batches once more in short."""
    if not now.batches:
        return "", "", ""
    named = counted(now.batches, "batch", "batches")
    done, of = through(views)
    look = next_look(now.next_poll_at, workers=1)  # who shows this is one
    far, brief = (f", {done:,} of {of:,}", f" {done:,}/{of:,}") if of else ("", "")
    return f"{named} out{far}", f"next look {look}" if look else "", f"{named}{brief}"


def _line() -> "rich.progress.Progress":
    from rich.progress import BarColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Remaining(TimeRemainingColumn):
        """The time that is left, but for waiting for a batch, of which nobody knows."""

        def render(self, task: Task) -> Text:
            return Text() if task.fields["waiting"] else super().render(task) + Text(" left")

    target = console(sys.stderr)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=NARROW_BAR if target.width < WIDE else BAR),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("{task.fields[words]}"),
        Remaining(compact=True),
        console=target,
        transient=True,
    )


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= 10 * size:
            return f"{number / size:,.0f}{letter}"
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)
