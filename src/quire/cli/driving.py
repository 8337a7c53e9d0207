"""Driving: a run is worked on in this process, and watched while it is; or left to others."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from quire.cli.opening import session, tell
from quire.cli.outstanding import batches_out
from quire.cli.printing import note
from quire.cli.telling import News
from quire.cli.watching import Watcher
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine import Engine, RunHandle


def drive(
    context: typer.Context,
    engine: "Engine",
    beginning: str,
    start: Progress,
    *,
    shown: Callable[[Progress], Progress] = lambda now: now,
    home: bool = False,
) -> bool:
    """Work until the run is at rest, and if it ended until its batches are `home` as well.

    `shown` is what people see of how it stands. True if somebody interrupted.
    """
    from quire.pipeline.progress import at_rest

    run, quiet = start.run_id, session(context).quiet
    if not quiet:
        for line in (beginning, batches_out(start, workers=1)):  # this process is one
            if line:
                note(line)
    told = quiet or sys.stderr.isatty()  # there the live line tells it
    news = None if told else News(engine, note, run)
    with Watcher(start, quiet=quiet, batches=lambda: engine.batches(run)) as watcher:

        def done() -> bool:
            now = engine.progress(run)
            watcher(shown(now))
            if news:
                news()
            awaited = home and now.state != "running" and now.batches > 0
            return at_rest(now) and not awaited

        interrupted = engine.work(done, signals=True, tell=watcher.tell, only=run)
    if news:
        news()
    return interrupted


def tell_detached(context: typer.Context, handle: "RunHandle", *, as_json: bool) -> None:
    """Say that a run is recorded, and who carries it out."""
    said = "was recorded before" if handle.goes_on else "is recorded"
    line = f"run {handle.id} {said}; `quire work` or `quire attach {handle.id}` carries it out"
    tell(context, as_json, {"run": handle.id, "goes_on": handle.goes_on, "detached": True}, line)
