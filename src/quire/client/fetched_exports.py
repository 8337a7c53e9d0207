"""Fetched exports: a local copy of a remote run's results, fetched again only when they changed.

Beside the file stands a note of what it is a copy of: server, run, what was chosen, and the hash
that the server's manifest had. The manifest is asked first, which reads no result.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from quire.client.remote_run import RemoteRun

NOTE_ENDING = ".fetched.json"


class FetchedExport(NamedTuple):
    """What became of a copy."""

    path: str
    changed: bool  # false: it was as the server has it
    rows: dict[str, int]  # by status
    last_updated: str


def fetch_export(
    run: RemoteRun, server: str, path: str, only: str = "all", stage: str | None = None
) -> FetchedExport:
    """Bring a copy up to date; the file's ending says its format."""
    manifest = run.manifest(stage)
    wanted = {
        "server": server,
        "run": run.id,
        "stage": manifest["stage"],
        "only": only,
        "hash": manifest["hash"],
    }
    changed = _read_note(path) != {**wanted, "size": _size(path)}
    if changed:
        run.download(path, only, stage)
        note = json.dumps({**wanted, "size": _size(path)}, indent=1)
        Path(path + NOTE_ENDING).write_text(note + "\n", "utf-8")
    return FetchedExport(path, changed, manifest["rows"], manifest["last_updated"])


def _size(path: str) -> int | None:
    found = Path(path)
    return found.stat().st_size if found.is_file() else None


def _read_note(path: str) -> Any:
    try:
        return json.loads(Path(path + NOTE_ENDING).read_text("utf-8"))
    except (OSError, ValueError):
        return None
