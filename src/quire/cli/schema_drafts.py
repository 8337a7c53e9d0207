"""The command that drafts a schema from a wish; it is kept only by a person's word."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli import options as of
from quire.cli.options import AsJson, argument, flag, option
from quire.cli.order_options import Budget, Wallet
from quire.cli.printing import note, print_json, quantity, say
from quire.cli.session import engine_for, session
from quire.domain.errors import Conflict, UsageError
from quire.domain.pricing import dollars

if TYPE_CHECKING:
    from quire.domain.ids import DocumentId
    from quire.engine import Engine
    from quire.engine.schema_drafts import SchemaDraft

Wish = Annotated[str, argument("WISH", "What you want to know, in a sentence.")]
From = Annotated[
    list[str] | None,
    option("PATH", "Files, folders, or documents here, to sample; all, if left out.", "--from"),
]
Output = Annotated[Path | None, option("FILE", "Write it to a file.", "--output", "-o")]
Save = Annotated[bool, flag("Keep it in the ledger, without asking.", "--save")]
Ref = Annotated[str | None, option("NAME", "The name to keep it under; else its title.", "--ref")]


def draft(
    context: typer.Context,
    wish: Wish,
    *,
    documents: From = None,
    model: of.ModelName = None,
    output: Output = None,
    save: Save = False,
    ref: Ref = None,
    max_cost: of.MaxCost = None,
    wallet: Wallet = None,
    budget: Budget = None,
    as_json: AsJson = False,
) -> None:
    """Let a model draft a schema from a sentence and some blocks; nothing is kept by itself."""
    from quire.engine.schema_drafts import DraftFunds, draft_schema  # not for --help

    if output is not None and output.exists():
        raise Conflict(f"{output} is there already", "name another file with -o")
    with engine_for(context, make=bool(documents)) as engine:
        over = _find_documents(engine, documents)
        funds = DraftFunds(max_cost, wallet, budget)
        try:
            made = draft_schema(engine, wish, model, over, funds)
        except KeyboardInterrupt:
            note("stopped, all answers are kept: the same command goes on, and pays nothing twice")
            raise
        text = json.dumps(made.body, indent=2, ensure_ascii=False)
        if as_json:
            print_json(made.as_json())
        else:
            say(text)
        _tell(made, quiet=session(context).quiet)
        if output is not None:
            output.write_text(f"{text}\n", encoding="utf-8")
            note(f"written to {output}; `quire schema add {output}` keeps it")
        if save or (output is None and not as_json and _is_wanted(made)):
            kept = engine.add_schema(made.body, ref)
            note(f"kept as {kept.label}: `quire run --schema {kept.ref}` asks it")


def _find_documents(engine: "Engine", names: Sequence[str] | None) -> "list[DocumentId] | None":
    """Documents to sample: of files what they hold, which is put aside if it is new."""
    if names is None:
        return None
    found: list[DocumentId] = []
    for name in names:
        if not Path(name).exists():
            found += engine.library.resolve_documents([name])
            continue
        read = engine.ingest(name, aside=True, tell=note)
        if not read.documents and read.refused:
            raise UsageError(read.refused[0])
        found += [document.document_id for document in read.documents]
    return found


def _tell(made: "SchemaDraft", *, quiet: bool) -> None:
    for mistake in made.mistakes:
        note(f"to be mended first: {mistake}")
    if not quiet:
        paid = "simulated" if made.simulated else "paid"
        runs = " and ".join(map(str, made.runs))
        shown = quantity(made.blocks, "block")
        note(f"drafted by {made.model} from {shown}: {dollars(made.cost)}, {paid} · run {runs}")


def _is_wanted(made: "SchemaDraft") -> bool:
    """Ask whether to keep it; nobody there to ask: no."""
    if made.mistakes:
        return False
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        note("not kept: --save keeps it, -o FILE writes it to a file")
        return False
    return typer.confirm("Keep this schema?", err=True)
