"""Commands about provider batches: which there are, how one stands, cancel it, say where it is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from quire.cli.opening import opened, tell
from quire.cli.options import AsJson
from quire.cli.outstanding import NEEDS, OVER, counted_there, in_words, next_look, went_direct
from quire.cli.printing import (
    Narrowing,
    brief_moment,
    clipped,
    counted,
    last_part,
    moment,
    print_json,
    print_pairs,
    print_table,
    say,
)
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.money import dollars

if TYPE_CHECKING:
    from quire.domain.batches import BatchView
    from quire.engine import Engine

LIST = "list"
_GIVE_WAY: tuple[Narrowing, ...] = (
    ("next look", lambda at: at if at.startswith(("due", "now")) else brief_moment(at)),
    ("state", lambda state: state.removesuffix(", completed")),
    ("model", last_part),
    ("model", lambda name: clipped(name, 16)),
    ("model", None),
    ("run", None),
)
GOES_ON = "a worker goes on with it: `quire attach {run}`, or `quire work`"


class _Batches(TyperGroup):
    """Lists batches where no other command is named, so that `quire batches 3` means run 3."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed after `quire batches`."""
        named = args and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named else [LIST, *args])


app = typer.Typer(
    cls=_Batches,
    help="Batches: what providers have of ours, and what became of it.\n\n"
    "`quire batches` lists those of all runs, `quire batches RUN` those of one.",
    epilog="Example: quire batches 3",
)

OfRun = Annotated[
    int | None,
    typer.Argument(metavar="RUN", help="A run's number; by default all runs.", show_default=False),
]
Number = Annotated[int, typer.Argument(metavar="ID", help="The number of a batch.")]
Reference = Annotated[
    str | None,
    typer.Option(
        "--ref",
        metavar="REF",
        help="The provider's own name for it, as its console shows it.",
        show_default=False,
    ),
]
Absent = Annotated[
    bool,
    typer.Option("--absent", metavar="", help="Somebody looked, and the provider has no such one."),
]


Lines = Annotated[
    bool,
    typer.Option(
        "--lines", metavar="", help="Print the lines of its results that nobody could read."
    ),
]


@app.callback()
def batches() -> None:
    """Batches: what providers have of ours, and what became of it.

    `quire batches` lists those of all runs, `quire batches RUN` those of one.
    """


@app.command(LIST, epilog="Example: quire batches list 3, or in short: quire batches 3")
def list_batches(context: typer.Context, run: OfRun = None, as_json: AsJson = False) -> None:
    """List the batches of a run, or of all runs, the newest first."""
    with opened(context) as engine:
        found = engine.batches(engine.get(run).id if run is not None else None)
        workers = engine.workers()
        why = "" if found else _why_none(engine, run)
    if as_json:
        print_json(found)
    elif not found:
        about = f"run {run} has no batches" if run is not None else "no batches yet"
        say(f"{about}; {why or '`quire run --route batch` makes some'}")
    else:
        columns = (">batch", ">run", "*model", "state", ">calls", ">answered", ">cost", "next look")
        print_table(columns, (_row(each, workers) for each in found), narrowing=_GIVE_WAY)
        if not workers and any(_overdue(each) for each in found):
            say(f"\n{NEEDS}")


@app.command(epilog="Example: quire batches show 7")
def show(
    context: typer.Context, batch: Number, lines: Lines = False, as_json: AsJson = False
) -> None:
    """Show one batch, with what the provider says of it."""
    with opened(context) as engine:
        found = engine.batch(batch)
        workers = engine.workers()
        tagged = _tagged(engine, found)
        kept = [_text(each) for each in engine.batch_lines(batch)] if lines else []
    if lines:
        if as_json:
            print_json({"batch": batch, "lines": kept})
        for each in () if as_json else kept:
            say(each)
        return
    if as_json:
        print_json(found)
        return
    print_pairs(_pairs(found if tagged else replace(found, tag=""), workers))
    if found.state == "unknown":
        calls = counted(found.rows, "call")
        sought = (
            found.tag if tagged else f"a batch of {calls} made after {moment(found.created_at)}"
        )
        say(
            f"\nnext: look for {sought} at the provider, then"
            f" quire batches adopt {found.id} --ref REF, or --absent if it is not there"
        )


@app.command(epilog="Example: quire batches cancel 7")
def cancel(context: typer.Context, batch: Number, as_json: AsJson = False) -> None:
    """Ask the provider to end a batch: what it answered is kept, the rest goes again."""
    with opened(context) as engine:
        changed = engine.cancel_batch(batch)
        run, workers = engine.batch(batch).run_id, engine.workers()
    said = "is to be cancelled" if changed else "was to be cancelled already"
    asks = f"the next worker asks the provider: `quire attach {run}`, or `quire work`"
    asked = "the worker that runs asks the provider" if workers else asks
    tell(context, as_json, {"batch": batch, "changed": changed}, f"batch {batch} {said}; {asked}")


@app.command(
    epilog="Example: quire batches adopt 7 --ref batch_abc\n\n"
    "`quire batches show 7` says what to look for at the provider."
)
def adopt(
    context: typer.Context,
    batch: Number,
    ref: Reference = None,
    absent: Absent = False,
    as_json: AsJson = False,
) -> None:
    """Say what became of a batch of unknown outcome, where Quire cannot find out by itself."""
    told = (ref or "").strip()
    if bool(told) == absent:
        raise UsageError("say one of both: --ref REF where the provider has it, or --absent")
    with opened(context) as engine:
        if absent:
            engine.batch_absent(batch)
        else:
            engine.adopt_batch(batch, told)
        found = engine.batch(batch)
    said = "is not there, and is made again" if absent else f"is {told}"
    line = f"batch {batch} {said}; {GOES_ON.format(run=found.run_id)}"
    tell(context, as_json, found, line)


def _tagged(engine: "Engine", batch: "BatchView") -> bool:
    """Whether the provider's list shows our name for a batch."""
    vendor = engine.providers.batching(engine.look.head(batch.run_id).model.provider)
    return bool(batch.tag) and vendor is not None and vendor.rules.lookup == "tag"


def _why_none(engine: "Engine", run: int | None) -> str:
    """Why a run, or the newest, has no batches, where it was to have some."""
    newest = [each.id for each in engine.runs(1)] if run is None else [RunId(run)]
    for each in newest:
        if told := went_direct(engine.look.head(each), engine.progress(each)):
            return told if run is not None else f"run {each}: {told}"
    return ""


def _row(batch: "BatchView", workers: int) -> tuple[object, ...]:
    return (
        batch.id,
        batch.run_id,
        batch.model,
        _state(batch),
        batch.rows,
        batch.answered,
        _cost(batch).partition(", presumed")[0].replace("at most", "≤"),
        _next_look(batch, workers).partition("; ")[0],
    )


def _pairs(batch: "BatchView", workers: int) -> list[tuple[str, str]]:
    astray = {
        "missing": batch.missing,
        "twice": batch.duplicates,
        "not ours": batch.strangers,
        "unreadable": batch.unread,
    }
    return [
        (f"batch {batch.id}", _state(batch)),
        ("run", str(batch.run_id)),
        ("model", batch.model),
        ("key", batch.credential),
        ("there", batch.ref),
        ("tag", batch.tag),
        ("holds", f"{counted(batch.rows, 'call')} about {counted(batch.tasks, 'block')}"),
        ("tokens", f"at most {batch.tokens:,} in" if batch.tokens else ""),
        ("answered", f"{batch.answered:,}"),
        ("calls", _counted(batch.attempts)),
        ("rows", _counted(astray)),
        ("unreadable", _unread(batch)),
        ("provider", counted_there(batch.counts)),
        ("cost", _cost(batch)),
        ("made", moment(batch.created_at)),
        ("submitted", moment(batch.submitted_at)),
        ("next look", _next_look(batch, workers)),
        ("ended", moment(batch.ended_at)),
        ("problem", in_words(batch.problem)),
    ]


def _state(batch: "BatchView") -> str:
    """A batch's state, with how it ended and what was wished of it."""
    wished = batch.cancelling and batch.state not in (*OVER, "ended")
    end = "queue was full" if batch.end_reason == "queue_full" else batch.end_reason or ""
    words = [batch.state, end, "cancelling" if wished else ""]
    return ", ".join(dict.fromkeys(each for each in words if each))


def _cost(batch: "BatchView") -> str:
    """What a batch cost; where the fate of calls is not known, that is presumed, and said."""
    unknown = sum(batch.attempts.get(state, 0) for state in ("unknown", "written_off"))
    if not unknown or not batch.cost:
        return dollars(batch.cost)
    calls = counted(unknown, "call whose outcome is", "calls whose outcome is")
    return f"at most {dollars(batch.cost)}, presumed for {calls} unknown"


def _unread(batch: "BatchView") -> str:
    """Where the lines are that nobody could read."""
    here = f"{batch.kept:,} kept here: quire batches show {batch.id} --lines" if batch.kept else ""
    named = f"those that name a call are its response: quire ledger {batch.run_id}"
    return "; ".join(filter(None, (here, named if batch.unread > batch.kept else "")))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")


def _next_look(batch: "BatchView", workers: int) -> str:
    if batch.ended_at:
        return ""
    return next_look(batch.next_at, workers) if _overdue(batch) else moment(batch.next_at)


def _overdue(batch: "BatchView") -> bool:
    from quire.dispatch.outside import Outside  # loads asyncio: not for --help

    at = None if batch.ended_at else batch.next_at
    return at is not None and at <= Outside().now()


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
