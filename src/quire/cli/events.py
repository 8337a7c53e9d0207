"""The command that tells a run's history, and with --follow what happens to it from now on."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, Every, RunNumber, flag, option
from quire.cli.printing import MOST_LISTED, moment, print_json, print_table, say, tell_cut
from quire.cli.session import INTERRUPTED, engine_and_run
from quire.domain.ids import RunId
from quire.domain.runs import Event
from quire.domain.states import RunState
from quire.engine.progress_words import plain_words

if TYPE_CHECKING:
    from quire.engine import Engine

LOOK_EVERY = 0.5  # seconds between two looks for news


def events(
    context: typer.Context,
    run: RunNumber = None,
    *,
    limit: Annotated[int, option("N", "How many, the newest.", min=1)] = 50,
    every: Every = False,
    follow: Annotated[
        bool, flag("Go on telling what happens, until the run ends; Ctrl-C leaves.", "--follow")
    ] = False,
    after: Annotated[
        int | None, option("N", "Only what came after the event of this number.", min=0)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell a run's history; with --follow a line for each event, as JSON with --json."""
    with engine_and_run(context, run) as (engine, number):
        if follow:
            try:
                _follow(engine, number, after or 0, as_json=as_json)
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
            return
        most = MOST_LISTED if every else limit
        if after is None:
            found = engine.queries.events(number, most + 1)
        else:
            found = engine.queries.events_after(number, after, most + 1)
    tell_cut(found, most)
    found = found[-most:] if after is None else found[:most]
    if as_json:
        print_json(found)
        return
    rows = ((event.id, moment(event.at), event.kind, plain_words(event.detail)) for event in found)
    print_table((">no", "at", "event", "*detail"), rows)


def _follow(engine: "Engine", run: RunId, after: int, *, as_json: bool) -> None:
    """Print events as they come, until the run has ended and all of them are told."""
    reader = engine.queries.read_events(run, after)
    while True:
        ended = engine.queries.must_get(run).state != RunState.RUNNING  # before the last look
        found = reader.read_news()
        for event in found:
            _print_line(event, as_json=as_json)
        if ended and not found:
            return
        if not found:
            engine.runtime.rest(engine.ledger.wait, LOOK_EVERY)


def _print_line(event: Event, *, as_json: bool) -> None:
    if as_json:
        print_json(event, on_a_line=True)
    else:
        say(f"{event.id}  {moment(event.at)}  {event.kind}  {plain_words(event.detail)}")
