"""Watching: a run's live line on a terminal, nothing in a pipe."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from quire.cli.printing import console, counted, note
from quire.domain.money import dollars
from quire.domain.runs import Progress

if TYPE_CHECKING:
    import rich.progress


class Watcher:
    """Shows a run's progress on stderr while it is worked on; called from the ledger's thread."""

    def __init__(self, start: Progress, *, quiet: bool) -> None:
        """Begin where the run stands."""
        self._start = start
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
                words=_words(self._start),
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
            self._live.update(self._task, completed=ended(now), words=_words(now))

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


def _line() -> "rich.progress.Progress":
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=console(sys.stderr),
        transient=True,
    )


def batches_out(now: Progress) -> str:
    """What providers have of a run, and when the next look is; "" where they have nothing."""
    from quire.dispatch.outside import Outside  # loads asyncio: not for --help

    if not now.batches:
        return ""
    out = f"{counted(now.batches, 'batch', 'batches')} out"
    if now.next_poll_at is None:
        return out
    seconds = max(0.0, (now.next_poll_at - Outside().now()).total_seconds())
    return f"{out}, next look in {_time(seconds)}"


def _time(seconds: float) -> str:
    """A length of time as people say it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _words(now: Progress) -> str:
    tokens = _short(now.input_tokens + now.output_tokens)
    out = f" · {batches_out(now)}" if now.batches else ""
    return (
        f"{now.failed:,} failed · {now.in_flight:,} in flight{out} · {now.calls:,} calls"
        f" · {tokens} tokens · {dollars(now.cost + now.presumed)} ·"
    )


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= 10 * size:
            return f"{number / size:,.0f}{letter}"
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)
