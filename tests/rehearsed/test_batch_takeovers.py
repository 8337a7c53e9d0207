"""Who has a batch in hand: nobody goes on with what another took over, or keeps what he left."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.ids import BatchId
from quire.domain.reasons import HoldKind
from quire.domain.states import BatchState
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.batches.reconcile import recover_submission
from quire.pipeline.batches.submit import record_intent
from quire.rehearsal.timing import Clock
from tests.pipeline.test_money import assert_counts_agree
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI, ByClock, QuickClock, Rehearsed
from tests.world import sentences, until_rest

BLOCKS = 30


class Watched(ByClock):
    """A world in which something happens when a point is first reached."""

    def __init__(self, clock: Clock, point: str, happens: Callable[[], None]) -> None:
        """Wait for the point."""
        super().__init__(clock)
        self._awaited = point
        self._happens = happens

    def reach(self, point: str) -> None:
        """Let it happen, once."""
        if point == self._awaited:
            self._awaited = ""
            self._happens()


@pytest.fixture
def batched(rehearse: Rehearse) -> Callable[..., Rehearsed]:
    """An engine and a server whose hours are minutes, with a few blocks to ask about."""

    def make(asks: str = OPENAI, **server_config: Any) -> Rehearsed:
        here = rehearse(asks, clock=QuickClock(60), batch_latency="20s", **server_config)
        here.ingest(sentences(BLOCKS))
        return here

    return make


def let_happen(here: Rehearsed, point: str, happens: Callable[[], None]) -> None:
    """Let something happen at a point of the worker's way."""
    here.engine.context.runtime = Watched(here.clock, point, happens)


def uploads(here: Rehearsed) -> int:
    """How often calls were brought to the provider."""
    return sum(entry.method == "POST" and "/files" in entry.path for entry in here.server.entries())


@pytest.mark.parametrize("asks", [OPENAI, ANTHROPIC, GEMINI])
def test_a_row_that_nobody_can_read_is_presumed_at_its_reservation(
    batched: Callable[..., Rehearsed], asks: str
) -> None:
    here = batched(asks, faults="garbage=1")
    run = here.start(route="batch", min_batch_size=2, pack_size=3)

    def mend(progress: Any) -> None:
        if progress.presumed_pico or progress.holds:
            here.server.change_faults("")

    until_rest(run, mend)
    if run.progress().holds:
        assert [hold.kind for hold in run.progress().holds] == [HoldKind.UNDECODABLE]
        run.retry()
        run.resume()
        run.wait()

    spent = run.progress()
    assert spent.done == BLOCKS
    assert spent.presumed_pico > 0
    assert spent.cost_pico < here.bill() <= spent.cost_pico + spent.presumed_pico
    assert_counts_agree(here, run.id)


def test_a_submission_that_another_took_over_is_not_gone_on_with(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched()

    def taken_over() -> None:
        now = here.runtime.now()
        with here.engine.ledger.transaction() as tx:
            batch = tx.batches.get_batch(BatchId(1))
            assert batch is not None
            recover_submission(tx, batch, now)
            assert record_intent(tx, batch.id, batch.credential_id, "qanother234", now)

    let_happen(here, "after_intent", taken_over)
    run = here.start(route="batch", min_batch_size=2, pack_size=3)
    progress = run.wait()

    assert progress.done == BLOCKS
    assert uploads(here) == len(here.server.batches()) == 1
    assert {attempt.state for attempt in here.attempts(run.id)} == {"settled"}


def test_whoever_is_interrupted_leaves_his_batches_to_the_next_at_once(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched()

    def interrupted() -> None:
        here.engine.stop()
        for worker in here.engine._workers:
            worker.batch_leases.abandon()  # as when the grace is over

    let_happen(here, "before_create", interrupted)
    run = here.start(route="batch", min_batch_size=2, pack_size=3)
    here.engine.drive(run.id)

    now = here.runtime.now()
    with here.engine.ledger.snapshot() as tx:
        batch = tx.batches.get_batch(BatchId(1))
    assert batch is not None
    assert batch.state == BatchState.UNKNOWN
    assert batch.lease_until <= now
    assert batch.next_at <= now
    assert run.wait().done == BLOCKS
    assert len(here.server.batches()) == 1


class Attentive(Ledger):
    """A ledger that remembers who rests on its thread while a batch is in hand."""

    def __init__(self, url: str) -> None:
        """Open it."""
        opened = open_ledger(url)
        super().__init__(opened._database, opened.workspace)
        self.engine: Engine | None = None
        self.rests: list[int] = []  # batches in hand meanwhile

    def wait(self, seconds: float) -> None:
        """Rest."""
        assert self.engine is not None
        self.rests += [worker.batch_leases.leased_count for worker in self.engine._workers]
        super().wait(seconds)


def test_nobody_rests_on_the_ledgers_thread_while_a_batch_is_in_hand(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched()
    here.close()
    ledger = Attentive(here.url)
    here.engine = ledger.engine = Engine(make_context(here.engine.settings, ledger, here.runtime))
    here.ingest(sentences(600), "more")

    done = here.start(route="batch", min_batch_size=2, packing=False).wait().done

    assert done == BLOCKS + 600
    assert ledger.rests
    assert set(ledger.rests) == {0}
