"""The command that reviews: one item at a time, a list, or all at once."""

import getpass
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.key_reader import has_terminal, read_line
from quire.cli.options import AsJson, OnlyStage, RunNumber, flag, option
from quire.cli.printing import clip, note, print_json, print_table, quantity, say
from quire.cli.results import CELL, field_heading, field_text
from quire.cli.session import engine_and_run, print_outcome
from quire.domain.data import plain_json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.reviews import InboxFilter, InboxLine, InboxPage

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
TITLE = 20  # characters of a document's title
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
    """Decide about results by single keys, which the screen names, the most pressing first."""
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
            _show_screen(engine, number, reviewer_name(engine, who), wanted)


def _show_screen(engine: "Engine", run: int, who: str, chosen: InboxFilter) -> None:
    """Let a person decide by keys; at the end, how many are left, and what asks again."""
    from quire.cli.review_screen import ReviewScreen

    screen = ReviewScreen(engine, run, who, chosen)
    decided, left = screen.show(), engine.review.counts(run).left
    say(f"\n{quantity(decided, 'decision')}; {left:,} left in run {run}")
    if screen.to_ask_again and not engine.workers(RunId(run)):
        note(
            f"no worker is there: `quire attach {run}` asks again what was rejected,"
            " and so does `quire work`"
        )


def reviewer_name(engine: "Engine", typed: str | None) -> str:
    """Who reviews: as typed, as set, as asked for once, or as the machine knows them."""
    if (typed or engine.settings.reviewer).strip():
        return decider_name(engine, typed)
    known = decider_name(engine, None)
    if has_terminal():
        known = read_line(f"who reviews? [{known}]: ").strip() or known
    if not known:
        raise UsageError("say who reviews", "--as NAME, or QUIRE_REVIEWER")
    return _with_letters(known)


def decider_name(engine: "Engine", typed: str | None) -> str:
    """Who decides about one result: as typed, as set, or as the machine knows them."""
    if name := (typed or engine.settings.reviewer).strip():
        return _with_letters(name)
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return ""


def _with_letters(name: str) -> str:
    if not any(map(str.isalnum, name)):
        raise UsageError(f"'{name}' is no name: it has no letter and no digit", "--as NAME")
    return name


def _list_inbox(page: InboxPage, as_json: bool) -> None:
    if as_json:
        print_json({"items": page.lines, "next": page.next, "looked_at": page.looked_at})
        return
    if page.lines:
        _print_inbox(page.lines)
    more = ", and there are more" if page.next else ""
    say(f"\n{quantity(len(page.lines), 'item')}{more}")


def _print_inbox(lines: Sequence[InboxLine]) -> None:
    """A line an item; what is the same in all of them is not a column."""
    data = [line.data if isinstance(line.data, dict) else {"": line.data} for line in lines]
    fields = list(dict.fromkeys(name for record in data for name in record))
    own = {
        "stage": [line.stage for line in lines],
        "reasons": [", ".join(line.reasons) for line in lines],
        ">score": ["" if line.score is None else f"{line.score:.2f}" for line in lines],
        "~document": [clip(line.title, TITLE) for line in lines],
        "held by": [line.held_by or "" for line in lines],
    }
    kept = [name for name, cells in own.items() if len(set(cells)) > 1 or name == "~document"]
    headings = [field_heading(name, [record.get(name) for record in data]) for name in fields]
    rows = [
        [
            str(line.task_id),
            *(own[name][place] for name in kept),
            *(clip(field_text(record.get(name)), CELL) for name in fields),
        ]
        for place, (line, record) in enumerate(zip(lines, data, strict=True))
    ]
    print_table([">task", *kept, *headings], rows)


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
    if preview.again and not as_json:
        left = quantity(preview.again, "result")
        say(f"left out, as rejected and come again: {left}; `--filter again=any` takes them in")
    if not yes:
        if not has_terminal():
            raise UsageError(
                f"this would {move} {quantity(preview.count, 'result')} of run {run}", "add --yes"
            )
        from quire.cli.review_screen import cost_text

        for line in preview.sample:
            say(f"task {line.task_id}: {clip(plain_json(line.data), 100)}")
        simulated = engine.queries.head(RunId(run)).is_simulated
        words = cost_text(preview.reject_cost, simulated=simulated)
        cost = f", {words}" if move == "reject" else ""
        asked = f"{move} {quantity(preview.count, 'result')} of run {run}{cost}? [y/N] "
        if read_line(asked).strip().lower() not in ("y", "yes"):
            say("nothing was decided")
            return
    result = engine.review.decide_bulk(run, move, chosen, who, note=why or "")
    said = f"{move}: {quantity(result.decided, 'result')} of run {run}"
    skipped = f"; {result.skipped:,} changed meanwhile or are held by others"
    lines = [said + (skipped if result.skipped else "")]
    if result.decided:
        lines.append(f"`quire undo --bulk {result.decision}` takes all of it back")
    print_outcome(context, as_json, result, *lines)
