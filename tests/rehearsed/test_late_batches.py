"""Batches that the deadline has overtaken, while people steer the run in other ways."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.errors import Conflict
from quire.domain.runs import Progress
from quire.domain.states import BatchState
from tests.pipeline.test_money import assert_counts_agree
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, QuickClock, Rehearsed
from tests.rehearsed.test_batch_routes import answering_late, skipping, travelled
from tests.time_limits import at_most
from tests.world import sentences, until_rest, without_costs

BLOCKS = 60
CALLS = 17 + 4  # about the first 50 blocks, which go first, and about the rest


@pytest.fixture
def overdue(rehearse: Rehearse, ledger_url: str) -> Callable[..., tuple[Rehearsed, Any]]:
    """A run that ended at its deadline, by direct calls, while its batch is still open."""

    def make(**server_config: Any) -> tuple[Rehearsed, Any]:
        here = rehearse(
            OPENAI, url=ledger_url, clock=QuickClock(60), batch_latency="7200s", **server_config
        )
        here.ingest(sentences(BLOCKS))
        run = here.start(route="batch", min_batch_size=2, pack_size=3, deadline="10m")
        run.wait(skipping(here, 540))
        assert [batch.state for batch in here.engine.batches()] == ["open"]
        return here, run

    return make


def come_home(here: Rehearsed, run: Any) -> Progress:
    """Let the late batch end, and look after it; all that was billed is on record."""
    here.server.advance(7200)
    here.engine.drive(run.id, at_most(), batches=True)
    after = here.engine.progress(run.id)
    assert after.batches == 0
    assert after.cost_pico == here.bill()
    assert_counts_agree(here, run.id)
    return after


def stage_of(here: Rehearsed, run: Any) -> str:
    """The name of a run's one stage."""
    with here.engine.ledger.snapshot() as tx:
        return tx.runs.stages_of_run(run.id)[0].name


def test_a_late_answer_changes_nothing_of_what_was_asked_anew(
    overdue: Callable[..., tuple[Rehearsed, Any]],
) -> None:
    here, run = overdue()

    run.rerun(stage_of(here, run))
    assert run.wait(at_most()).done == BLOCKS
    results = without_costs(here.engine.rows(run.id))
    after = come_home(here, run)

    assert (after.state, after.done) == ("finished", BLOCKS)
    assert without_costs(here.engine.rows(run.id)) == results
    assert travelled(here)["direct"] == 2 * CALLS


def test_what_was_asked_anew_is_not_taken_from_a_late_answer_that_comes_first(
    overdue: Callable[..., tuple[Rehearsed, Any]],
) -> None:
    here, run = overdue()

    run.rerun(stage_of(here, run))
    come_home(here, run)

    assert run.wait(at_most()).done == BLOCKS
    assert run.progress().cost_pico == here.bill()
    assert travelled(here)["direct"] == 2 * CALLS


def test_a_late_answer_counts_where_a_failed_block_is_owed_again(
    overdue: Callable[..., tuple[Rehearsed, Any]],
) -> None:
    here, run = overdue(faults="malformed@Block 7")
    assert run.progress().failed == 1
    here.server.change_faults("")

    assert run.retry() == 1
    after = come_home(here, run)

    assert run.wait(at_most()).done == BLOCKS
    assert after.failed == 0
    assert run.progress().cost_pico == here.bill()
    assert_counts_agree(here, run.id)


def test_a_run_that_is_cancelled_past_its_deadline_waits_for_what_is_out(
    rehearse: Rehearse, ledger_url: str
) -> None:
    clock = QuickClock(60)
    here = rehearse(OPENAI, url=ledger_url, clock=clock, batch_latency="7200s", latency="600s")
    here.ingest(sentences(BLOCKS))
    run = here.start(
        route="batch", min_batch_size=2, pack_size=3, deadline="10m", call_timeout=86_400.0
    )
    skip, cancelled = skipping(here, 540), list[bool]()

    def cancel(progress: Progress) -> None:
        skip(progress)
        if progress.in_flight and not cancelled:
            cancelled.append(here.engine.cancel(run.id))
            here.server.advance(600)  # now they are answered, long before the batch would be

    ended = run.wait(cancel)
    here.engine.drive(run.id, at_most(), batches=True)  # the batch is told, and ends
    after = come_home(here, run)

    assert ended.state == after.state == "cancelled"
    assert after.done < BLOCKS
    assert here.server.batches()[0]["end"] == "cancelled"


def test_a_document_is_purged_only_when_the_late_batch_is_home(
    overdue: Callable[..., tuple[Rehearsed, Any]],
) -> None:
    here, run = overdue()
    title = here.engine.documents()[0].title

    with pytest.raises(Conflict, match="a call about this document is out"):
        here.engine.purge(title)
    come_home(here, run)
    here.engine.purge(title)

    assert all(attempt.raw in (None, "") for attempt in here.attempts(run.id))


def test_rows_that_failed_in_a_late_batch_are_not_asked_beside_the_direct_calls(
    rehearse: Rehearse, ledger_url: str
) -> None:
    clock = QuickClock(60)
    here = rehearse(
        OPENAI, url=ledger_url, clock=clock, batch_latency="900s", latency="3600s", faults="500=0.5"
    )
    here.ingest(sentences(BLOCKS))
    run = here.start(
        route="batch",
        min_batch_size=2,
        pack_size=3,
        deadline="880s",
        call_timeout=86_400.0,
        max_tries=9,
    )

    assert run.wait(answering_late(here, 820)).done == BLOCKS

    here.server.advance(3600)
    here.engine.drive(run.id, at_most(), batches=True)
    assert travelled(here).get("direct", 0) <= CALLS
    assert here.engine.progress(run.id).cost_pico == here.bill()


def refusing_late_rows(here: Rehearsed, fault: str) -> Callable[[Progress], None]:
    """Let every row be refused, or answered wrongly, while the first direct calls are out."""
    skip = skipping(here, 540)

    def refuse(progress: Progress) -> None:
        skip(progress)
        if not progress.in_flight:
            return
        if here.server.batches()[0]["end"] is None:
            here.server.change_faults(fault)
            here.server.advance(7200)
            here.server.settle()
            here.server.change_faults("")
        elif progress.held or here.engine.batch(1).state == BatchState.COLLECTED:
            here.server.advance(9000)  # now they are answered

    return refuse


@pytest.mark.parametrize(("fault", "becomes"), [("400=1", "refused"), ("malformed=1", "settled")])
@pytest.mark.parametrize("pack_size", [1, 3])
def test_rows_that_failed_in_a_late_batch_are_not_held_against_their_blocks(
    rehearse: Rehearse, ledger_url: str, pack_size: int, fault: str, becomes: str
) -> None:
    here = rehearse(
        OPENAI, url=ledger_url, clock=QuickClock(60), batch_latency="7200s", latency="9000s"
    )
    here.ingest(sentences(18))
    run = here.start(
        route="batch",
        min_batch_size=2,
        pack_size=pack_size,
        deadline="10m",
        concurrency=2,
        call_timeout=86_400.0,
        max_tries=1,
        hold_failed_percent=100,
    )
    refuse = refusing_late_rows(here, fault)

    ended = until_rest(run, refuse)
    if ended.held:  # where nothing that came was acceptable, a person is asked
        run.resume()
        ended = run.wait(refuse)

    assert (ended.done, ended.failed, ended.splits) == (18, 0, 0)
    assert travelled(here)["direct"] == 18 // pack_size
    assert here.engine.batch(1).attempts == {becomes: 18 // pack_size}
    assert here.engine.progress(run.id).cost_pico == here.bill()
    assert_counts_agree(here, run.id)
