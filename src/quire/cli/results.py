"""The command that shows a run's first results as a table."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, Only, RunNumber, Since, option
from quire.cli.order_options import StageName
from quire.cli.printing import (
    cell_text,
    clip,
    print_json,
    print_table,
    quantity,
    say,
    short_model_name,
)
from quire.cli.progress_words import filled_stage_note
from quire.cli.session import engine_and_run
from quire.domain.data import stored_json
from quire.domain.gates import ReadingNote
from quire.domain.task_wording import note_text, span_text

if TYPE_CHECKING:
    from quire.engine import ExportedBlock, ExportedTask
    from quire.engine.result_queries import FirstRows

ACCEPTED = "accepted"
TEXT, CELL = 100, 20  # characters of a cell that is alone, and of one among others
MOST_NOTED = 5  # results whose notes are shown
NOTES_SHOWN = 3  # of each of them
QUOTED = 40  # characters of a quote
ABOUT, ERROR = 24, 60  # characters of a title, and of why a task has no result


def show(
    context: typer.Context,
    run: RunNumber = None,
    *,
    limit: Annotated[int, option("N", "How many blocks.", min=1)] = 10,
    only: Only = "all",
    since: Since = None,
    stage: StageName = None,
    as_json: AsJson = False,
) -> None:
    """Show a run's first results as a table, a block or task a row."""
    with engine_and_run(context, run) as (engine, number):
        head, now = engine.queries.head(number), engine.progress(number)
        found = engine.queries.sample(number, only, limit, stage, since)
    if as_json:
        blocks, tasks = found.blocks or (), found.tasks
        print_json([*map(_row_json, blocks), *(task.as_json() for task in tasks)])
        return
    if found.blocks is None:
        _print_tasks(found)
    else:
        _print_rows(found.blocks, found.fields)
    count, noun = len(found.tasks), "task"
    total = next(progress.expanded for progress in now.stages if progress.name == found.stage)
    if found.blocks is not None:
        count, noun = len(found.blocks), "block"
        total = head.blocks if now.is_staged else now.total  # a limit leaves rows that wait
    of = f"{found.stage}, run {number}" if now.is_staged else f"run {number}"
    simulated = " · simulated" if head.model.provider == "simulated" else ""
    _print_quotes(found)
    _print_notes(found)
    whole = count >= total or count < limit
    shown = _describe_shown(count, quantity(total, noun), only, since, whole=whole)
    say(f"\n{shown} of {of}{simulated}")
    if not total and (elsewhere := filled_stage_note(now)):
        say(elsewhere)


def _describe_shown(count: int, total: str, only: str, since: str | None, *, whole: bool) -> str:
    """How much of a run a table shows, and of what kind."""
    kinds = [only] * (only != "all") + ["changed since"] * (since is not None)
    if not kinds:
        return f"all {total}" if whole else f"the first {count:,} of {total}"
    head = (f"{count:,}" if count else "none") if whole else f"the first {count:,}"
    return f"{head} {' and '.join(kinds)}, of {total}"


def _print_rows(rows: Sequence["ExportedBlock"], fields: Sequence[str]) -> None:
    """A table as narrow as it can be: what is the same in every row is not a column."""
    titles = {row.path.title or "" for row in rows}
    by_status = any(row.status != ACCEPTED for row in rows)
    data = [stored_json(row.data) or {} for row in rows]
    columns = [
        ">task",
        "~block",
        *(field_heading(name, [item.get(name) for item in data]) for name in fields),
    ]
    if by_status:
        columns.insert(0, "status")
    if len(titles) > 1:
        columns.insert(0, "~document")
    else:
        say("".join(titles))
        say()
    cells = (
        [
            *([clip(block.path.title or "", 14)] if len(titles) > 1 else []),
            *([block.status] if by_status else []),
            str(block.row.task_id or "–"),
            clip(block.row.content, 32),
            *(clip(field_text(values.get(name)), 20) for name in fields),
        ]
        for block, values in zip(rows, data, strict=True)
    )
    print_table(columns, cells)


def _print_tasks(found: "FirstRows") -> None:
    """The same of tasks: whatever is the same in all of them is not a column."""
    tasks = found.tasks
    data = [task.fields for task in tasks]
    fields = found.fields or tuple(dict.fromkeys(name for record in data for name in record))
    own = {
        "~about": _subjects(tasks),
        "model": [short_model_name(task.model) for task in tasks],
        ">sample": [str(task.outcome.sample) for task in tasks],
        "status": [task.status for task in tasks],
        "~error": [clip(task.error or "", ERROR) for task in tasks],
    }
    plain = {"status": {ACCEPTED}, "~error": {""}}
    columns_kept = [
        name
        for name, values in own.items()
        if len(set(values)) > 1 or (name in plain and set(values) - plain[name])
    ]
    if {"model", ">sample"} & set(columns_kept) and "~about" not in columns_kept:
        columns_kept.insert(0, "~about")  # of one document, what else they differ in needs its name
    longest = TEXT if len(fields) == 1 else CELL
    columns = [
        ">task",
        *columns_kept,
        *(field_heading(name, [record.get(name) for record in data]) for name in fields),
    ]
    cells = (
        [
            str(task.outcome.task_id),
            *(own[name][no] for name in columns_kept),
            *(clip(field_text(data[no].get(name)), longest) for name in fields),
        ]
        for no, task in enumerate(tasks)
    )
    print_table(columns, cells)


def _print_quotes(found: "FirstRows") -> None:
    """The words that prove values, for the first results that have some."""
    blocks = [(block.row.task_id, block.quotes) for block in found.blocks or ()]
    tasks = [(task.outcome.task_id, task.quotes) for task in found.tasks]
    proved = [(task, quotes) for task, quotes in [*blocks, *tasks] if quotes]
    if proved:
        say("\nshown by the text:")
    for task, quotes in proved[:MOST_NOTED]:
        words = [
            f'{str(quote["path"])[1:]} "{clip(str(quote["quote"]), QUOTED)}"'
            for quote in quotes[:NOTES_SHOWN]
        ]
        more = [f"and {len(quotes) - NOTES_SHOWN:,} more"] if len(quotes) > NOTES_SHOWN else []
        say(f"  task {task}: {'; '.join([*words, *more])}")
    if len(proved) > MOST_NOTED:
        say(f"  and {len(proved) - MOST_NOTED:,} more; --json has all")


def _print_notes(found: "FirstRows") -> None:
    """What was read in another form, shortened in the prompt, or is not whole."""
    blocks = [(block.row.task_id, block.notes) for block in found.blocks or ()]
    tasks = [(task.outcome.task_id, task.notes) for task in found.tasks]
    noted = [(task, notes) for task, notes in [*blocks, *tasks] if notes]
    if noted:
        say("\nnoted of these results:")
    for task, kept in noted[:MOST_NOTED]:
        notes = [ReadingNote(**note) for note in stored_json(kept)]
        shown = [clip(note_text(note), TEXT) for note in notes[:NOTES_SHOWN]]
        more = [f"and {len(notes) - NOTES_SHOWN:,} more"] if len(notes) > NOTES_SHOWN else []
        say(f"  task {task}: {'; '.join([*shown, *more])}")
    if len(noted) > MOST_NOTED:
        say(f"  and {len(noted) - MOST_NOTED:,} more; --json has all")


def _subjects(tasks: "Sequence[ExportedTask]") -> list[str]:
    """What each task is about: a document, and which of its blocks where some share one."""
    titles = [task.outcome.title or "the run" for task in tasks]
    spans = [span_text(task.part) for task in tasks]
    if any(spans):
        several = len(set(titles)) > 1
        return [
            ", ".join(filter(None, [clip(title, ABOUT) if several else "", clip(span, ABOUT)]))
            for title, span in zip(titles, spans, strict=True)
        ]
    blocks = [task.outcome.block_index for task in tasks]
    if len(set(zip(titles, blocks, strict=True))) == len(set(titles)):
        return [clip(name, ABOUT) for name in titles]
    return [
        clip(title, ABOUT) if block is None else f"{clip(title, ABOUT)}, block {block}"
        for title, block in zip(titles, blocks, strict=True)
    ]


def field_heading(field: str, values: Sequence[object]) -> str:
    """A field's name, in two lines if it is long: columns are narrow."""
    mark = ">" if any(type(value) in (int, float) for value in values) else "~"
    return mark + (field.replace("_", "\n", 1) if len(field) > 8 else field)


def field_text(value: object) -> str:
    """A field's value as a cell of a table has it."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return ", ".join(map(field_text, value))
    if type(value) in (int, float):  # as it is: it may be a year, or a number of something
        return str(value)
    return "–" if value is None else cell_text(value)


def _row_json(row: "ExportedBlock") -> dict[str, object]:
    critics = {"critics": [critic.as_json() for critic in row.critics]} if row.critics else {}
    return critics | {
        "block_uid": row.block_uid,
        **row.path._asdict(),
        "block_index": row.row.block_index,
        "block_type": row.row.block_type,
        "block_content": row.row.content,
        "task_id": row.row.task_id,
        "status": row.status,
        "error": row.error,
        "model": row.model,
        **row.facts.as_json(),
        "data": stored_json(row.data),
        **({"notes": stored_json(row.notes)} if row.notes else {}),
        **({"quotes": quotes} if (quotes := row.quotes) else {}),
    }
