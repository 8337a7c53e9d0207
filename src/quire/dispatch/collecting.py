"""Collecting: a batch's rows are read as a stream and stored in groups, each row once."""

import asyncio

from quire.dispatch.means import Means
from quire.dispatch.office import InHand
from quire.dispatch.reading import read
from quire.domain.batches import BatchRow, BatchStatus, RowEnd, attempt_of
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.ids import AttemptId
from quire.domain.money import cost
from quire.domain.requests import Answer, CallFailure
from quire.pipeline.collect import Rows, Strays, collect, finish, own, presumed, settle_missing
from quire.providers.protocol import Door

GROUP = 256  # rows stored in one transaction
IDLE_SECONDS = 120.0  # without a group of rows, after which a download is given up

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
        nonces = await self._threads.run(self._nonces, hand)
        seen: set[AttemptId] = set()
        group: Named = []
        duplicates = strangers = 0
        rows = hand.vendor.fetch(door, hand.account, hand.batch.ref, status)
        async with asyncio.timeout(IDLE_SECONDS) as limit:
            async for row in rows:
                named = attempt_of(row.custom_id)
                if named is None or named[0] not in nonces:
                    strangers += 1
                elif named[1] in seen:
                    duplicates += 1
                else:
                    seen.add(AttemptId(named[1]))
                    group.append((AttemptId(named[1]), row))
                if len(group) >= GROUP:
                    strangers += await self._threads.run(self._store, hand, group)
                    group = []
                    limit.reschedule(asyncio.get_running_loop().time() + IDLE_SECONDS)
        strangers += await self._threads.run(self._store, hand, group)
        self._outside.reach("before_collect")
        while await self._threads.run(self._settle_missing, hand):
            pass
        await self._threads.run(self._finish, hand, Strays(duplicates, strangers))
        self._outside.reach("after_collect")

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


def _unsaid() -> ProviderError:
    return ProviderError("the row says neither answer nor error", remedy=Remedy.LOST)
