"""Commands of judge experiments: start one, run it, look at it, take its tables and its report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli import options as of
from quire.cli.driving import drive, tell_detached
from quire.cli.ending import exit_code
from quire.cli.judged import (
    Shown,
    about_experiment,
    beginning,
    experiment_json,
    shown_run,
    spent,
    stage_rows,
    sum_up,
    tasks_through,
)
from quire.cli.opening import opened, session, tell
from quire.cli.outstanding import batches_out
from quire.cli.printing import counted, moment, note, print_json, print_pairs, print_table, say
from quire.cli.recipe_forecast import tell_recipe, together
from quire.domain.data import Json

if TYPE_CHECKING:
    from quire.engine import Engine, RunHandle
    from quire.kits.judge.rows import ExperimentRows

app = typer.Typer(
    help="Judge experiments: how models judge evidence, on scales they wrote.",
    epilog="Example: quire judge init pilot && quire judge run pilot/experiment.toml",
    no_args_is_help=True,
)

File = Annotated[str, typer.Argument(metavar="FILE", help="The experiment's TOML file.")]
Which = Annotated[
    str,
    typer.Argument(metavar="RUN|FILE", help="A run's number, or the experiment's file."),
]
WhichOrNewest = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN|FILE",
        help="A run's number, or the experiment's file; the newest by default.",
        show_default=False,
    ),
]
To = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the files go.")]

# Each draw goes alone, and what shapes the answers stands in the file, so that it is exported.
_NOT_TAKEN = ("pack_size", "packing", "estimated_output_per_task", "temperature", "effort")


@app.command(epilog="Example: quire judge init my-experiment")
def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where it goes.")] = Path(),
    as_json: of.AsJson = False,
) -> None:
    """Write an example that runs as it is; nothing is overwritten."""
    from quire.kits.judge.starting import write_example

    written = write_example(folder)
    names = [str(each) for each in written]
    following = f"next: quire judge plan {names[0]}, then quire judge run {names[0]}"
    tell(context, as_json, {"files": names}, f"wrote {' and '.join(names)}", following)


@app.command(epilog="Example: quire judge plan my-experiment/experiment.toml")
@of.takes_policy(without=_NOT_TAKEN)
def plan(context: typer.Context, *, file: File, as_json: of.AsJson = False, **policy: Json) -> None:
    """Forecast an experiment by stage and model: calls, tokens, dollars; spends nothing."""
    from quire.engine.judging import plan_experiment

    with opened(context, make=True) as engine:
        planned = plan_experiment(engine, file, **policy)
    evidence = counted(planned.documents, "piece")
    tell_recipe(planned, as_json=as_json, about=f"{file}: {evidence} of evidence")


@app.command(epilog="Example: quire judge run my-experiment/experiment.toml --route batch")
@of.takes_policy(without=_NOT_TAKEN)
def run(
    context: typer.Context,
    *,
    file: File,
    new: of.New = False,
    detach: of.Detach = False,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Carry an experiment out; Ctrl-C stops cleanly, the same command goes on."""
    from quire.engine.judging import plan_experiment, start_experiment

    told: dict[str, Any] = policy
    with opened(context, make=True) as engine:
        handle = start_experiment(engine, file, new=new, **told)
        if detach:
            tell_detached(context, handle, as_json=as_json)
            return
        shown = shown_run(engine, handle.id)
        if not (handle.goes_on or session(context).quiet):
            forecast = together(plan_experiment(engine, file, **policy))
            note(f"forecast: {forecast}; `quire judge plan {file}` says more")
        interrupted = _drive(context, engine, handle, shown)
        now = shown.whole(handle.progress())
        code = exit_code(now, interrupted=interrupted)
        if as_json:
            print_json(experiment_json(engine, shown, now) | {"exit_code": code})
        else:
            sum_up(context, shown, now, code)
    raise typer.Exit(code)


@app.command(epilog="Example: quire judge status my-experiment/experiment.toml")
def status(context: typer.Context, which: WhichOrNewest = None, as_json: of.AsJson = False) -> None:
    """Show how an experiment stands, stage by stage, and why nothing moves if nothing moves."""
    from quire.engine.judging import find_experiment_run
    from quire.engine.standing import standing

    with opened(context) as engine:
        shown = shown_run(engine, find_experiment_run(engine, which))
        now = shown.whole(engine.progress(shown.run))
        if as_json:
            print_json(experiment_json(engine, shown, now))
            return
        workers = engine.workers(shown.run)
        why, head = engine.why(shown.run), engine.look.head(shown.run)
        views = engine.batches(shown.run) if now.batches else []
    print_pairs(
        [
            (f"run {shown.run}", standing(now, workers)),
            *about_experiment(shown.experiment),
            ("tasks", tasks_through(now)),
            ("calls", spent(now)),
            ("batches", batches_out(now, workers, views)),
            ("started", moment(head.started_at)),
            ("ended", moment(head.ended_at)),
        ]
    )
    say()
    columns = ("stage", ">planned", ">made", ">done", ">failed", ">blocked", ">owed")
    print_table(columns, stage_rows(shown, now))
    for line in why:
        say(f"\n{line}" if line is why[0] else line)


@app.command(epilog="Example: quire judge export my-experiment/experiment.toml --to tables")
def export(context: typer.Context, which: Which, to: To, as_json: of.AsJson = False) -> None:
    """Write an experiment's tables as CSV files, with a manifest."""
    from quire.kits.judge.bundle_files import write_tables

    rows = _rows(context, which)
    manifest = write_tables(rows, to)
    if as_json:
        print_json({"folder": str(to), "manifest": manifest})
    elif not session(context).quiet:
        tables = manifest["tables"]
        assert isinstance(tables, dict)
        told = ", ".join(f"{each['rows']:,} {name}" for name, each in tables.items())
        say(f"wrote {counted(len(tables), 'table')} and a manifest to {to}: {told}")


@app.command(epilog="Example: quire judge report my-experiment/experiment.toml --to report")
def report(
    context: typer.Context,
    which: Which,
    to: To,
    show: Annotated[
        bool, typer.Option("--open", metavar="", help="Show the page in a browser.")
    ] = False,
    as_json: of.AsJson = False,
) -> None:
    """Write an experiment's figures, plots and a page that needs nothing else."""
    from quire.kits.judge.drawing import require_drawing
    from quire.kits.judge.report import write_report

    require_drawing()  # before anything is read
    written = write_report(_rows(context, which), to)
    said = f"wrote {counted(len(written), 'file')} to {to}; open {written[0]}"
    tell(context, as_json, {"folder": str(to), "files": [str(each) for each in written]}, said)
    if show:
        typer.launch(written[0].resolve().as_uri())


def _rows(context: typer.Context, which: str) -> "ExperimentRows":
    from quire.engine.judging import find_experiment_run, rows_of
    from quire.engine.standing import standing

    with opened(context) as engine:
        run = find_experiment_run(engine, which)
        rows = rows_of(engine, run)
        stands = standing(engine.progress(run), engine.workers(run))
    if rows.status != "finished":
        note(f"quire: run {run} is {stands}: this is what there is so far")
    return rows


def _drive(context: typer.Context, engine: "Engine", handle: "RunHandle", shown: Shown) -> bool:
    """Work until the run is at rest; true if somebody interrupted."""
    start = shown.whole(engine.progress(handle.id))
    told = beginning(shown, start, goes_on=handle.goes_on)
    return drive(context, engine, told, start, shown=shown.whole)
