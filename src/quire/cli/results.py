"""Commands that show results and write them out."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.opening import chosen, opened, session
from quire.cli.options import AsJson, Only, RunNumber
from quire.cli.printing import clipped, counted, note, print_json, print_table, say, shown
from quire.domain.errors import UsageError

if TYPE_CHECKING:
    from quire.export.rows import ExportedRow

FORMATS = ("jsonl",)
STDOUT = "-"


def show(
    context: typer.Context,
    run: RunNumber = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many blocks.")] = 10,
    only: Only = "all",
    as_json: AsJson = False,
) -> None:
    """Show a run's first results as a table, a block a row."""
    with opened(context) as engine:
        number = chosen(engine, run)
        head, rows = engine.look.head(number), engine.look.sample(number, only, limit)
        total = engine.progress(number).total
    if as_json:
        print_json([_row_json(each) for each in rows])
        return
    plain_rows = all(each.status == "accepted" for each in rows)
    columns = (
        ("document", "block", *head.fields)
        if plain_rows
        else ("document", "block", "status", *head.fields)
    )
    print_table(columns, (_cells(each, head.fields, plain_rows) for each in rows))
    simulated = " · simulated" if head.model.provider == "simulated" else ""
    say(f"\nthe first {len(rows):,} of {counted(total, 'block')} of run {number}{simulated}")


def _cells(row: "ExportedRow", fields: tuple[str, ...], plain_rows: bool) -> list[object]:
    data = json.loads(row.data) if row.data else {}
    status = [] if plain_rows else [row.status]
    values = (clipped(_cell(data.get(name)), 24) for name in fields)
    return [clipped(row.document.title, 16), clipped(row.row.content, 28), *status, *values]


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "–" if value is None else shown(value)


def _row_json(row: "ExportedRow") -> dict[str, object]:
    return {
        "block_uid": row.block_uid,
        "title": row.document.title,
        "block_index": row.row.block_index,
        "block_type": row.row.block_type,
        "block_content": row.row.content,
        "status": row.status,
        "error": row.row.error if row.status == "failed" else None,
        "data": json.loads(row.data) if row.data else None,
    }


def export(
    context: typer.Context,
    run: RunNumber = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is stdout.")
    ] = STDOUT,
    form: Annotated[str, typer.Option("--format", metavar="jsonl", help="How.")] = "jsonl",
    only: Only = "all",
    as_json: AsJson = False,
) -> None:
    """Write a run's results, every block in order, one line each."""
    if form not in FORMATS:
        raise UsageError(f"--format takes {', '.join(FORMATS)}, not {form!r}")
    if as_json and output == STDOUT:
        raise UsageError("--json tells about the export, so the export itself needs -o FILE")
    with opened(context) as engine:
        number = chosen(engine, run)
        simulated = engine.look.head(number).model.provider == "simulated"
        lines = engine.export(number, output, only)
    if as_json:
        print_json({"run": number, "lines": lines, "path": output, "simulated": simulated})
    elif not session(context).quiet:
        tell = note if output == STDOUT else say
        said = f"run {number}: {counted(lines, 'line')}"
        where = "" if output == STDOUT else f" in {output}"
        tell(f"{said}{where}{' · simulated' if simulated else ''}")
