"""What the server does of itself: read the batches that came in, carry out those that are due."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from time import monotonic

from quire.domain.batches import End, RowEnd
from quire.rehearsal.asked import Problem
from quire.rehearsal.batch_rows import carry_out, never_ran
from quire.rehearsal.batches.files import Stored, lines_of
from quire.rehearsal.batches.job import Job, Outlook
from quire.rehearsal.batches.row import Flaw
from quire.rehearsal.batches.spool import Spool
from quire.rehearsal.counting import Entry
from quire.rehearsal.memory import Memory

_TICK = 0.02  # seconds between two looks at the clock, which may be moved at any time
_SLICE = 0.01  # seconds of work before others have their turn
_PATIENCE = 2.0  # seconds that a request waits for what is due; more rows take longer
_NEVER_RAN = {End.EXPIRED: RowEnd.EXPIRED, End.CANCELLED: RowEnd.CANCELLED}


class Runner:
    """Carries batches out, one after the other, in the server's own thread."""

    def __init__(self, memory: Memory, note: Callable[[Entry], None]) -> None:
        """Work for one server; every row that was carried out is noted."""
        self._memory = memory
        self._note = note
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

    async def settle(self) -> None:
        """Wait until nothing is left to do at this time, though not for ever."""
        until = monotonic() + _PATIENCE
        # The clock tells nobody that it moved, so there is no event to wait for.
        while next(self._due(), None) is not None and monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(_SLICE)

    def _due(self) -> Iterator[Job]:
        now = self._memory.clock.now()
        return (job for job in self._memory.jobs.open if not job.checked or _is_due(job, now))

    async def _run(self) -> None:
        while True:
            job = next(self._due(), None)
            if job is None:
                await asyncio.sleep(_TICK)
                continue
            try:
                await (self._check(job) if not job.checked else self._carry_out(job))
            except Exception as error:  # noqa: BLE001 - one batch must not take the others along
                flaw = Flaw("server_error", f"{type(error).__name__}: {error}")
                self._memory.jobs.fail(job, flaw, self._memory.clock.now())

    async def _check(self, job: Job) -> None:
        """Read every line before any of them runs."""
        check, digest, rows = job.order.manner.checker(job, self._memory.models), sha256(), 0
        breath = _Breath()
        try:
            for rows, line in enumerate(lines_of(job.source), 1):
                check(rows, line)
                digest.update(_said(job, line))
                await breath.take()
            if not rows:
                raise Flaw("empty_file", "The input file is empty.")
        except Flaw as flaw:
            self._memory.jobs.fail(job, flaw, self._memory.clock.now())
        else:
            job.rows, job.digest = rows, digest.hexdigest()
        job.checked = True

    async def _carry_out(self, job: Job) -> None:
        """Answer the rows that its end leaves, and write down what became of each."""
        outlook = job.outlook()
        shuffled = job.number if "batch_shuffle" in job.faults else None
        breath = _Breath()
        spool = Spool(self._memory.shelf, job.order.always, shuffled=shuffled)
        answered = int(job.rows * outlook.share + 1e-9)
        try:
            for ordinal, line in enumerate(lines_of(job.source)):
                if "batch_missing" in job.faults and ordinal % 4 == 0:
                    continue
                self._row(job, outlook, spool, line, (ordinal, ordinal < answered))
                await breath.take()
        except BaseException:
            spool.abandon()
            raise
        self._publish(job, spool, outlook)

    def _row(
        self, job: Job, outlook: Outlook, spool: Spool, line: bytes, place: tuple[int, bool]
    ) -> None:
        ordinal, runs = place
        manner = job.order.manner
        call = manner.call(job, line)
        if runs:
            row, entry = carry_out(self._memory, job, ordinal, call)
            self._note(entry)
            if entry.usage is not None:
                job.usage.update(entry.usage._asdict())
        else:
            row = never_ran(job, ordinal, call, _NEVER_RAN[outlook.end])
        job.counts[str(row.end)] += 1
        twice = "batch_duplicate" in job.faults and ordinal % 2 == 0
        spool.write(manner.written(job, row), 2 if twice else 1)

    def _publish(self, job: Job, spool: Spool, outlook: Outlook) -> None:
        shelf, manner = self._memory.shelf, job.order.manner
        for name, (path, size) in spool.finish().items():
            stored = Stored(
                id=shelf.name("file-"),
                owner=job.order.owner,
                name=f"{job.id}_{name}.jsonl",
                purpose=manner.purpose,
                path=path,
                size=size,
                created_at=outlook.at,
                batch=job.id,
            )
            job.results[name] = shelf.keep(stored)
        self._memory.jobs.finish(job, outlook.end, outlook.at)


class _Breath:
    """Lets others have their turn now and then."""

    def __init__(self) -> None:
        self._since = monotonic()

    async def take(self) -> None:
        if monotonic() - self._since > _SLICE:
            await asyncio.sleep(0)
            self._since = monotonic()


def _is_due(job: Job, now: float) -> bool:
    return now >= job.outlook().at


def _said(job: Job, line: bytes) -> bytes:
    """What a row asks, without the name that it has in this batch."""
    try:
        return job.order.manner.call(job, line).body
    except Problem:
        return line
