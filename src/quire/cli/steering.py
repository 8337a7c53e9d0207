"""Commands that steer a run: pause, resume, stop, cancel, retry, waive, rerun."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.opening import chosen, opened, tell
from quire.cli.options import AsJson, OnlyStage, RunNumber
from quire.cli.printing import counted
from quire.domain.errors import UsageError
from quire.domain.ids import RunId, TaskId

if TYPE_CHECKING:
    from quire.engine import Engine


def pause(context: typer.Context, run: RunNumber = None, as_json: AsJson = False) -> None:
    """Send nothing more for a run; calls that are out are still collected."""
    with opened(context) as engine:
        number = chosen(engine, run)
        changed = engine.pause(number)
    said = "is paused" if changed else "was paused already"
    _tell(context, as_json, number, changed, f"{said}; `quire resume {number}` lets it go on")


def resume(context: typer.Context, run: RunNumber = None, as_json: AsJson = False) -> None:
    """Lift every hold of a run."""
    with opened(context) as engine:
        number = chosen(engine, run)
        changed = engine.resume(number)
        said = f"may go on; {_go_on(engine, number)}" if changed else "was not held"
    _tell(context, as_json, number, changed, said)


def cancel(context: typer.Context, run: RunNumber = None, as_json: AsJson = False) -> None:
    """End a run: what is not sent yet never is, what is out is still collected."""
    with opened(context) as engine:
        number = chosen(engine, run)
        changed = engine.cancel(number)
        state = engine.progress(number).state
    if not changed:
        said = "was cancelled already"
    elif state == "cancelled":
        said = "is cancelled"
    else:
        said = "will be cancelled by its worker; with none, `quire work --until-idle` does it"
    _tell(context, as_json, number, changed, said)


def stop_after(
    context: typer.Context,
    run: Annotated[int, typer.Argument(metavar="RUN", help="A run's number.")],
    stage: Annotated[
        str | None,
        typer.Argument(metavar="STAGE", help="The last stage to carry out.", show_default=False),
    ] = None,
    clear: Annotated[
        bool, typer.Option("--clear", metavar="", help="Take it back: go on to the end.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hold a run when a stage is over; its critics belong to it."""
    if clear is (stage is not None):
        raise UsageError("name the STAGE to stop after, or give --clear to take it back")
    with opened(context) as engine:
        number = chosen(engine, run)
        changed = engine.stop_after(number, stage)
        go_on = _go_on(engine, number)
    if stage is None:
        said = f"does not stop any more; {go_on}" if changed else "was not to stop"
    else:
        said = f"stops after {stage}" if changed else f"was to stop after {stage} already"
        said += f"; `quire resume {number}` goes on then"
    _tell(context, as_json, number, changed, said)


def retry(
    context: typer.Context,
    run: RunNumber = None,
    stage: OnlyStage = None,
    stale: Annotated[
        bool,
        typer.Option(
            "--stale", metavar="", help="Not what failed, but what was made from older results."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Owe what failed again, with fresh tries."""
    with opened(context) as engine:
        number = chosen(engine, run)
        granted = engine.retry(number, stage=stage, stale=stale)
        noun = "task" if engine.progress(number).recipe else "block"
        said = f"owes {counted(granted, noun)} again; {_go_on(engine, number)}"
    nothing = f"has no {'stale' if stale else 'failed'} {noun}s{f' in {stage}' if stage else ''}"
    _tell(context, as_json, number, granted, said if granted else nothing)


def waive(
    context: typer.Context,
    tasks: Annotated[
        list[int], typer.Argument(metavar="TASK...", help="As `quire failures` numbers them.")
    ],
    as_json: AsJson = False,
) -> None:
    """Let an exact run go on without some of its failed tasks."""
    with opened(context) as engine:
        waived = engine.waive([TaskId(each) for each in tasks])
    said = f"{counted(waived, 'task')} waived" if waived else "waived before"
    line = f"{said}: the run goes on without, and what reads them stays blocked"
    tell(context, as_json, {"tasks": tasks, "changed": waived}, line)


def rerun(
    context: typer.Context,
    run: RunNumber = None,
    from_stage: Annotated[
        str, typer.Option("--from", metavar="STAGE", help="The first stage to ask again.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Ask a stage and all after it again, and pay again; what comes before it stays."""
    if not from_stage:
        raise UsageError("name the first stage to ask again: --from STAGE")
    with opened(context) as engine:
        number = chosen(engine, run)
        owed = engine.rerun(number, from_stage)
        go_on = _go_on(engine, number)
    said = f"asks {counted(owed, 'task')} again, from {from_stage} on; {go_on}"
    nothing = f"has nothing in {from_stage} to ask again"
    _tell(context, as_json, number, owed, said if owed else nothing)


def _go_on(engine: "Engine", run: RunId) -> str:
    """Who goes on with a run: a worker that lives, or one that must be started."""
    if engine.workers(run):
        return f"a worker is there and goes on with it: `quire status {run}` shows how"
    return f"no worker is there: `quire attach {run}` or `quire work` goes on with it"


def _tell(context: typer.Context, as_json: bool, run: int, changed: int, said: str) -> None:
    tell(context, as_json, {"run": run, "changed": changed}, f"run {run} {said}")
