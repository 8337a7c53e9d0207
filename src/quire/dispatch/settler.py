"""The settler: judges stored answers in groups, and packs what goes out next."""

from collections.abc import Set
from datetime import datetime

from quire.dispatch.courier import of_run
from quire.dispatch.means import Vendors
from quire.dispatch.outside import LedgerThread, Outside
from quire.dispatch.reading import Line, answer_of, read
from quire.domain.accounts import Account, Secret
from quire.domain.batches import RowEnd, attempt_of
from quire.domain.errors import Undecodable
from quire.domain.ids import AttemptId, RunId
from quire.domain.money import cost
from quire.domain.requests import Answer
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.collect import Kept, collect_kept
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.prepare import prepare
from quire.pipeline.record import record_reading
from quire.pipeline.settle import settle
from quire.providers.protocol import Batching


class Settler:
    """Turns one ledger's answers into results."""

    def __init__(
        self,
        ledger: Ledger,
        contexts: Contexts,
        outside: Outside,
        thread: LedgerThread,
        vendors: Vendors,
    ) -> None:
        """Use the worker's ledger and thread."""
        self._ledger = ledger
        self._contexts = contexts
        self._outside = outside
        self._thread = thread
        self._vendors = vendors
        self.only: RunId | None = None  # for whom calls are packed; None = for every run

    async def step(self, now: datetime, *, packing: bool = True) -> int:
        """Judge one group of answers and refill the queues; returns how much was done."""
        self._outside.reach("before_settle")
        moved = await self._thread.run(self._settle, now, packing)
        if moved:
            self._outside.reach("after_settle")
        return moved

    async def read_again(self) -> int:
        """Try newer decoders on what older ones could not read; returns how many runs gained."""
        return await self._thread.run(self._read_again)

    def _settle(self, now: datetime, packing: bool) -> int:
        """One transaction for both: the ledger syncs to disk once."""
        with self._ledger.transaction() as tx:
            moved = settle(tx, self._contexts, now)
            lanes = of_run(tx.requests.open_lanes(now), self.only) if packing else []
            for lane in [each for each in lanes if each.serves]:
                moved += prepare(tx, self._contexts, self._contexts.of_lane(tx, lane), now)
        return moved

    def _read_again(self) -> int:
        with self._ledger.transaction() as tx:
            helped = self._read_responses(tx)
            lines = self._read_lines(tx)
            helped |= set(lines)
            doubtful = {run for run, whole in lines.items() if not whole}
            for run in helped - doubtful - {each.run_id for each in tx.attempts.undecoded()}:
                if not tx.batch_views.keeps_lines(run):  # of which only a person can make something
                    tx.holds.lift(run, [HoldKind.UNDECODABLE])
        return len(helped)

    def _read_responses(self, tx: Transaction) -> set[RunId]:
        """Read responses of calls; returns the runs that gained."""
        helped: set[RunId] = set()
        for each in tx.attempts.undecoded():
            provider = self._vendors.provider(each.provider)
            if each.decoder_version >= provider.decoder_version:
                continue
            batching = self._vendors.batching(each.provider) if each.batched else None
            line = Line(batching, each.attempt_id) if batching else None
            reply = read(provider, each.raw, line=line)
            if isinstance(reply, Undecodable):
                continue
            context = self._contexts.of_lane_id(tx, each.run_id, each.lane_id)
            price = cost(reply.usage, context.price_at(reply.usage.input_total, each.batched))
            record_reading(tx, each, reply, provider.decoder_version, price)
            helped.add(each.run_id)
        return helped

    def _read_lines(self, tx: Transaction) -> dict[RunId, bool]:
        """Read lines that named no call; returns the runs that gained, and if nothing is left."""
        whole: dict[RunId, bool] = {}
        for batch in filter(None, map(tx.batches.get, tx.batch_views.with_lines())):
            context = self._contexts.of_batch(tx, batch)
            batching = self._vendors.batching(context.provider)
            if batching is None:
                continue
            nonces = tx.batches.nonces(batch.id)
            lines = tx.batch_views.lines(batch.id)
            answers = [self._answer_in(each, context, batching, nonces) for each in lines]
            found = [Kept(line, it) for line, it in zip(lines, answers, strict=True) if it]
            if found:
                over = collect_kept(tx, self._contexts, batch, found, self._outside.now())
                whole[batch.run_id] = whole.get(batch.run_id, True) and over
        return whole

    def _answer_in(
        self, line: bytes, context: LaneContext, batching: Batching, nonces: Set[str]
    ) -> Answer | None:
        """The answer in a line of a batch's results, where it names a call of that batch by now."""
        nobody = Account(provider=batching.name, credential="", key=Secret(""))
        try:
            row = batching.row(line, nobody)
        except Exception:  # noqa: BLE001 - a bug in a reader must not cost the line
            return None
        named = attempt_of(row.custom_id)
        if row.end is not RowEnd.ANSWERED or named is None or named[0] not in nonces:
            return None
        provider = self._vendors.provider(context.provider)
        reply = read(provider, row.raw, row.body)
        if isinstance(reply, Undecodable):
            return None
        attempt, version = AttemptId(named[1]), provider.decoder_version
        return answer_of(context, attempt, row.raw, reply, version)
