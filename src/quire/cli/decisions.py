"""Commands about decisions: who decided what and when, and a decision taken back."""

from typing import Annotated

import typer

from quire.cli.options import AsJson, Every, RunNumber, argument, option
from quire.cli.printing import (
    MOST_LISTED,
    clip,
    moment,
    print_json,
    print_table,
    quantity,
    say,
    tell_cut,
)
from quire.cli.results import field_text
from quire.cli.review import Reviewer, reviewer_name
from quire.cli.session import engine_and_run, engine_for, print_outcome
from quire.domain.errors import UsageError
from quire.domain.reviews import ReviewDecision
from quire.domain.states import ReviewMove

SHOWN_VALUE = 24  # characters of a value that an edit changed
SHOWN_NOTE = 60


def decisions(
    context: typer.Context,
    run: RunNumber = None,
    *,
    task: Annotated[int | None, option("TASK", "Only those about this task.", "--task")] = None,
    limit: Annotated[int, option("N", "How many, the newest.", min=1)] = 50,
    every: Every = False,
    as_json: AsJson = False,
) -> None:
    """List who decided what and when, the newest first; `quire undo TASK` takes the last back."""
    most = MOST_LISTED if every else limit
    with engine_and_run(context, run) as (engine, number):
        found = engine.review.list_decisions(number, task=task, limit=most + 1)
    tell_cut(found, most)
    found = found[:most]
    if as_json:
        print_json(found)
        return
    if not found:
        about = f"run {number}" if task is None else f"task {task} of run {number}"
        say(f"nobody has decided anything about {about} yet; `quire review {number}` begins")
        return
    staged = len({decision.stage for decision in found}) > 1
    rows = [_cells(decision, staged=staged) for decision in found]
    stage = ["stage"] if staged else []
    print_table([">no", "at", "decision", ">task", *stage, "who", "*what"], rows)


def _cells(decision: ReviewDecision, *, staged: bool) -> list[str]:
    return [
        str(decision.id),
        moment(decision.at),
        str(decision.move),
        str(decision.task_id),
        *([decision.stage] if staged else []),
        decision.who,
        "; ".join(
            filter(None, (*_changes(decision), clip(decision.note, SHOWN_NOTE), *_fate(decision)))
        ),
    ]


def _changes(decision: ReviewDecision) -> list[str]:
    """What an edit changed, field by field."""
    before, after = decision.before, decision.after
    if decision.move != ReviewMove.EDIT or not (
        isinstance(before, dict) and isinstance(after, dict)
    ):
        return []
    return [
        f"{name}: {clip(field_text(before.get(name)), SHOWN_VALUE)}"
        f" → {clip(field_text(value), SHOWN_VALUE)}"
        for name, value in after.items()
        if before.get(name) != value
    ]


def _fate(decision: ReviewDecision) -> list[str]:
    undoes = [f"of {decision.undoes}"] if decision.undoes is not None else []
    return undoes + ([f"undone by {decision.undone_by}"] if decision.undone_by is not None else [])


def undo(
    context: typer.Context,
    task: Annotated[
        int | None, argument("TASK", "A task's number, as `quire decisions` has it.")
    ] = None,
    decision: Annotated[
        int | None, option("N", "The decision that is meant, if not the last.", "--decision")
    ] = None,
    bulk: Annotated[
        int | None, option("N", "All that was decided at once with decision N.", "--bulk")
    ] = None,
    who: Reviewer = None,
    as_json: AsJson = False,
) -> None:
    """Take back the last decision about a result: what stood before stands again."""
    if bulk is not None:
        if task is not None or decision is not None:
            raise UsageError("--bulk names all that is taken back", "leave the rest out")
        _undo_bulk(context, bulk, who, as_json=as_json)
        return
    if task is None:
        raise UsageError(
            "name the task whose last decision is taken back: quire undo TASK",
            "`quire decisions` lists them",
        )
    with engine_for(context) as engine:
        result = engine.review.undo(task, reviewer_name(engine, who), decision=decision)
    lines = [f"the last decision about task {task} of {result.stage} is undone"]
    if result.stale:
        lines.append(
            f"{quantity(result.stale, 'task')} of later stages used what was there:"
            f" `quire retry {result.run_id} --stale` asks them again"
        )
    print_outcome(context, as_json, result, *lines)


def _undo_bulk(context: typer.Context, decision: int, who: str | None, *, as_json: bool) -> None:
    """Take back all that was decided at once, and say what was left."""
    with engine_for(context) as engine:
        result = engine.review.undo_bulk(decision, reviewer_name(engine, who))
    said = f"{quantity(result.decided, 'decision')} undone"
    left = f"; {result.skipped:,} stay: somebody is at them or has decided since"
    print_outcome(context, as_json, result, said + (left if result.skipped else ""))
