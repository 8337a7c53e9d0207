"""The settler: judges stored answers in groups, and packs what goes out next."""

from collections.abc import Callable
from datetime import datetime

from quire.dispatch.outside import Outside, Threads
from quire.domain.errors import Undecodable
from quire.domain.money import cost
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Ledger
from quire.pipeline.contexts import Contexts
from quire.pipeline.prepare import prepare
from quire.pipeline.settle import settle
from quire.providers.protocol import Provider


class Settler:
    """Turns one ledger's answers into results."""

    def __init__(
        self,
        ledger: Ledger,
        contexts: Contexts,
        outside: Outside,
        threads: Threads,
        provider_for: Callable[[str], Provider],
    ) -> None:
        """Use the worker's ledger and thread."""
        self._ledger = ledger
        self._contexts = contexts
        self._outside = outside
        self._threads = threads
        self._provider_for = provider_for

    async def step(self, now: datetime, *, packing: bool = True) -> int:
        """Judge one group of answers and refill the queues; returns how much was done."""
        self._outside.reach("before_settle")
        moved = await self._threads.run(self._settle, now, packing)
        if moved:
            self._outside.reach("after_settle")
        return moved

    async def read_again(self, provider: str, now: datetime) -> int:
        """Try a newer decoder on responses that an older one could not read."""
        return await self._threads.run(self._read_again, provider, now)

    def _settle(self, now: datetime, packing: bool) -> int:
        """One transaction for both: the ledger syncs to disk once."""
        with self._ledger.transaction() as tx:
            moved = settle(tx, self._contexts, now)
            for lane in tx.requests.open_lanes(now) if packing else []:
                moved += prepare(tx, self._contexts, self._contexts.of_lane(tx, lane), now)
        return moved

    def _read_again(self, name: str, now: datetime) -> int:
        provider = self._provider_for(name)
        read = 0
        with self._ledger.transaction() as tx:
            for each in tx.attempts.undecoded(provider.decoder_version, 100):
                try:
                    reply = provider.decode(each.raw)
                except Undecodable:
                    continue
                row = tx.attempts.by_id([each.attempt_id])[0]
                context = self._contexts.of_stage(tx, row.run_id, row.stage_id)
                price = cost(reply.usage, context.facts.price)
                tx.attempts.redecode(each.attempt_id, reply, provider.decoder_version, price)
                tx.tallies.add(row.stage_id, {"cost": price, "presumed": -row.reserved})
                tx.holds.lift(row.run_id, [HoldKind.UNDECODABLE])
                read += 1
        return read
