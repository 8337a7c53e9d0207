"""The command that says why tasks failed, or are blocked by others that did."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.opening import chosen, opened
from quire.cli.options import AsJson, RunNumber
from quire.cli.printing import print_json, print_table, say

if TYPE_CHECKING:
    from quire.engine.looking import FailureGroup

TASKS_SHOWN = 5  # of each cause of failure


def failures(
    context: typer.Context,
    run: RunNumber = None,
    blocked: Annotated[
        bool,
        typer.Option(
            "--blocked", metavar="", help="In their place, what is blocked by what failed."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show why blocks failed, the commonest cause first; of a recipe by stage."""
    with opened(context) as engine:
        number = chosen(engine, run)
        groups = engine.look.failures(number, blocked=blocked)
        now = engine.progress(number)
    if as_json:
        print_json([_group_json(each, staged=bool(now.recipe)) for each in groups])
        return
    noun = "task" if now.recipe else "block"
    hidden = 0 if blocked else now.counts.get("blocked", 0)
    if not groups:
        say(f"run {number} has no {'blocked' if blocked else 'failed'} {noun}s")
    else:
        _print(groups, noun, staged=bool(now.recipe))
        first = groups[0].failures[0].task_id
        shows = f"quire prompt {first} shows what was asked"
        again = f"quire retry {number} asks again{' what failed' if blocked else ''}"
        say(f"\nnext: {again}" if blocked else f"\nnext: {shows}; {again}")
    if hidden:
        say(f"{hidden:,} more are blocked by these: quire failures {number} --blocked")


def _print(groups: "list[FailureGroup]", noun: str, *, staged: bool) -> None:
    rows = [
        (
            *([each.stage] if staged else []),
            len(each.failures),
            each.cause,
            _some([failure.task_id for failure in each.failures]),
        )
        for each in groups
    ]
    columns = (f">{noun}s", "*cause", "*which") if staged else (f">{noun}s", "*cause", "*tasks")
    print_table((*(["stage"] if staged else []), *columns), rows)


def _group_json(group: "FailureGroup", *, staged: bool) -> dict[str, object]:
    from quire.engine.wording import subject

    told: dict[str, object] = {"cause": group.cause, "count": len(group.failures)}
    if not staged:
        plain = ("task_id", "block_uid", "title", "tries", "error")
        listed = [each._asdict() for each in group.failures]
        return told | {"failures": [{name: each[name] for name in plain} for each in listed]}
    failed = [
        each._asdict()
        | {
            "block_uid": each.block_uid or None,
            "about": subject(each.block_uid, each.title, each.reads),
        }
        for each in group.failures
    ]
    return {"stage": group.stage} | told | {"failures": failed}


def _some(tasks: list[int]) -> str:
    more = len(tasks) - TASKS_SHOWN
    listed = " ".join(map(str, tasks[:TASKS_SHOWN]))
    return f"{listed} and {more:,} more" if more > 0 else listed
