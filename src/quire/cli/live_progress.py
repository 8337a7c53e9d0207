"""A run worked on in this process and shown meanwhile: live lines, or events in a log."""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from quire.cli.printing import clip, console, note, quantity, time_of_day
from quire.cli.progress_words import stage_words
from quire.cli.session import print_outcome, session
from quire.domain.ids import RunId
from quire.domain.pricing import dollars
from quire.domain.reasons import EventKind
from quire.domain.runs import Progress, StageProgress
from quire.domain.states import RunState, StageState, TaskState
from quire.engine.progress_words import (
    answer_counts,
    ended_tasks,
    next_poll,
    outstanding_batches,
    plain_words,
)

if TYPE_CHECKING:
    import rich.progress

    from quire.domain.batches import BatchView
    from quire.domain.runs import Event
    from quire.engine import Engine, RunHandle


MAX_EVENTS = 50  # events of a run, looked at each time
SECONDS_BETWEEN = 10.0  # seconds between two lines of a kind
KIND_LENGTH = 80  # characters that make messages alike
_CHANGING_WORDS = re.compile(r"(?<!\S)(?![0-9]{3}\b)\S*[0-9]\S*")  # with digits, but for statuses

# Fields of events stand by their names; {detail} is what the history tells.
_BATCH_EVENTS: dict[str, str] = {
    EventKind.BATCH_SUBMITTED: "batch {batch} is with the provider: {calls} calls",
    EventKind.BATCH_UNKNOWN: "batch {batch} may or may not be with the provider: {problem}",
    EventKind.BATCH_ABSENT: "batch {batch} was never made, and is made again",
    EventKind.BATCH_MADE_TWICE: "{detail}",
    EventKind.BATCH_ENDED: "batch {batch} {end}",
    EventKind.BATCH_COLLECTED: "batch {batch} is collected: {calls} calls",
    EventKind.BATCH_UNANSWERED: "{detail}",
    EventKind.BATCH_ABANDONED: "batch {batch} is given up: {problem}",
    EventKind.BATCH_CANCEL_ASKED: "the provider is asked to end {detail}",
    EventKind.DEADLINE_PASSED: "{detail}",
}
_RUN_EVENTS: dict[str, str] = {
    EventKind.HELD: "held: {detail}",
    EventKind.RUN_FINISHED: "finished: {detail}",
    EventKind.RUN_CANCELLED: "cancelled: {detail}",
}


class LineThrottle:
    """Tells at most one line of a kind in a while; a later one says how many were like it."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = monotonic) -> None:
        """Tell sparingly, by a clock of seconds."""
        self._print, self._clock = tell, clock
        self._printed_at: dict[str, float] = {}  # when, by kind
        self._suppressed: dict[str, tuple[int, str]] = {}  # how many since, and the last, by kind

    def __call__(self, message: str) -> None:
        """Tell it now, or count it."""
        kind, now = _CHANGING_WORDS.sub("#", message)[:KIND_LENGTH], self._clock()
        if kind in self._printed_at and now - self._printed_at[kind] < SECONDS_BETWEEN:
            self._suppressed[kind] = (self._suppressed.get(kind, (0, ""))[0] + 1, message)
            return
        more, _ = self._suppressed.pop(kind, (0, ""))
        self._print(f"{message} ({more:,} more like it)" if more else message)
        self._printed_at[kind] = now

    def flush(self) -> None:
        """Tell what was counted and not yet told."""
        for count, last in self._suppressed.values():
            self._print(f"{last} ({quantity(count, 'time')} more)")
        self._suppressed.clear()


class EventFeed:
    """Tells of runs that go on; one that appears later is told from its beginning."""

    def __init__(
        self, engine: "Engine", tell: Callable[[str], None], only: RunId | None = None
    ) -> None:
        """Begin now, with one run or with all: what has happened is known."""
        self._engine = engine
        self._print = tell
        self._only = only
        self._templates = _BATCH_EVENTS if only is not None else _BATCH_EVENTS | _RUN_EVENTS
        self._followed: set[RunId] = set()
        self._known = {(run, event[:3]) for run, event in self._events()}

    def __call__(self) -> None:
        """Tell what is new."""
        for run, event in self._events():
            if (run, event[:3]) not in self._known:
                self._known.add((run, event[:3]))
                if event.kind in self._templates:
                    self._print(_event_line(run, event, self._templates[event.kind]))

    def _events(self) -> "list[tuple[RunId, Event]]":
        """What happened lately to runs that go on, and to those that went on a moment ago."""
        engine, queries = self._engine, self._engine.queries
        running = {self._only} if self._only is not None else set(queries.running_runs())
        watched = sorted(self._followed | running)
        # Its batches may come home after a run has ended.
        self._followed = {run for run in watched if run in running or engine.progress(run).batches}
        return [(run, event) for run in watched for event in queries.events(run, MAX_EVENTS)]


def _event_line(run: RunId, event: "Event", words: str) -> str:
    try:
        said = words.format_map({**event.fields, "detail": event.detail})
    except KeyError:  # an older version wrote it, without fields
        said = event.detail
    return f"{time_of_day(event.at)} run {run}: {plain_words(said)}"


WIDE_FROM = 100  # columns from which on there is room for a long bar
BAR, NARROW_BAR, LONGEST_BAR = 20, 8, 80
MAX_NAME = 20  # characters of a stage's name
_TIME_LEFT_WIDTH = len(" 0:00:00 left")


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
        self._batches_read_at: object = None  # how batches stood when the views were read
        self._live: rich.progress.Progress | None = None
        self._stages: dict[str, rich.progress.TaskID] = {}  # lines, by name
        self._is_visible = sys.stderr.isatty() and not quiet
        self.tell = LineThrottle(self._print_above)

    def __enter__(self) -> "Watcher":
        """Show the line."""
        if self._is_visible:
            start = self._start
            self._live = _progress_bars()
            for stage, words in self._stage_lines(start):
                self._stages[stage.name] = self._live.add_task(
                    clip(stage.name, MAX_NAME), **_stage_fields(stage, words)
                )
            self._task = self._live.add_task(f"run {start.run_id}", **self._fields(start))
            self._live.start()
            # Left visible: a second Ctrl-C leaves at once, with nobody to show it again.
            self._live.console.show_cursor(True)
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away; the summary says it all."""
        self.close()

    def close(self) -> None:
        """Take the line away, also where nobody sums up."""
        self.tell.flush()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, now: Progress) -> None:
        """Show how the run stands."""
        if self._live is not None:
            for stage, words in self._stage_lines(now):
                self._live.update(self._stages[stage.name], **_stage_fields(stage, words))
            self._live.update(self._task, **self._fields(now))

    def _stage_lines(self, now: Progress) -> "list[tuple[StageProgress, str]]":
        """A recipe's stages, each with what stands beside its bar; none of a schema."""
        if not now.is_staged:
            return []
        width = console(sys.stderr).width
        widest = max(len(f"{stage.expanded:,}") for stage in now.stages)
        room = width - _name_width(now) - bar_width(width) - 2 * widest - 1 - 3
        return [(stage, stage_words(stage, room)) for stage in now.stages]

    def _fields(self, now: Progress) -> dict[str, Any]:
        """How the run's line stands."""
        batch_state = (now.batches, now.next_poll_at)
        if now.batches and batch_state != self._batches_read_at:  # else no count has changed
            self._views, self._batches_read_at = self._batches(), batch_state
        width, total = console(sys.stderr).width, goal(now)
        name = _name_width(now) if now.is_staged else len(f"run {now.run_id}")
        timeless = bool(now.batches or now.is_staged)  # of a recipe nobody knows how much will come
        room = width - name - len(f" {total:,}/{total:,}") - bar_width(width) - 3
        words = live_words(now, self._views, room - (0 if timeless else _TIME_LEFT_WIDTH))
        done = ended_count(now)
        return {"completed": done, "total": total, "words": words, "waiting": timeless}

    def _print_above(self, message: str) -> None:
        """Say something above the line."""
        if self._live is not None:
            self._live.console.print(message)
        else:
            note(message)


def _stage_fields(stage: StageProgress, words: str) -> dict[str, Any]:
    """How a stage's line stands; a bar that has nothing to show is empty, not full."""
    return {
        "completed": ended_tasks(stage),
        "total": stage.expanded or (0 if stage.state == StageState.CLOSED else 1),
        "words": words,
        "waiting": True,
        "known": stage.expanded,
    }


def goal(progress: Progress) -> int:
    """How many blocks the run is to end; of a recipe, tasks as far as they are known."""
    limit = progress.task_limit
    if limit is None or progress.is_staged:
        return progress.total
    return min(limit, progress.total)


def ended_count(progress: Progress) -> int:
    """How many blocks are through, one way or the other."""
    through = progress.done + progress.failed + progress.counts.get(TaskState.CANCELLED, 0)
    return through + progress.counts.get(TaskState.BLOCKED, 0)


def _name_width(now: Progress) -> int:
    return max(min(len(stage.name), MAX_NAME) for stage in now.stages)


def bar_width(width: int) -> int:
    """The bar's part of a terminal: of what a wide one has more, words and bar take half each."""
    return NARROW_BAR if width < WIDE_FROM else min(BAR + (width - WIDE_FROM) // 2, LONGEST_BAR)


def live_words(now: Progress, views: Iterable["BatchView"], room: int) -> str:
    """What stands beside the bar: as much as there is room for, and nothing that is 0."""
    failed = f"{now.failed:,} failed" if now.failed else ""
    flying = f"{now.in_flight:,} in flight" if now.in_flight else ""
    calls = quantity(now.calls, "call") if now.calls else ""
    tokens = _short_number(now.input_tokens + now.output_tokens)
    spent = f"{tokens} tokens" if now.calls else ""
    cost = dollars(now.cost_pico + now.presumed_pico)
    out, short = _batch_words(now, list(views))
    poll = next_poll(now.next_poll_at, workers=1) if now.batches else None  # who shows this is one
    next_look, look = (f"next look {poll}", f"look {poll}") if poll else ("", "")
    variants = (
        (failed, flying, out, next_look, calls, spent, cost),
        (failed, flying, out, next_look, cost),
        (failed, out, next_look, cost),
        (failed, short, look, cost),
        (short, look, cost),
    )
    lines = [" · ".join(part for part in variant if part) for variant in variants]
    return next((name for name in lines if len(name) <= room), lines[-1])


def _batch_words(now: Progress, views: Sequence["BatchView"]) -> tuple[str, str]:
    """The batches that are out, and once more in short."""
    if not now.batches:
        return "", ""
    named = quantity(now.batches, "batch", "batches")
    done, of = answer_counts(views)
    far, brief = (f", {done:,} of {of:,}", f" {done:,}/{of:,}") if of else ("", "")
    return f"{named} out{far}", f"{named}{brief}"


def _progress_bars() -> "rich.progress.Progress":
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
            text = f"{task.completed:,.0f}/{of:,.0f}" if of or "known" not in task.fields else ""
            return Text(text, justify="right")

    target = console(sys.stderr)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=bar_width(target.width)),
        Numbers(),
        TextColumn("{task.fields[words]}"),
        Remaining(compact=True),
        console=target,
        transient=True,
    )


def _short_number(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= 10 * size:
            return f"{number / size:,.0f}{letter}"
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)


def drive(
    context: typer.Context,
    engine: "Engine",
    beginning: str,
    start: Progress,
    *,
    transform: Callable[[Progress], Progress] = lambda now: now,
    await_batches: bool = False,
) -> bool:
    """Work on a run alone until it is at rest, telling what happens; true if interrupted.

    `transform` makes what people see of how it stands; `await_batches` waits, if it ended, until
    its batches are home as well.
    """
    run, quiet = start.run_id, session(context).quiet
    if not quiet:
        for line in (beginning, outstanding_batches(start, workers=1)):  # this process is one
            if line:
                note(line)
    is_shown_live = quiet or sys.stderr.isatty()  # there the live line tells it
    news = None if is_shown_live else EventFeed(engine, note, run)

    def is_awaited(now: Progress) -> bool:
        if news:
            news()
        return await_batches and now.state != RunState.RUNNING and now.batches > 0

    interrupted = work_watched(engine, start, quiet, transform, is_awaited=is_awaited, only=run)
    if news:
        news()
    return interrupted


def work_watched(
    engine: "Engine",
    start: Progress,
    quiet: bool,
    transform: Callable[[Progress], Progress] = lambda now: now,
    *,
    is_awaited: Callable[[Progress], bool] = lambda now: False,
    only: RunId | None = None,
) -> bool:
    """Work until a run is at rest and not awaited, with its live line; true if interrupted."""
    from quire.engine import is_at_rest

    run = start.run_id
    with Watcher(start, quiet=quiet, batches=lambda: engine.batches(run)) as watcher:

        def is_done() -> bool:
            now = engine.progress(run)
            watcher(transform(now))
            awaited = is_awaited(now)
            return is_at_rest(now) and not awaited

        return engine.work(
            is_done, signals=True, tell=watcher.tell, only=only, last_act=watcher.close
        )


def tell_detached(context: typer.Context, handle: "RunHandle", *, as_json: bool) -> None:
    """Say that a run is recorded, and who carries it out."""
    said = "was recorded before" if handle.goes_on else "is recorded"
    line = f"run {handle.id} {said}; `quire work` or `quire attach {handle.id}` carries it out"
    if (state := handle.progress().state) != RunState.RUNNING:
        line = f"run {handle.id} has this already and is {state}: nothing is asked again"
    print_outcome(
        context, as_json, {"run": handle.id, "goes_on": handle.goes_on, "detached": True}, line
    )
