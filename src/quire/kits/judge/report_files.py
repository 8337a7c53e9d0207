"""Report files: a page, its figures and its plots, written into one folder."""

from collections.abc import Iterable
from pathlib import Path

from quire.domain.errors import UsageError


def write_files(folder: Path, files: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Write files by their names, those of plots below `plots`; returns where they are."""
    written = []
    try:
        (folder / "plots").mkdir(parents=True, exist_ok=True)
        for name, body in files:
            (folder / name).write_bytes(body)
            written.append(folder / name)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return written
