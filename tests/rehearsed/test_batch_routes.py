"""Which calls go in batches, until when, and as whom; what comes too late is paid and kept."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.errors import UsageError
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.runs import HeldError, Progress
from quire.domain.states import BatchState, RunState
from tests.engine.installations import examine_engine
from tests.rehearsed.conftest import Rehearse, Serve
from tests.rehearsed.front_proxy import Answer, front_proxy
from tests.rehearsed.rehearsed import KEYS, OPENAI, QuickClock, Rehearsed
from tests.time_limits import at_most
from tests.world import sentences, until_rest, without_costs

BLOCKS = 400
SMALL = {"window": 20_000}  # tokens


@pytest.fixture
def batched(rehearse: Rehearse) -> Callable[..., Rehearsed]:
    """An engine and a server whose hours are minutes, with documents to ask about."""

    def make(asks: str = OPENAI, takes: str = "20s", **more: Any) -> Rehearsed:
        here = rehearse(asks, clock=QuickClock(60), batch_latency=takes, **more)
        here.ingest(sentences(BLOCKS))
        return here

    return make


def travelled(here: Rehearsed) -> dict[str, int]:
    """How many calls the server answered, by the way they came."""
    ways = [entry.route for entry in here.server.entries() if entry.usage]
    return {way: ways.count(way) for way in sorted(set(ways))}


def test_too_few_calls_for_a_batch_go_direct(batched: Callable[..., Rehearsed]) -> None:
    here = batched()

    progress = here.start(route="batch", min_batch_size=30).wait(at_most())

    assert progress.done == BLOCKS
    assert travelled(here) == {"batch": 35, "direct": 5}  # the first 50 blocks are looked at first
    assert progress.cost_pico == here.bill()


def test_auto_takes_batches_only_where_they_are_worth_it(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched()

    here.start(route="auto", min_batch_size=30).wait(at_most())
    here.start(route="auto", min_batch_size=100, new=True, pack_size=9, reuse=False).wait(at_most())

    assert travelled(here) == {"batch": 35, "direct": 5 + 45}


def test_a_model_without_batches_is_refused_before_anything_is_spent(
    batched: Callable[..., Rehearsed],
) -> None:
    name = "openrouter/openai/gpt-5.4-mini"
    here = batched(name, tables={name: {"like": "openai/gpt-5.4-mini"}})

    with pytest.raises(UsageError, match="openrouter has no batches"):
        here.start(route="batch")


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_gateway_without_batches_holds_the_run_and_says_which_way_to_go(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    here = batched()
    nothing = Answer(status, b"no such route", {"Content-Type": "text/plain"})
    with front_proxy(lambda number, key: nothing) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        run = here.start(route="batch", min_batch_size=1)
        with pytest.raises(HeldError, match="no batches at this address"):
            run.wait(at_most(60))

    (hold,) = run.progress().holds
    assert (hold.kind, hold.cause) == (HoldKind.REFUSED, HoldCause.NO_BATCHES)
    assert "no such route" in hold.detail
    assert "--route direct" in hold.detail


def test_no_more_tokens_wait_at_the_provider_than_may(
    batched: Callable[..., Rehearsed],
) -> None:
    limits = {"limits": {"enqueued": 8_000}}
    here = batched(tables={OPENAI: limits})
    most = 0

    def watch(progress: Any) -> None:
        nonlocal most
        open_ = [
            batch
            for batch in here.engine.batches()
            if batch.state in (BatchState.SUBMITTING, BatchState.OPEN)
        ]
        most = max(most, sum(view.tokens for view in open_))

    progress = here.start(route="batch", min_batch_size=2).wait(watch)

    assert progress.done == BLOCKS
    assert 0 < most <= 8_000
    assert len(here.server.batches()) > 2


def test_a_paced_run_goes_direct_a_few_calls_at_a_time(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched()

    def watch(progress: Any) -> None:
        assert progress.in_flight <= 4

    run = here.start(route="paced", concurrency=64)

    assert run.wait(watch).done == BLOCKS
    assert travelled(here) == {"direct": 40}


PASSED = (
    "the deadline passed: 5 calls go direct now; 1 batch is still out, and it is asked to end when"
    " all is answered"
)


def test_at_the_deadline_what_is_owed_goes_direct_and_late_answers_are_spend_on_record(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(takes="7200s")

    run = here.start(route="batch", min_batch_size=2, deadline="10m")
    progress = run.wait(skipping(here, 540))
    first = without_costs(here.engine.rows(run.id))

    assert progress.state == RunState.FINISHED
    assert progress.done == BLOCKS
    assert travelled(here) == {"direct": 40}
    told = [
        event.detail for event in here.engine.queries.events(run.id) if "deadline" in event.kind
    ]
    assert told == [PASSED]
    assert here.engine.batches()[0].cancelling  # nobody waits for it any more
    here.server.advance(7200)
    here.engine.drive(run.id, at_most(), batches=True)
    after = here.engine.progress(run.id)
    assert after.batches == 0
    assert after.cost_pico == here.bill()
    assert without_costs(here.engine.rows(run.id)) == first


def test_the_first_acceptable_answer_wins_where_a_task_is_out_twice(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(takes="900s", latency="3600s")
    run = here.start(route="batch", min_batch_size=2, deadline="880s", call_timeout=86_400.0)

    progress = run.wait(answering_late(here, 820))

    assert progress.done == BLOCKS
    assert {"batch", "direct"} == set(travelled(here))  # both came back, for the same tasks
    results = without_costs(here.engine.rows(run.id))
    here.server.advance(3600)
    here.engine.drive(run.id, at_most(), batches=True)
    assert without_costs(here.engine.rows(run.id)) == results
    assert here.engine.progress(run.id).cost_pico == here.bill()


def test_a_batch_is_asked_for_with_its_own_key_only(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = batched(takes="300s")
    run = here.start(route="batch", min_batch_size=2)
    stop_when_out(here, run)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-1234567890-key")
    here.server.advance(300)
    progress = until_rest(run, at_most())

    assert [hold.kind for hold in progress.holds] == [HoldKind.CREDENTIAL]
    assert "put it back" in progress.holds[0].detail
    assert len(here.server.batches()) == 1  # nothing was sent again
    monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
    here.engine.resume(run.id)
    assert run.wait(skipping(here, 290)).done == BLOCKS


def test_a_batch_that_its_own_key_cannot_see_holds_the_run(
    batched: Callable[..., Rehearsed], serve: Serve
) -> None:
    here = batched(takes="3600s")
    run = here.start(route="batch", min_batch_size=2)
    stop_when_out(here, run)
    here.server.advance(3600)
    empty = serve()  # at the address that calls go to from now on

    progress = until_rest(run, at_most())

    assert [hold.kind for hold in progress.holds] == [HoldKind.CREDENTIAL]
    assert "404" in progress.holds[0].detail
    assert {view.state for view in here.engine.batches()} == {"open"}
    assert empty.batches() == []


def test_the_doctor_tells_how_batches_stand(batched: Callable[..., Rehearsed]) -> None:
    here = batched(takes="3600s")
    run = here.start(route="batch", min_batch_size=2)
    stop_when_out(here, run)

    findings = examine_engine(here.engine, offline=True, runtime=here.runtime)

    told = [finding.message for finding in findings if finding.area == "batches"]
    assert told == ["batch 1 of run 1 (5 calls) is open"]
    here.server.advance(3600)
    findings = examine_engine(here.engine, offline=True, runtime=here.runtime)
    (found,) = [finding for finding in findings if finding.area == "batches"]
    assert "nobody has looked at it lately" in found.message
    assert "quire work" in found.fix


def test_status_says_that_the_rest_waits_for_the_first_blocks(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(takes="3600s")
    run = here.start(route="batch", packing=False)
    stop_when_out(here, run)

    told = here.engine.stall_reasons(run.id)

    assert any("batch 1, 50 calls, is open" in name for name in told)
    assert told[-1] == "the rest is sent when the first 50 tasks are known to be fine"


def test_a_cancelled_run_cancels_its_batches_and_keeps_what_they_answered(
    batched: Callable[..., Rehearsed],
) -> None:
    here = batched(takes="3600s")
    run = here.start(route="batch", min_batch_size=2)
    stop_when_out(here, run)

    here.engine.cancel(run.id)
    progress = run.wait(at_most())

    assert progress.state == "cancelled"
    assert progress.batches == 0
    assert here.server.batches()[0]["end"] == "cancelled"
    assert progress.cost_pico == here.bill()


def skipping(here: Rehearsed, seconds: float) -> Callable[[Progress], None]:
    """Watch a run, and skip so much of the time that each batch takes; a minute is the limit."""
    skipped, in_time = set[int](), at_most()

    def watch(progress: Progress) -> None:
        in_time(progress)
        for batch in here.engine.batches(progress.run_id):
            if batch.state == BatchState.OPEN and batch.id not in skipped:
                skipped.add(batch.id)
                here.server.advance(seconds)

    return watch


def answering_late(here: Rehearsed, seconds: float) -> Callable[[Progress], None]:
    """Watch a run, and skip as above; direct calls are answered once the first batch is home."""
    skip = skipping(here, seconds)

    def watch(progress: Progress) -> None:
        skip(progress)
        first = here.engine.batches(progress.run_id)[:1]
        if not progress.in_flight or not first:
            return
        if first[0].state == BatchState.OPEN:
            here.server.advance(20)
        elif first[0].state in (BatchState.COLLECTED, BatchState.ABANDONED):
            here.server.advance(3600)

    return watch


def stop_when_out(here: Rehearsed, run: Any) -> None:
    """Work until the first batch is out, then stop, as Ctrl-C would."""

    def watch(progress: Any) -> None:
        if any(view.state == "open" for view in here.engine.batches(run.id)):
            here.engine.stop()

    here.engine.drive(run.id, watch)


def test_a_block_that_cannot_fit_is_in_no_batch(rehearse: Rehearse) -> None:
    here = rehearse(OPENAI, clock=QuickClock(60), batch_latency="20s", tables={OPENAI: SMALL})
    here.ingest([*sentences(8), "far too long " * 8_000])

    run = here.start(route="batch", min_batch_size=1, pack_size=4)
    progress = run.wait(at_most())

    assert (progress.done, progress.failed) == (8, 1)
    assert travelled(here) == {"batch": 2}
    assert [entry.status for entry in here.server.entries() if entry.status >= 400] == []


def test_rubbish_that_comes_in_batches_holds_the_run(rehearse: Rehearse) -> None:
    here = rehearse(OPENAI, clock=QuickClock(60), batch_latency="20s", faults="wrong@BAD")
    here.ingest([*sentences(60), *(f"BAD {text}" for text in sentences(200))])

    run = here.start(route="batch", min_batch_size=1, pack_size=10)
    progress = until_rest(run, at_most(60))

    assert progress.done == 60
    assert [hold.kind for hold in progress.holds] == [HoldKind.FAILURES]
    assert travelled(here)["batch"] <= 26 + 5  # nothing is asked again
