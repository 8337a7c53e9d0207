"""A budget binds what goes in batches: only what it covers is submitted, the rest follows."""

from typing import Any

import pytest

from quire.domain.pricing import DOLLAR, to_usd
from quire.domain.reasons import HoldCause
from quire.domain.runs import Progress
from quire.domain.states import RunState
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, QuickClock
from tests.world import sentences, until_rest

BLOCKS = 300


def test_only_what_the_budget_covers_goes_in_batches_and_the_rest_after_it_is_raised(
    rehearse: Rehearse,
) -> None:
    here = rehearse(OPENAI, clock=QuickClock(60), batch_latency="20s")
    here.ingest(sentences(BLOCKS))
    run = here.start(route="batch", min_batch_size=2, pack_size=10)
    run.pause()
    run.resume(budget_usd="0.0036")

    held = until_rest(run)
    run.resume(budget_usd=1)
    after = run.wait()

    assert held.holds[0].cause is HoldCause.BUDGET_SPENT
    assert 0 < held.done < BLOCKS
    assert held.cost_pico <= 36 * DOLLAR // 10_000
    assert after.state == RunState.FINISHED
    assert after.done == BLOCKS
    assert after.presumed_pico == 0
    assert after.cost_pico == here.bill()
    with here.engine.ledger.snapshot() as tx:
        assert tx.checks.unbalanced_runs() == []
        assert tx.checks.unbalanced_slices() == []


def test_calls_that_go_direct_after_all_are_reserved_for_at_the_direct_price(
    rehearse: Rehearse,
) -> None:
    here = rehearse(OPENAI, clock=QuickClock(60))
    here.ingest(sentences(20))
    few = here.start(route="batch", min_batch_size=50, pack_size=10, budget_usd=1)
    few.wait()
    direct = here.start(route="direct", pack_size=10, reuse=False, new=True)
    direct.wait()

    reserved = [[it.reserved_pico for it in here.attempts(run.id)] for run in (few, direct)]

    assert {it.batch_id for it in here.attempts(few.id)} == {None}
    assert reserved[0] == reserved[1]


@pytest.mark.parametrize("percent", [65, 80])
def test_calls_too_few_for_a_batch_are_made_to_fit_the_price_they_go_at(
    rehearse: Rehearse, percent: int
) -> None:
    here = rehearse(OPENAI, clock=QuickClock(60))
    here.ingest(sentences(20))
    order: Any = {"route": "batch", "min_batch_size": 50, "pack_size": 10, "reuse": False}
    plenty = here.start(**order)
    plenty.wait()
    reserved = max(attempt.reserved_pico for attempt in here.attempts(plenty.id))
    budget = to_usd(reserved * percent // 100)
    run = here.start(**order, new=True, budget_usd=f"{budget:.12f}")

    def bounded(_now: Progress) -> None:
        assert len(here.lines(run.id)) < 100, "the same calls are packed again and again"

    held = until_rest(run, bounded)
    run.resume(budget_usd=1)
    after = run.wait()

    assert held.done > 0
    assert after.state == RunState.FINISHED
    assert {attempt.batch_id for attempt in here.attempts(run.id)} == {None}
