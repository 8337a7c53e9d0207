"""Providers that misbehave with batches in ways no server of theirs was built to, and lost keys."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from quire.domain.batches import BatchRow, BatchStatus
from quire.domain.errors import ProviderError, Remedy
from quire.domain.reasons import HoldKind
from quire.domain.runs import Progress
from quire.domain.states import BatchState, TaskState
from quire.providers.openai_batches import OpenAIBatches
from tests.rehearsed.conftest import Rehearse, Serve
from tests.rehearsed.rehearsed import KEYS, OPENAI, QuickClock, Rehearsed
from tests.rehearsed.test_batch_routes import skipping, stop_when_out
from tests.time_limits import at_most
from tests.world import sentences, until_rest

BLOCKS = 300


@pytest.fixture
def batched(rehearse: Rehearse) -> Callable[..., Rehearsed]:
    """An engine and a server whose hours are minutes, with documents to ask about."""

    def make(takes: str = "20s", **more: Any) -> Rehearsed:
        here = rehearse(OPENAI, clock=QuickClock(240), batch_latency=takes, **more)
        here.ingest(sentences(BLOCKS))
        return here

    return make


def test_rows_that_are_always_missing_are_bought_no_more_often_than_calls_may_be_lost(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(*_: Any) -> AsyncIterator[BatchRow]:
        rows: list[BatchRow] = []
        for row in rows:
            yield row

    monkeypatch.setattr(OpenAIBatches, "fetch", nothing)
    here = batched()
    in_time = at_most()

    def hasten(progress: Progress) -> None:
        in_time(progress)
        if progress.batches:  # a batch without rows is looked at several times, minutes apart
            here.server.advance(300)

    progress = here.start(route="batch", min_batch_size=2, max_calls=1, limit=50).wait(hasten)

    assert progress.failed == 50
    carried = sum(batch["rows"] for batch in here.server.batches())
    assert carried <= 5 + 10 + 20 + 25 + 50  # halved until each stood alone, each size once
    assert here.bill() <= progress.presumed_pico


def test_a_completed_batch_whose_files_come_later_is_waited_for(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, hidden = OpenAIBatches.poll, set[str]()

    async def without_files(self: OpenAIBatches, *about: Any) -> BatchStatus:
        status = await poll(self, *about)
        if status.end is None or about[-1] in hidden:
            return status
        hidden.add(about[-1])
        return BatchStatus(end=status.end, counts=status.counts)

    monkeypatch.setattr(OpenAIBatches, "poll", without_files)
    here = batched()
    progress = here.start(route="batch", min_batch_size=2).wait(at_most())

    assert progress.done == BLOCKS
    assert progress.presumed_pico == 0
    assert progress.cost_pico == here.bill()


def test_a_batch_that_cannot_be_cancelled_still_comes_home(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> None:
        raise ProviderError("500", remedy=Remedy.RETRY)

    monkeypatch.setattr(OpenAIBatches, "cancel", broken)
    here = batched(takes="600s")
    run = here.start(route="batch", min_batch_size=2)
    stop_when_out(here, run)
    here.engine.cancel(run.id)
    here.server.advance(600)

    progress = run.wait(at_most())

    assert progress.state == "cancelled"
    assert progress.cost_pico == here.bill() > 0


def test_results_that_are_never_found_hold_the_run(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: Any) -> AsyncIterator[BatchRow]:
        raise ProviderError("404: not found with this key", remedy=Remedy.FIX_ACCOUNT)
        yield

    monkeypatch.setattr(OpenAIBatches, "fetch", gone)
    here = batched()

    progress = until_rest(here.start(route="batch", min_batch_size=2), at_most())

    assert [hold.kind for hold in progress.holds] == [HoldKind.CREDENTIAL]
    assert "--absent" in progress.holds[0].detail


def test_a_batch_that_is_gone_for_good_is_presumed_and_its_calls_go_again(
    batched: Callable[..., Rehearsed], serve: Serve
) -> None:
    here = batched(takes="3600s")
    run = here.start(route="batch", min_batch_size=2)
    stop_when_out(here, run)
    here.server.advance(3600)
    serve(clock=here.clock, batch_latency="20s")  # which has none of it
    assert until_rest(run, at_most()).held

    here.engine.batch_absent(1)
    progress = run.wait(at_most())

    assert progress.done == BLOCKS
    assert progress.presumed_pico > 0
    assert here.engine.batch(1).state == BatchState.ABANDONED


def test_a_worker_without_the_key_leaves_others_batches_alone(
    batched: Callable[..., Rehearsed], rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = batched(takes="3600s")
    run = here.start(route="batch", min_batch_size=2)
    stop_when_out(here, run)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-1234567890-key")
    other = rehearse(OPENAI, url=here.url, server=here.server)
    with here.engine.ledger.transaction() as tx:  # somebody who has it is at work
        tx.workers.add_worker("elsewhere", 1, "0", here.runtime.now() + timedelta(seconds=1))

    other.engine.work(lambda: True)

    assert not here.engine.progress(run.id).held
    monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
    assert run.wait(skipping(here, 3600)).done == BLOCKS


def test_a_run_that_ended_keeps_no_draft(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: Any) -> str:
        raise ProviderError("429", remedy=Remedy.WAIT, retry_after=600)

    monkeypatch.setattr(OpenAIBatches, "create", busy)
    here = batched()

    progress = here.start(route="batch", min_batch_size=2, deadline="60s").wait(at_most())

    assert progress.done == BLOCKS
    assert progress.batches == 0
    assert {view.state for view in here.engine.batches()} == {"abandoned"}


@pytest.mark.parametrize("size", [1, 4])
def test_rows_that_the_provider_always_breaks_down_at_end_with_its_words(
    batched: Callable[..., Rehearsed], ledger_url: str, size: int
) -> None:
    here = batched(faults="500@Block 7", url=ledger_url)

    run = here.start(route="batch", min_batch_size=1, pack_size=size, limit=40)
    progress = run.wait(at_most())

    assert (progress.state, progress.done, progress.failed) == ("running", 39, 1)
    (failed,) = [row["error"] for row in here.engine.rows(run.id) if row["error"]]
    assert isinstance(failed, str)
    assert "500" in failed
    assert "(sent 3 times, in batches, without an answer)" in failed
    struck = [entry for entry in here.server.entries() if entry.fault == "500"]
    assert len(struck) == 3 * {1: 1, 4: 3}[size]  # alone; or in packs of four, two, and one
    assert progress.cost_pico == here.bill()
    assert [tries for state, tries, _ in here.task_tries(run.id) if state == TaskState.FAILED] == [
        0
    ]


def test_a_retry_asks_again_where_the_provider_broke_down(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(faults="500@Block 7")
    run = here.start(route="batch", min_batch_size=1, packing=False, limit=30)
    assert run.wait(at_most()).failed == 1
    assert sum(batch["rows"] for batch in here.server.batches()) == 32

    here.server.change_faults("")
    run.retry()
    run.resume()

    assert run.wait(at_most()).done == 30


@pytest.mark.parametrize(("most", "times"), [(1, "once"), (2, "2 times")])
def test_rows_that_the_provider_breaks_down_at_are_not_told_of_as_lost(
    batched: Callable[..., Rehearsed], ledger_url: str, most: int, times: str
) -> None:
    here = batched(faults="500@Block 7", url=ledger_url)

    run = here.start(
        route="batch", min_batch_size=1, pack_size=1, limit=20, max_tries=9, max_calls=most
    )
    run.wait(at_most())

    failed = [row["error"] for row in here.engine.rows(run.id) if row["error"]]
    assert failed == [f"the call brought no answer {times}"]
    assert run.progress().presumed_pico == 0  # none of them was lost
