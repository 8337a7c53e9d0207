"""Commands about provider batches: which there are, how one stands, cancel it, say where it is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from quire.cli.options import AsJson, argument, flag, option
from quire.cli.printing import (
    Cell,
    Narrowing,
    clip,
    moment,
    print_json,
    print_pairs,
    print_table,
    quantity,
    say,
    short_model_name,
    shorter,
)
from quire.cli.progress_words import direct_reason
from quire.cli.session import engine_for, print_outcome
from quire.domain.batches import BatchEnd
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.pricing import dollars
from quire.domain.states import AttemptState, BatchState
from quire.engine.progress_words import (
    BATCH_OVER,
    NEEDS_WORKER,
    NextPoll,
    next_poll,
    plain_words,
    provider_counts,
)

if TYPE_CHECKING:
    from quire.domain.batches import BatchView
    from quire.engine import Engine

LIST = "list"
_NARROWING: tuple[Narrowing, ...] = (
    ("next look", shorter),
    ("state", shorter),
    ("model", short_model_name),
    ("model", lambda name: clip(name, 16)),
    ("model", None),
    ("run", None),
)
CONTINUE_HINT = "a worker goes on with it: `quire attach {run}`, or `quire work`"


class _BatchGroup(TyperGroup):
    """Lists batches where no other command is named, so that `quire batches 3` means run 3."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed after `quire batches`."""
        named = args and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named else [LIST, *args])


app = typer.Typer(
    cls=_BatchGroup,
    help="Batches: what providers have of ours, and what became of it.\n\n"
    "`quire batches` lists those of all runs, `quire batches RUN` those of one.",
    epilog="Example: quire batches 3",
)

RunFilter = Annotated[int | None, argument("RUN", "A run's number; by default all runs.")]
Number = Annotated[int, argument("ID", "The number of a batch.")]
Reference = Annotated[
    str | None, option("REF", "The provider's own name for it, as its console shows it.", "--ref")
]
Absent = Annotated[bool, flag("Somebody looked, and the provider has no such one.", "--absent")]


Lines = Annotated[bool, flag("Print the lines of its results that nobody could read.", "--lines")]


@app.command(LIST, epilog="Example: quire batches list 3, or in short: quire batches 3")
def list_batches(context: typer.Context, run: RunFilter = None, as_json: AsJson = False) -> None:
    """List the batches of a run, or of all runs, the newest first."""
    with engine_for(context) as engine:
        found = engine.batches(engine.get(run).id if run is not None else None)
        workers = engine.workers()
        why = "" if found else _no_batches_reason(engine, run)
    if as_json:
        print_json(found)
    elif not found:
        about = f"run {run} has no batches" if run is not None else "no batches yet"
        say(f"{about}; {why or '`quire run --route batch` makes some'}")
    else:
        columns = (">batch", ">run", "*model", "state", ">calls", ">answered", ">cost", "next look")
        print_table(columns, (_batch_row(view, workers) for view in found), narrowing=_NARROWING)
        if not workers and any(_is_overdue(view) for view in found):
            say(f"\n{NEEDS_WORKER}")


@app.command(epilog="Example: quire batches show 7")
def show(
    context: typer.Context, batch: Number, lines: Lines = False, as_json: AsJson = False
) -> None:
    """Show one batch, with what the provider says of it."""
    with engine_for(context) as engine:
        found = engine.batch(batch)
        workers = engine.workers()
        tagged = engine.batches.has_visible_tag(found)
        unread_lines = [_decode_line(line) for line in engine.batch_lines(batch)] if lines else []
    if lines:
        if as_json:
            print_json({"batch": batch, "lines": unread_lines})
        for name in () if as_json else unread_lines:
            say(name)
        return
    if as_json:
        print_json(found)
        return
    print_pairs(_batch_pairs(found if tagged else replace(found, tag=""), workers))
    if found.state == BatchState.UNKNOWN:
        calls = quantity(found.rows, "call")
        wanted = (
            found.tag if tagged else f"a batch of {calls} made after {moment(found.created_at)}"
        )
        say(
            f"\nnext: look for {wanted} at the provider, then"
            f" quire batches adopt {found.id} --ref REF, or --absent if it is not there"
        )


@app.command(epilog="Example: quire batches cancel 7")
def cancel(context: typer.Context, batch: Number, as_json: AsJson = False) -> None:
    """Ask the provider to end a batch: what it answered is kept, the rest goes again."""
    with engine_for(context) as engine:
        changed = engine.cancel_batch(batch)
        run, workers = engine.batch(batch).run_id, engine.workers()
    said = "is to be cancelled" if changed else "was to be cancelled already"
    asks = f"the next worker asks the provider: `quire attach {run}`, or `quire work`"
    who_asks = "the worker that runs asks the provider" if workers else asks
    print_outcome(
        context, as_json, {"batch": batch, "changed": changed}, f"batch {batch} {said}; {who_asks}"
    )


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
    reference = (ref or "").strip()
    if bool(reference) == absent:
        raise UsageError("say one of both: --ref REF where the provider has it, or --absent")
    with engine_for(context) as engine:
        if absent:
            engine.batch_absent(batch)
        else:
            engine.adopt_batch(batch, reference)
        found = engine.batch(batch)
    said = "is not there, and is made again" if absent else f"is {reference}"
    line = f"batch {batch} {said}; {CONTINUE_HINT.format(run=found.run_id)}"
    print_outcome(context, as_json, found, line)


def _no_batches_reason(engine: "Engine", run: int | None) -> str:
    """Why a run, or the newest, has no batches, where it was to have some."""
    run_id = engine.queries.newest_run() if run is None else RunId(run)
    if run_id is None:
        return ""
    reason = direct_reason(engine.queries.head(run_id), engine.progress(run_id))
    return reason if run is not None or not reason else f"run {run_id}: {reason}"


def _batch_row(batch: "BatchView", workers: int) -> tuple[object, ...]:
    return (
        batch.id,
        batch.run_id,
        batch.model,
        Cell(_state_words(batch), _state_words(batch, is_short=True)),
        batch.rows,
        batch.answered,
        ("≤ " if _presumed_calls(batch) else "") + dollars(batch.cost_pico),
        _next_poll_cell(batch, workers),
    )


def _batch_pairs(batch: "BatchView", workers: int) -> list[tuple[str, str]]:
    poll = _overdue_poll(batch, workers)
    mismatches = {
        "missing": batch.missing,
        "twice": batch.duplicates,
        "not ours": batch.strangers,
        "unreadable": batch.unread,
    }
    return [
        (f"batch {batch.id}", _state_words(batch)),
        ("run", str(batch.run_id)),
        ("model", batch.model),
        ("key", batch.credential),
        ("there", batch.ref),
        ("tag", batch.tag),
        ("holds", f"{quantity(batch.rows, 'call')} about {quantity(batch.tasks, 'block')}"),
        ("tokens", f"at most {batch.tokens:,} in" if batch.tokens else ""),
        ("answered", f"{batch.answered:,}"),
        ("calls", _list_counts(batch.attempts)),
        ("rows", _list_counts(mismatches)),
        ("unreadable", _unreadable_hint(batch)),
        ("provider", provider_counts(batch.counts)),
        ("cost", _cost_words(batch)),
        ("made", moment(batch.created_at)),
        ("submitted", moment(batch.submitted_at)),
        ("next look", str(poll) if poll else moment(batch.next_at) if not batch.ended_at else ""),
        ("ended", moment(batch.ended_at)),
        ("problem", plain_words(batch.problem)),
    ]


def _state_words(batch: "BatchView", *, is_short: bool = False) -> str:
    """A batch's state, with how it ended and what was wished of it; in short what is unusual."""
    is_cancelling = batch.cancelling and batch.state not in (*BATCH_OVER, BatchState.ENDED)
    end = "queue was full" if batch.end_reason == BatchEnd.QUEUE_FULL else batch.end_reason or ""
    if is_short and end == "completed":
        end = ""
    words = [batch.state, end, "cancelling" if is_cancelling else ""]
    return ", ".join(dict.fromkeys(word for word in words if word))


def _cost_words(batch: "BatchView") -> str:
    """What a batch cost; where the fate of calls is not known, that is presumed, and said."""
    unknown = _presumed_calls(batch)
    if not unknown:
        return dollars(batch.cost_pico)
    calls = quantity(unknown, "call whose outcome is", "calls whose outcome is")
    return f"at most {dollars(batch.cost_pico)}, presumed for {calls} unknown"


def _presumed_calls(batch: "BatchView") -> int:
    """How many calls of a batch may have cost something, and nobody knows."""
    unknown = sum(
        batch.attempts.get(state, 0) for state in (AttemptState.UNKNOWN, AttemptState.WRITTEN_OFF)
    )
    return unknown if batch.cost_pico else 0


def _unreadable_hint(batch: "BatchView") -> str:
    """Where the lines are that nobody could read."""
    here = f"{batch.kept:,} kept here: quire batches show {batch.id} --lines" if batch.kept else ""
    named = f"those that name a call are its response: quire ledger {batch.run_id}"
    return "; ".join(filter(None, (here, named if batch.unread > batch.kept else "")))


def _decode_line(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")


def _next_poll_cell(batch: "BatchView", workers: int) -> Cell:
    poll = _overdue_poll(batch, workers)
    at = None if batch.ended_at else batch.next_at
    return Cell(poll.when, poll.when) if poll else Cell.of_moment(at)


def _overdue_poll(batch: "BatchView", workers: int) -> NextPoll | None:
    return next_poll(batch.next_at, workers) if _is_overdue(batch) else None


def _is_overdue(batch: "BatchView") -> bool:
    from quire.engine import Runtime  # loads asyncio: not for --help

    at = None if batch.ended_at else batch.next_at
    return at is not None and at <= Runtime().now()


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
