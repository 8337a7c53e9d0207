"""The command that carries out a run."""

from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from quire.cli import options as of
from quire.cli import recipe_options
from quire.cli.cooking import Typed, asked
from quire.cli.describing import asked_models
from quire.cli.driving import drive, tell_detached
from quire.cli.ending import exit_code, print_end, print_end_json
from quire.cli.opening import chosen, opened, session
from quire.cli.outstanding import usually_paced
from quire.cli.printing import counted, named
from quire.cli.watching import goal
from quire.domain.data import Json
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine import Engine, Planned, RunHandle
    from quire.engine.looking import RunHead

FORECAST_MOST = 100_000  # blocks


@of.takes_policy()
def run(
    context: typer.Context,
    *,
    schema: recipe_options.MaybeSchema = None,
    recipe: recipe_options.RecipeName = None,
    model: of.ModelName = None,
    document: of.Documents = None,
    param: recipe_options.Params = None,
    given: recipe_options.Inputs = None,
    limit: of.Limit = None,
    stop_after: recipe_options.StopAfter = None,
    new: of.New = False,
    detach: of.Detach = False,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Ask a schema of every block, or follow a recipe; Ctrl-C stops, the same command goes on."""
    with opened(context, make=True) as engine:
        typed = Typed(schema, recipe, document, param, given, stop_after)
        what: dict[str, Any] = {**asked(engine, typed), "model": model, **policy}
        handle = engine.run(limit=limit, new=new, stop_after=stop_after, **what)
        if detach:
            tell_detached(context, handle, as_json=as_json)
            return
        forecast = None if recipe else _forecast_cost(engine, handle, **what)
        interrupted = _drive(context, engine, handle)
        now = handle.progress()
        how = _Driven(interrupted, forecast, new)
        code = _sum_up(context, engine, now, how, as_json=as_json)
    raise typer.Exit(code)


def attach(context: typer.Context, run: of.RunNumber = None, as_json: of.AsJson = False) -> None:
    """Come back to a run: work on it and watch it, until there is nothing more to do."""
    with opened(context) as engine:
        handle = engine.get(chosen(engine, run))
        start = handle.progress()
        owed = start.state == "running" or start.batches > 0
        interrupted = owed and _drive(context, engine, handle, home=True)
        how = _Driven(interrupted, None)
        code = _sum_up(context, engine, handle.progress(), how, as_json=as_json)
    raise typer.Exit(code)


class _Driven(NamedTuple):
    """How a run was worked on."""

    interrupted: bool
    forecast: int | None  # its cost
    new: bool = False  # the same command would begin another run


def _sum_up(
    context: typer.Context, engine: "Engine", now: Progress, how: _Driven, *, as_json: bool
) -> int:
    """Say how it ended; returns the exit code."""
    code = exit_code(now, interrupted=how.interrupted)
    if as_json:
        print_end_json(engine, now, code)
    else:
        compared = how.forecast if now.state == "finished" else None
        quiet = session(context).quiet
        print_end(engine, now, code, forecast=compared, quiet=quiet, new=how.new)
    return code


def _drive(
    context: typer.Context, engine: "Engine", handle: "RunHandle", *, home: bool = False
) -> bool:
    """Work until the run is at rest; true if somebody interrupted."""
    start = engine.progress(handle.id)
    begins = start.state == "running" or not home
    told = _beginning(engine.look.head(handle.id), start, goes_on=handle.goes_on) if begins else ""
    return drive(context, engine, told, start, home=home)


def _forecast_cost(engine: "Engine", handle: "RunHandle", **asked: Any) -> int | None:
    """What the forecast says when the work begins, if working that out takes no time."""
    now = handle.progress()
    if now.state != "running" or now.total > FORECAST_MOST:
        return None
    planned: Planned = engine.plan(**asked)
    return planned.forecast.expected.cost


def _beginning(head: "RunHead", now: Progress, *, goes_on: bool) -> str:
    about = f"{head.schema} over {counted(now.total, 'block')} with {named(head.model.name)}"
    limited = f", at most {goal(now):,} of them" if goal(now) < now.total else ""
    if now.recipe:
        about = f"{head.schema}, {counted(len(now.stages), 'stage')}, with {asked_models(head)}"
        limited = f", at most {now.task_limit:,} to begin with" if now.task_limit else ""
    if goes_on and now.state == "finished":
        return f"run {head.id} has this already, nothing is asked again (--new asks, and pays)"
    if goes_on:
        stands = "is held" if now.holds else "goes on"
        return f"run {head.id} {stands}, {now.done:,} done so far: {about}{limited}"
    return f"run {head.id}: {about}{limited}{_steadily(head)}"


def _steadily(head: "RunHead") -> str:
    """Say so where calls are paced without being asked to."""
    if head.policy.get("route") != {"value": "paced", "source": "built-in"}:
        return ""
    return f"; {usually_paced(head.model.provider)}"
