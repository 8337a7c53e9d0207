"""The command that works: one worker in this process, or several of them side by side."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.edge import DONE, INTERRUPTED, SOME_FAILED
from quire.cli.opening import opened, session
from quire.cli.printing import counted, note
from quire.cli.telling import News, Sparing

if TYPE_CHECKING:
    from quire.engine import Engine


def work(
    context: typer.Context,
    workers: Annotated[
        int, typer.Option("--workers", "-w", min=1, metavar="N", help="How many processes.")
    ] = 1,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", metavar="", help="Stop when no run can go on by itself.")
    ] = False,
    parent: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Carry out every run of the ledger until interrupted; many may work side by side."""
    told = session(context)
    with opened(context) as engine:  # one clear error here, rather than one from each process
        if workers == 1:
            if parent is None and not told.quiet:
                note("working; Ctrl-C stops cleanly")
            news: Callable[[], None] = (lambda: None) if told.quiet else News(engine, note)
            done = _condition(engine, news, until_idle=until_idle, parent=parent)
            sparing = Sparing(note)
            interrupted = engine.work(done, signals=True, tell=sparing)
            sparing.rest()
            news()
            raise typer.Exit(INTERRUPTED if interrupted else DONE)
    if not told.quiet:
        note(f"{counted(workers, 'worker')}; Ctrl-C stops them cleanly")
    command = _command(told.ledger, until_idle=until_idle)
    others = [*command, "--quiet"]  # one of them tells what all do
    commands = [others if told.quiet else command, *[others] * (workers - 1)]
    raise typer.Exit(_side_by_side(commands))


def _condition(
    engine: "Engine", news: Callable[[], None], *, until_idle: bool, parent: int | None
) -> Callable[[], bool]:
    """When to stop: as told, or when the process that started this one is gone."""

    def done() -> bool:
        news()
        orphaned = parent is not None and os.getppid() != parent
        return orphaned or (until_idle and engine.look.idle())

    return done


def _command(ledger: str | None, *, until_idle: bool) -> list[str]:
    return [
        *(sys.executable, "-m", "quire"),
        *(["--ledger", ledger] if ledger else []),
        *("work", "--workers", "1", "--parent", str(os.getpid())),
        *(["--until-idle"] if until_idle else []),
    ]


def _side_by_side(commands: Sequence[list[str]]) -> int:
    """Start worker processes, pass signals on, wait for all; returns the worst exit code."""
    started: list[subprocess.Popen[bytes]] = []
    stopping = False

    def pass_on(number: int, _: FrameType | None) -> None:
        nonlocal stopping
        stopping = True
        for each in started:
            each.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    for command in commands:
        if not stopping:
            # In a session of its own: a terminal's Ctrl-C comes once, through us, not twice.
            started.append(subprocess.Popen(command, start_new_session=True))  # noqa: S603 - ours
    for each in started:
        each.wait()
    return _worst([each.returncode for each in started], stopping=stopping)


def _worst(codes: list[int], *, stopping: bool) -> int:
    if stopping and all(code in (DONE, INTERRUPTED) for code in codes):
        return INTERRUPTED
    for code in codes:
        if code < 0:
            name = signal.Signals(-code).name
            note(f"quire: a worker was ended by {name}; another worker takes over its calls")
    return max(SOME_FAILED if code < 0 else code for code in codes)
