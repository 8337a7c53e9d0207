"""A provider that is down answers no row of a batch: then calls wait, and no block is to blame."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.reasons import EventKind, HoldCause
from quire.domain.states import TaskState
from quire.pipeline.batches import outages
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, OPENAI, QuickClock, Rehearsed
from tests.time_limits import at_most
from tests.world import sentences, until_rest

BLOCKS = 24
ROUTE: dict[str, Any] = {"route": "batch", "min_batch_size": 1, "pack_size": 2}


@pytest.fixture
def batched(rehearse: Rehearse) -> Callable[..., Rehearsed]:
    """An engine and a server whose hours are seconds, with documents to ask about."""

    def make(asks: str = OPENAI, **more: Any) -> Rehearsed:
        here = rehearse(asks, clock=QuickClock(3600), batch_latency="20s", **more)
        here.ingest(sentences(BLOCKS))
        return here

    return make


def told_outages(here: Rehearsed, run: Any) -> list[str]:
    events = here.engine.queries.events(run.id)
    return [event.detail for event in events if event.kind == EventKind.BATCH_UNANSWERED]


@pytest.mark.parametrize("asks", [OPENAI, ANTHROPIC])
def test_batches_of_nothing_but_errors_count_against_no_block(
    batched: Callable[..., Rehearsed], ledger_url: str, asks: str
) -> None:
    here = batched(asks, faults="batch_errors@2", url=ledger_url)

    run = here.start(**ROUTE, max_tries=1)
    ended = run.wait(at_most())

    assert (ended.done, ended.failed, ended.splits) == (BLOCKS, 0, 0)
    assert {tries for _, tries, _ in here.task_tries(run.id)} == {0}
    told = told_outages(here, run)
    assert len(told) == 2
    assert "batch 1: none of its 12 calls was answered" in told[0]
    assert "500" in told[0]
    assert len(here.server.batches()) == 3


def test_a_batch_of_nothing_but_errors_waits_longer_each_time(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(faults="batch_errors@2")

    run = here.start(**ROUTE)
    run.wait(at_most())

    moments = [
        event.at
        for event in here.engine.queries.events(run.id)
        if event.kind in (EventKind.BATCH_SUBMITTED, EventKind.BATCH_UNANSWERED)
    ]
    first, second = sorted(moments)[1:3], sorted(moments)[3:5]
    assert (first[1] - first[0]).total_seconds() >= 60
    assert (second[1] - second[0]).total_seconds() >= 120


def test_one_block_that_breaks_its_row_fails_alone_among_answers(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(faults="500@Block 7")

    run = here.start(**ROUTE)
    ended = run.wait(at_most())

    assert (ended.done, ended.failed) == (BLOCKS - 1, 1)
    (failed,) = [row["error"] for row in here.engine.rows(run.id) if row["error"]]
    assert "in batches, without an answer" in str(failed)
    assert told_outages(here, run) == []


def test_a_few_blocks_that_are_left_and_always_break_come_to_an_end(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "MOST_SENDINGS", 3)
    here = batched(faults="500@Block 7,500@Block 17")

    run = here.start(**ROUTE | {"pack_size": 1}, max_tries=2)
    ended = run.wait(at_most())

    assert (ended.done, ended.failed) == (BLOCKS - 2, 2)
    states = [state for state, _, _ in here.task_tries(run.id)]
    assert states.count(TaskState.FAILED) == 2
    told = len(told_outages(here, run))  # of batches in which they were all that was left
    assert told in (1, 2)  # the run may have ended before the last is told: nothing goes again


def test_a_model_that_never_answered_a_batch_holds_the_run(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(faults="500=1")
    run = here.start(**ROUTE)

    held = until_rest(run, at_most())

    (hold,) = held.holds
    assert (hold.cause, held.failed) == (HoldCause.NOTHING_SUCCEEDED, 0)
    assert len(here.server.batches()) == outages.BATCHES_TO_HOLD
    here.server.change_faults("")
    run.resume()
    assert run.wait(at_most()).done == BLOCKS
