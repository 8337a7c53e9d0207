"""Watching: a run's live lines on a terminal, nothing in a pipe."""

import sys
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from quire.cli.outstanding import next_look
from quire.cli.outstanding import through as through_batches
from quire.cli.printing import clipped, console, counted, note
from quire.cli.staging import live_words as stage_words
from quire.cli.staging import through
from quire.cli.telling import Sparing
from quire.domain.money import dollars
from quire.domain.runs import Progress, StageProgress

if TYPE_CHECKING:
    import rich.progress

    from quire.domain.batches import BatchView

WIDE = 100  # columns from which on there is room for a long bar
BAR, NARROW_BAR = 20, 8
LONGEST = 20  # characters of a stage's name
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
        self._stages: dict[str, rich.progress.TaskID] = {}  # lines, by name
        self._shown = sys.stderr.isatty() and not quiet
        self.tell = Sparing(self._say)

    def __enter__(self) -> "Watcher":
        """Show the line."""
        if self._shown:
            start = self._start
            self._live = _line()
            for stage, words in self._lines(start):
                self._stages[stage.name] = self._live.add_task(
                    clipped(stage.name, LONGEST), **_shown(stage, words)
                )
            self._task = self._live.add_task(
                f"run {start.run_id}",
                total=goal(start),
                completed=ended(start),
                **self._fields(start),
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
        self.tell.rest()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, now: Progress) -> None:
        """Show how the run stands."""
        if self._live is not None:
            for stage, words in self._lines(now):
                self._live.update(self._stages[stage.name], **_shown(stage, words))
            self._live.update(
                self._task, completed=ended(now), total=goal(now), **self._fields(now)
            )

    def _lines(self, now: Progress) -> "list[tuple[StageProgress, str]]":
        """A recipe's stages, each with what stands beside its bar; none of a schema."""
        if not now.recipe:
            return []
        width = console(sys.stderr).width
        widest = max(len(f"{each.expanded:,}") for each in now.stages)
        names = max(min(len(each.name), LONGEST) for each in now.stages)
        room = width - names - _bar(width) - 2 * widest - 1 - 3
        return [(each, stage_words(each, room)) for each in now.stages]

    def _fields(self, now: Progress) -> dict[str, Any]:
        """What the line shows beside the bar."""
        stands = (now.batches, now.next_poll_at)
        if now.batches and stands != self._seen:  # their counts change only with a look
            self._views, self._seen = self._batches(), stands
        width = console(sys.stderr).width
        numbers = f"run {now.run_id} {goal(now):,}/{goal(now):,}"
        if now.recipe:
            names = max(min(len(each.name), LONGEST) for each in now.stages)
            numbers = f"{'':{names}} {goal(now):,}/{goal(now):,}"
        timeless = bool(now.batches or now.recipe)  # of a recipe nobody knows how much will come
        room = width - len(numbers) - _bar(width) - 3 - (0 if timeless else _LEFT)
        return {"words": live_words(now, self._views, room), "waiting": timeless}

    def _say(self, message: str) -> None:
        """Say something above the line."""
        if self._live is not None:
            self._live.console.print(message)
        else:
            note(message)


def _shown(stage: StageProgress, words: str) -> dict[str, Any]:
    """How a stage's line stands; a bar that has nothing to show is empty, not full."""
    return {
        "completed": through(stage),
        "total": stage.expanded or (0 if stage.state == "closed" else 1),
        "words": words,
        "waiting": True,
        "known": stage.expanded,
    }


def goal(progress: Progress) -> int:
    """How many blocks the run is to end; of a recipe, tasks as far as they are known."""
    limit = progress.task_limit
    if limit is None or progress.recipe:
        return progress.total
    return min(limit, progress.total)


def ended(progress: Progress) -> int:
    """How many blocks are through, one way or the other."""
    through = progress.done + progress.failed + progress.counts.get("cancelled", 0)
    return through + progress.counts.get("blocked", 0)


def _bar(width: int) -> int:
    return NARROW_BAR if width < WIDE else BAR


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
    done, of = through_batches(views)
    look = next_look(now.next_poll_at, workers=1)  # who shows this is one
    far, brief = (f", {done:,} of {of:,}", f" {done:,}/{of:,}") if of else ("", "")
    return f"{named} out{far}", f"next look {look}" if look else "", f"{named}{brief}"


def _line() -> "rich.progress.Progress":
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Remaining(TimeRemainingColumn):
        """The time that is left, but for waiting for a batch, of which nobody knows."""

        def render(self, task: Task) -> Text:
            return Text() if task.fields["waiting"] else super().render(task) + Text(" left")

    class Numbers(ProgressColumn):
        """How many are through, of how many that are known."""

        def render(self, task: Task) -> Text:
            of = task.fields.get("known", task.total or 0)
            told = f"{task.completed:,.0f}/{of:,.0f}" if of or "known" not in task.fields else ""
            return Text(told, justify="right")

    target = console(sys.stderr)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=_bar(target.width)),
        Numbers(),
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
