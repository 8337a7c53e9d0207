"""Commands that bring documents in, list them and erase them."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.edge import SOME_FAILED
from quire.cli.opening import opened, session, tell
from quire.cli.options import AsJson
from quire.cli.printing import clipped, console, counted, note, plain, print_json, print_table, say
from quire.domain.errors import UsageError
from quire.settings import DEFAULT_LEDGER, FILE, TEMPLATE

if TYPE_CHECKING:
    from quire.engine import Ingestion


def init(context: typer.Context) -> None:
    """Write quire.toml here and make the ledger; --ledger URL says where that is."""
    here = Path(FILE)
    there_already = here.exists()
    told = session(context)
    url = told.ledger or os.environ.get("QUIRE_LEDGER") or DEFAULT_LEDGER
    # The ledger first: if its address is wrong, no quire.toml stays behind that names it.
    from quire.engine import open_engine

    with open_engine(told.ledger if there_already else url) as engine:
        ledger = engine.ledger.url
    if there_already:
        note(f"{FILE} is here already and stays as it is")
    else:
        with here.open("x", encoding="utf-8") as file:
            here.chmod(0o600)  # it may hold a password
            file.write(_settings(url))
    from quire.accounts.secret_key import key_place, make_key

    place = key_place(os.environ, Path.cwd(), ledger)
    made_key = make_key(place)
    if not told.quiet:
        made = "" if there_already else f"{FILE} and "
        shown = re.sub(r"(?<=://)([^:@/]+):[^@]*@", r"\1:…@", ledger)  # never the password
        say(f"{made}the ledger {shown} are ready" if made else f"the ledger {shown} is ready")
        if made_key:
            say(f"{place.path.name} guards stored keys: keep it, and keep it to yourself")
        say("next: quire ingest FILES, then quire schema add FILE")


def _settings(url: str) -> str:
    """The template, naming this ledger."""
    lines = TEMPLATE.splitlines(keepends=True)
    line = f"ledger = {json.dumps(url, ensure_ascii=False)}\n"
    changed = url != DEFAULT_LEDGER
    return "".join(line if changed and each.startswith("ledger = ") else each for each in lines)


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATHS", help="Files, folders or quoted globs: md, txt, csv, tsv, jsonl."
        ),
    ],
    text_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Of csv, tsv and jsonl: what is asked about; else the row."
        ),
    ] = None,
    key_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Of csv, tsv and jsonl: what names a row."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read documents into the ledger; a bad file gets one line, the rest still go in."""
    quiet = session(context).quiet
    with opened(context, make=True) as engine, _watching(quiet) as watch:
        ingestion = engine.ingest(
            *paths, text_column=text_column, key_column=key_column, watch=watch
        )
    for line in ingestion.refused:
        note(f"quire: refused {line}")
    if as_json:
        print_json(
            {
                "documents": ingestion.documents,
                "refused": [plain(line) for line in ingestion.refused],
                "skipped": ingestion.skipped,
            }
        )
    elif not quiet:
        say(_summary(ingestion))
    if ingestion.refused:
        raise typer.Exit(SOME_FAILED)


def _summary(ingestion: "Ingestion") -> str:
    new = [each for each in ingestion.documents if each.new]
    blocks = sum(each.blocks for each in new)
    parts = [f"{counted(len(new), 'document')}, {counted(blocks, 'block')} new"]
    known = len(ingestion.documents) - len(new)
    if known:
        parts.append(f"{known:,} already here")
    if ingestion.refused:
        parts.append(f"{len(ingestion.refused):,} refused")
    if ingestion.skipped:
        parts.append(f"{counted(ingestion.skipped, 'file')} of other types left out")
    return "; ".join(parts)


@contextmanager
def _watching(quiet: bool) -> Iterator[Callable[[Path], None] | None]:
    """On a terminal, say which file is being read."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    read = 0
    with console(sys.stderr).status("reading") as status:

        def watch(path: Path) -> None:
            nonlocal read
            read += 1
            status.update(f"reading {read:,}: {plain(clipped(str(path), 60))}")

        yield watch


def documents(context: typer.Context, as_json: AsJson = False) -> None:
    """List the documents in the ledger."""
    with opened(context) as engine:
        found = engine.documents()
    if as_json:
        print_json(found)
    elif not found:
        say("no documents yet; `quire ingest FILES` brings some in")
    else:
        rows = (
            (
                each.id,
                clipped(each.title, 40),
                each.source_type,
                each.conv_total_blocks,
                each.conv_total_characters,
                each.source_locator,
            )
            for each in found
        )
        print_table((">id", "~title", "type", ">blocks", ">characters", "~from"), rows)


def purge(
    context: typer.Context,
    document: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="Its number, title, file, or fingerprint.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase a document with its prompts, responses and results; money and counts stay."""
    with opened(context) as engine:
        if not yes:
            _ask(document)
        erased, purged = engine.purge(document)
    said = (
        f"erased {erased.title!r} with {counted(purged.requests, 'request')};"
        f" {counted(purged.tasks, 'open task')} cancelled"
    )
    data = {"document": erased.id, "title": erased.title, **purged._asdict()}
    tell(context, as_json, data, said)


def _ask(document: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("purge erases for good: without a terminal to ask on, it needs --yes")
    typer.confirm(
        f"Erase {plain(document)!r} with its prompts, responses and results, for good?",
        abort=True,
        err=True,
    )
