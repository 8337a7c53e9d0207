"""The command that writes a run's results to a file or a store, in any format."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, Only, RunNumber, Since, option
from quire.cli.order_options import StageName
from quire.cli.printing import note, print_json, quantity, say
from quire.cli.progress_words import filled_stage_note
from quire.cli.session import engine_and_run, session
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.domain.states import TaskState

if TYPE_CHECKING:
    from quire.engine import ExportReport

STDOUT = "-"
EVERY = "all"

OutputPath = Annotated[
    str, option("FILE", "Where to: a path, folder/, s3://…, or - for stdout.", "--output", "-o")
]
FormatName = Annotated[
    str | None,
    option(
        "FORMAT",
        "jsonl, csv, tsv, parquet, xlsx or bundle; by default as the file is named.",
        "--format",
    ),
]
TableNames = Annotated[
    str | None,
    option("NAMES", "Of a bundle: which tables, parted by commas; all by default.", "--tables"),
]


def export(
    context: typer.Context,
    run: RunNumber = None,
    *,
    output: OutputPath = STDOUT,
    form: FormatName = None,
    tables: TableNames = None,
    only: Only = EVERY,
    since: Since = None,
    stage: StageName = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's results in order, one row a block; of a recipe's other stages one a task."""
    from quire.engine import check_output, row_filter

    check_output(form, output)
    chosen = row_filter(only, since)
    if as_json and output == STDOUT:
        raise UsageError("--json tells about the export, so the export itself needs -o FILE")
    with engine_and_run(context, run) as (engine, number):
        simulated = engine.queries.head(number).model.provider == "simulated"
        report = engine.export(number, output, chosen, stage, form, tables)
        now = engine.progress(number)
    pending = _count_pending(now) if only == EVERY and not since else 0
    if as_json:
        print_json(_report_json(number, report, pending, simulated=simulated))
    elif not session(context).quiet:
        _tell_export(number, report, pending, simulated=simulated)
        if stage is None and not report.rows and (elsewhere := filled_stage_note(now)):
            note(elsewhere)


def _count_pending(now: Progress) -> int:
    """Blocks of a run that are still to be answered."""
    ended = now.done + now.failed + now.counts.get(TaskState.CANCELLED, 0)
    return 0 if now.is_staged else max(0, now.total - ended)


def _report_json(
    run: RunId, report: "ExportReport", pending: int, *, simulated: bool
) -> dict[str, object]:
    return {
        "run": run,
        "lines": report.rows,
        "path": report.path,
        "format": report.form,
        "unchanged": not report.changed,
        "simulated": simulated,
        **({"widened": list(report.widened)} if report.widened else {}),
        **({"cut": report.cut} if report.cut else {}),
        **({"pending": pending} if pending else {}),
    }


def _tell_export(run: RunId, report: "ExportReport", pending: int, *, simulated: bool) -> None:
    shown = report.path != STDOUT
    parts = [
        f"run {run}: {quantity(report.rows, 'line' if report.form == 'jsonl' else 'row')}",
        f" in {report.path}" if shown else "",
        "" if report.changed else ", unchanged: not written again",
        f", {pending:,} of them pending: run {run} has not ended" if pending else "",
        " · simulated" if simulated else "",
    ]
    (say if shown else note)("".join(parts))
    if report.widened:
        names = ", ".join(report.widened)
        note(f"written as text, because not every value is of the type of its schema: {names}")
    if report.cut:
        cells = quantity(report.cut, "cell was", "cells were")
        note(f"{cells} longer than a sheet can hold and {'is' if report.cut == 1 else 'are'} cut")
