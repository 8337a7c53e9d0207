"""The commands in the order people meet them, each with an example for its --help."""

from typing import Annotated

import typer

from quire.cli import (
    batches,
    doctor,
    exchanges,
    keys,
    library,
    local,
    models,
    plan,
    probe,
    recipes,
    rehearse,
    results,
    run,
    runs,
    steer,
)
from quire.cli.options import AsJson, LedgerUrl, flag
from quire.cli.printing import print_json, say
from quire.cli.session import Commands, Session
from quire.domain.version import VERSION

PREPARE, RUN, LOOK, STEER = "Prepare", "Run", "Look", "Steer"

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="First steps: quire init && quire ingest docs/ && quire schema add clauses.json"
    " && quire run --schema clauses\n\n"
    "RUN is a run's number, and means the newest run where it is left out. --ledger and --quiet"
    " may also stand after the command. Exit codes: 0 done, 1 some failed or were refused,"
    " 2 usage, 3 ledger, 4 held, 130 interrupted.",
)


def _show_version(asked: bool) -> None:
    if asked:
        say(f"quire {VERSION}")
        raise typer.Exit


@app.callback()
def quire(
    context: typer.Context,
    ledger: LedgerUrl = None,
    quiet: Annotated[
        bool, flag("Print only what was asked for, and errors.", "-q", "--quiet")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Piles of documents into reviewed, structured data with language models."""
    context.obj = Session(ledger=ledger, quiet=quiet)


def version(as_json: AsJson = False) -> None:
    """Show the version."""
    if as_json:
        print_json({"version": VERSION})
    else:
        say(f"quire {VERSION}")


_COMMANDS = (
    (PREPARE, library.init, "quire init --ledger postgresql://me@localhost/quire"),
    (PREPARE, library.ingest, "quire ingest docs/ '*.md' rows.csv --text-column body"),
    (PREPARE, library.documents, "quire documents --json"),
    (
        RUN,
        plan.plan,
        "quire plan --schema clauses --model simulated/small\n\n"
        "Which way: quire plan --schema clauses --route auto --deadline 2h",
    ),
    (
        RUN,
        run.run,
        "quire run --schema clauses --model simulated/small --limit 20\n\n"
        "In batches: quire run --schema clauses --route batch --deadline 2h --detach",
    ),
    (RUN, run.attach, "quire attach 3"),
    (RUN, probe.probe, "quire probe --schema clauses --sample 50"),
    (RUN, run.work, "quire work --workers 4 --until-idle"),
    (LOOK, models.models, "quire models gpt-6 --check"),
    (LOOK, runs.runs, "quire runs"),
    (LOOK, runs.status, "quire status 3 --policy"),
    (LOOK, results.show, "quire show 3 --limit 5"),
    (LOOK, results.export, "quire export 3 -o out.jsonl --only accepted"),
    (LOOK, runs.failures, "quire failures 3"),
    (LOOK, exchanges.prompt, "quire prompt 12"),
    (LOOK, exchanges.ledger, "quire ledger 3 --request 7"),
    (LOOK, runs.events, "quire events 3"),
    (LOOK, doctor.doctor, "quire doctor --offline"),
    (STEER, steer.pause, "quire pause 3"),
    (STEER, steer.resume, "quire resume 3"),
    (STEER, steer.cancel, "quire cancel 3"),
    (STEER, steer.stop_after, "quire stop-after 3 summary"),
    (STEER, steer.retry, "quire retry 3 --stage summary"),
    (STEER, steer.waive, "quire waive 12 17"),
    (STEER, steer.rerun, "quire rerun 3 --from summary"),
    (STEER, steer.regate, "quire regate 3 --stage summary --apply"),
    (STEER, steer.approve, "quire approve 12 17"),
    (STEER, steer.reject, "quire reject 12 --note 'the date is missing'"),
    (STEER, steer.edit, "quire edit 12 --set urgency=3 --set topic=billing"),
    (STEER, library.purge, "quire purge 3 --yes"),
    (LOOK, version, "quire version"),
)

for panel, command, example in _COMMANDS:
    app.command(rich_help_panel=panel, epilog=f"Example: {example}")(command)
    if command is exchanges.ledger:
        app.add_typer(batches.app, name="batches", rich_help_panel=LOOK)
    if command is library.documents:
        app.add_typer(library.schema_app, name="schema", rich_help_panel=PREPARE)
        app.add_typer(recipes.app, name="recipe", rich_help_panel=PREPARE)
        app.add_typer(keys.app, name="keys", rich_help_panel=PREPARE)
        app.add_typer(rehearse.app, name="rehearse", rich_help_panel=RUN)
        app.add_typer(local.app, name="local", rich_help_panel=RUN)


def main() -> None:
    """Carry out the command line of this process."""
    app(prog_name="quire")
