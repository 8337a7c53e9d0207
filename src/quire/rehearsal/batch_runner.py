"""The batch runner: checks new batches, answers those that are due, writes their results."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from time import monotonic
from typing import BinaryIO

import orjson

from quire.domain.batches import BatchEnd, RowEnd
from quire.domain.models import Limits, Usage
from quire.rehearsal.batch_jobs import (
    BatchFailure,
    BatchJob,
    ExpectedEnd,
    JobRow,
    ResultLine,
    RowCall,
)
from quire.rehearsal.exchange import Exchange, ResponsePlan
from quire.rehearsal.file_store import FileStore, StoredFile, lines_of
from quire.rehearsal.prompt_cache import CachePoint, CacheUse
from quire.rehearsal.request_log import LogEntry
from quire.rehearsal.server_state import ServerState
from quire.rehearsal.vendor_protocol import ApiProblem, CallEndpoint, ParsedCall, ProblemKind
from quire.simulated.block_answers import AskedBlock

_ROWS = 2**32  # more than any batch has, so that no two rows of a server share a number


class RowExchange(Exchange):
    """A call that came in a batch: its key was admitted with it, and no limit of a minute holds."""

    def __init__(
        self, state: ServerState, job: BatchJob, call: RowCall, entry: LogEntry, number: int
    ) -> None:
        """Begin with a row that is understood."""
        super().__init__(state, call.dialect, entry, call.incoming)
        self.draw_number = number  # and not the request's: polling must not change what is drawn
        self.faults = state.row_faults
        self._key = job.order.owner
        self._broken = "batch_errors" in job.faults

    def admit(self) -> str:
        """The key that made the batch."""
        return self._key

    def _refuse_scripted(self, blocks: list[AskedBlock]) -> None:
        if self._broken:
            self.entry.fault = "batch_errors"
            raise ApiProblem(ProblemKind.BROKEN, "The server had an error, by the fault script.")
        super()._refuse_scripted(blocks)

    def _look_up_cache(self, points: list[CachePoint]) -> CacheUse:
        return self.state.cache.look_up_for_batch_row(points, self._now)

    def _reserve(self, endpoint: CallEndpoint, call: ParsedCall, usage: Usage) -> Limits:
        return Limits()

    def _settle(self, endpoint: CallEndpoint, reserved: Limits) -> None:
        pass

    def _wait(self, blocks: list[AskedBlock]) -> float:
        return 0.0

    def _headers(self) -> dict[str, str]:
        return {}


def answer_row(
    state: ServerState, job: BatchJob, ordinal: int, call: RowCall
) -> tuple[JobRow, LogEntry]:
    """Let the model answer one row, and put that on record."""
    at = job.row_time(ordinal)
    entry = state.request_log.add_row(at, (call.incoming.method, call.incoming.path), job.id)
    entry.endpoint, entry.key, entry.tag = call.dialect.endpoint_name, job.key_tail, job.tag
    number = job.number * _ROWS + ordinal
    exchange = RowExchange(state, job, call, entry, number)
    plan = exchange.plan_response(lambda made, raw: made.answer_call(call.dialect, raw), call.body)
    if plan.points:
        state.cache.keep(plan.points, at)
    entry.status, entry.delivered = plan.status, True
    state.request_log.end_request(entry)
    end = RowEnd.ANSWERED if plan.status == 200 else RowEnd.ERRORED
    return JobRow(ordinal, call.custom_id, end, number, plan.status, _body(plan)), entry


def _body(plan: ResponsePlan) -> orjson.Fragment | str:
    if plan.content_type == "application/json":
        return orjson.Fragment(plan.body)
    return plan.body.decode()


@dataclass(slots=True)
class _ResultFile:
    path: Path
    file: BinaryIO
    starts: list[int] = field(default_factory=list)
    size: int = 0


class ResultSpool:
    """Writes results a line at a time."""

    def __init__(
        self, files: FileStore, always: Iterable[str] = (), *, shuffle_seed: int | None = None
    ) -> None:
        """Begin with what is always there; a number shuffles the lines, always alike."""
        self._files = files
        self._shuffle_seed = shuffle_seed
        self._results: dict[str, _ResultFile] = {}
        for name in always:
            self._open(name)

    def write(self, written: ResultLine, times: int = 1) -> None:
        """Add a line to one of the results."""
        result = self._results.get(written.result) or self._open(written.result)
        line = orjson.dumps(written.line) + b"\n"
        for _ in range(times):
            if self._shuffle_seed is not None:
                result.starts.append(result.size)
            result.file.write(line)
            result.size += len(line)

    def finish(self) -> dict[str, tuple[Path, int]]:
        """Close the files, and say where they are and how large."""
        for result in self._results.values():
            result.file.close()
            if self._shuffle_seed is not None:
                self._shuffle(result)
        return {name: (result.path, result.size) for name, result in self._results.items()}

    def abandon(self) -> None:
        """Close and remove what was written."""
        for result in self._results.values():
            result.file.close()
            result.path.unlink(missing_ok=True)

    def _open(self, name: str) -> _ResultFile:
        path = self._files.new_path()
        self._results[name] = _ResultFile(path, path.open("wb", 1 << 18))
        return self._results[name]

    def _shuffle(self, result: _ResultFile) -> None:
        starts = list(result.starts)
        Random(self._shuffle_seed).shuffle(starts)  # noqa: S311 - a rehearsal is no secret
        target = self._files.new_path()
        with result.path.open("rb") as read, target.open("wb", 1 << 18) as write:
            for start in starts:
                read.seek(start)
                write.write(read.readline())
        target.replace(result.path)


_TICK = 0.02  # seconds between two looks at the clock, which may be moved at any time
_SLICE = 0.01  # seconds of work before others have their turn
SETTLE_TIMEOUT = 2.0  # seconds that a request waits for what is due; more rows take longer
_NEVER_RAN = {BatchEnd.EXPIRED: RowEnd.EXPIRED, BatchEnd.CANCELLED: RowEnd.CANCELLED}


class BatchRunner:
    """Carries batches out, one after the other, in the server's own thread."""

    def __init__(self, state: ServerState, log_entry: Callable[[LogEntry], None]) -> None:
        """Work for one server; every row that was carried out is noted."""
        self._state = state
        self._log_entry = log_entry
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look after batches."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Leave everything as it is."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def settle(self, patience: float) -> None:
        """Wait until nothing is left to do at this time, at most so many seconds."""
        until = monotonic() + patience
        # The clock tells nobody that it moved, so there is no event to wait for.
        while next(self._due_jobs(), None) is not None and monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(_SLICE)

    def _due_jobs(self) -> Iterator[BatchJob]:
        now = self._state.clock.now()
        waiting = self._state.jobs.open
        return (job for job in waiting if not job.checked or now >= job.expected_end().at)

    async def _run(self) -> None:
        while True:
            job = next(self._due_jobs(), None)
            if job is None:
                await asyncio.sleep(_TICK)
                continue
            try:
                await (self._check(job) if not job.checked else self._answer_rows(job))
            except Exception as error:  # noqa: BLE001 - one batch must not take the others along
                failure = BatchFailure("server_error", f"{type(error).__name__}: {error}")
                self._state.jobs.fail(job, failure, self._state.clock.now())

    async def _check(self, job: BatchJob) -> None:
        """Read every line before any of them runs."""
        check, digest, rows = job.order.endpoint.checker(job, self._state.models), sha256(), 0
        time_slice = _TimeSlice()
        try:
            for rows, line in enumerate(lines_of(job.source), 1):
                check(rows, line)
                digest.update(_row_body(job, line))
                await time_slice.pause()
            if not rows:
                raise BatchFailure("empty_file", "The input file is empty.")
        except BatchFailure as flaw:
            flaw.line = rows
            self._state.jobs.fail(job, flaw, self._state.clock.now())
        else:
            job.rows, job.digest = rows, digest.hexdigest()
        job.checked = True

    async def _answer_rows(self, job: BatchJob) -> None:
        """Answer the rows that its end leaves, and write down what became of each."""
        expected = job.expected_end()
        shuffle_seed = job.number if "batch_shuffle" in job.faults else None
        time_slice = _TimeSlice()
        spool = ResultSpool(self._state.files, job.order.always, shuffle_seed=shuffle_seed)
        answered = int(job.rows * expected.share + 1e-9)
        try:
            for ordinal, line in enumerate(lines_of(job.source)):
                if "batch_missing" in job.faults and ordinal % 4 == 0:
                    continue
                self._write_row(job, expected, spool, line, (ordinal, ordinal < answered))
                await time_slice.pause()
        except BaseException:
            spool.abandon()
            raise
        self._publish(job, spool, expected)

    def _write_row(
        self,
        job: BatchJob,
        expected: ExpectedEnd,
        spool: ResultSpool,
        line: bytes,
        place: tuple[int, bool],
    ) -> None:
        ordinal, runs = place
        endpoint = job.order.endpoint
        call = endpoint.parse_row(job, line)
        if runs:
            row, entry = answer_row(self._state, job, ordinal, call)
            self._log_entry(entry)
            if entry.usage is not None:
                job.usage.update(entry.usage._asdict())
        else:
            end, number = _NEVER_RAN[expected.end], job.number * _ROWS + ordinal
            row = JobRow(ordinal, call.custom_id, end, number)
        job.counts[str(row.end)] += 1
        twice = "batch_duplicate" in job.faults and ordinal % 2 == 0
        spool.write(endpoint.result_line(job, row), 2 if twice else 1)

    def _publish(self, job: BatchJob, spool: ResultSpool, expected: ExpectedEnd) -> None:
        files, endpoint = self._state.files, job.order.endpoint
        for name, (path, size) in spool.finish().items():
            stored = StoredFile(
                id=files.new_id("file-"),
                owner=job.order.owner,
                name=f"{job.id}_{name}.jsonl",
                purpose=endpoint.purpose,
                path=path,
                size=size,
                created_at=expected.at,
                batch=job.id,
            )
            job.results[name] = files.add(stored)
        self._state.jobs.finish(job, expected.end, expected.at)


class _TimeSlice:
    """Lets others have their turn now and then."""

    def __init__(self) -> None:
        self._since = monotonic()

    async def pause(self) -> None:
        if monotonic() - self._since > _SLICE:
            await asyncio.sleep(0)
            self._since = monotonic()


def _row_body(job: BatchJob, line: bytes) -> bytes:
    """What a row asks, without the name that it has in this batch."""
    try:
        return job.order.endpoint.parse_row(job, line).body
    except ApiProblem:
        return line
