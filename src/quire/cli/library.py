"""Commands about what runs read: the ledger itself, and documents."""

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, flag, option
from quire.cli.printing import (
    clip,
    file_watcher,
    note,
    print_json,
    print_list,
    quantity,
    say,
)
from quire.cli.session import SOME_FAILED, engine_for, print_outcome, session
from quire.domain.errors import UsageError
from quire.domain.plain_text import plain_text
from quire.settings import DEFAULT_LEDGER, FILE, TEMPLATE

if TYPE_CHECKING:
    from quire.engine import Ingestion
    from quire.engine.library import PurgedDocument


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
        say("next: quire serve, for the browser; or quire ingest FILES, quire schema add FILE")


def _settings_text(url: str) -> str:
    """The template, naming this ledger."""
    lines = TEMPLATE.splitlines(keepends=True)
    line = f"ledger = {json.dumps(url, ensure_ascii=False)}\n"
    changed = url != DEFAULT_LEDGER
    return "".join(
        line if changed and string.startswith("ledger = ") else string for string in lines
    )


Paths = Annotated[list[str], argument("PATHS", "Files, folders or quoted globs.")]
TextColumn = Annotated[
    str | None, option("COLUMN", "Of rows: the column that is asked about; else all of a row.")
]
KeyColumn = Annotated[str | None, option("COLUMN", "Of rows: the column that names one.")]
Encoding = Annotated[
    str | None, option("NAME", "Of text: such as cp1252; else UTF-8, or what a file states.")
]
Delimiter = Annotated[
    str | None, option("CHARACTER", "Of csv and tsv: such as ';' or tab; else found out.")
]
SkipBadRows = Annotated[
    bool, flag("Of csv, tsv, jsonl: leave out bad rows, and list them.", "--skip-bad-rows")
]
ByOcr = Annotated[bool, flag("Of pdf: read pages that are only pictures, by OCR.", "--ocr")]
Keep = Annotated[
    bool, flag("Go on asking about what changed files held, and were read as, before.", "--keep")
]
ListLeftOut = Annotated[bool, flag("List everything that was left out, and why.", "--left-out")]


def ingest(
    context: typer.Context,
    paths: Paths,
    *,
    text_column: TextColumn = None,
    key_column: KeyColumn = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    skip_bad_rows: SkipBadRows = False,
    ocr: ByOcr = False,
    keep: Keep = False,
    replace: Annotated[bool, typer.Option("--replace", hidden=True)] = False,  # as always now
    left_out: ListLeftOut = False,
    as_json: AsJson = False,
) -> None:
    """Read documents into the ledger; a bad file gets one line, the rest still go in.

    Types: md, txt, csv, tsv, jsonl, json, html, eml; with the extra files also rst, docx, pdf,
    xlsx, pptx; with the extra frames also parquet.
    """
    quiet = session(context).quiet
    with engine_for(context, make=True) as engine, file_watcher("reading", quiet) as watch:
        ingestion = engine.ingest(
            *paths,
            text_column=text_column,
            key_column=key_column,
            encoding=encoding,
            delimiter=delimiter,
            skip_bad_rows=skip_bad_rows,
            ocr=ocr,
            watch=watch,
            keep=keep,
            tell=lambda line: None,  # said below, after the summary
        )
    _print_ingestion(ingestion, as_json=as_json, quiet=quiet, left_out=left_out)
    if ingestion.refused:
        raise typer.Exit(SOME_FAILED)


def _print_ingestion(ingestion: "Ingestion", *, as_json: bool, quiet: bool, left_out: bool) -> None:
    for line in ingestion.refused:
        note(f"quire: refused {line}")
    if as_json:
        from quire.engine.json_views.library_views import ingestion_json

        print_json(ingestion_json(ingestion))
    elif not quiet:
        say(_summary(ingestion))
        for line in ingestion.warnings():
            say(plain_text(line))
        for item in ingestion.left_out if left_out else ():
            place = f"{item.source}: {item.name}" if item.source else item.name
            say(plain_text(f"left out {place}: {item.reason}"))


def _summary(ingestion: "Ingestion") -> str:
    new = [document for document in ingestion.documents if document.new]
    blocks = sum(source.blocks for source in new)
    parts = [f"{quantity(len(new), 'document')}, {quantity(blocks, 'block')} new"]
    known = [source for source in ingestion.documents if not source.new]
    same = sum(source.new_path for source in known)
    if same:
        parts.append(f"{quantity(same, 'more path')} of what is here")
    if len(known) > same:
        parts.append(f"{len(known) - same:,} already here")
    if ingestion.refused:
        parts.append(f"{len(ingestion.refused):,} refused")
    if ingestion.skipped:
        parts.append(f"{quantity(ingestion.skipped, 'file')} of other types left out")
    if line := ingestion.without_text_line():
        parts.append(line)
    within = len(ingestion.left_out) - ingestion.skipped - ingestion.without_text
    if within:
        parts.append(f"{quantity(within, 'part')} of files left out")
    if ingestion.left_out:
        parts[-1] += ": --left-out lists them"
    return "; ".join(parts)


def documents(context: typer.Context, as_json: AsJson = False) -> None:
    """List the documents in the ledger, each path that one was read from in a line of its own."""
    from quire.engine.json_views.library_views import documents_json, source_use

    with engine_for(context) as engine:
        found, aside = engine.documents(), engine.library.documents_aside()
        sources = engine.library.sources()
    listed = [(document, source) for document in found for source in sources[document.id]]
    uses = [source_use(source, aside) for _, source in listed]
    rows = (
        (
            document.id,
            clip(source.title, 40),
            document.source_type,
            document.conv_total_blocks,
            document.conv_total_characters,
            source.path,
            *([use] if any(uses) else []),
        )
        for (document, source), use in zip(listed, uses, strict=True)
    )
    marked = documents_json(found, sources, aside)
    columns = [">id", "~title", "type", ">blocks", ">characters", "~from"]
    columns += ["use"] if any(uses) else []
    nothing = "no documents yet; `quire ingest FILES` brings some in"
    print_list(as_json, marked, nothing, columns, rows)


def aside(
    context: typer.Context,
    documents: Annotated[
        list[str],
        argument("DOCUMENTS", "Numbers, titles, files, fingerprints, folders or quoted globs."),
    ],
    back: Annotated[bool, flag("Take them back: runs are about them again.", "--back")] = False,
    as_json: AsJson = False,
) -> None:
    """Put documents aside: only runs that name them are about them. Nothing is erased."""
    with engine_for(context) as engine:
        meant = engine.library.put_aside(documents, back=back)
    done = "taken back" if back else "put aside; `quire aside … --back` takes them back"
    data = {"documents": meant, "aside": not back}
    print_outcome(context, as_json, data, f"{quantity(len(meant), 'document')} {done}")


def purge(
    context: typer.Context,
    documents: Annotated[
        list[str],
        argument("DOCUMENTS", "Numbers, titles, files, fingerprints, folders or quoted globs."),
    ],
    yes: Annotated[bool, flag("Do not ask.", "--yes", "-y")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase documents with their prompts, responses and results; money and counts stay."""
    with engine_for(context) as engine:
        wanted = engine.library.resolve_documents(documents)
        if not yes:
            _confirm_purge(documents, len(wanted))
        erased = engine.library.purge_all(documents)
    data = [
        {
            "document": item.document.id,
            "title": item.document.title,
            "paths": item.paths,
            **item.counts._asdict(),
        }
        for item in erased
    ]
    said = "\n".join(map(_say_purged, erased))
    print_outcome(context, as_json, data[0] if len(data) == 1 else {"purged": data}, said)


def _say_purged(erased: "PurgedDocument") -> str:
    counts = erased.counts
    said = (
        f"erased {erased.document.title!r} with {quantity(counts.requests, 'request')};"
        f" {quantity(counts.tasks, 'open task')} cancelled"
    )
    if len(erased.paths) > 1:
        said += f"; it was at {quantity(len(erased.paths), 'path')}: {', '.join(erased.paths)}"
    if counts.documents > 1:
        said += f"; {quantity(counts.documents - 1, 'document')} made of its results went with it"
    return said


def _confirm_purge(names: Sequence[str], count: int) -> None:
    if not sys.stdin.isatty():
        raise UsageError("purge erases for good: without a terminal to ask on, it needs --yes")
    typed = ", ".join(map(repr, map(plain_text, names)))
    several = f" ({quantity(count, 'document')})" if count > 1 else ""
    typer.confirm(
        f"Erase {typed}{several} with prompts, responses and results, for good?",
        abort=True,
        err=True,
    )
