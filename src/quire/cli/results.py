"""Commands that show results and write them out."""

import json
from collections.abc import Sequence
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
    _print_rows(rows, head.fields)
    simulated = " · simulated" if head.model.provider == "simulated" else ""
    say(f"\nthe first {len(rows):,} of {counted(total, 'block')} of run {number}{simulated}")


def _print_rows(rows: Sequence["ExportedRow"], fields: Sequence[str]) -> None:
    """A table as narrow as it can be: what is the same in every row is not a column."""
    titles = {each.document.title for each in rows}
    by_status = any(each.status != "accepted" for each in rows)
    data = [json.loads(each.data) if each.data else {} for each in rows]
    columns = ["~block", *(_heading(name, [each.get(name) for each in data]) for name in fields)]
    if by_status:
        columns.insert(0, "status")
    if len(titles) > 1:
        columns.insert(0, "~document")
    else:
        say("".join(titles))
        say()
    cells = (
        [
            *([clipped(each.document.title, 14)] if len(titles) > 1 else []),
            *([each.status] if by_status else []),
            clipped(each.row.content, 32),
            *(clipped(_cell(values.get(name)), 20) for name in fields),
        ]
        for each, values in zip(rows, data, strict=True)
    )
    print_table(columns, cells)


def _heading(field: str, values: Sequence[object]) -> str:
    """A field's name, in two lines if it is long: columns are narrow."""
    mark = ">" if any(type(each) in (int, float) for each in values) else "~"
    return mark + (field.replace("_", "\n", 1) if len(field) > 8 else field)


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
        now = engine.progress(number)
    ended = now.done + now.failed + now.counts.get("cancelled", 0)
    pending = max(0, lines - ended) if only == "all" else 0
    if as_json:
        told = {"run": number, "lines": lines, "path": output, "simulated": simulated}
        print_json(told | ({"pending": pending} if pending else {}))
    elif not session(context).quiet:
        tell = note if output == STDOUT else say
        said = f"run {number}: {counted(lines, 'line')}"
        where = "" if output == STDOUT else f" in {output}"
        yet = f", {pending:,} of them pending: run {number} has not ended" if pending else ""
        tell(f"{said}{where}{yet}{' · simulated' if simulated else ''}")
