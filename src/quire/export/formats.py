"""Export formats: a row each, chosen by name or by a file's ending, and the way to write any."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import BinaryIO, NamedTuple

from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.recipes import Stage
from quire.export import jsonl, parquet, xlsx
from quire.export.bundle import BundleOrder, write_bundle
from quire.export.delimited import METADATA_ENDING, delimited_lines, describe_columns
from quire.export.export_targets import STDOUT, check_address, open_target
from quire.export.flat_tables import FlatTable, flat_table
from quire.export.result_selection import (
    ALL,
    EVERY_ROW,
    ResultSource,
    RowFilter,
    choose_stage,
    find_result_source,
)
from quire.ledger.ledger import Ledger, Transaction


class ExportJob(NamedTuple):
    """What is exported, from one snapshot of the ledger."""

    tx: Transaction
    source: ResultSource
    stage: Stage | None  # None: all of them
    chosen: RowFilter

    def table(self) -> FlatTable:
        """As rows with typed columns."""
        return flat_table(*self)


class Written(NamedTuple):
    """What became of one file."""

    rows: int
    widened: tuple[str, ...] = ()  # columns that are text, because not all values fit their type
    cut: int = 0  # cells that are longer than the format allows


class ExportReport(NamedTuple):
    """What an export came to."""

    path: str
    form: str
    rows: int
    changed: bool  # false: the same was there already
    widened: tuple[str, ...] = ()
    cut: int = 0


class ExportFormat(NamedTuple):
    """How results are written to one file."""

    name: str
    endings: tuple[str, ...]  # of its files
    write: Callable[[ExportJob, BinaryIO], Written]
    delimiter: str = ""  # of a file whose columns are described beside it


def _write_lines(lines: Iterable[bytes], file: BinaryIO, header: int = 0) -> Written:
    count = -header
    for line in lines:
        file.write(line)
        count += 1
    return Written(count)


def _write_jsonl(job: ExportJob, file: BinaryIO) -> Written:
    return _write_lines(jsonl.lines(*job), file)


def _write_csv(job: ExportJob, file: BinaryIO) -> Written:
    return _write_lines(delimited_lines(job.table(), ","), file, header=1)


def _write_tsv(job: ExportJob, file: BinaryIO) -> Written:
    return _write_lines(delimited_lines(job.table(), "\t"), file, header=1)


def _write_parquet(job: ExportJob, file: BinaryIO) -> Written:
    rows, widened = parquet.write_parquet(job.table(), file)
    return Written(rows, widened=widened)


def _write_xlsx(job: ExportJob, file: BinaryIO) -> Written:
    rows, cut = xlsx.write_xlsx(job.table(), file)
    return Written(rows, cut=cut)


FORMATS: Mapping[str, ExportFormat] = {
    form.name: form
    for form in (
        ExportFormat("jsonl", (".jsonl", ".ndjson"), _write_jsonl),
        ExportFormat("csv", (".csv",), _write_csv, delimiter=","),
        ExportFormat("tsv", (".tsv",), _write_tsv, delimiter="\t"),
        ExportFormat("parquet", (".parquet",), _write_parquet),
        ExportFormat("xlsx", (".xlsx",), _write_xlsx),
    )
}


BUNDLE = "bundle"  # a folder of files


def is_bundle(name: str | None, path: str) -> bool:
    """Whether a folder of tables is meant: by its name, or by the slash at its end."""
    return name == BUNDLE or (name is None and path.endswith("/"))


def check_output(name: str | None, path: str) -> None:
    """Refuse a format that there is none of, or that does not go with the path."""
    if not is_bundle(name, path):
        check_format(name, path)
    elif path == STDOUT:
        raise UsageError("a bundle is a folder of files", "say where: -o folder/")
    else:
        check_address(path, folder=True)


def check_format(name: str | None, path: str = STDOUT) -> ExportFormat:
    """The format of a name, or else of a file's ending; refuse what is none, and what differs."""
    check_address(path, folder=False)
    ending = PurePosixPath(path).suffix.lower()
    of_ending = {end: form for form in FORMATS.values() for end in form.endings}.get(ending)
    if name is None:
        if ending and of_ending is None:
            known = ", ".join(end for form in FORMATS.values() for end in form.endings)
            raise UsageError(
                f"{path}: no format has the ending {ending}",
                f"name it with one of {known}, or say --format NAME",
            )
        return of_ending or FORMATS["jsonl"]
    if name not in FORMATS:
        raise UsageError(f"--format takes {', '.join(FORMATS)} or {BUNDLE}, not {name!r}")
    if of_ending not in (None, FORMATS[name]):
        right = FORMATS[name].endings[0]
        raise UsageError(
            f"{path} is named like another format than {name}",
            f"name it {PurePosixPath(path).stem}{right}, or leave --format out",
        )
    return FORMATS[name]


def write_export(
    ledger: Ledger,
    run: RunId,
    path: str,
    form: str | None = None,
    *,
    chosen: RowFilter = EVERY_ROW,
    stage: str | None = None,
) -> ExportReport:
    """Write a run's results to a file, an object of a store, or standard output (`-`).

    `stage` may be all; by default it is the one that the recipe is for.
    """
    chosen.check()
    format = check_format(form, path)
    with ledger.snapshot() as tx:
        source = find_result_source(tx, run)
        wanted = None if stage == ALL else choose_stage(source.recipe, stage)
        job = ExportJob(tx, source, wanted, chosen)
        with open_target(path) as target:
            written = format.write(job, target.file)
        if format.delimiter and path != STDOUT:
            _describe(job, path, format.delimiter)
    return ExportReport(path, format.name, written.rows, target.changed, *written[1:])


def write_bundle_export(ledger: Ledger, run: RunId, order: BundleOrder) -> ExportReport:
    """Write a folder of tables: the rows of a run, and its part of the ledger."""
    check_output(BUNDLE, order.folder)
    with ledger.snapshot() as tx:
        written = write_bundle(tx, find_result_source(tx, run), order)
    return ExportReport(order.folder, BUNDLE, *written)


def _describe(job: ExportJob, path: str, delimiter: str) -> None:
    name = PurePosixPath(path).name
    with open_target(path + METADATA_ENDING) as target:
        target.file.write(describe_columns(job.table().columns, name, delimiter))
