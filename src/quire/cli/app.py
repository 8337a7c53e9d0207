"""The commands in the order people meet them, each with an example for its --help."""

from typing import Annotated

import typer

from quire.cli.options import AsJson, LedgerUrl, flag
from quire.cli.printing import print_json, say
from quire.cli.session import Commands, OwnCommand, Session
from quire.domain.version import VERSION

PREPARE, RUN, LOOK, STEER = "Prepare", "Run", "Look", "Steer"

_COMMANDS = {
    "init": OwnCommand(
        PREPARE, "library:init", "quire init --ledger postgresql://me@localhost/quire"
    ),
    "ingest": OwnCommand(
        PREPARE, "library:ingest", "quire ingest docs/ '*.md' rows.csv --text-column body"
    ),
    "documents": OwnCommand(PREPARE, "library:documents", "quire documents --json"),
    "plan": OwnCommand(
        RUN,
        "plan:plan",
        "quire plan --schema clauses --model simulated/small\n\n"
        "Which way: quire plan --schema clauses --route auto --deadline 2h",
    ),
    "run": OwnCommand(
        RUN,
        "run:run",
        "quire run --schema clauses --model simulated/small --limit 20\n\n"
        "In batches: quire run --schema clauses --route batch --deadline 2h --detach",
    ),
    "attach": OwnCommand(RUN, "run:attach", "quire attach 3"),
    "probe": OwnCommand(RUN, "probe:probe", "quire probe --schema clauses --sample 50"),
    "work": OwnCommand(RUN, "run:work", "quire work --workers 4 --until-idle"),
    "serve": OwnCommand(RUN, "serve:serve", "quire serve --port 8321"),
    "models": OwnCommand(LOOK, "models:models", "quire models gpt-6 --check"),
    "runs": OwnCommand(LOOK, "runs:runs", "quire runs"),
    "status": OwnCommand(LOOK, "runs:status", "quire status 3 --policy"),
    "batches": OwnCommand(LOOK, "batches:app"),
    "spend": OwnCommand(LOOK, "spend:spend", "quire spend 3 --by outcome"),
    "show": OwnCommand(LOOK, "results:show", "quire show 3 --limit 5"),
    "export": OwnCommand(LOOK, "exports:export", "quire export 3 -o out.csv --only accepted"),
    "fetch": OwnCommand(
        LOOK, "fetch:fetch", "quire fetch http://localhost:8321 3 -o out.parquet --only confirmed"
    ),
    "score": OwnCommand(
        LOOK,
        "score:score",
        "quire score 3 --gold gold.csv --key id\n\n"
        "Two models side by side: quire score 3 4 --gold gold.csv --to accuracy/",
    ),
    "results": OwnCommand(LOOK, "result_files:results", "quire results 3 --to out/"),
    "lineage": OwnCommand(LOOK, "lineage:lineage", "quire lineage 31"),
    "failures": OwnCommand(LOOK, "runs:failures", "quire failures 3"),
    "prompt": OwnCommand(LOOK, "exchanges:prompt", "quire prompt 12"),
    "ledger": OwnCommand(LOOK, "exchanges:ledger", "quire ledger 3 --request 7"),
    "events": OwnCommand(LOOK, "events:events", "quire events 3 --follow"),
    "doctor": OwnCommand(LOOK, "doctor:doctor", "quire doctor --offline"),
    "pause": OwnCommand(STEER, "steer:pause", "quire pause 3"),
    "resume": OwnCommand(STEER, "steer:resume", "quire resume 3"),
    "cancel": OwnCommand(STEER, "steer:cancel", "quire cancel 3"),
    "stop-after": OwnCommand(STEER, "steer:stop_after", "quire stop-after 3 summary"),
    "retry": OwnCommand(STEER, "steer:retry", "quire retry 3 --stage summary"),
    "waive": OwnCommand(STEER, "steer:waive", "quire waive 12 17"),
    "rerun": OwnCommand(STEER, "steer:rerun", "quire rerun 3 --from summary"),
    "regate": OwnCommand(STEER, "steer:regate", "quire regate 3 --stage summary --apply"),
    "review": OwnCommand(
        STEER,
        "review:review",
        "quire review 3 --as Ada\n\n"
        "quire review 3 --list --filter reason=repaired\n\n"
        "quire review 3 --approve-all --filter 'score>=0.9' --filter without=repaired",
    ),
    "decisions": OwnCommand(STEER, "decisions:decisions", "quire decisions 3 --limit 10"),
    "undo": OwnCommand(STEER, "decisions:undo", "quire undo 12"),
    "audit": OwnCommand(
        STEER,
        "audit:audit",
        "quire audit 3 --sample 200 --tolerance 0.02 --stage summary\n\nquire audit 3 --report",
    ),
    "approve": OwnCommand(STEER, "steer:approve", "quire approve 12 17"),
    "reject": OwnCommand(STEER, "steer:reject", "quire reject 12 --note 'the date is missing'"),
    "edit": OwnCommand(STEER, "steer:edit", "quire edit 12 --set urgency=3 --set topic=billing"),
    "aside": OwnCommand(STEER, "library:aside", "quire aside drafts/\n\nquire aside 7 --back"),
    "purge": OwnCommand(STEER, "library:purge", "quire purge 3 --yes"),
    "version": OwnCommand(LOOK, "app:version", "quire version"),
    "schema": OwnCommand(PREPARE, "schemas:schema_app"),
    "recipe": OwnCommand(PREPARE, "recipes:app"),
    "keys": OwnCommand(PREPARE, "keys:app"),
    "limits": OwnCommand(PREPARE, "limits:app"),
    "webhooks": OwnCommand(PREPARE, "webhooks:app"),
    "wallet": OwnCommand(PREPARE, "wallets:app"),
    "policy": OwnCommand(PREPARE, "policy:app"),
    "token": OwnCommand(PREPARE, "tokens:app"),
    "rehearse": OwnCommand(RUN, "rehearse:app"),
    "local": OwnCommand(RUN, "local:app"),
}


class QuireCommands(Commands):
    """The commands of this program."""

    own = _COMMANDS


app = typer.Typer(
    cls=QuireCommands,
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


def main() -> None:
    """Carry out the command line of this process."""
    app(prog_name="quire")
