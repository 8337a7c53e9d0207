"""Collecting: a batch's rows are read as a stream and stored in groups, each row once."""

import asyncio
from collections.abc import AsyncGenerator

from quire.dispatch.means import Means
from quire.dispatch.office import InHand
from quire.dispatch.reading import read
from quire.domain.batches import BatchRow, BatchStatus, End, RowEnd, attempt_of
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.ids import AttemptId
from quire.domain.money import cost
from quire.domain.requests import Answer, CallFailure
from quire.pipeline.collect import Rows, Strays, collect, finish, own, presumed, settle_missing
from quire.providers.protocol import Door

GROUP = 256  # rows stored in one transaction
GROUP_BYTES = 8 * 2**20  # or so many bytes of them
PATIENT = 4  # looks at a completed batch that has no rows, before they count as missing
IDLE_SECONDS = 120.0  # without a row, after which a download is given up

Named = list[tuple[AttemptId, BatchRow]]


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
        self._threads = means.threads

    async def collect(self, hand: InHand, status: BatchStatus, door: Door) -> None:
        """Store every row; then what no row came for; then the batch is done with."""
        download = _Download(await self._threads.run(self._nonces, hand))
        rows = hand.vendor.fetch(door, hand.account, hand.batch.ref, status)
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(IDLE_SECONDS) as limit:
                async for row in rows:
                    download.take(row)
                    if download.is_full:
                        await self._flush(hand, download)
                    if (moment := clock()) > download.moment + 1:
                        download.moment = moment
                        limit.reschedule(moment + IDLE_SECONDS)
        finally:  # what came is paid, also where the rest did not
            await self._flush(hand, download)
            if isinstance(rows, AsyncGenerator):
                await rows.aclose()
        if not download.seen and status.end is End.COMPLETED and hand.batch.failures < PATIENT:
            raise ProviderError("it is completed, but has no rows yet", remedy=Remedy.RETRY)
        self._outside.reach("before_collect")
        while await self._threads.run(self._settle_missing, hand):
            pass
        await self._threads.run(self._finish, hand, download.strays)
        self._outside.reach("after_collect")

    async def _flush(self, hand: InHand, download: "_Download") -> None:
        group = download.next_group()
        download.strangers += await self._threads.run(self._store, hand, group)

    def _nonces(self, hand: InHand) -> frozenset[str]:
        with self._ledger.snapshot() as tx:
            return tx.batches.nonces(hand.batch.id)

    def _store(self, hand: InHand, group: Named) -> int:
        """Store a group of rows; returns how many of them nobody asked for."""
        if not group:
            return 0
        with self._ledger.transaction() as tx:
            mine = own(tx, hand.batch, [attempt for attempt, _ in group])
            rows = self._read(hand, [each for each in group if each[0] in mine])
            rows = rows._replace(answers=presumed(tx, rows.answers))
            collect(tx, self._contexts, hand.batch, rows, self._outside.now())
        self._outside.reach("after_rows")
        return len(group) - len(mine)

    def _read(self, hand: InHand, group: Named) -> Rows:
        answers = [self._answer(hand, *each) for each in group if each[1].end is RowEnd.ANSWERED]
        failures = [
            CallFailure(attempt, row.error or _unsaid(), self._outside.jitter(), hand.account)
            for attempt, row in group
            if row.end is RowEnd.ERRORED
        ]
        ended = (RowEnd.EXPIRED, RowEnd.CANCELLED)
        return Rows(answers, failures, [attempt for attempt, row in group if row.end in ended])

    def _answer(self, hand: InHand, attempt: AttemptId, row: BatchRow) -> Answer:
        context = hand.context
        provider = self._vendors.provider(context.provider)
        head = (attempt, context.run_id, context.stage_id, row.raw)
        reply = read(provider, row.raw)
        if isinstance(reply, Undecodable):
            return Answer(*head, None, provider.decoder_version, 0, str(reply))
        price = cost(reply.usage, context.price_at(reply.usage.input_total))
        return Answer(*head, reply, provider.decoder_version, price)

    def _settle_missing(self, hand: InHand) -> int:
        with self._ledger.transaction() as tx:
            return settle_missing(tx, hand.batch, self._outside.now())

    def _finish(self, hand: InHand, strays: Strays) -> None:
        with self._ledger.transaction() as tx:
            finish(tx, hand.batch, strays, self._outside.now())


class _Download:
    """The rows of one download as they come: a group in memory, and which were seen."""

    def __init__(self, nonces: frozenset[str]) -> None:
        self._nonces = nonces
        self._group: Named = []
        self._size = 0  # bytes
        self.seen: set[AttemptId] = set()
        self.duplicates = self.strangers = 0
        self.moment = 0.0  # when it was last known to move

    def take(self, row: BatchRow) -> None:
        named = attempt_of(row.custom_id)
        if named is None or named[0] not in self._nonces:
            self.strangers += 1
        elif named[1] in self.seen:
            self.duplicates += 1
        else:
            attempt = AttemptId(named[1])
            self.seen.add(attempt)
            self._group.append((attempt, row))
            self._size += len(row.raw)

    @property
    def is_full(self) -> bool:
        return len(self._group) >= GROUP or self._size >= GROUP_BYTES

    def next_group(self) -> Named:
        group, self._group, self._size = self._group, [], 0
        return group

    @property
    def strays(self) -> Strays:
        return Strays(self.duplicates, self.strangers)


def _unsaid() -> ProviderError:
    return ProviderError("the row says neither answer nor error", remedy=Remedy.LOST)
