"""The command that judges stored answers again, and says what changes before it applies it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.opening import chosen, opened, session
from quire.cli.options import AsJson, OnlyStage, RunNumber
from quire.cli.printing import counted, print_json, print_table, say

if TYPE_CHECKING:
    from quire.domain.ids import RunId
    from quire.pipeline.regate import Regated

COLUMNS = ("stage", ">same", ">changed", ">accepted", ">refused", ">confirmed", ">unanswered")


def regate(
    context: typer.Context,
    run: RunNumber = None,
    stage: OnlyStage = None,
    apply: Annotated[
        bool, typer.Option("--apply", metavar="", help="Carry out what it says.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Judge stored answers with the gates as they are now, for nothing, and say what changes."""
    with opened(context) as engine:
        number = chosen(engine, run)
        found = engine.regate(number, stage, apply=apply)
    if as_json:
        print_json([_json(each) for each in found])
    elif not session(context).quiet:
        print_table(COLUMNS, ((each.stage, *each.counts.values()) for each in found))
        for line in _lines(number, found, stage, apply=apply):
            say(line)


def _json(found: "Regated") -> dict[str, object]:
    examples = [each._asdict() for each in found.examples]
    return asdict(found) | {"examples": examples}


def _lines(
    run: "RunId", found: "Sequence[Regated]", stage: str | None, *, apply: bool
) -> Iterator[str]:
    for each in found:
        for example in each.examples:
            yield f"\n{each.stage}, task {example.task_id}, {example.kind}:"
            yield f"  before: {example.before}"
            yield f"  now:    {example.after}"
    yield ""
    differs = sum(each.differs for each in found)
    if not differs:
        yield "nothing changes"
    elif not apply:
        only = f" --stage {stage}" if stage else ""
        yield (
            f"{counted(differs, 'task')} would change; nothing is changed yet:"
            f" `quire regate {run}{only} --apply` does"
        )
    else:
        yield from _applied(run, differs, sum(each.stale for each in found))


def _applied(run: "RunId", differs: int, stale: int) -> Iterator[str]:
    yield f"{counted(differs, 'task')} changed"
    if stale:
        yield (
            f"{counted(stale, 'task')} of later stages used what changed:"
            f" `quire retry {run} --stale` asks them again"
        )
