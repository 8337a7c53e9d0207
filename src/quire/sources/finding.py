"""Paths, folders and globs become the files to read, in an order that does not change."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quire.sources.formats import known_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was named: files to read, how many were passed over, and a line for each problem."""

    paths: tuple[Path, ...]
    skipped: int = 0  # of an unknown type, inside folders and globs
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Search:
    """A search under way."""

    paths: dict[Path, Path] = field(default_factory=dict)  # where it really is -> as named
    skipped: int = 0
    problems: list[str] = field(default_factory=list)


def find_sources(named: Sequence[str | Path]) -> Found:
    """Find every file that is meant; a file that is named twice is found once.

    Folders are searched in depth, hidden files and folders are left out, links to folders are not
    followed. A file of an unknown type is a problem if it was named itself.
    """
    search = _Search()
    for each in named:
        try:
            _look(search, str(each))
        except (OSError, ValueError) as error:  # names that the system cannot even look up
            reason = error.strerror if isinstance(error, OSError) else error
            search.problems.append(f"{each}: {reason}")
    return Found(
        paths=tuple(search.paths.values()),
        skipped=search.skipped,
        problems=tuple(search.problems),
    )


def _look(search: _Search, name: str) -> None:
    path = Path(name)
    if path.is_dir():
        _look_inside(search, path)
    elif path.exists():
        if known_format(name):
            _keep(search, path)
        else:
            search.problems.append(f"{name}: unknown type of file")
    elif glob.has_magic(name):
        _look_for_matches(search, name)
    else:
        search.problems.append(f"{name}: there is no such file or folder")


def _look_inside(search: _Search, folder: Path) -> None:
    known = False
    for path in _files_inside(search, folder):
        known = _sift(search, path) or known
    if not known:
        search.problems.append(f"{folder}: has no file of a known type")


def _look_for_matches(search: _Search, pattern: str) -> None:
    matches = sorted(glob.glob(pattern, recursive=True))
    known = False
    for path in map(Path, matches):
        # ** already names every folder's files one by one
        for file in (
            _files_inside(search, path) if path.is_dir() and "**" not in pattern else [path]
        ):
            known = _sift(search, file) or known
    if not known:
        search.problems.append(f"{pattern}: matches no file of a known type")


def _files_inside(search: _Search, folder: Path) -> Iterator[Path]:
    def note(error: OSError) -> None:
        search.problems.append(f"{error.filename}: {error.strerror}")

    for parent, folders, files in os.walk(folder, onerror=note):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(parent, name)


def _sift(search: _Search, path: Path) -> bool:
    if not path.is_file():
        return False
    if not known_format(path.name):
        search.skipped += 1
        return False
    _keep(search, path)
    return True


def _keep(search: _Search, path: Path) -> None:
    search.paths.setdefault(path.resolve(), path)
