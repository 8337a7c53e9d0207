"""Run lines: how far a run is, in one line of a terminal or of a notebook, while it is waited for.

In a notebook the line is plain HTML that is displayed once and updated in place; no widgets.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import Any, Protocol

from quire.domain.pricing import dollars
from quire.domain.quantities import quantity
from quire.domain.runs import Progress
from quire.engine.html_tables import html_line

SECONDS_BETWEEN = 0.2  # two looks of a person
Watch = Callable[[Progress], None]


def describe(now: Progress, before: Progress, noun: str = "row") -> str:
    """How a run stands, in a line, and what was spent since a moment before."""
    parts = [f"run {now.run_id}: {now.done:,} of {quantity(_goal(now), noun)}"]
    if now.failed:
        parts.append(f"{now.failed:,} failed")
    if now.reused:
        parts.append(f"{now.reused:,} were answered before")
    calls = now.calls - before.calls
    parts.append(quantity(calls, "call"))
    if now.batches:
        parts.append(f"{quantity(now.batches, 'batch', 'batches')} out")
    earlier = f" ({dollars(before.cost_pico)} before)" if before.cost_pico else ""
    parts.append(dollars(now.cost_pico - before.cost_pico) + earlier)
    return " · ".join([*parts, "simulated"] if now.is_simulated else parts)


def _goal(now: Progress) -> int:
    return now.total if now.task_limit is None else min(now.total, now.task_limit)


def share_done(now: Progress) -> float:
    """How much of a run is over, from 0 to 1."""
    goal = _goal(now)
    return min(1.0, (now.done + now.failed) / goal) if goal else 1.0


class Line(Protocol):
    """Where the line is shown."""

    def show(self, words: str, share: float) -> None:
        """Show how it stands in the place of what was shown before."""
        ...

    def end(self) -> None:
        """Leave the last words standing."""
        ...


class TerminalLine:
    """A line of standard error that is written over."""

    def __init__(self) -> None:
        """Nothing is shown yet."""
        self._width = 0

    def show(self, words: str, share: float) -> None:
        """Write over what was there."""
        sys.stderr.write(f"\r{words:<{self._width}}")
        sys.stderr.flush()
        self._width = len(words)

    def end(self) -> None:
        """Go on below."""
        if self._width:
            sys.stderr.write("\n")


class NotebookLine:
    """A piece of HTML that is displayed once, and updated."""

    def __init__(self) -> None:
        """Nothing is shown yet."""
        self._shown: Any = None

    def show(self, words: str, share: float) -> None:
        """Show it in the place of what was there."""
        notebook: Any = import_module("IPython.display")
        line = notebook.HTML(html_line(words, share))
        if self._shown is None:
            self._shown = notebook.display(line, display_id=True)
        else:
            self._shown.update(line)

    def end(self) -> None:
        """It stays as it is."""


def in_notebook() -> bool:
    """Whether a kernel runs this; IPython in a terminal has none."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return getattr(shell, "kernel", None) is not None


def choose_line(progress: bool | None) -> Line | None:
    """Where progress is shown; by default only where somebody looks."""
    if progress is False:
        return None
    if in_notebook():
        return NotebookLine()
    return TerminalLine() if progress or sys.stderr.isatty() else None


def choose_notebook_line() -> Line | None:
    """The same of who waits for a run by its handle: in a notebook, and nowhere else."""
    return NotebookLine() if in_notebook() else None


@contextmanager
def progress_line(
    line: Line | None,
    last: Callable[[], Progress],
    noun: str = "row",
    clock: Callable[[], float] = monotonic,
) -> Iterator[Watch | None]:
    """A line while a run is waited for, from how it stands now; `last` tells the end."""
    before = last()
    if line is None:
        yield None
        return
    shown_at: float | None = None

    def watch(now: Progress) -> None:
        nonlocal shown_at
        if shown_at is None or clock() - shown_at >= SECONDS_BETWEEN:
            shown_at = clock()
            line.show(describe(now, before, noun), share_done(now))

    try:
        yield watch
    finally:
        end = last()
        line.show(describe(end, before, noun), share_done(end))
        line.end()
