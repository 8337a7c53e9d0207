"""The collector: a batch's rows are read as a stream and stored in groups, each row once."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

from quire.dispatch.batch_leases import LeasedBatch
from quire.dispatch.loop_context import LoopContext
from quire.dispatch.response_decoder import build_answer, decode_response
from quire.domain.batches import (
    Batch,
    BatchEnd,
    BatchRow,
    BatchStatus,
    RowEnd,
    attempt_in_line,
    parse_custom_id,
)
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.fallbacks import NO_FALLBACKS, Fallbacks
from quire.domain.ids import AttemptId, BatchId
from quire.domain.requests import CallFailure, Reply
from quire.ledger.ledger import Transaction
from quire.pipeline.batches.collect import (
    BatchRows,
    StrayRows,
    collect_rows,
    finish_batch,
    own_attempts,
    settle_missing,
    with_presumed_costs,
)
from quire.pipeline.batches.outages import SERVER_FAULTS, Outage, find_outage, tell_outage
from quire.pipeline.batches.reconcile import hold_foreign_batch
from quire.pipeline.calls.fall_back import known_fallbacks

GROUP = 1024  # answers stored in one transaction
HEAVY = 8  # answers that a row of any other kind counts as: it takes statements of its own
GROUP_BYTES = 8 * 2**20  # or so many bytes of them
MOST_UNNAMED_LINES = 1000  # lines of one batch that name no call, at most
MOST_UNNAMED_BYTES = 16 * 2**20

PAID = (RowEnd.ANSWERED, RowEnd.UNREADABLE)  # or so it may be


class NamedRow(NamedTuple):
    """A row that names a call of ours, without the JSON that it was read from."""

    attempt: AttemptId
    end: RowEnd
    raw: bytes
    error: ProviderError | None = None
    reply: Reply | Undecodable | None = None  # of an answer


class Download:
    """Sorts rows as they come; lines that nobody can read wait on disk for the end."""

    def __init__(self, nonces: frozenset[str]) -> None:
        """Begin with nothing; the nonces are all names that the batch was submitted under."""
        self._nonces = nonces
        self._group: list[NamedRow] = []
        self._size = 0  # bytes
        self._weight = 0
        self._seen: dict[AttemptId, bool] = {}  # whether what came was an answer
        self._broken: dict[AttemptId, NamedRow] = {}  # rows that wait for the end
        self._duplicates = self._unread = self._nameless = 0
        self.answers = 0  # that came, whosesoever, and lines that may be some
        self._unread_file = SpooledTemporaryFile(GROUP_BYTES)  # noqa: SIM115 - closed with the download
        self.unnamed_lines: list[bytes] = []  # lines that name no call
        self.foreign_rows = 0
        self.moment = 0.0  # when it was last known to move

    def close(self) -> None:
        """Let go of what waits on disk."""
        self._unread_file.close()

    def take(self, row: BatchRow, reply: Reply | Undecodable | None) -> None:
        """Take the next row, and what was read of it if it is an answer."""
        self.answers += row.end in PAID
        if row.end is RowEnd.UNREADABLE:
            self._unread += 1
            self._unread_file.write(row.raw + b"\n")
            return
        named = parse_custom_id(row.custom_id)
        if named is None or named[0] not in self._nonces:
            self.foreign_rows += 1
        else:
            self._add(NamedRow(AttemptId(named[1]), row.end, row.raw, row.error, reply))

    def take_unread(self) -> Iterator[None]:
        """Take what nobody could read, line by line, now that all that can be read is known.

        Where a call has a row that can be read, that one counts, whichever came first.
        """
        self._unread_file.seek(0)
        for line in self._unread_file:
            raw = line.removesuffix(b"\n")
            attempt = attempt_in_line(raw, self._nonces)
            if attempt is not None:
                self._add(NamedRow(AttemptId(attempt), RowEnd.UNREADABLE, raw))
                yield
                continue
            self._nameless += 1
            if (
                len(self.unnamed_lines) < MOST_UNNAMED_LINES
                and sum(map(len, self.unnamed_lines)) + len(raw) <= MOST_UNNAMED_BYTES
            ):
                self.unnamed_lines.append(raw)

    def _add(self, row: NamedRow) -> None:
        """Take the first row of a call; an answer also after others, for it is paid."""
        answered, before = row.end is RowEnd.ANSWERED, self._seen.get(row.attempt)
        if before or (before is not None and not answered):
            self._duplicates += 1
        else:
            self._seen[row.attempt] = answered
            if self._may_be_outage(row):
                self._broken[row.attempt] = row._replace(raw=b"")
                return
            self._broken.pop(row.attempt, None)
            self._group.append(row)
            self._size += len(row.raw)
            self._weight += 1 if answered else HEAVY

    def _may_be_outage(self, row: NamedRow) -> bool:
        """Whether a row says that the server broke down, and no other that it was up."""
        broke = row.error is not None and row.error.remedy in SERVER_FAULTS
        return row.end is RowEnd.ERRORED and broke and not self.answers

    @property
    def broken_rows(self) -> list[NamedRow]:
        """Rows that the server broke down at before any was answered: what they mean, all say."""
        return list(self._broken.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing came that is, or may be, ours."""
        return not self._seen and not self._unread

    @property
    def is_foreign(self) -> bool:
        """Whether all that came belongs to somebody else."""
        return self.is_empty and self.foreign_rows > 0

    @property
    def is_full(self) -> bool:
        """Whether the rows in memory are to be stored now."""
        return self._weight >= GROUP or self._size >= GROUP_BYTES

    def next_group(self) -> list[NamedRow]:
        """Hand over the rows in memory."""
        group, self._group, self._size, self._weight = self._group, [], 0, 0
        return group

    @property
    def strays(self) -> StrayRows:
        """What came besides answers."""
        return StrayRows(self._duplicates, self.foreign_rows, self._unread, self._nameless)


LOOKS_FOR_MISSING = 4  # at an ended batch whose answers are not all there, before they are missing
IDLE_SECONDS = 120.0  # without a row, after which a download is given up

UNREADABLE = Undecodable("the batch's row for this call is in no form that is known")
EMPTY_ROW = ProviderError("the row says neither answer nor error", remedy=Remedy.LOST)

_FREE = (RowEnd.EXPIRED, RowEnd.CANCELLED)


class Collector:
    """Brings the rows of ended batches into the ledger."""

    def __init__(self, context: LoopContext) -> None:
        """Keep nothing in memory but one group of rows, and which were seen."""
        self._contexts, self._providers, _, self._runtime, self._thread = context

    async def collect(self, leased: LeasedBatch, status: BatchStatus) -> None:
        """Store every row; then what no row came for; then the batch is done with."""
        batch, transact, now = leased.batch, self._thread.transact, self._runtime.now
        nonces = await self._thread.read(lambda tx: tx.batches.nonces_of_batch(batch.id))
        with closing(Download(nonces)) as download:
            await self._fetch(leased, status, download)
            await self._keep_unread(leased, download)
        if batch.failures < LOOKS_FOR_MISSING and (lacking := _missing_rows(status, download)):
            raise ProviderError(lacking, remedy=Remedy.RETRY)
        if download.is_foreign:
            await transact(hold_foreign_batch, batch, download.foreign_rows, now())
            return
        outage = await self._store_broken(leased, download)
        self._runtime.reach("before_collect")
        while await transact(settle_missing, batch, download.strays, now()):
            pass
        await transact(self._finish, batch, download.strays, outage)
        self._runtime.reach("after_collect")

    async def _fetch(self, leased: LeasedBatch, status: BatchStatus, download: Download) -> None:
        http = self._providers.http()
        rows = leased.batch_api.fetch(http, leased.account, leased.batch.ref, status)
        provider = self._providers.provider(leased.context.provider)
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(IDLE_SECONDS) as limit:
                async for row in rows:
                    paid = row.end is RowEnd.ANSWERED
                    reply = decode_response(provider, row.raw, row.body) if paid else None
                    download.take(row, reply)
                    if download.is_full:
                        await self._flush(leased, download)
                    if (moment := clock()) > download.moment + 1:
                        download.moment = moment
                        limit.reschedule(moment + IDLE_SECONDS)
        finally:  # what came is paid, also where the rest did not
            await self._flush(leased, download)
            if isinstance(rows, AsyncGenerator):
                await rows.aclose()

    async def _keep_unread(self, leased: LeasedBatch, download: Download) -> None:
        """Keep what nobody can read: as its call's response, or with the batch if it names none."""
        for _ in download.take_unread():
            if download.is_full:
                await self._flush(leased, download)
        await self._flush(leased, download)
        if download.unnamed_lines:
            lines, now = download.unnamed_lines, self._runtime.now()
            await self._thread.transact(_keep_lines, leased.batch.id, lines, now)

    async def _flush(self, leased: LeasedBatch, download: Download) -> None:
        """Store the rows in memory; those that nobody asked for are counted."""
        if group := download.next_group():
            download.foreign_rows += await self._thread.transact(self._store, leased, group)
            self._runtime.reach("after_rows")

    async def _store_broken(self, leased: LeasedBatch, download: Download) -> Outage | None:
        """Store rows that the server broke down at, now that all others are; an outage, if one."""
        batch, rows = leased.batch, download.broken_rows
        errors = [row.error or EMPTY_ROW for row in rows]
        outage = await self._thread.read(lambda tx: find_outage(tx, batch, errors))
        for start in range(0, len(rows), GROUP // HEAVY):
            group = rows[start : start + GROUP // HEAVY]
            foreign = await self._thread.transact(self._store, leased, group, outage)
            download.foreign_rows += foreign
            self._runtime.reach("after_rows")
        return outage

    def _finish(
        self, tx: Transaction, batch: Batch, strays: StrayRows, outage: Outage | None
    ) -> None:
        now = self._runtime.now()
        if finish_batch(tx, batch, strays, now) and outage is not None:
            tell_outage(tx, self._contexts, batch, outage, now)

    def _store(
        self,
        tx: Transaction,
        leased: LeasedBatch,
        group: Sequence[NamedRow],
        outage: Outage | None = None,
    ) -> int:
        mine = own_attempts(tx, leased.batch, [row.attempt for row in group])
        made = leased.batch.creating_at
        sent = known_fallbacks(tx, leased.context, leased.account, made) if made else NO_FALLBACKS
        rows = self._sort_rows(leased, [row for row in group if row.attempt in mine], sent)
        answers = with_presumed_costs(tx, rows.answers)
        rows = rows._replace(answers=answers, in_outage=outage is not None)
        collect_rows(tx, self._contexts, leased.batch, rows, self._runtime.now())
        return len(group) - len(mine)

    def _sort_rows(
        self, leased: LeasedBatch, group: Sequence[NamedRow], sent: Fallbacks
    ) -> BatchRows:
        version = self._providers.provider(leased.context.provider).decoder_version
        answers = [
            build_answer(leased.context, row.attempt, row.raw, row.reply or UNREADABLE, version)
            for row in group
            if row.end in PAID
        ]
        failures = [
            CallFailure(
                row.attempt, row.error or EMPTY_ROW, self._runtime.jitter(), leased.account, sent
            )
            for row in group
            if row.end is RowEnd.ERRORED
        ]
        return BatchRows(answers, failures, [row.attempt for row in group if row.end in _FREE])


def _keep_lines(tx: Transaction, batch: BatchId, lines: Sequence[bytes], now: datetime) -> None:
    for line in lines:
        tx.batches.keep_line(batch, line, now)


def _missing_rows(status: BatchStatus, download: Download) -> str:
    """What of an ended batch did not come, although it should be there; "" where nothing lacks."""
    if download.answers < status.answers:
        return f"it has {status.answers:,} answers, but only {download.answers:,} came"
    if download.is_empty and not download.foreign_rows and status.end is BatchEnd.COMPLETED:
        return "it is completed, but has no rows yet"
    return ""
