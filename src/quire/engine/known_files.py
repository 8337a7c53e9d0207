"""Known files: where a file really is, how it was read, and whether it is as it was then.

A file has one row of its own, whatever it is called: its place is the path with all links followed,
and inside the folder of a ledger's file it is told from there, so that both may move together. A
file whose size and moment are those that were noted is not read again; one that was changed within
two seconds of being read is, for its moment may be too coarse to tell.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from quire.domain.documents import ReadChoices, ReadOptions
from quire.domain.ids import DocumentId
from quire.domain.sources import Source, SourceReading, options_json
from quire.domain.version import VERSION
from quire.ledger.ledger import Ledger, Transaction
from quire.sources.read_options import NOTHING_CHOSEN, make_read_options

COARSE = timedelta(seconds=2)  # what a file system may make of a moment
CHUNK = 500  # files that are looked up at once


class KnownFile(NamedTuple):
    """How a file is to be read, and what was read from it if it is as it was."""

    options: ReadOptions
    unchanged: Source | None


class KnownFiles:
    """What a ledger knows of files on this machine."""

    def __init__(self, ledger: Ledger) -> None:
        """Tell places from the folder of the ledger, where it is a file."""
        self._ledger = ledger
        is_file = ledger.dialect == "sqlite" and ledger.url != ":memory:"
        self._base = os.path.dirname(os.path.realpath(ledger.url)) if is_file else None

    def place_of(self, path: str | Path) -> str:
        """Where a file really is; an address of something else stays as it is."""
        name = os.fspath(path)
        if "://" in name:
            return name
        real = os.path.realpath(name)
        if self._base and Path(real).is_relative_to(self._base):
            real = os.path.relpath(real, self._base)
        return os.fsencode(real).decode(errors="backslashreplace")  # no two become one

    def reading_of(self, path: Path) -> SourceReading:
        """What is to be noted of a file that is about to be read."""
        return SourceReading(place=self.place_of(path), stamp=_stamp(path))

    def look_up(
        self, paths: Sequence[Path], choices: ReadChoices, *, aside: bool
    ) -> dict[Path, KnownFile]:
        """How each file is to be read: as it was, but for what is said; and whether it need be."""
        found: dict[Path, KnownFile] = {}
        with self._ledger.snapshot() as tx:
            usual = tx.documents.usual_documents()
            for chunk in _chunks(paths):
                readings = {path: self.reading_of(path) for path in chunk}
                found |= _look_up(tx, readings, choices, usual, aside=aside)
        return found


def _look_up(
    tx: Transaction,
    readings: Mapping[Path, SourceReading],
    choices: ReadChoices,
    usual: set[DocumentId],
    *,
    aside: bool,
) -> dict[Path, KnownFile]:
    by_place: dict[str, list[Source]] = {}
    for source in tx.sources.live_sources_at([reading.place for reading in readings.values()]):
        by_place.setdefault(source.place, []).append(source)
    found: dict[Path, KnownFile] = {}
    for path, reading in readings.items():
        known = by_place.get(reading.place, [])
        # what is in use says how a path is read before what one run alone was about
        newest = max(
            known, key=lambda it: (it.document_id in usual, it.read_at, it.id), default=None
        )
        options = make_read_options(choices, newest.options if newest else NOTHING_CHOSEN)
        same = len(known) == 1 and (aside or known[0].document_id in usual)
        same = same and _is_unchanged(known[0], reading, options)
        found[path] = KnownFile(options, known[0] if same else None)
    return found


def _is_unchanged(known: Source, reading: SourceReading, options: ReadOptions) -> bool:
    """Whether a file is what was read, in the same way."""
    as_it_was = bool(reading.stamp) and known.stamp == reading.stamp and _is_settled(known)
    return as_it_was and known.options == options_json(options)


def _stamp(path: Path) -> str:
    """Size, moment and reader; "" where there is no file, which whoever reads it will say."""
    try:
        known = path.stat()
    except OSError:
        return ""
    return f"{known.st_size}:{known.st_mtime_ns}:{VERSION}"


def _is_settled(source: Source) -> bool:
    nanoseconds = int(source.stamp.split(":")[1])
    changed_at = datetime.fromtimestamp(nanoseconds / 1e9, tz=source.read_at.tzinfo)
    return changed_at + COARSE < source.read_at


def _chunks(paths: Sequence[Path]) -> Iterator[list[Path]]:
    remaining = iter(paths)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
