"""Collecting: a batch's rows are read as a stream and stored in groups, each row once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing

from quire.dispatch.downloading import PAID, Download, Taken
from quire.dispatch.means import Means
from quire.dispatch.office import InHand
from quire.dispatch.reading import answer_of, read
from quire.domain.batches import BatchStatus, End, RowEnd
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.requests import CallFailure
from quire.pipeline.collect import (
    Rows,
    Strays,
    collect,
    finish,
    hold_foreign,
    own,
    presumed,
    settle_missing,
)
from quire.providers.protocol import Door

PATIENT = 4  # looks at an ended batch whose answers are not all there, before they are missing
IDLE_SECONDS = 120.0  # without a row, after which a download is given up

UNREADABLE = Undecodable("the batch's row for this call is in no form that is known")

_FREE = (RowEnd.EXPIRED, RowEnd.CANCELLED)


class Collector:
    """Brings the rows of ended batches into the ledger."""

    def __init__(
        self,
        means: Means,
    ) -> None:
        """Keep nothing in memory but one group of rows, and which were seen."""
        self._ledger = means.ledger
        self._contexts = means.contexts
        self._vendors = means.vendors
        self._outside = means.outside
        self._thread = means.thread

    async def collect(self, hand: InHand, status: BatchStatus, door: Door) -> None:
        """Store every row; then what no row came for; then the batch is done with."""
        with closing(Download(await self._thread.run(self._nonces, hand))) as download:
            await self._fetch(hand, status, door, download)
            await self._keep_unread(hand, download)
        if hand.batch.failures < PATIENT and (lacking := _lacking(status, download)):
            raise ProviderError(lacking, remedy=Remedy.RETRY)
        if download.is_foreign:
            await self._thread.run(self._hold_foreign, hand, download.strangers)
            return
        self._outside.reach("before_collect")
        while await self._thread.run(self._settle_missing, hand, download.strays):
            pass
        await self._thread.run(self._finish, hand, download.strays)
        self._outside.reach("after_collect")

    async def _fetch(
        self, hand: InHand, status: BatchStatus, door: Door, download: Download
    ) -> None:
        rows = hand.vendor.fetch(door, hand.account, hand.batch.ref, status)
        provider = self._vendors.provider(hand.context.provider)
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(IDLE_SECONDS) as limit:
                async for row in rows:
                    paid = row.end is RowEnd.ANSWERED
                    download.take(row, read(provider, row.raw, row.body) if paid else None)
                    if download.is_full:
                        await self._flush(hand, download)
                    if (moment := clock()) > download.moment + 1:
                        download.moment = moment
                        limit.reschedule(moment + IDLE_SECONDS)
        finally:  # what came is paid, also where the rest did not
            await self._flush(hand, download)
            if isinstance(rows, AsyncGenerator):
                await rows.aclose()

    async def _keep_unread(self, hand: InHand, download: Download) -> None:
        """Keep what nobody can read: as its call's response, or with the batch if it names none."""
        for _ in download.take_unread():
            if download.is_full:
                await self._flush(hand, download)
        await self._flush(hand, download)
        if download.kept:
            await self._thread.run(self._keep_lines, hand, download.kept)

    async def _flush(self, hand: InHand, download: Download) -> None:
        group = download.next_group()
        download.strangers += await self._thread.run(self._store, hand, group)

    def _keep_lines(self, hand: InHand, lines: Sequence[bytes]) -> None:
        now = self._outside.now()
        with self._ledger.transaction() as tx:
            for line in lines:
                tx.batches.keep_line(hand.batch.id, line, now)

    def _nonces(self, hand: InHand) -> frozenset[str]:
        with self._ledger.snapshot() as tx:
            return tx.batches.nonces(hand.batch.id)

    def _store(self, hand: InHand, group: Sequence[Taken]) -> int:
        """Store a group of rows; returns how many of them nobody asked for."""
        if not group:
            return 0
        with self._ledger.transaction() as tx:
            mine = own(tx, hand.batch, [each.attempt for each in group])
            rows = self._sorted(hand, [each for each in group if each.attempt in mine])
            rows = rows._replace(answers=presumed(tx, rows.answers))
            collect(tx, self._contexts, hand.batch, rows, self._outside.now())
        self._outside.reach("after_rows")
        return len(group) - len(mine)

    def _sorted(self, hand: InHand, group: Sequence[Taken]) -> Rows:
        version = self._vendors.provider(hand.context.provider).decoder_version
        answers = [
            answer_of(hand.context, each.attempt, each.raw, each.reply or UNREADABLE, version)
            for each in group
            if each.end in PAID
        ]
        failures = [
            CallFailure(each.attempt, each.error or _unsaid(), self._outside.jitter(), hand.account)
            for each in group
            if each.end is RowEnd.ERRORED
        ]
        return Rows(answers, failures, [each.attempt for each in group if each.end in _FREE])

    def _hold_foreign(self, hand: InHand, rows: int) -> None:
        with self._ledger.transaction() as tx:
            hold_foreign(tx, hand.batch, rows, self._outside.now())

    def _settle_missing(self, hand: InHand, strays: Strays) -> int:
        with self._ledger.transaction() as tx:
            return settle_missing(tx, hand.batch, strays, self._outside.now())

    def _finish(self, hand: InHand, strays: Strays) -> None:
        with self._ledger.transaction() as tx:
            finish(tx, hand.batch, strays, self._outside.now())


def _lacking(status: BatchStatus, download: Download) -> str:
    """What of an ended batch did not come, although it should be there; "" where nothing lacks."""
    if download.answers < status.answers:
        return f"it has {status.answers:,} answers, but only {download.answers:,} came"
    if download.is_empty and not download.strangers and status.end is End.COMPLETED:
        return "it is completed, but has no rows yet"
    return ""


def _unsaid() -> ProviderError:
    return ProviderError("the row says neither answer nor error", remedy=Remedy.LOST)
