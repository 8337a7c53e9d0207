"""Source files: formats by their endings, and the files that paths, folders and globs name."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from quire.domain.errors import SourceUnreadable


class SourceFormat(StrEnum):
    """A way to read bytes; its value is the ending most files have."""

    MARKDOWN = "md"
    TEXT = "txt"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"

    @property
    def source_type(self) -> str:
        """The type a document is kept under."""
        return "csv" if self is SourceFormat.TSV else self.value


_ENDINGS = {
    "md": SourceFormat.MARKDOWN,
    "markdown": SourceFormat.MARKDOWN,
    "txt": SourceFormat.TEXT,
    "text": SourceFormat.TEXT,
    "csv": SourceFormat.CSV,
    "tsv": SourceFormat.TSV,
    "jsonl": SourceFormat.JSONL,
    "ndjson": SourceFormat.JSONL,
}


def known_format(name: str) -> SourceFormat | None:
    """Tell a format by a file's name, in upper or lower case; None if the ending is unknown."""
    _, dot, ending = name.rpartition(".")
    return _ENDINGS.get(ending.lower()) if dot else None


def format_of(ending: str, *, name: str) -> SourceFormat:
    """Tell a format by its ending alone, or refuse it in the name of the file."""
    found = _ENDINGS.get(ending.removeprefix(".").lower())
    if found is None:
        raise SourceUnreadable(
            f"{name}: unknown type {ending or '(none)'!r}; known are {', '.join(_ENDINGS)}"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """What was named: files to read, how many were passed over, and a line for each problem."""

    paths: tuple[Path, ...]
    skipped: int = 0  # of an unknown type, inside folders and globs
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _FileSearch:
    """A search under way."""

    paths: dict[Path, Path] = field(default_factory=dict)  # where it really is -> as named
    skipped: int = 0
    problems: list[str] = field(default_factory=list)


def find_sources(named: Sequence[str | Path]) -> SourceFiles:
    """Find every file that is meant; a file that is named twice is found once.

    Folders are searched in depth, hidden files and folders are left out, links to folders are not
    followed. A file of an unknown type is a problem if it was named itself.
    """
    search = _FileSearch()
    for item in named:
        try:
            _search_path(search, str(item))
        except (OSError, ValueError) as error:  # names that the system cannot even look up
            reason = error.strerror if isinstance(error, OSError) else error
            search.problems.append(f"{item}: {reason}")
    return SourceFiles(
        paths=tuple(search.paths.values()), skipped=search.skipped, problems=tuple(search.problems)
    )


def _search_path(search: _FileSearch, name: str) -> None:
    path = Path(name)
    if path.is_dir():
        _search_folder(search, path)
    elif path.exists():
        if known_format(name):
            search.paths.setdefault(path.resolve(), path)
        else:
            search.problems.append(f"{name}: unknown type of file")
    elif glob.has_magic(name):
        _search_glob(search, name)
    else:
        search.problems.append(f"{name}: there is no such file or folder")


def _search_folder(search: _FileSearch, folder: Path) -> None:
    if not any([_add_if_known(search, path) for path in _files_inside(search, folder)]):
        search.problems.append(f"{folder}: has no file of a known type")


def _search_glob(search: _FileSearch, pattern: str) -> None:
    known = False
    for path in map(Path, sorted(glob.glob(pattern, recursive=True))):
        # ** already names every folder's files one by one
        in_depth = path.is_dir() and "**" not in pattern
        for file in _files_inside(search, path) if in_depth else [path]:
            known = _add_if_known(search, file) or known
    if not known:
        search.problems.append(f"{pattern}: matches no file of a known type")


def _files_inside(search: _FileSearch, folder: Path) -> Iterator[Path]:
    def note_problem(error: OSError) -> None:
        search.problems.append(f"{error.filename}: {error.strerror}")

    for parent, folders, files in os.walk(folder, onerror=note_problem):
        folders[:] = sorted(text for text in folders if not text.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(parent, name)


def _add_if_known(search: _FileSearch, path: Path) -> bool:
    if not path.is_file():
        return False
    if not known_format(path.name):
        search.skipped += 1
        return False
    search.paths.setdefault(path.resolve(), path)
    return True
