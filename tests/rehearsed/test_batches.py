"""Whole runs through providers' batches, whatever goes wrong with them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.states import RunState
from tests.ready_databases import ReadyDatabases
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI, VENDORS, QuickClock, Rehearsed
from tests.world import sentences

BLOCKS = 200
PILOT = 5  # calls in a batch of their own, before all the others
# struck: the pilot, what is left of it, and the large batch after it; what comes then is whole
FAULTS = {
    "batch_drop@2": "made, but the connection was dropped",
    "batch_500@2": "made, but the answer was a 500",
    "batch_full@1": "the queue was full",
    "batch_expire@4": "expired with half of the rows",
    "batch_cancel@4": "cancelled by the provider with half of the rows",
    "batch_errors@1": "completed with nothing but an error file",
    "batch_shuffle=1": "rows in another order",
    "batch_duplicate=1": "rows twice",
    "batch_missing@3": "rows missing",
    "batch_404@2": "results not found, then there",
    "batch_truncate@2": "a download that broke off",
}
OTHERS = ("batch_drop@2", "batch_expire@4", "batch_truncate@2", "batch_missing@3")


@pytest.fixture
def batched(rehearse: Rehearse) -> Callable[..., Rehearsed]:
    """An engine and a server whose hours are minutes, with documents to ask about."""

    def make(asks: str = OPENAI, faults: str = "", blocks: int = BLOCKS, **more: Any) -> Rehearsed:
        clock = QuickClock(240)
        here = rehearse(asks, clock=clock, faults=faults, batch_latency="20s", **more)
        here.ingest(sentences(blocks))
        return here

    return make


def finish(here: Rehearsed, **policy: Any) -> Any:
    """Run through batches to the end."""
    run = here.start(route="batch", min_batch_size=2, **policy)
    return run, run.wait()


def creates(here: Rehearsed) -> Counter[str]:
    """How often each submission was made, by its tag, in the server's own log."""
    return Counter(batch["tag"] for batch in here.server.batches())


def check(here: Rehearsed, run: Any, progress: Any) -> None:
    """All answered, nothing made twice, and paid what the server billed."""
    assert progress.state == RunState.FINISHED
    assert progress.done == BLOCKS
    assert set(creates(here).values()) == {1}
    assert progress.cost_pico <= here.bill() <= progress.cost_pico + progress.presumed_pico
    assert progress.batches == 0
    assert {view.state for view in here.engine.batches()} == {"collected"}


@pytest.mark.parametrize("asks", VENDORS)
def test_packs_travel_in_batches_and_cost_what_the_server_billed(
    batched: Callable[..., Rehearsed], asks: str
) -> None:
    here = batched(asks)

    run, progress = finish(here)

    check(here, run, progress)
    assert progress.cost_pico == here.bill()
    assert progress.presumed_pico == 0
    assert progress.calls == BLOCKS / 10
    assert all(entry.route == "batch" for entry in here.server.entries() if entry.usage)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_batch_that_goes_wrong_loses_nothing_and_pays_nothing_twice(
    batched: Callable[..., Rehearsed], fault: str
) -> None:
    here = batched(faults=fault)

    run, progress = finish(here)

    check(here, run, progress)
    struck = [sum(batch["counts"].values()) for batch in here.server.batches() if batch["faults"]]
    if fault not in ("batch_404@2", "batch_truncate@2"):  # which strike downloads
        assert max(struck) > PILOT or fault.endswith("@1")
    if "missing" not in fault:
        assert progress.presumed_pico == 0
        assert progress.cost_pico == here.bill()


@pytest.mark.parametrize("asks", [ANTHROPIC, GEMINI])
@pytest.mark.parametrize("fault", OTHERS)
def test_the_other_vendors_batches_go_wrong_alike(
    batched: Callable[..., Rehearsed], asks: str, fault: str
) -> None:
    here = batched(asks, fault)

    check(here, *finish(here))


@pytest.mark.parametrize("fault", ["", "batch_drop@2", "batch_missing@3"])
def test_batches_are_the_same_on_postgresql(
    batched: Callable[..., Rehearsed], ready_postgres: ReadyDatabases, fault: str
) -> None:
    with ready_postgres.lend() as url:
        here = batched(faults=fault, url=url)

        check(here, *finish(here))
        here.close()


def test_rows_that_cannot_be_used_go_again_as_those_of_direct_calls_do(
    batched: Callable[..., Rehearsed],
) -> None:
    blocks, faults = 600, "skip=0.02,truncate=0.04,500=0.1,malformed=0.04,refuse=0.002"
    here = batched(faults=faults, blocks=blocks)

    run = here.start(route="batch", min_batch_size=2)
    progress = run.wait()

    assert progress.state == RunState.FINISHED
    assert progress.done + progress.failed == blocks
    assert progress.failed < blocks * 0.01
    assert progress.splits > 0
    assert progress.cost_pico == here.bill()


def test_a_batch_that_is_stuck_expires_and_its_calls_go_again(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(faults="batch_stuck@1")
    run = here.start(route="batch", min_batch_size=2)

    def hasten(progress: Any) -> None:
        if progress.batches and not progress.calls:
            here.server.advance(3600)

    progress = run.wait(hasten)

    check(here, run, progress)
    assert [view.end_reason for view in here.engine.batches()][-1] == "expired"
