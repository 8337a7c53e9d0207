"""Commands that review: one item at a time, a list, all at once, and a decision taken back."""

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.key_reader import has_terminal, read_line
from quire.cli.options import AsJson, OnlyStage, RunNumber, argument, flag, option
from quire.cli.printing import clip, note, print_json, print_table, quantity, say
from quire.cli.session import engine_and_run, engine_for, print_outcome
from quire.domain.data import plain_json
from quire.domain.errors import UsageError
from quire.domain.reviews import InboxFilter, InboxPage

if TYPE_CHECKING:
    from quire.engine import Engine

Reviewer = Annotated[
    str | None,
    option("NAME", "Who reviews; else QUIRE_REVIEWER, or review.name of quire.toml.", "--as"),
]
FilterWords = Annotated[
    list[str] | None,
    option("WORDS", "reason=…, score>=0.9, field.NAME=…, text=…: see docs/review.md.", "--filter"),
]
Yes = Annotated[bool, flag("Do not ask.", "--yes")]


def review(
    context: typer.Context,
    run: RunNumber = None,
    *,
    chosen: FilterWords = None,
    stage: OnlyStage = None,
    who: Reviewer = None,
    listed: Annotated[bool, flag("List the inbox.", "--list")] = False,
    limit: Annotated[int, option("N", "How many of a list.", min=1, max=1000)] = 50,
    approve_all: Annotated[bool, flag("Approve all that --filter takes.", "--approve-all")] = False,
    reject_all: Annotated[
        str | None, option("TEXT", "Reject all that --filter takes, and why.", "--reject-all")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Decide about results, the most pressing first: j k a e r u s / ? q are the keys."""
    words = [*(chosen or []), *([f"stage={stage}"] if stage else [])]
    wanted = InboxFilter.parse(words)
    with engine_and_run(context, run) as (engine, number):
        if approve_all or reject_all is not None:
            name = reviewer_name(engine, who)
            _decide_all(
                context, engine, number, wanted, (name, reject_all), yes=yes, as_json=as_json
            )
        elif listed or as_json or not has_terminal():
            if not (listed or as_json):
                note("no terminal to press keys in: this is the inbox")
            _list_inbox(engine.review.inbox(number, wanted, limit=limit), as_json)
        else:
            from quire.cli.review_screen import ReviewScreen

            decided = ReviewScreen(engine, number, reviewer_name(engine, who), wanted).show()
            left = engine.review.counts(number).left
            say(f"\n{quantity(decided, 'decision')}; {left:,} left in run {number}")


def reviewer_name(engine: "Engine", typed: str | None) -> str:
    """Who reviews: as typed, as set, as asked for once, or as the machine knows them."""
    name = (typed or engine.settings.reviewer).strip()
    if name:
        return _with_letters(name)
    try:
        known = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        known = ""
    if has_terminal():
        known = read_line(f"who reviews? [{known}]: ").strip() or known
    if not known:
        raise UsageError("say who reviews", "--as NAME, or QUIRE_REVIEWER")
    return _with_letters(known)


def _with_letters(name: str) -> str:
    if not any(map(str.isalnum, name)):
        raise UsageError(f"'{name}' is no name: it has no letter and no digit", "--as NAME")
    return name


def _list_inbox(page: InboxPage, as_json: bool) -> None:
    if as_json:
        print_json({"items": page.lines, "next": page.next, "looked_at": page.looked_at})
        return
    rows = [
        (
            str(line.task_id),
            ", ".join(line.reasons),
            "" if line.score is None else f"{line.score:.2f}",
            clip(line.title, 20),
            clip(plain_json(line.data), 60),
            line.held_by or "",
        )
        for line in page.lines
    ]
    if rows:
        print_table([">task", "reasons", ">score", "~document", "~data", "held by"], rows)
    say(f"\n{quantity(len(rows), 'item')}" + (", and there are more" if page.next else ""))


def _decide_all(
    context: typer.Context,
    engine: "Engine",
    run: int,
    chosen: InboxFilter,
    decision: tuple[str, str | None],
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Say how many, show five, ask, and decide."""
    who, why = decision
    move = "approve" if why is None else "reject"
    preview = engine.review.preview_bulk(run, chosen)
    if not yes:
        if not has_terminal():
            raise UsageError(
                f"this would {move} {quantity(preview.count, 'result')} of run {run}", "add --yes"
            )
        from quire.cli.review_screen import cost_text

        for line in preview.sample:
            say(f"task {line.task_id}: {clip(plain_json(line.data), 100)}")
        cost = f", {cost_text(preview.reject_cost)}" if move == "reject" else ""
        asked = f"{move} {quantity(preview.count, 'result')} of run {run}{cost}? [y/N] "
        if read_line(asked).strip().lower() not in ("y", "yes"):
            say("nothing was decided")
            return
    result = engine.review.decide_bulk(run, move, chosen, who, note=why or "")
    said = f"{move}: {quantity(result.decided, 'result')} of run {run}"
    skipped = f"; {result.skipped:,} changed meanwhile or are held by others"
    print_outcome(context, as_json, result, said + (skipped if result.skipped else ""))


def undo(
    context: typer.Context,
    task: Annotated[int, argument("TASK", "A task's number.")],
    decision: Annotated[
        int | None, option("N", "The decision that is meant, if not the last.", "--decision")
    ] = None,
    who: Reviewer = None,
    as_json: AsJson = False,
) -> None:
    """Take back the last decision about a result: what stood before stands again."""
    with engine_for(context) as engine:
        result = engine.review.undo(task, reviewer_name(engine, who), decision=decision)
    lines = [f"the last decision about task {task} of {result.stage} is undone"]
    if result.stale:
        lines.append(
            f"{quantity(result.stale, 'task')} of later stages used what was there:"
            f" `quire retry {result.run_id} --stale` asks them again"
        )
    print_outcome(context, as_json, result, *lines)
