"""Files that clients upload and batches write: on disk, each with an id, an owner and a name."""

import mmap
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from quire.rehearsal.vendor_protocol import ApiProblem, ProblemKind

# A string as a whole, so that a bracket inside one is not taken for a bracket.
_MARKS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)


class Upload(NamedTuple):
    """A body that went to disk."""

    path: Path
    size: int
    name: str = ""  # of the file, where the body was a form
    fields: Mapping[str, str] = MappingProxyType({})  # the form's others


@dataclass(slots=True, kw_only=True)
class StoredFile:
    """A file that can be asked for."""

    id: str
    owner: str  # a key
    name: str
    purpose: str
    path: Path
    size: int
    created_at: float
    expires_at: float = inf
    lines: int = 0  # of one that was uploaded
    batch: str = ""  # the batch that wrote it
    broken: set[str] = field(default_factory=set)  # faults that a download of it has had


class FileStore:
    """All files of one server, in a folder that goes with it."""

    def __init__(self) -> None:
        """Begin with nothing; the folder is made when there is something to keep."""
        self._folder: TemporaryDirectory[str] | None = None
        self._files: dict[str, StoredFile] = {}
        self._numbers = 0
        # Two servers must not give out the same ids: a client may remember those of an earlier one.
        self._token = secrets.token_hex(8)

    def new_path(self) -> Path:
        """A path where nothing is yet."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="quire-rehearsal-")
        self._numbers += 1
        return Path(self._folder.name) / f"{self._numbers}"

    def new_id(self, prefix: str) -> str:
        """An id in a vendor's style, unlike any other."""
        self._numbers += 1
        return f"{prefix}{self._token}{self._numbers:08x}"

    def add(self, stored: StoredFile) -> StoredFile:
        """Let a file be asked for."""
        self._files[stored.id] = stored
        return stored

    def keep_upload(self, upload: Upload) -> Path:
        """Keep what was uploaded, beyond the request that brought it."""
        path = self.new_path()
        upload.path.rename(path)
        return path

    def find(self, owner: str, file_id: str, now: float) -> StoredFile:
        """Look a file up; whoever did not bring it is told that there is none."""
        found = self._files.get(file_id)
        if found is None or found.owner != owner or found.expires_at <= now:
            message = f"No such File object: {file_id[:100]}"
            raise ApiProblem(ProblemKind.NO_THING, message, place="id")
        return found

    def list_owned(self, owner: str) -> list[StoredFile]:
        """Somebody's files, the newest first."""
        return [file for file in reversed(self._files.values()) if file.owner == owner]

    def delete(self, stored: StoredFile) -> None:
        """Forget a file; a batch that reads it has a link of its own."""
        del self._files[stored.id]
        stored.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove everything from the disk."""
        self._files.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def lines_of(path: Path) -> Iterator[bytes]:
    """Read a file's lines, one at a time; the empty ones at its end are not there."""
    with path.open("rb", buffering=1 << 18) as file:
        empty = 0
        for line in file:
            text = line.strip(b"\r\n")
            if not text:
                empty += 1
                continue
            for _ in range(empty):
                yield b""
            empty = 0
            yield text


def count_lines(path: Path) -> int:
    """Count a file's lines, without reading it as a whole."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            count += piece.count(b"\n")
            last = piece[-1:]
    return count + (last != b"\n")


def array_to_lines(source: Path, name: str, target: Path) -> int:
    """Write each element of a body's array to a line of its own, and count them.

    The body is never in memory as a whole. Raises Problem where it has no such array; whether an
    element is JSON is for whoever reads its line.
    """
    with source.open("rb") as read, target.open("wb") as write:
        if not os.fstat(read.fileno()).st_size:
            raise ApiProblem(ProblemKind.NOT_JSON, "the body is empty")
        with mmap.mmap(read.fileno(), 0, access=mmap.ACCESS_READ) as body:
            return _copy_elements(body, f'"{name}"'.encode(), write)


def _copy_elements(body: mmap.mmap, name: bytes, write: BinaryIO) -> int:
    count = 0
    for begin, end in _elements(body, name):
        # A line break inside a string would not be JSON: those that are there, are blanks.
        write.write(body[begin:end].replace(b"\n", b" ") + b"\n")
        count += 1
    return count


def _elements(body: mmap.mmap, name: bytes) -> Iterator[tuple[int, int]]:
    """Where the objects of an array begin and end; the array is a field of the outermost object."""
    depth, begin, last = 0, 0, b""
    inside = False  # the array that is looked for
    for mark in _MARKS.finditer(body):
        first = body[mark.start()]
        if first in b"{[":
            depth += 1
            inside = inside or (depth == 2 and last == name and first in b"[")
            begin = mark.start() if depth == 3 else begin
        elif first in b"}]":
            if inside and depth == 3:
                yield begin, mark.end()
            inside = inside and depth != 2
            depth -= 1
        elif depth == 1:
            last = mark.group()
    if depth or not last:
        raise ApiProblem(ProblemKind.NOT_JSON, "the body breaks off")
