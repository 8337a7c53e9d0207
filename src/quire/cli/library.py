"""Commands about what runs read: the ledger itself, and documents."""

import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, flag, option
from quire.cli.printing import (
    clip,
    file_watcher,
    note,
    plain_text,
    print_json,
    print_list,
    quantity,
    say,
)
from quire.cli.session import SOME_FAILED, engine_for, print_outcome, session
from quire.domain.errors import UsageError
from quire.settings import DEFAULT_LEDGER, FILE, TEMPLATE

if TYPE_CHECKING:
    from quire.engine import Ingestion


def init(context: typer.Context) -> None:
    """Write quire.toml here and make the ledger; --ledger URL says where that is."""
    here = Path(FILE)
    there_already = here.exists()
    settings = session(context)
    url = settings.ledger or os.environ.get("QUIRE_LEDGER") or DEFAULT_LEDGER
    # The ledger first: if its address is wrong, no quire.toml stays behind that names it.
    from quire.engine import open_engine

    with open_engine(settings.ledger if there_already else url) as engine:
        ledger = engine.ledger.url
        if there_already:
            note(f"{FILE} is here already and stays as it is")
        else:
            with here.open("x", encoding="utf-8") as file:
                here.chmod(0o600)  # it may hold a password
                file.write(_settings_text(url))
        made_key = engine.keys.make_secret_key()
    if not settings.quiet:
        made = "" if there_already else f"{FILE} and "
        masked_url = re.sub(r"(?<=://)([^:@/]+):[^@]*@", r"\1:…@", ledger)  # never the password
        say(
            f"{made}the ledger {masked_url} are ready"
            if made
            else f"the ledger {masked_url} is ready"
        )
        if made_key:
            say(f"{made_key.name} guards stored keys: keep it, and keep it to yourself")
        say("next: quire ingest FILES, then quire schema add FILE")


def _settings_text(url: str) -> str:
    """The template, naming this ledger."""
    lines = TEMPLATE.splitlines(keepends=True)
    line = f"ledger = {json.dumps(url, ensure_ascii=False)}\n"
    changed = url != DEFAULT_LEDGER
    return "".join(
        line if changed and string.startswith("ledger = ") else string for string in lines
    )


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str], argument("PATHS", "Files, folders or quoted globs: md, txt, csv, tsv, jsonl.")
    ],
    text_column: Annotated[
        str | None, option("COLUMN", "Of csv, tsv and jsonl: what is asked about; else the row.")
    ] = None,
    key_column: Annotated[
        str | None, option("COLUMN", "Of csv, tsv and jsonl: what names a row.")
    ] = None,
    replace: Annotated[
        bool, flag("Put aside what the same files gave earlier, read in another way.", "--replace")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read documents into the ledger; a bad file gets one line, the rest still go in."""
    quiet = session(context).quiet
    with engine_for(context, make=True) as engine, file_watcher("reading", quiet) as watch:
        ingestion = engine.ingest(
            *paths,
            text_column=text_column,
            key_column=key_column,
            watch=watch,
            replace=replace,
            tell=lambda line: None,  # said below, after the summary
        )
    for line in ingestion.refused:
        note(f"quire: refused {line}")
    if as_json:
        print_json(_ingestion_json(ingestion))
    elif not quiet:
        say(_summary(ingestion))
        for line in ingestion.warnings():
            say(plain_text(line))
    if ingestion.refused:
        raise typer.Exit(SOME_FAILED)


def _ingestion_json(ingestion: "Ingestion") -> dict[str, object]:
    return {
        "documents": ingestion.documents,
        "refused": [plain_text(line) for line in ingestion.refused],
        "skipped": ingestion.skipped,
        "earlier": [
            {"document": document, "from": place, "aside": ingestion.replaced}
            for document, place in ingestion.earlier
        ],
    }


def _summary(ingestion: "Ingestion") -> str:
    new = [document for document in ingestion.documents if document.new]
    blocks = sum(source.blocks for source in new)
    parts = [f"{quantity(len(new), 'document')}, {quantity(blocks, 'block')} new"]
    known = len(ingestion.documents) - len(new)
    if known:
        parts.append(f"{known:,} already here")
    if ingestion.refused:
        parts.append(f"{len(ingestion.refused):,} refused")
    if ingestion.skipped:
        parts.append(f"{quantity(ingestion.skipped, 'file')} of other types left out")
    return "; ".join(parts)


def documents(context: typer.Context, as_json: AsJson = False) -> None:
    """List the documents in the ledger."""
    with engine_for(context) as engine:
        found, aside = engine.documents(), engine.library.documents_aside()
    rows = (
        (
            document.id,
            clip(document.title, 40),
            document.source_type,
            document.conv_total_blocks,
            document.conv_total_characters,
            document.source_locator,
            *(["aside" if document.id in aside else ""] if aside else []),
        )
        for document in found
    )
    marked = [{**asdict(document), "aside": document.id in aside} for document in found]
    columns = [">id", "~title", "type", ">blocks", ">characters", "~from"]
    columns += ["use"] if aside else []
    nothing = "no documents yet; `quire ingest FILES` brings some in"
    print_list(as_json, marked, nothing, columns, rows)


def purge(
    context: typer.Context,
    document: Annotated[str, argument("DOCUMENT", "Its number, title, file, or fingerprint.")],
    yes: Annotated[bool, flag("Do not ask.", "--yes", "-y")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase a document with its prompts, responses and results; money and counts stay."""
    with engine_for(context) as engine:
        if not yes:
            _confirm_purge(document)
        erased, purged = engine.purge(document)
    said = (
        f"erased {erased.title!r} with {quantity(purged.requests, 'request')};"
        f" {quantity(purged.tasks, 'open task')} cancelled"
    )
    if purged.documents > 1:
        said += f"; {quantity(purged.documents - 1, 'document')} made of its results went with it"
    data = {"document": erased.id, "title": erased.title, **purged._asdict()}
    print_outcome(context, as_json, data, said)


def _confirm_purge(document: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("purge erases for good: without a terminal to ask on, it needs --yes")
    typer.confirm(
        f"Erase {plain_text(document)!r} with its prompts, responses and results, for good?",
        abort=True,
        err=True,
    )
