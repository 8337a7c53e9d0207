"""Table folders: a file of typed columns for each table, and a manifest that describes them.

Each file appears only when it is whole, and the manifest comes last. Files that would be the same
are left as they are; what the last folder had and this one has not is removed.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from quire.domain.errors import Conflict, UsageError
from quire.domain.version import VERSION
from quire.export.column_types import Column, ColumnKind, ColumnType
from quire.export.delimited import datatype, delimited_lines
from quire.export.export_targets import is_remote, open_store, open_target, remote_errors
from quire.export.flat_tables import FlatTable
from quire.export.parquet import check_packages, write_parquet

MANIFEST = "manifest.json"
FORMAT, FORMAT_VERSION = "quire-bundle", 1
CSV, PARQUET = "csv", "parquet"
TABLE_FORMATS = (CSV, PARQUET)
_FILE = re.compile(r"[a-z0-9_]+\.(csv|parquet)")  # of such a folder
_PIECE = 1 << 20  # bytes copied at once

Sink = Callable[[bytes], object]


class TableFile(NamedTuple):
    """One file of a folder."""

    name: str
    columns: tuple[Column, ...]
    write: Callable[[Sink], int]  # all of it, piece by piece; how many rows
    ending: str = CSV


class WrittenFolder(NamedTuple):
    """What became of a folder."""

    manifest: Mapping[str, Any]
    changed: bool  # false: the same was there already


def typed_columns(kinds: Mapping[str, str]) -> tuple[Column, ...]:
    """Columns by name, each of a kind that is named: text, integer, number, boolean, json …"""
    return tuple(Column(name, ColumnType(ColumnKind(kind))) for name, kind in kinds.items())


def check_table_format(form: str) -> str:
    """Refuse a format that tables are not written in, or that needs what is not installed."""
    if form not in TABLE_FORMATS:
        raise UsageError(f"--format takes {' or '.join(TABLE_FORMATS)}, not {form!r}")
    if form == PARQUET:
        check_packages()
    return form


def table_file(name: str, table: FlatTable, form: str = CSV) -> TableFile:
    """The file of a table."""
    if form == PARQUET:
        return TableFile(name, table.columns, partial(_write_parquet, table), PARQUET)
    return csv_file(name, table.columns, partial(delimited_lines, table, ","))


def csv_file(
    name: str, columns: tuple[Column, ...], lines: Callable[[], Iterator[bytes]]
) -> TableFile:
    """A file of lines, its header the first of them."""
    return TableFile(name, columns, partial(_write_lines, lines))


def _write_lines(lines: Callable[[], Iterator[bytes]], sink: Sink) -> int:
    count = -1
    for line in lines():
        sink(line)
        count += 1
    return count


def _write_parquet(table: FlatTable, sink: Sink) -> int:
    with TemporaryFile(prefix="quire-export-") as file:  # it may be begun anew
        rows, _ = write_parquet(table, file)
        file.seek(0)
        while piece := file.read(_PIECE):
            sink(piece)
    return rows


def write_table_folder(
    folder: str, tables: Iterable[TableFile], facts: Mapping[str, Any], now: datetime
) -> WrittenFolder:
    """Write tables, and after them the manifest with these facts about them all."""
    folder = folder.rstrip("/")
    _make_folder(folder)
    before = _read_manifest(folder)
    entries, changed = [], False
    for table in tables:
        entry, is_new = _write_table(folder, table)
        entries.append(entry)
        changed |= is_new
    manifest = _describe(facts, entries)
    if not changed and {**before, "last_updated": None} == manifest:
        return WrittenFolder(before, changed=False)
    manifest["last_updated"] = now.isoformat()
    with open_target(f"{folder}/{MANIFEST}") as target:
        target.file.write(json.dumps(manifest, indent=1, ensure_ascii=False).encode() + b"\n")
    _remove_others(folder, before, {entry["file"] for entry in entries})
    return WrittenFolder(manifest, changed=True)


def _describe(facts: Mapping[str, Any], entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    digests = "".join(f"{entry['name']} {entry['sha256']}\n" for entry in entries)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "quire_version": VERSION,
        **facts,
        "content_hash": sha256(digests.encode()).hexdigest(),
        "last_updated": None,
        "tables": list(entries),
    }


def _write_table(folder: str, table: TableFile) -> tuple[dict[str, Any], bool]:
    digest, file = sha256(), f"{table.name}.{table.ending}"
    with open_target(f"{folder}/{file}") as target:

        def sink(piece: bytes) -> None:
            digest.update(piece)
            target.file.write(piece)

        rows = table.write(sink)
    entry = {
        "name": table.name,
        "file": file,
        "rows": rows,
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
