"""Export streams: a run's results as bytes, piece by piece, while they are read from the ledger.

One thread writes and waits when its reader is slow, so that memory stays flat and whoever asked
first hears of a mistake before the first byte.
"""

import hashlib
import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple, cast

from quire.domain.data import Json, canonical_json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.engine.context import EngineContext
from quire.engine.json_views.encoding import json_bytes
from quire.engine.row_counts import count_confirmed, count_statuses
from quire.export.formats import FORMATS, ExportFormat, ExportJob, check_format
from quire.export.result_selection import (
    ACCEPTED,
    ALL,
    CONFIRMED,
    PENDING,
    UNREVIEWED,
    RowFilter,
    choose_stage,
    find_result_source,
    is_block_by_block,
    is_review_required,
)
from quire.ledger.ledger import Transaction

PIECE = 1 << 18  # bytes of a piece
AHEAD = 4  # pieces that wait for a slow reader
ROWS = "rows"  # flat ones, a JSON object a line: what `rows` gives
SEEKING = ("parquet", "xlsx")  # are written to a file first
MEDIA_TYPES: Mapping[str, str] = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


class ExportRequest(NamedTuple):
    """What is to be exported."""

    run: RunId
    form: str
    chosen: RowFilter
    stage: str | None = None

    @property
    def format(self) -> ExportFormat:
        """How it is written."""
        if self.form not in FORMATS:
            raise UsageError(f"format takes {', '.join(FORMATS)}, not {self.form!r}")
        return FORMATS[self.form]


class ExportManifest(NamedTuple):
    """How an export stands, without writing it: as long as the hash is the same, so is the file."""

    run: RunId
    stage: str
    schema: str | None
    schema_version: int | None
    rows: Mapping[str, int]  # by status
    last_updated: str
    hash: str


class ExportStreams:
    """Exports of a ledger, for servers."""

    def __init__(self, context: EngineContext) -> None:
        """Read from the context's ledger."""
        self._context = context

    def open(self, asked: ExportRequest) -> Iterator[bytes]:
        """The pieces of an export; closing it ends the writing."""
        asked.chosen.check()
        if asked.form != ROWS:
            check_format(asked.form)
        if asked.form in SEEKING:
            return self._read_file(asked)
        sink = _Sink()
        thread = threading.Thread(target=self._fill, args=(sink, asked), name="export", daemon=True)
        thread.start()
        first = sink.take()
        return sink.pieces(first)

    def _fill(self, sink: "_Sink", asked: ExportRequest) -> None:
        try:
            self._write(asked, cast(BinaryIO, sink))
            sink.end(None)
        except _ReaderGone:
            return
        except Exception as error:  # noqa: BLE001 - told to whoever reads, on its own thread
            sink.end(error)

    def _write(self, asked: ExportRequest, file: BinaryIO) -> None:
        with self._context.ledger.snapshot() as tx:
            source = find_result_source(tx, asked.run)
            stage = None if asked.stage == ALL else choose_stage(source.recipe, asked.stage)
            job = ExportJob(tx, source, stage, asked.chosen)
            if asked.form == ROWS:
                table = job.table()
                for row in table.read_rows():
                    file.write(json_bytes(dict(zip(table.names, row, strict=True))) + b"\n")
            else:
                asked.format.write(job, file)

    def _read_file(self, asked: ExportRequest) -> Iterator[bytes]:
        folder = TemporaryDirectory(prefix="quire-export-")
        path = Path(folder.name) / "whole"
        try:
            with path.open("wb") as file:
                self._write(asked, file)
        except BaseException:
            folder.cleanup()
            raise
        return _pieces_of(path, folder)

    def manifest(self, run: int, stage: str | None = None) -> ExportManifest:
        """How an export stands, from sums that are kept; what people confirmed is counted."""
        with self._context.ledger.snapshot() as tx:
            return _manifest(tx, RunId(run), stage)


def _manifest(tx: Transaction, run: RunId, stage: str | None) -> ExportManifest:
    source = find_result_source(tx, run)
    wanted = choose_stage(source.recipe, stage)
    sums = tx.tallies.tallies_by_stage(run)
    counts = sums.get(source.stage_ids[wanted.name], {})
    rows = count_statuses(counts)
    if is_block_by_block(wanted):
        missing = tx.runs.count_run_inputs(run)[1] - sum(rows.values())
        rows[PENDING] += max(0, missing)
    decided = count_confirmed(tx, source.stage_ids[wanted.name], rows[ACCEPTED]).rows
    rows[CONFIRMED] = min(decided, rows[ACCEPTED])
    rows[UNREVIEWED if is_review_required(source.run) else ACCEPTED] = (
        rows.pop(ACCEPTED) - rows[CONFIRMED]
    )
    events = tx.events.events_of_run(run, 1)
    known: dict[str, Json] = {
        "recipe": source.run.recipe,
        "stage": wanted.name,
        "sums": {str(number): dict(sorted(found.items())) for number, found in sums.items()},
        "event": events[-1].id if events else 0,
        "purge": tx.list_pages.last_purge(),
    }
    schema = wanted.schema
    return ExportManifest(
        run,
        wanted.name,
        schema.ref if schema else None,
        schema.version if schema else None,
        {status: count for status, count in rows.items() if count},
        (events[-1].at if events else source.run.created_at).isoformat(),
        hashlib.sha256(canonical_json(known).encode()).hexdigest(),
    )


class _ReaderGone(Exception):
    """Nobody reads any more."""


class _Sink(RawIOBase):
    """A file whose bytes go to another thread, which may be slow."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: queue.Queue[bytes | Exception | None] = queue.Queue(AHEAD)
        self._gone = threading.Event()
        self._buffer = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(cast(bytes, data))
        self._buffer += piece
        if len(self._buffer) >= PIECE:
            self._pass_on(bytes(self._buffer))
            self._buffer.clear()
        return len(piece)

    def end(self, error: Exception | None) -> None:
        """Say that nothing more comes, and why."""
        with suppress(_ReaderGone):
            if self._buffer and error is None:
                self._pass_on(bytes(self._buffer))
            self._pass_on(error)

    def _pass_on(self, piece: bytes | Exception | None) -> None:
        while not self._gone.is_set():
            with suppress(queue.Full):
                self._queue.put(piece, timeout=1)
                return
        raise _ReaderGone

    def take(self) -> bytes | None:
        """The next piece; None at the end."""
        found = self._queue.get()
        if isinstance(found, Exception):
            raise found
        return found

    def pieces(self, first: bytes | None) -> Iterator[bytes]:
        """All pieces; whoever stops reading ends the writing."""
        try:
            piece = first
            while piece is not None:
                yield piece
                piece = self.take()
        finally:
            self._gone.set()


def _pieces_of(path: Path, folder: "TemporaryDirectory[str]") -> Iterator[bytes]:
    with folder, path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
