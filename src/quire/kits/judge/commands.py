"""Commands of judge experiments: start one, run it, look at it, take its tables and its report."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quire.cli import options as of
from quire.cli.live_progress import drive, tell_detached
from quire.cli.order_options import (
    Budget,
    FromStage,
    ReuseRun,
    StopAfter,
    Wallet,
    reuse_from_options,
)
from quire.cli.printing import (
    model_label,
    moment,
    note,
    print_json,
    print_pairs,
    print_table,
    quantity,
    say,
)
from quire.cli.recipe_forecasts import asked_models, expected_totals, print_recipe_forecast
from quire.cli.run_summary import (
    exit_code,
    money_words,
    spending_words,
)
from quire.cli.session import engine_for, print_outcome, session
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.domain.states import TaskState
from quire.engine.json_views.run_views import progress_json
from quire.engine.progress_words import outstanding_batches
from quire.kits.judge import family_commands
from quire.kits.judge.experiment_views import (
    ExperimentView,
    count_words,
    experiment_view,
    opening_line,
    print_summary,
)

if TYPE_CHECKING:
    from quire.engine import Engine, RunHandle
    from quire.kits.judge.experiment import Experiment, ExperimentRows


def experiment_pairs(experiment: "Experiment") -> list[tuple[str, str]]:
    """What an experiment is, line by line."""
    drawn = (
        f"{quantity(experiment.samples, 'sample')} of {quantity(len(experiment.models), 'model')},"
        f" {quantity(len(experiment.evidence), 'piece')} of evidence"
        f" in {quantity(experiment.bundle_count, 'bundle')}"
    )
    return [
        ("experiment", f"{experiment.experiment_tag} ({experiment.task_type})"),
        ("concept", experiment.concept),
        ("models", ", ".join(model_label(model) for model in experiment.models)),
        ("design", f"{drawn}, {experiment.evidence_view}, {experiment.scale_size} stages"),
    ]


def stage_rows(view: ExperimentView, now: Progress) -> Iterator[list[object]]:
    """How far each stage is."""
    for stage in now.stages:
        done, failed = stage.count(TaskState.DONE), stage.count(TaskState.FAILED)
        blocked, cancelled = stage.count(TaskState.BLOCKED), stage.count(TaskState.CANCELLED)
        owed = stage.expanded - done - failed - blocked - cancelled
        planned = view.planned.get(stage.name, 0)
        yield [stage.name, planned, stage.expanded, done, failed, blocked, owed]


def experiment_json(engine: "Engine", view: ExperimentView, now: Progress) -> dict[str, object]:
    """All that `quire judge status` says, for a program."""
    head, why = engine.queries.head(view.run), engine.stall_reasons(view.run)
    experiment = view.experiment
    return progress_json(head, now, why, engine.workers(view.run)) | {
        "experiment_tag": experiment.experiment_tag,
        "task_type": experiment.task_type,
        "models": list(experiment.models),
        "planned": view.planned,
        "stages": {stage.name: dict(stage.counts) for stage in now.stages},
    }


app = typer.Typer(
    help="Judge experiments: how models judge evidence, on scales they wrote.",
    epilog="Example: quire judge init pilot && quire judge run pilot/experiment.toml",
    no_args_is_help=True,
)

File = Annotated[str, of.argument("FILE", "The experiment's TOML file.")]
RunOrFile = Annotated[str, of.argument("RUN|FILE", "A run's number, or the experiment's file.")]
RunOrFileOrNewest = Annotated[
    str | None,
    of.argument("RUN|FILE", "A run's number, or the experiment's file; the newest by default."),
]
To = Annotated[Path | None, of.option("FOLDER", "Where the files go; required.", "--to")]

# Each draw goes alone, and what shapes the answers stands in the file, so that it is exported.
_POLICY_NOT_OFFERED = ("pack_size", "packing", "estimated_output_per_task", "temperature", "effort")


@app.command(epilog="Example: quire judge init my-experiment")
def init(
    context: typer.Context,
    folder: Annotated[Path, of.argument("FOLDER", "Where it goes.")] = Path(),
    as_json: of.AsJson = False,
) -> None:
    """Write an example that runs as it is; nothing is overwritten."""
    from quire.kits.judge.experiment_file import write_example

    written = write_example(folder)
    names = [str(path) for path in written]
    following = f"next: quire judge plan {names[0]}, then quire judge run {names[0]}"
    print_outcome(context, as_json, {"files": names}, f"wrote {' and '.join(names)}", following)


@app.command(epilog="Example: quire judge plan my-experiment/experiment.toml")
@of.takes_policy(without=_POLICY_NOT_OFFERED)
def plan(
    context: typer.Context,
    *,
    file: File,
    reuse: ReuseRun = None,
    from_stage: FromStage = None,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Forecast an experiment by stage and model: calls, tokens, dollars; spends nothing."""
    from quire.kits.judge.experiment_file import read_experiment
    from quire.kits.judge.experiment_runs import plan_experiment

    _note_mixed_truths(read_experiment(Path(file)))
    with engine_for(context, make=True) as engine:
        kept = reuse_from_options(reuse, from_stage)
        planned = plan_experiment(engine, file, kept, **policy)
    evidence = quantity(planned.documents, "piece")
    about = f"{file}: {evidence} of evidence · {asked_models(planned)}"
    print_recipe_forecast(planned, as_json=as_json, about=about)


@app.command(epilog="Example: quire judge run my-experiment/experiment.toml --route batch")
@of.takes_policy(without=_POLICY_NOT_OFFERED)
def run(
    context: typer.Context,
    *,
    file: File,
    limit: of.Limit = None,
    stop_after: StopAfter = None,
    reuse: ReuseRun = None,
    from_stage: FromStage = None,
    wallet: Wallet = None,
    budget: Budget = None,
    new: of.New = False,
    max_cost: of.MaxCost = None,
    detach: of.Detach = False,
    as_json: of.AsJson = False,
    **policy: Json,
) -> None:
    """Carry an experiment out; Ctrl-C stops cleanly, the same command goes on."""
    from quire.kits.judge.experiment_runs import plan_experiment, start_experiment

    settings: dict[str, Any] = {**policy, "stop_after": stop_after, "new": new, "limit": limit}
    settings |= {"wallet": wallet, "budget_usd": budget, "max_cost_usd": max_cost}
    with engine_for(context, make=True) as engine:
        kept = reuse_from_options(reuse, from_stage)
        handle = start_experiment(engine, file, reuse=kept, **settings)
        if detach:
            return tell_detached(context, handle, as_json=as_json)
        view = experiment_view(engine, handle.id)
        if not (handle.goes_on or session(context).quiet):
            _note_mixed_truths(view.experiment)
            forecast = expected_totals(plan_experiment(engine, file, kept, **policy))
            of_all = " of all of it" * bool(limit or stop_after)
            note(f"forecast{of_all}: {forecast}; `quire judge plan {file}` says more")
        interrupted = _drive(context, engine, handle, view)
        now = view.with_planned_total(handle.progress())
        code = exit_code(now, interrupted=interrupted)
        if as_json:
            print_json(experiment_json(engine, view, now) | {"exit_code": code})
        else:
            print_summary(context, view, now, code, engine.spend.forecast_cost(handle.id))
    raise typer.Exit(code)


@app.command(epilog="Example: quire judge status my-experiment/experiment.toml")
def status(
    context: typer.Context, which: RunOrFileOrNewest = None, as_json: of.AsJson = False
) -> None:
    """Show how an experiment stands, stage by stage, and why nothing moves if nothing moves."""
    from quire.kits.judge.experiment_runs import find_experiment_run

    with engine_for(context) as engine:
        view = experiment_view(engine, find_experiment_run(engine, which))
        now = view.with_planned_total(engine.progress(view.run))
        if as_json:
            print_json(experiment_json(engine, view, now))
            return
        workers = engine.workers(view.run)
        why, head = engine.stall_reasons(view.run), engine.queries.head(view.run)
        views = engine.batches(view.run) if now.batches else []
    print_pairs(
        [
            (f"run {view.run}", now.standing),
            *experiment_pairs(view.experiment),
            ("tasks", count_words(now)),
            ("calls", spending_words(now, None)),
            ("money", money_words(now.money) if now.money else ""),
            ("batches", outstanding_batches(now, workers, views)),
            ("started", moment(head.started_at)),
            ("ended", moment(head.ended_at)),
        ]
    )
    say()
    columns = ("stage", ">planned", ">made", ">done", ">failed", ">blocked", ">owed")
    print_table(columns, stage_rows(view, now))
    for line in why:
        say(f"\n{line}" if line is why[0] else line)


@app.command(epilog="Example: quire judge export my-experiment/experiment.toml --to tables")
def export(
    context: typer.Context,
    which: RunOrFile,
    to: To = None,
    form: Annotated[str, of.option("csv|parquet", "What files it writes.", "--format")] = "csv",
    as_json: of.AsJson = False,
) -> None:
    """Write an experiment's tables, typed, with a manifest; what is the same stays as it is."""
    from quire.kits.judge.experiment_export import export_experiment
    from quire.kits.judge.experiment_runs import find_experiment_run

    with engine_for(context) as engine:
        run = find_experiment_run(engine, which)
        to = _require_folder(to, "export")
        done = export_experiment(engine, run, to, form)
        _note_unfinished(engine, done.rows)
    manifest = done.written.manifest
    if as_json:
        print_json({"folder": str(to), "changed": done.written.changed, "manifest": manifest})
    elif not session(context).quiet:
        tables = manifest["tables"]
        row_counts = ", ".join(f"{table['rows']:,} {table['name']}" for table in tables)
        counted = quantity(len(tables), "table")
        wrote = f"wrote {counted} and a manifest to {to}"
        unchanged = f"{to} has these {counted} already, nothing was rewritten"
        say(f"{wrote if done.written.changed else unchanged}: {row_counts}")


@app.command(epilog="Example: quire judge report my-experiment/experiment.toml --to report")
def report(
    context: typer.Context,
    which: RunOrFile,
    to: To = None,
    show: Annotated[bool, of.flag("Show the page in a browser.", "--open")] = False,
    as_json: of.AsJson = False,
) -> None:
    """Write an experiment's figures, plots and a page that needs nothing else."""
    from quire.kits.judge.chart_drawing import require_matplotlib
    from quire.kits.judge.experiment_runs import find_experiment_run, rows_of
    from quire.kits.judge.report import write_report

    require_matplotlib()  # before anything is read
    with engine_for(context) as engine:
        run = find_experiment_run(engine, which)
        to = _require_folder(to, "report")
        rows = rows_of(engine, run)
        _note_unfinished(engine, rows)
    written = write_report(rows, to)
    said = f"wrote {quantity(len(written), 'file')} to {to}; open {written[0]}"
    files = [str(path) for path in written]
    print_outcome(context, as_json, {"folder": str(to), "files": files}, said)
    if show:
        typer.launch(written[0].resolve().as_uri())


app.command(epilog="Example: quire judge compare raw.toml abstracted.toml --to comparison")(
    family_commands.compare
)
app.command(
    epilog="Example: quire judge sweep base.toml --vary scale_size=3,4,5"
    " --vary evidence_view=raw,abstracted --plan"
)(of.takes_policy(without=_POLICY_NOT_OFFERED)(family_commands.sweep))


def _require_folder(to: Path | None, command: str) -> Path:
    """Where files go; whoever means no experiment has been told that first."""
    if to is None:
        raise UsageError("missing option '--to'", f"see `quire judge {command} --help`")
    return to


def _note_unfinished(engine: "Engine", rows: "ExperimentRows") -> None:
    if rows.status != "finished":
        run = RunId(rows.run_id)
        status_words = engine.progress(run).standing
        note(f"quire: run {run} is {status_words}: this is what there is so far")


def _note_mixed_truths(experiment: "Experiment") -> None:
    from quire.kits.judge.bundle_truths import truth_caution

    if said := truth_caution(experiment):
        note(f"quire: {said}")


def _drive(
    context: typer.Context, engine: "Engine", handle: "RunHandle", view: ExperimentView
) -> bool:
    """Work until the run is at rest; true if somebody interrupted."""
    start = view.with_planned_total(engine.progress(handle.id))
    opening = opening_line(view, start, goes_on=handle.goes_on)
    return drive(context, engine, opening, start, transform=view.with_planned_total)
