"""Tables as files: CSV that frames and spreadsheets open, and a manifest of them."""

import csv
import io
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import orjson

from quire.domain.data import Json, plain_json
from quire.domain.errors import UsageError
from quire.domain.version import VERSION
from quire.kits.judge.experiment import ExperimentRows
from quire.kits.judge.experiment_tables import COLUMNS, TableRow, make_tables

EXPORT_SCHEMA_VERSION = 3
MANIFEST = "manifest.json"
_EXECUTED = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a cell begins that a spreadsheet would run


def write_tables(rows: ExperimentRows, folder: Path) -> dict[str, Json]:
    """Write every table and then the manifest; returns the manifest."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made = make_tables(rows)
        descriptions: dict[str, Json] = {}
        for name, table in made.items():
            body = _csv(COLUMNS[name], table)
            _replace(folder / f"{name}.csv", body)
            descriptions[name] = {
                "file": f"{name}.csv",
                "rows": len(table),
                "columns": list(COLUMNS[name]),
                "sha256": sha256(body).hexdigest(),
            }
        manifest = _manifest(rows, descriptions)
        _replace(folder / MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return manifest


def _manifest(rows: ExperimentRows, descriptions: dict[str, Json]) -> dict[str, Json]:
    return {
        "export_schema_version": EXPORT_SCHEMA_VERSION,
        "quire_version": VERSION,
        "experiment_tag": rows.experiment.experiment_tag,
        "task_type": rows.experiment.task_type,
        "run_id": rows.run_id,
        "status": rows.status,
        "last_updated": rows.updated_at.isoformat(),
        "tables": descriptions,
    }


def _csv(columns: Iterable[str], table: Iterable[TableRow]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")  # so that a lone \r in a cell is quoted, too
    writer.writerow(columns)
    for row in table:
        writer.writerow([_cell(value) for value in row.values()])
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        # an apostrophe makes a spreadsheet show the cell instead of running it
        return f"'{value}" if value.startswith(_EXECUTED) else value
    if isinstance(value, bool | int | float):
        return str(value)
    return plain_json(value)


def _replace(path: Path, body: bytes) -> None:
    """Let the file appear whole or not at all."""
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(body)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
