"""Export formats: a row each, and the one way in which any of them is written to a file."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.recipes import Stage
from quire.export import jsonl
from quire.export.result_selection import (
    ALL,
    ResultSource,
    check_only,
    choose_stage,
    find_result_source,
)
from quire.ledger.ledger import Ledger, Transaction


class ExportFormat(NamedTuple):
    """How results are written: `lines` gives one piece of the file for each result."""

    name: str
    endings: tuple[str, ...]  # of its files; any other ending that no format has will do as well
    # Of one stage, or of all of them where it is None; the text is a choice of ONLY.
    lines: Callable[[Transaction, ResultSource, Stage | None, str], Iterator[bytes]]


FORMATS: Mapping[str, ExportFormat] = {
    format.name: format for format in (ExportFormat("jsonl", (".jsonl", ".ndjson"), jsonl.lines),)
}


# Who names a file so expects that format, and would find out late that it is another.
OTHER_FORMATS = frozenset((".csv", ".tsv", ".parquet", ".arrow", ".feather", ".xlsx", ".xls"))


def check_format(name: str, path: str = "-") -> ExportFormat:
    """The format of a name; refuse what is none, and a file that is named like another."""
    if name not in FORMATS:
        raise UsageError(f"--format takes {', '.join(FORMATS)}, not {name!r}")
    ending = Path(path).suffix.lower()
    known = {ending for form in FORMATS.values() for ending in form.endings} | OTHER_FORMATS
    if ending in known - set(FORMATS[name].endings):
        right = FORMATS[name].endings[0]
        raise UsageError(
            f"{path} is named like another format than {name}",
            f"name it {Path(path).stem}{right}; pandas reads that with read_json(…, lines=True)",
        )
    return FORMATS[name]


def write_export(
    ledger: Ledger,
    run: RunId,
    path: str,
    form: str = "jsonl",
    *,
    only: str = "all",
    stage: str | None = None,
) -> int:
    """Write a run's results to a file (`-` is standard output); returns how many.

    `stage` may be all; by default it is the one that the recipe is for.
    """
    check_only(only)
    chosen, count = check_format(form, path), 0
    with ledger.snapshot() as tx:
        source = find_result_source(tx, run)
        wanted = None if stage == ALL else choose_stage(source.recipe, stage)
        with _open_target(path) as target:
            for line in chosen.lines(tx, source, wanted, only):
                target.write(line)
                count += 1
    return count


@contextmanager
def _open_target(path: str) -> Iterator[BinaryIO]:
    """A file that appears only when it is whole; a pipe or a device is written as it is."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    target = Path(path).resolve()  # a link is followed, not replaced
    plain = not target.exists() or target.is_file()
    written = target.with_name(f"{target.name}.partial-{os.getpid()}") if plain else target
    try:
        with written.open("wb") as file:
            yield file
        if plain:
            written.replace(target)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if plain:
            written.unlink(missing_ok=True)
