"""The results of one batch on their way to disk: a file for each name, in order or out of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import BinaryIO

import orjson

from quire.rehearsal.batches.files import Shelf
from quire.rehearsal.batches.row import Written


@dataclass(slots=True)
class _Result:
    path: Path
    file: BinaryIO
    starts: list[int] = field(default_factory=list)
    size: int = 0


class Spool:
    """Writes results a line at a time."""

    def __init__(
        self, shelf: Shelf, always: Iterable[str] = (), *, shuffled: int | None = None
    ) -> None:
        """Begin with what is always there; a number shuffles the lines, always alike."""
        self._shelf = shelf
        self._shuffled = shuffled
        self._results: dict[str, _Result] = {}
        for name in always:
            self._opened(name)

    def write(self, written: Written, times: int = 1) -> None:
        """Add a line to one of the results."""
        result = self._results.get(written.result) or self._opened(written.result)
        line = orjson.dumps(written.line) + b"\n"
        for _ in range(times):
            if self._shuffled is not None:
                result.starts.append(result.size)
            result.file.write(line)
            result.size += len(line)

    def finish(self) -> dict[str, tuple[Path, int]]:
        """Close the files, and say where they are and how large."""
        for result in self._results.values():
            result.file.close()
            if self._shuffled is not None:
                self._shuffle(result)
        return {name: (result.path, result.size) for name, result in self._results.items()}

    def abandon(self) -> None:
        """Close and remove what was written."""
        for result in self._results.values():
            result.file.close()
            result.path.unlink(missing_ok=True)

    def _opened(self, name: str) -> _Result:
        path = self._shelf.fresh()
        self._results[name] = _Result(path, path.open("wb", 1 << 18))
        return self._results[name]

    def _shuffle(self, result: _Result) -> None:
        starts = list(result.starts)
        Random(self._shuffled).shuffle(starts)  # noqa: S311 - a rehearsal is no secret
        target = self._shelf.fresh()
        with result.path.open("rb") as read, target.open("wb", 1 << 18) as write:
            for start in starts:
                read.seek(start)
                write.write(read.readline())
        target.replace(result.path)
