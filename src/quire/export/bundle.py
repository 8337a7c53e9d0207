"""Bundles: a folder with a flat CSV file a table and a manifest, of results and of the ledger.

Each file appears only when it is whole, and the manifest comes last. Files that would be the same
are left as they are; what the last bundle had and this one has not is removed.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from quire.domain.errors import Conflict, UsageError
from quire.domain.ids import RunId
from quire.domain.version import VERSION
from quire.export.column_types import INTEGER, JSON, MOMENT, NUMBER, TEXT, Column, ColumnType
from quire.export.delimited import datatype, delimited_lines, text_lines
from quire.export.export_targets import is_remote, open_store, open_target, remote_errors
from quire.export.file_names import words_in_name
from quire.export.flat_tables import FlatRow, flat_table
from quire.export.result_selection import ALL, ResultSource, RowFilter, choose_stage
from quire.ledger.ledger import Transaction
from quire.ledger.tables.ledger_views import LEDGER_TABLES, RESPONSES
from quire.ledger.view_scripts import views

MANIFEST = "manifest.json"
FORMAT, FORMAT_VERSION = "quire-bundle", 1
ROWS, MESSAGES = "rows", "messages"
TABLES = (ROWS, *LEDGER_TABLES, MESSAGES)
_FILE = re.compile(r"[a-z0-9_]+\.csv")  # of a bundle
_TYPES: dict[str, ColumnType] = {
    "text": TEXT,
    "integer": INTEGER,
    "number": NUMBER,
    "moment": MOMENT,
    "json": JSON,
}

# The messages of a run's calls: request, run, ordinal, role, content.
ReadMessages = Callable[[Transaction, RunId], Iterator[FlatRow]]


class BundleOrder(NamedTuple):
    """What goes into a bundle."""

    folder: str
    chosen: RowFilter
    stage: str | None
    tables: tuple[str, ...]  # of TABLES
    read_messages: ReadMessages
    now: datetime


class BundleTable(NamedTuple):
    """One file of a bundle."""

    name: str
    columns: tuple[Column, ...]
    lines: Callable[[], Iterator[bytes]]  # its header, then its rows


class BundleReport(NamedTuple):
    """What became of a bundle."""

    rows: int  # of results
    changed: bool


def choose_tables(named: str) -> tuple[str, ...]:
    """Tables by their names, parted by commas; `all` are all."""
    wanted = tuple(name.strip() for name in named.split(",") if name.strip())
    if wanted == (ALL,) or not wanted:
        return TABLES
    unknown = [name for name in wanted if name not in TABLES]
    if unknown:
        raise UsageError(f"--tables takes all, or some of {', '.join(TABLES)}; not {unknown[0]!r}")
    return wanted


def write_bundle(tx: Transaction, source: ResultSource, order: BundleOrder) -> BundleReport:
    """Write the tables of a run, and the manifest after them."""
    folder = order.folder.rstrip("/")
    _make_folder(folder)
    before = _read_manifest(folder)
    entries, rows, changed = [], 0, False
    for table in _tables(tx, source, order):
        entry, is_new = _write_table(folder, table)
        entries.append(entry)
        changed |= is_new
        rows += entry["rows"] if table.name.startswith(ROWS) else 0
    manifest = _describe(source, entries)
    if changed or {**before, "last_updated": None} != {**manifest, "last_updated": None}:
        changed = True
        manifest["last_updated"] = order.now.isoformat()
        with open_target(f"{folder}/{MANIFEST}") as target:
            target.file.write(json.dumps(manifest, indent=1, ensure_ascii=False).encode() + b"\n")
        _remove_others(folder, before, {entry["file"] for entry in entries})
    return BundleReport(rows, changed)


def _describe(source: ResultSource, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    digests = "".join(f"{entry['name']} {entry['sha256']}\n" for entry in entries)
    schemas = [stage.schema for stage in source.recipe.stages if stage.schema]
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "quire_version": VERSION,
        "run": source.run.id,
        "recipe": source.recipe.name,
        "schemas": [
            {"ref": schema.ref, "version": schema.version, "uid": schema.uid} for schema in schemas
        ],
        "content_hash": sha256(digests.encode()).hexdigest(),
        "last_updated": None,
        "tables": list(entries),
    }


def _tables(tx: Transaction, source: ResultSource, order: BundleOrder) -> Iterator[BundleTable]:
    documented = {view.name.removeprefix("v_"): view.columns for view in views()}
    for name in order.tables:
        if name == ROWS:
            yield from _row_tables(tx, source, order)
            continue
        columns = tuple(Column(item.name, _TYPES[item.datatype]) for item in documented[name])
        if name == MESSAGES:
            rows = order.read_messages(tx, source.run.id)
        else:
            rows = tx.ledger_views.rows_of_table(name, source.run.id)
        columns += (Column("raw", TEXT),) if name == RESPONSES else ()
        names = [column.name for column in columns]
        yield BundleTable(name, columns, partial(text_lines, names, rows, ","))


def _row_tables(tx: Transaction, source: ResultSource, order: BundleOrder) -> Iterator[BundleTable]:
    """The rows of a schema as one table; of a recipe those of every stage, or of one."""
    stages = source.recipe.stages
    if order.stage not in (None, ALL):
        stages = (choose_stage(source.recipe, order.stage),)
    for stage in stages:
        found = flat_table(tx, source, stage, order.chosen)
        plain = source.recipe.is_single_schema
        name = ROWS if plain else f"{ROWS}_{words_in_name(stage.name).replace('-', '_')}"
        yield BundleTable(name, found.columns, partial(delimited_lines, found, ","))


def _write_table(folder: str, table: BundleTable) -> tuple[dict[str, Any], bool]:
    digest, count, file = sha256(), -1, f"{table.name}.csv"
    with open_target(f"{folder}/{file}") as target:
        for line in table.lines():
            digest.update(line)
            target.file.write(line)
            count += 1
    entry = {
        "name": table.name,
        "file": file,
        "rows": count,
        "sha256": digest.hexdigest(),
        "columns": [{"name": name, "datatype": datatype(kind)} for name, kind in table.columns],
    }
    return entry, target.changed


def _make_folder(folder: str) -> None:
    if is_remote(folder):
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None


def _read_manifest(folder: str) -> dict[str, Any]:
    """The manifest of the bundle that is there; refuse a folder with somebody else's."""
    path = f"{folder}/{MANIFEST}"
    if is_remote(folder):
        with remote_errors(path):
            store, name = open_store(path)
            raw = store.cat_file(name) if store.exists(name) else None
    else:
        raw = Path(path).read_bytes() if Path(path).is_file() else None
    if raw is None:
        return {}
    try:
        found = json.loads(raw)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Conflict(f"{path} is not a bundle's; take another folder")
    return found


def _remove_others(folder: str, before: dict[str, Any], written: set[str]) -> None:
    """Remove the tables that only the last bundle had."""
    for entry in before.get("tables", ()):
        file = str(entry.get("file"))
        if file in written or not _FILE.fullmatch(file):
            continue
        if is_remote(folder):
            with remote_errors(folder):
                store, name = open_store(f"{folder}/{file}")
                if store.exists(name):
                    store.rm_file(name)
        else:
            (Path(folder) / file).unlink(missing_ok=True)
