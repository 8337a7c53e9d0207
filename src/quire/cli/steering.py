"""Commands that steer a run: pause, resume, cancel, retry."""

import typer

from quire.cli.opening import chosen, opened, session
from quire.cli.options import AsJson, RunNumber
from quire.cli.printing import counted, print_json, say

GO_ON = "a worker goes on with it: the same `quire run` again, or `quire work`"


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
    said = f"may go on; {GO_ON}" if changed else "was not held"
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


def retry(context: typer.Context, run: RunNumber = None, as_json: AsJson = False) -> None:
    """Owe a run's failed blocks again, with fresh tries."""
    with opened(context) as engine:
        number = chosen(engine, run)
        granted = engine.retry(number)
    said = f"owes {counted(granted, 'block')} again; {GO_ON}"
    _tell(context, as_json, number, granted, said if granted else "has no failed blocks")


def _tell(context: typer.Context, as_json: bool, run: int, changed: int, said: str) -> None:
    if as_json:
        print_json({"run": run, "changed": changed})
    elif not session(context).quiet:
        say(f"run {run} {said}")
