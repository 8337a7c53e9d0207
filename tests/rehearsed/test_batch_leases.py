"""Batches in hand: who has let go of one has let go of it, whichever step comes first."""

import asyncio
import threading
from datetime import timedelta

from quire.dispatch.batch_leases import BatchLeases
from quire.dispatch.ledger_thread import LedgerThread
from quire.domain.ids import BatchId
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, QuickClock
from tests.rehearsed.test_batch_routes import stop_when_out
from tests.world import sentences


def test_a_renewal_that_waited_for_its_turn_takes_nothing_back(rehearse: Rehearse) -> None:
    here = rehearse(OPENAI, clock=QuickClock(1), batch_latency="1h")
    here.ingest(sentences(40))
    run = here.start(route="batch", min_batch_size=2, pack_size=3)
    stop_when_out(here, run)
    ledger, now = here.engine.ledger, here.runtime.now()
    with ledger.transaction() as tx:
        batch = tx.batches.get_batch(BatchId(1))
        assert batch is not None
        worker = tx.workers.add_worker("here", 1, "0", now)
        assert tx.batches.lease_batch(batch.id, worker, now + timedelta(hours=1), now)

    async def let_go_before_the_renewal_has_its_turn() -> None:
        thread, turn, ended = LedgerThread(ledger), threading.Event(), asyncio.Event()
        leases = BatchLeases(thread, timedelta(hours=1))
        thread.may_block_loop = lambda: not leases.leased_count
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(thread.in_thread(turn.wait))
            leases.start_work(group, batch, worker, ended.wait())  # type: ignore[arg-type]
            group.create_task(leases.renew(worker, now))
            await asyncio.sleep(0)
            ended.set()
            await leases.done.wait()
            await asyncio.sleep(0)
            turn.set()
        thread.close()

    asyncio.run(let_go_before_the_renewal_has_its_turn())

    with ledger.snapshot() as tx:
        assert [item.id for item in tx.batches.due_batches(now + timedelta(days=1), 9)] == [
            batch.id
        ]
        found = tx.batches.get_batch(batch.id)
    assert found is not None
    assert found.lease_until < now
