"""Source files: what reads each format, and the files that paths, folders and globs name."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from quire.domain.documents import LeftOut
from quire.domain.errors import SourceUnreadable
from quire.domain.source_formats import FORMAT_OF_ENDING, SourceFormat, known_format


class Intake(StrEnum):
    """What a reader is handed."""

    ROWS = "rows"  # a stream of text, a row at a time
    TEXT = "text"  # all of it, decoded
    BYTES = "bytes"  # a file to read and seek in


class FormatRow(NamedTuple):
    """How files of a format are known, and what reads them."""

    reader: str  # a module beside this one
    intake: Intake
    packages: tuple[str, ...] = ()  # whose versions decide how a source is cut
    extra: str = ""  # of ours, that brings these packages
    risky: bool = True  # content may hold up or break the reader, which gets its own process
    rules: int = 1  # raised when the same source would be cut differently


_MARKDOWN = ("markdown-it-py", "mdit-py-plugins")

FORMATS = {
    SourceFormat.MARKDOWN: FormatRow("markdown", Intake.TEXT, _MARKDOWN, risky=False),
    SourceFormat.TEXT: FormatRow("text", Intake.TEXT, risky=False),
    SourceFormat.CSV: FormatRow("csv_rows", Intake.ROWS, risky=False),
    SourceFormat.TSV: FormatRow("csv_rows", Intake.ROWS, risky=False),
    SourceFormat.JSONL: FormatRow("jsonl", Intake.ROWS, risky=False),
    SourceFormat.JSON: FormatRow("json_values", Intake.TEXT, risky=False),
    SourceFormat.HTML: FormatRow("html", Intake.TEXT),
    SourceFormat.RST: FormatRow("rst", Intake.TEXT, ("docutils",), "files"),
    SourceFormat.EMAIL: FormatRow("email", Intake.BYTES),
    SourceFormat.DOCX: FormatRow("docx", Intake.BYTES, ("python-docx",), "files"),
    SourceFormat.PDF: FormatRow("pdf", Intake.BYTES, ("pdfplumber",), "files"),
    SourceFormat.XLSX: FormatRow("xlsx", Intake.BYTES, ("openpyxl",), "files"),
    SourceFormat.PPTX: FormatRow("pptx", Intake.BYTES, ("python-pptx",), "files", rules=2),
    SourceFormat.PARQUET: FormatRow("parquet", Intake.BYTES, ("pyarrow",), "frames"),
}


def format_of(ending: str, *, name: str) -> SourceFormat:
    """Tell a format by its ending alone, or refuse it in the name of the file."""
    found = FORMAT_OF_ENDING.get(ending.removeprefix(".").lower())
    if found is None:
        raise SourceUnreadable(
            f"{name}: unknown type {ending or '(none)'!r}; known are {', '.join(FORMAT_OF_ENDING)}"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """What was named: files to read, those that were left out, and a line for each problem."""

    paths: tuple[Path, ...]
    left_out: tuple[LeftOut, ...] = ()  # of an unknown type, inside folders and globs
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _FileSearch:
    """A search under way."""

    paths: dict[Path, Path] = field(default_factory=dict)  # where it really is -> as named
    left_out: list[LeftOut] = field(default_factory=list)
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
        paths=tuple(search.paths.values()),
        left_out=tuple(search.left_out),
        problems=tuple(search.problems),
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
        ending = path.suffix.lower() or "without an ending"
        search.left_out.append(LeftOut(str(path), f"unknown type of file: {ending}"))
        return False
    search.paths.setdefault(path.resolve(), path)
    return True
