"""Commands that show results and write them out."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.opening import chosen, opened, session
from quire.cli.options import AsJson, Only, RunNumber
from quire.cli.printing import (
    clipped,
    counted,
    last_part,
    note,
    print_json,
    print_table,
    say,
    shown,
)
from quire.cli.recipe_options import StageName
from quire.domain.errors import UsageError

if TYPE_CHECKING:
    from quire.engine.looking import FirstRows
    from quire.export.rows import ExportedRow
    from quire.export.stages import StageRow

FORMATS = ("jsonl",)
STDOUT = "-"
TEXT, CELL = 100, 20  # characters of a cell that is alone, and of one among others
ABOUT, ERROR = 24, 60  # characters of a title, and of why a task has no result


def show(
    context: typer.Context,
    run: RunNumber = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="How many blocks.")] = 10,
    only: Only = "all",
    stage: StageName = None,
    as_json: AsJson = False,
) -> None:
    """Show a run's first results as a table, a block or task a row."""
    with opened(context) as engine:
        number = chosen(engine, run)
        head, now = engine.look.head(number), engine.progress(number)
        found = engine.look.sample(number, only, limit, stage)
    if as_json:
        blocks, tasks = found.blocks or (), found.tasks
        print_json([*map(_row_json, blocks), *(each.as_json() for each in tasks)])
        return
    if found.blocks is None:
        _print_tasks(found)
    else:
        _print_rows(found.blocks, found.fields)
    count, noun = len(found.tasks), "task"
    total = next(each.expanded for each in now.stages if each.name == found.stage)
    if found.blocks is not None:
        count, noun = len(found.blocks), "block"
        total = total if now.recipe else now.total
    of = f"{found.stage}, run {number}" if now.recipe else f"run {number}"
    simulated = " · simulated" if head.model.provider == "simulated" else ""
    say(f"\nthe first {count:,} of {counted(total, noun)} of {of}{simulated}")


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


def _print_tasks(found: "FirstRows") -> None:
    """The same of tasks: whatever is the same in all of them is not a column."""
    tasks = found.tasks
    data = [each.fields for each in tasks]
    fields = found.fields or tuple(dict.fromkeys(name for each in data for name in each))
    own = {
        "~about": _abouts(tasks),
        "model": [last_part(each.model) for each in tasks],
        ">sample": [str(each.outcome.sample) for each in tasks],
        "status": [each.status for each in tasks],
        "~error": [clipped(each.error or "", ERROR) for each in tasks],
    }
    plain = {"status": {"accepted"}, "~error": {""}}
    kept = [
        name
        for name, values in own.items()
        if len(set(values)) > 1 or (name in plain and set(values) - plain[name])
    ]
    if {"model", ">sample"} & set(kept) and "~about" not in kept:
        kept.insert(0, "~about")  # of one document, what else they differ in needs its name
    longest = TEXT if len(fields) == 1 else CELL
    columns = [
        ">task",
        *kept,
        *(_heading(name, [each.get(name) for each in data]) for name in fields),
    ]
    cells = (
        [
            str(each.outcome.task_id),
            *(own[name][no] for name in kept),
            *(clipped(_cell(data[no].get(name)), longest) for name in fields),
        ]
        for no, each in enumerate(tasks)
    )
    print_table(columns, cells)


def _abouts(tasks: "Sequence[StageRow]") -> list[str]:
    """What each task is about: a document, and which of its blocks where some share one."""
    titles = [each.outcome.title or "the run" for each in tasks]
    blocks = [each.outcome.block_index for each in tasks]
    if len(set(zip(titles, blocks, strict=True))) == len(set(titles)):
        return [clipped(each, ABOUT) for each in titles]
    return [
        clipped(title, ABOUT) if block is None else f"{clipped(title, ABOUT)}, block {block}"
        for title, block in zip(titles, blocks, strict=True)
    ]


def _heading(field: str, values: Sequence[object]) -> str:
    """A field's name, in two lines if it is long: columns are narrow."""
    mark = ">" if any(type(each) in (int, float) for each in values) else "~"
    return mark + (field.replace("_", "\n", 1) if len(field) > 8 else field)


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "–" if value is None else shown(value)


def _row_json(row: "ExportedRow") -> dict[str, object]:
    critics = {"critics": [each.as_json() for each in row.critics]} if row.critics else {}
    return critics | {
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
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is stdout.")
    ] = STDOUT,
    form: Annotated[str, typer.Option("--format", metavar="jsonl", help="How.")] = "jsonl",
    only: Only = "all",
    stage: StageName = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's results in order, one line a block; of a recipe's other stages one a task."""
    if form not in FORMATS:
        raise UsageError(f"--format takes {', '.join(FORMATS)}, not {form!r}")
    if as_json and output == STDOUT:
        raise UsageError("--json tells about the export, so the export itself needs -o FILE")
    with opened(context) as engine:
        number = chosen(engine, run)
        simulated = engine.look.head(number).model.provider == "simulated"
        lines = engine.export(number, output, only, stage)
        now = engine.progress(number)
    ended = now.done + now.failed + now.counts.get("cancelled", 0)
    pending = max(0, lines - ended) if only == "all" and not now.recipe else 0
    if as_json:
        told = {"run": number, "lines": lines, "path": output, "simulated": simulated}
        print_json(told | ({"pending": pending} if pending else {}))
    elif not session(context).quiet:
        tell = note if output == STDOUT else say
        said = f"run {number}: {counted(lines, 'line')}"
        where = "" if output == STDOUT else f" in {output}"
        yet = f", {pending:,} of them pending: run {number} has not ended" if pending else ""
        tell(f"{said}{where}{yet}{' · simulated' if simulated else ''}")
