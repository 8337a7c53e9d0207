"""The settler: judges stored answers in groups, and packs what goes out next."""

from datetime import datetime

from quire.dispatch.courier import of_run
from quire.dispatch.means import Vendors
from quire.dispatch.outside import Outside, Threads
from quire.dispatch.reading import Line, read
from quire.domain.errors import Undecodable
from quire.domain.ids import RunId
from quire.domain.money import cost
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Ledger
from quire.pipeline.contexts import Contexts
from quire.pipeline.prepare import prepare
from quire.pipeline.record import record_reading
from quire.pipeline.settle import settle


class Settler:
    """Turns one ledger's answers into results."""

    def __init__(
        self,
        ledger: Ledger,
        contexts: Contexts,
        outside: Outside,
        threads: Threads,
        vendors: Vendors,
    ) -> None:
        """Use the worker's ledger and thread."""
        self._ledger = ledger
        self._contexts = contexts
        self._outside = outside
        self._threads = threads
        self._vendors = vendors
        self.only: RunId | None = None  # for whom calls are packed; None = for every run

    async def step(self, now: datetime, *, packing: bool = True) -> int:
        """Judge one group of answers and refill the queues; returns how much was done."""
        self._outside.reach("before_settle")
        moved = await self._threads.run(self._settle, now, packing)
        if moved:
            self._outside.reach("after_settle")
        return moved

    async def read_again(self) -> int:
        """Try newer decoders on what older ones could not read; returns how many runs gained."""
        return await self._threads.run(self._read_again)

    def _settle(self, now: datetime, packing: bool) -> int:
        """One transaction for both: the ledger syncs to disk once."""
        with self._ledger.transaction() as tx:
            moved = settle(tx, self._contexts, now)
            lanes = of_run(tx.requests.open_lanes(now), self.only) if packing else []
            for lane in [each for each in lanes if each.serves]:
                moved += prepare(tx, self._contexts, self._contexts.of_lane(tx, lane), now)
        return moved

    def _read_again(self) -> int:
        helped: set[RunId] = set()
        with self._ledger.transaction() as tx:
            for each in tx.attempts.undecoded():
                provider = self._vendors.provider(each.provider)
                if each.decoder_version >= provider.decoder_version:
                    continue
                batching = self._vendors.batching(each.provider) if each.batched else None
                line = Line(batching, each.attempt_id) if batching else None
                reply = read(provider, each.raw, line=line)
                if isinstance(reply, Undecodable):
                    continue
                context = self._contexts.of_key(tx, each.run_id, each.lane_id)
                price = cost(reply.usage, context.price_at(reply.usage.input_total, each.batched))
                record_reading(tx, each, reply, provider.decoder_version, price)
                helped.add(each.run_id)
            for run in helped - {each.run_id for each in tx.attempts.undecoded()}:
                if not tx.batch_views.keeps_lines(run):  # of which only a person can make something
                    tx.holds.lift(run, [HoldKind.UNDECODABLE])
        return len(helped)
