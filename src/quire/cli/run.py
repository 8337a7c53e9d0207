"""Commands that carry runs out: start one, come back to one, or work on all of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from quire.cli import options as of
from quire.cli import order_options
from quire.cli.live_progress import EventFeed, LineThrottle, drive, goal, tell_detached
from quire.cli.order_options import TypedOrder, order_from_options, tell_earlier
from quire.cli.printing import model_label, note, quantity
from quire.cli.progress_words import pacing_note
from quire.cli.run_summary import exit_code, model_labels, print_end, print_end_json
from quire.cli.session import DONE, INTERRUPTED, SOME_FAILED, engine_for, resolve_run, session
from quire.cli.webhooks import tell_waiting
from quire.domain.data import Json
from quire.domain.pricing import dollars
from quire.domain.runs import Progress
from quire.domain.states import RunState

if TYPE_CHECKING:
    from quire.engine import Engine, RunHandle
    from quire.engine.queries import RunHead


@of.takes_policy()
def run(
    context: typer.Context,
    *,
    schema: order_options.MaybeSchema = None,
    recipe: order_options.RecipeName = None,
    model: of.ModelName = None,
    models: order_options.Models = None,
    document: of.Documents = None,
    per: order_options.Per = None,
    block_type: order_options.BlockTypes = None,
    param: order_options.Params = None,
    given: order_options.Inputs = None,
    prompt: order_options.Prompt = None,
    attach: order_options.Attachments = None,
    limit: of.Limit = None,
    stop_after: order_options.StopAfter = None,
    reuse: order_options.ReuseRun = None,
    from_stage: order_options.FromStage = None,
    wallet: order_options.Wallet = None,
    budget: order_options.Budget = None,
    person: order_options.Person = None,
    new: of.New = False,
    max_cost: of.MaxCost = None,
    detach: of.Detach = False,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Ask a schema of every block, or follow a recipe; Ctrl-C stops, the same command goes on."""
    with engine_for(context, make=recipe is not None) as engine:  # it may bring documents in
        asked = (schema, recipe, document, param, given, stop_after, reuse, from_stage)
        typed = TypedOrder(*asked, models, prompt, attach, per, block_type)
        order = order_from_options(engine, typed, model, policy)
        order = engine.orders.with_funds(order, wallet, budget)
        order = replace(order, task_limit=limit, new=new, person=person or "")
        tell_earlier(context, engine, order)
        handle = engine.start(order, max_cost)
        if detach:
            return tell_detached(context, handle, as_json=as_json)
        code = _carry_through(context, engine, handle, new=new, as_json=as_json)
    raise typer.Exit(code)


def _carry_through(
    context: typer.Context, engine: "Engine", handle: "RunHandle", *, new: bool, as_json: bool
) -> int:
    """Work on a run that was started, and say how it ended; returns the exit code."""
    forecast = engine.spend.forecast_cost(handle.id)
    how = _DriveOutcome(_drive(context, engine, handle), forecast, new)
    return _sum_up(context, engine, handle.progress(), how, as_json=as_json)


def attach(context: typer.Context, run: of.RunNumber = None, as_json: of.AsJson = False) -> None:
    """Come back to a run: work on it and watch it, until there is nothing more to do."""
    with engine_for(context) as engine:
        handle = engine.get(resolve_run(engine, run))
        start = handle.progress()
        owed = start.state == RunState.RUNNING or start.batches > 0
        interrupted = owed and _drive(context, engine, handle, await_batches=True)
        how = _DriveOutcome(interrupted, engine.spend.forecast_cost(handle.id))
        code = _sum_up(context, engine, handle.progress(), how, as_json=as_json)
    raise typer.Exit(code)


class _DriveOutcome(NamedTuple):
    """How a run was worked on."""

    interrupted: bool
    forecast: int | None  # its cost
    new: bool = False  # the same command would begin another run


def _sum_up(
    context: typer.Context, engine: "Engine", now: Progress, how: _DriveOutcome, *, as_json: bool
) -> int:
    """Say how it ended; returns the exit code."""
    code = exit_code(now, interrupted=how.interrupted)
    if as_json:
        print_end_json(engine, now, code)
    else:
        compared = how.forecast if now.state == RunState.FINISHED else None
        quiet = session(context).quiet
        print_end(engine, now, code, forecast=compared, quiet=quiet, new=how.new)
    tell_waiting(engine)
    return code


def _drive(
    context: typer.Context, engine: "Engine", handle: "RunHandle", *, await_batches: bool = False
) -> bool:
    """Work until the run is at rest; true if somebody interrupted."""
    start = engine.progress(handle.id)
    begins = start.state == RunState.RUNNING or not await_batches
    opening = (
        _opening_line(engine.queries.head(handle.id), start, goes_on=handle.goes_on)
        if begins
        else ""
    )
    return drive(context, engine, opening, start, await_batches=await_batches)


def _opening_line(head: "RunHead", now: Progress, *, goes_on: bool) -> str:
    inputs = f"{quantity(head.documents, 'document')}, {quantity(head.blocks, 'block')}"
    if not now.is_staged and now.noun != "block":
        inputs = f"{quantity(head.documents, 'document')}, a record per {now.noun},"
    about = f"{head.name} over {inputs} with {model_label(head.model.name)}"
    limited = f", at most {goal(now):,} of them" if goal(now) < now.total else ""
    if now.is_staged:
        stages = f"{head.name}, {quantity(len(now.stages), 'stage')}"
        about = f"{stages}, over {inputs} with {model_labels(head)}"
        limited = f", at most {now.task_limit:,} to begin with" if now.task_limit else ""
    if goes_on and now.state == RunState.FINISHED:
        again = "--new --no-reuse asks all of it, and pays"
        money = now.money.budget if now.money else None
        stays = f", its budget stays {dollars(money)}" if money is not None else ""
        return f"run {head.id} has this already, nothing is asked again{stays}; {again}"
    if goes_on:
        status = "is held" if now.holds else "goes on"
        return f"run {head.id} {status}, {now.done:,} done so far: {about}{limited}"
    return f"run {head.id}: {about}{limited}{_paced_note(head)}"


def _paced_note(head: "RunHead") -> str:
    """Say so where calls are paced without being asked to."""
    if head.policy.get("route") != {"value": "paced", "source": "built-in"}:
        return ""
    return f"; {pacing_note(head.model.provider)}"


def work(
    context: typer.Context,
    workers: Annotated[int, of.option("N", "How many processes.", "--workers", "-w", min=1)] = 1,
    until_idle: Annotated[
        bool, of.flag("Stop when no run can go on by itself.", "--until-idle")
    ] = False,
    parent: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Carry out every run of the ledger until interrupted; many may work side by side."""
    settings = session(context)
    with engine_for(context) as engine:  # one clear error here, rather than one from each process
        if workers == 1:
            if parent is None and not settings.quiet:
                note("working; Ctrl-C stops cleanly")
            news: Callable[[], None] = (lambda: None) if settings.quiet else EventFeed(engine, note)
            is_done = _stop_condition(engine, news, until_idle=until_idle, parent=parent)
            throttle = LineThrottle(note)
            interrupted = engine.work(is_done, signals=True, tell=throttle)
            throttle.flush()
            news()
            raise typer.Exit(INTERRUPTED if interrupted else DONE)
    if not settings.quiet:
        note(f"{quantity(workers, 'worker')}; Ctrl-C stops them cleanly")
    command = _worker_command(settings.ledger, until_idle=until_idle)
    others = [*command, "--quiet"]  # one of them tells what all do
    commands = [others if settings.quiet else command, *[others] * (workers - 1)]
    raise typer.Exit(_run_processes(commands))


def _stop_condition(
    engine: "Engine", news: Callable[[], None], *, until_idle: bool, parent: int | None
) -> Callable[[], bool]:
    """When to stop: as told, or when the process that started this one is gone."""

    def is_done() -> bool:
        news()
        orphaned = parent is not None and os.getppid() != parent
        return orphaned or (until_idle and engine.queries.is_idle())

    return is_done


def _worker_command(ledger: str | None, *, until_idle: bool) -> list[str]:
    return [
        *(sys.executable, "-m", "quire"),
        *(["--ledger", ledger] if ledger else []),
        *("work", "--workers", "1", "--parent", str(os.getpid())),
        *(["--until-idle"] if until_idle else []),
    ]


def _run_processes(commands: Sequence[list[str]]) -> int:
    """Start worker processes, pass signals on, wait for all; returns the worst exit code."""
    from quire.engine.event_loop import stop_signals

    started: list[subprocess.Popen[bytes]] = []
    stopping = False

    def pass_on(number: int, _: FrameType | None) -> None:
        nonlocal stopping
        stopping = True
        for popen in started:
            popen.send_signal(number)

    for number in stop_signals():
        signal.signal(number, pass_on)
    for command in commands:
        if not stopping:
            # In a session of its own: a terminal's Ctrl-C comes once, through us, not twice.
            started.append(subprocess.Popen(command, start_new_session=True))  # noqa: S603 - ours
    for popen in started:
        popen.wait()
    return _worst_exit_code([popen.returncode for popen in started], stopping=stopping)


def _worst_exit_code(codes: list[int], *, stopping: bool) -> int:
    if stopping and all(code in (DONE, INTERRUPTED) for code in codes):
        return INTERRUPTED
    for code in codes:
        if code < 0:
            name = signal.Signals(-code).name
            note(f"quire: a worker was ended by {name}; another worker takes over its calls")
    return max(SOME_FAILED if code < 0 else code for code in codes)
