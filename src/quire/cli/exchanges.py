"""Commands that show what was sent and what came back: prompt and ledger."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, Every, RunNumber, argument, option
from quire.cli.printing import (
    MOST_LISTED,
    Narrowing,
    clip,
    model_label,
    moment,
    note,
    print_json,
    print_pairs,
    print_table,
    quantity,
    say,
    short_model_name,
)
from quire.cli.run_summary import model_labels
from quire.cli.session import engine_for, resolve_run
from quire.domain.errors import NotFound
from quire.domain.gates import StrayIds
from quire.domain.ids import RequestId, RunId, TaskId
from quire.domain.pricing import dollars
from quire.domain.states import AttemptState
from quire.domain.task_wording import gap_text

if TYPE_CHECKING:
    from quire.engine import AttemptView, ChainCall, Engine, RequestLine
    from quire.engine.queries import ExchangeView

TITLE = 24  # characters of a document's title in a list
OF_REQUESTS: tuple[Narrowing, ...] = (("last sent", None), ("state", None), ("sent", None))
OF_STRAYS: tuple[Narrowing, ...] = (("about", None), ("tasks", None))  # where one more is shown


def prompt(
    context: typer.Context,
    task: Annotated[int, argument("TASK", "A task's number.")],
    as_json: AsJson = False,
) -> None:
    """Show exactly what was last sent about a task, or what would be."""
    with engine_for(context) as engine:
        view = engine.queries.prompt(TaskId(task))
    if as_json:
        print_json(view)
        return
    sent = f"request {view.request_id}" if view.request_id else "not sent yet; alone it would read"
    print_pairs(
        [
            (f"task {task}", f"{view.task.state}, {sent}"),
            ("block", "" if view.stage else view.task.block_uid),
            ("stage", view.stage),
            ("about", view.about),
            ("model", model_label(view.model)),
            ("error", view.task.error or ""),
            *_stray_pairs(view.stray_ids),
        ]
    )
    _print_text("system", view.system)
    for turn in view.turns:
        _print_text(turn.role, turn.text)
    _print_text("user", view.user)


def ledger(
    context: typer.Context,
    run: RunNumber = None,
    *,
    request: Annotated[int | None, option("ID", "One request: attempts, response, tasks.")] = None,
    after: Annotated[int, option("ID", "List requests after this one.")] = 0,
    limit: Annotated[int, option("N", "How many to list.", min=1)] = 50,
    every: Every = False,
    as_json: AsJson = False,
) -> None:
    """Show a run's requests, or one request with all that became of it."""
    with engine_for(context) as engine:
        if request is None:
            most = MOST_LISTED if every else limit
            _list_requests(engine, resolve_run(engine, run), after, most, as_json)
            return
        view = engine.queries.exchange(RequestId(request))
    if run is not None and view.request.run_id != run:
        raise NotFound(f"request {request} belongs to run {view.request.run_id}, not to run {run}")
    if as_json:
        print_json(view)
    else:
        _print_exchange(view)


def _list_requests(engine: "Engine", run: RunId, after: int, limit: int, as_json: bool) -> None:
    found = engine.queries.requests(run, after, limit + 1)
    is_cut, found = len(found) > limit, found[:limit]
    if as_json:
        print_json(found)
        if is_cut:
            note(f"quire: truncated at {limit:,}; --after {found[-1].id} goes on, --all lists all")
        return
    head = engine.queries.head(run)
    say(f"run {run} · {model_labels(head)}")
    if not found:
        say("no requests" + (f" after {after}" if after else " yet"))
        return
    say()
    _print_requests(found, staged=head.kind == "recipe")
    if is_cut:
        say(f"\nmore: quire ledger {run} --after {found[-1].id}")
    else:
        say(f"\nnext: quire ledger {run} --request {found[0].id} shows one in full")


def _print_requests(found: "list[RequestLine]", *, staged: bool) -> None:
    """One line a request; of recipes also which stage asked, and whom."""
    strays = any(_count_strays(line.stray_ids) for line in found)
    rows = (
        (
            str(line.id),
            *([line.stage, short_model_name(line.model)] if staged else []),
            line.kind,
            f"{line.state}, purged" if line.purged else line.state,
            line.tasks,
            line.accepted,
            line.sent,
            ("≤ " if line.presumed else "") + dollars(line.cost_pico),
            moment(line.sent_at),
            _documents(line),
            *([_count_strays(line.stray_ids)] if strays else []),
        )
        for line in found
    )
    columns = ("kind", "state", ">tasks", ">accepted", ">sent", ">cost", "last sent", "~about")
    who = ("stage", "model") if staged else ()
    print_table(
        (">request", *who, *columns, *(["stray ids"] if strays else [])),
        rows,
        narrowing=(*OF_REQUESTS, *(OF_STRAYS if strays else ())) if staged else (),
    )


def _documents(line: "RequestLine") -> str:
    more = f" and {line.documents - 1:,} more" if line.documents > 1 else ""
    return f"{clip(line.document or '–', TITLE)}{more}"


def _count_strays(strays: StrayIds) -> str:
    """How many ids in an answer are not what was asked for; empty where all are."""
    parts = ((strays.unknown_count, "unknown"), (len(strays.duplicates), "twice"))
    return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def _stray_pairs(strays: StrayIds) -> list[tuple[str, str]]:
    shown = [uid or "(a record without an id)" for uid in strays.unknown]
    more = strays.unknown_count - len(shown)
    unknown = ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
    return [("unknown ids", unknown), ("answered twice", ", ".join(strays.duplicates))]


def _print_exchange(view: "ExchangeView") -> None:
    request = view.request
    print_pairs(
        [
            (f"request {request.id}", f"{request.state}{', purged' if request.purged else ''}"),
            ("run", str(request.run_id)),
            ("stage", view.stage),
            ("kind", f"{request.kind}, {quantity(request.tasks, 'task')}"),
            ("max tokens", f"{request.max_output:,}"),
            ("sent", quantity(request.sent, "time")),
            ("payload", request.payload_hash.hex()),
            *_stray_pairs(request.stray_ids),
        ]
    )
    for attempt in view.attempts:
        _print_attempt(attempt)
    say()
    rows = (
        (
            str(member.task_id),
            member.wire_id,
            member.state,
            member.verdict or "",
            clip(member.reasons or "", 200),
        )
        for member in view.members
    )
    print_table((">task", "wire id", "state now", "verdict", "*reasons"), rows)
    if view.chain:
        _print_chain(view.chain)
    say("\nnext: quire prompt TASK shows what was asked; --json has it all")


def _print_chain(chain: "list[ChainCall]") -> None:
    """The calls of an answer that came in pieces, and all of them together."""
    tokens = [sum(call.input_tokens for call in chain), sum(call.output_tokens for call in chain)]
    whole = quantity(len(chain), "call")
    cost = dollars(sum(call.cost_pico for call in chain))
    say(f"\nan answer in pieces: {whole}, {tokens[0]:,} tokens in, {tokens[1]:,} out, {cost}")
    rows = (
        (
            str(call.request_id),
            call.state,
            f"{call.input_tokens:,}",
            f"{call.output_tokens:,}",
            dollars(call.cost_pico),
            "" if call.gap is None else gap_text(call.gap),
        )
        for call in chain
    )
    print_table((">request", "state", ">in", ">out", ">cost", "*another followed because"), rows)


def _print_attempt(attempt: "AttemptView") -> None:
    say()
    cost = (
        "" if attempt.cost_pico is None else f"{dollars(attempt.cost_pico)} ({attempt.cost_basis})"
    )
    if attempt.state in (AttemptState.UNKNOWN, AttemptState.WRITTEN_OFF):
        cost = (
            f"{dollars(attempt.reserved_pico)} at most (presumed: nobody knows what became of it)"
        )
    tokens = ""
    if attempt.input_tokens is not None:
        tokens = _token_words(attempt)
    params = ", ".join(f"{name}={value}" for name, value in attempt.params.items())
    print_pairs(
        [
            (f"attempt {attempt.no}", attempt.state),
            ("model", model_label(attempt.model)),
            ("key", attempt.credential or ""),
            ("batch", "" if attempt.batch_id is None else str(attempt.batch_id)),
            ("params", params),
            ("sent", moment(attempt.sent_at)),
            ("ended", moment(attempt.ended_at)),
            ("tokens", tokens),
            ("cost", cost),
            ("stop", attempt.stop or ""),
            ("error", attempt.error or ""),
            ("reasoning", attempt.reasoning or ""),
            ("response", attempt.decoded or attempt.raw or ""),
        ]
    )


def _token_words(attempt: "AttemptView") -> str:
    """Tokens by the price they have: what was read from a cache is not counted among `in`."""
    counts = (
        (attempt.input_tokens, "in"),
        (attempt.cached_tokens, "in from the cache"),
        (attempt.written_tokens, "in written to the cache"),
        (attempt.output_tokens, "out"),
        (attempt.reasoning_tokens, "of them reasoning"),
    )
    plain = ("in", "out")
    return ", ".join(f"{count or 0:,} {what}" for count, what in counts if count or what in plain)


def _print_text(title: str, text: str) -> None:
    say(f"\n── {title} ──")
    say(text)
