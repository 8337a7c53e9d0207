"""Files that we wrote in a folder: which they are, and whether somebody has changed them since.

A line is added to the journal before a file is written, so that a process that dies in between
still knows its file again. A file is ours only while its bytes are some that the journal names;
what a person changed or put there is never written over, nor removed.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from quire.domain.data import Json
from quire.domain.errors import Conflict

JOURNAL = ".quire-results.jsonl"
_PATH = re.compile(r"(?:[a-z0-9_-]+/)?[a-z0-9_-]+\.[a-z]+")  # of a file that we write


class FileOutcome(StrEnum):
    """What became of one file."""

    WRITTEN = "written"
    UNCHANGED = "unchanged"
    LEFT = "left"  # it is not as we wrote it
    REMOVED = "removed"


class WrittenFiles:
    """The files of one folder, by their paths in it."""

    def __init__(self, folder: Path, owner: Mapping[str, Json]) -> None:
        """Read the journal; refuse a folder that somebody else's files are in."""
        self._folder, self._owner = folder, dict(owner)
        self._known: defaultdict[str, set[str]] = defaultdict(set)  # digests that are ours
        self._journal: BinaryIO | None = None
        self._removed = False
        self._read_journal()

    @property
    def paths(self) -> list[str]:
        """The files that are ours."""
        return list(self._known)

    def __contains__(self, path: str) -> bool:
        """Whether a file is ours."""
        return path in self._known

    def write(self, path: str, data: bytes) -> FileOutcome:
        """Write a file, unless it is there as it should be, or as somebody else made it."""
        target, digest = self._folder / path, sha256(data).hexdigest()
        found = "" if _is_elsewhere(target) else _digest(target)
        if found == digest:
            self._note(path, digest)
            return FileOutcome.UNCHANGED
        if found is not None and found not in self._known[path]:
            if not self._known[path]:
                del self._known[path]
            return FileOutcome.LEFT
        self._note(path, digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".partial-{os.getpid()}")
        try:
            partial.write_bytes(data)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        self._known[path] = {digest}
        return FileOutcome.WRITTEN

    def remove(self, path: str) -> FileOutcome:
        """Remove a file that is as we wrote it."""
        target = self._folder / path
        found = "" if _is_elsewhere(target) else _digest(target)
        if found is not None and found not in self._known[path]:
            return FileOutcome.LEFT
        target.unlink(missing_ok=True)
        del self._known[path]
        self._removed = True
        with suppress(OSError):  # others are in it
            target.parent.rmdir()
        return FileOutcome.REMOVED

    def close(self) -> None:
        """Leave a journal that names every file once."""
        if self._journal is not None:
            self._journal.close()
        elif not self._removed:
            return
        lines = [
            self._head(),
            *(_line(path, one) for path, all in self._known.items() for one in all),
        ]
        partial = self._folder / f"{JOURNAL}.partial-{os.getpid()}"
        partial.write_bytes(b"".join(lines))
        partial.replace(self._folder / JOURNAL)

    def _note(self, path: str, digest: str) -> None:
        """Write down that bytes at a path are ours, before they are there."""
        if digest in self._known[path]:
            return
        if self._journal is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            journal = self._folder / JOURNAL
            new = not journal.exists()
            self._journal = journal.open("ab")
            # the last line of a process that died may be cut off: the next must not be part of it
            self._journal.write(self._head() if new else b"\n")
        self._journal.write(_line(path, digest))
        self._journal.flush()
        self._known[path].add(digest)

    def _head(self) -> bytes:
        return json.dumps(self._owner).encode() + b"\n"

    def _read_journal(self) -> None:
        journal = self._folder / JOURNAL
        if not journal.exists():
            return
        with journal.open("rb") as lines:
            if _parse_line(next(lines, b"")) != self._owner:
                raise Conflict(
                    f"{self._folder}: holds the results of another ledger's run;"
                    " take another folder"
                )
            for line in lines:
                found = _parse_line(line)
                path, digest = str(found.get("path", "")), str(found.get("sha256", ""))
                if _PATH.fullmatch(path) and digest:  # others may have written here: no way out
                    self._known[path].add(digest)


def _is_elsewhere(path: Path) -> bool:
    """Whether somebody has put a link in the place of our file, or of its folder."""
    return path.is_symlink() or path.parent.is_symlink()


def _digest(path: Path) -> str | None:
    """The digest of what is at a path; None where nothing is, "" where it is no file."""
    if not path.is_file():
        return "" if os.path.lexists(path) else None
    with path.open("rb") as file:
        digest = sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _line(path: str, digest: str) -> bytes:
    return json.dumps({"path": path, "sha256": digest}).encode() + b"\n"


def _parse_line(line: bytes) -> dict[str, Json]:
    """A line of the journal; the last one of a process that died may be cut off."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
