"""What is counted: tallies against a recount, spend against the attempts, late and lost answers."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.data import JsonObject
from quire.domain.ids import RunId
from quire.domain.requests import Call, Reply
from quire.domain.states import AttemptState, RunState
from quire.pipeline.answers.progress import progress as summed_up
from quire.pipeline.calls.rescue import WRITE_OFF_AFTER, reclaim_expired_leases
from quire.providers.protocol import RawResponse
from tests.ledger.raw import Raw
from tests.world import Calm, Scripted, World, sentences

Worlds = Callable[..., World]

FAULTS = "skip=0.1,wrong=0.1,500=0.1,429=0.1,truncate=0.1,drop=0.05,duplicate=0.1,seed=3"


class Ahead(Calm):
    """A clock that can be moved."""

    def __init__(self) -> None:
        """Start in the present."""
        self.ahead = timedelta()

    def now(self) -> datetime:
        """The moved moment."""
        return super().now() + self.ahead


def assert_packs_agree(here: World, run: RunId) -> None:
    """Packs are counted that wait or were sent, and the tasks in them."""
    raw = Raw(here.url)
    ((packs, tasks),) = raw.rows(
        "SELECT count(*), CAST(sum(q.tasks) AS INTEGER)"
        " FROM requests q JOIN lanes l ON l.id = q.lane_id"
        " WHERE l.run_id = :run AND q.kind IN ('answer', 'repair') AND (q.state <> 'dropped'"
        " OR EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id))",
        run=run,
    )
    raw.close()
    progress = here.engine.progress(run)
    assert (progress.packs, progress.packed_tasks) == (packs, tasks)


def assert_counts_agree(here: World, run: RunId) -> None:
    """All tallies equal a recount, and spend is the sum over attempts; wallets' books too."""
    with here.engine.ledger.snapshot() as tx:  # one moment for both sides
        progress = summed_up(tx, run)
        recount: Counter[str] = Counter()
        for stage in tx.runs.stages_of_run(run):
            recount.update(tx.tallies.recount_tasks(stage.id))
        known, presumed = tx.attempts.spend_of_run(run)
        assert tx.checks.miscounts() == []
        assert tx.checks.unbalanced_wallets() == []
        assert tx.checks.unbalanced_runs() == []
        assert tx.checks.unbalanced_slices() == []
        for sums in tx.spend.money_of_runs():
            assert sums.tallied == sums.attempted
            assert sums.wallet is None or sums.paid == sums.amount_due
    assert dict(progress.counts) == recount
    assert (progress.cost_pico, progress.presumed_pico) == (known, presumed)


def test_tallies_equal_a_recount_and_spend_equals_the_attempts(world: Worlds) -> None:
    here = world(faults=FAULTS)
    here.ingest(sentences(120))

    run = here.run(pack_size=10, max_tries=5)

    assert run.progress().state == RunState.FINISHED
    assert_counts_agree(here, run.id)
    assert_packs_agree(here, run.id)


def test_without_lost_calls_nothing_is_presumed(world: Worlds) -> None:
    here = world(faults="skip=0.2,500=0.2,seed=5")
    here.ingest(sentences(60))

    run = here.run(pack_size=10)

    assert run.progress().presumed_pico == 0
    assert run.progress().cost_pico > 0


def test_a_dropped_connection_is_presumed_at_its_reservation_and_written_off(
    world: Worlds,
) -> None:
    clock = Ahead()
    here = world(runtime=clock)
    here.ingest(sentences(5))
    here.model.script = ["drop=1"]
    run = here.run(pack_size=5)
    presumed = run.progress().presumed_pico
    assert presumed > 0
    listed = here.engine.queries.requests(run.id)
    assert sum(line.cost_pico for line in listed) == presumed + run.progress().cost_pico
    assert any(line.presumed for line in listed)

    with here.engine.ledger.transaction() as tx:
        rescued = reclaim_expired_leases(
            tx, timedelta(seconds=30), clock.now() + WRITE_OFF_AFTER + timedelta(seconds=1)
        )

    assert rescued.written_off == 1
    assert run.progress().presumed_pico == presumed
    assert_counts_agree(here, run.id)


def test_a_call_that_never_answers_is_lost_and_sent_again(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    here.model.script = ["hang=1"]

    run = here.run(pack_size=5, call_timeout=2.0)

    ended = run.progress()
    assert here.model.packs == [5] * (1 + ended.resent)  # a busy machine may lose more than one
    assert (ended.done, ended.resent >= 1) == (5, True)
    assert ended.presumed_pico > 0


def test_a_late_answer_counts_if_the_task_is_still_open(world: Worlds) -> None:
    clock = Ahead()
    here = world(runtime=clock)
    here.ingest(sentences(5))
    run = here.start(pack_size=5)

    class Slow(Scripted):
        """Answers after its worker was declared dead."""

        async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
            clock.ahead += timedelta(seconds=60)
            with here.engine.ledger.transaction() as tx:
                reclaim_expired_leases(tx, timedelta(seconds=30), clock.now())
            return await super().send(call, account)

    here.engine.providers.provider = Slow()  # type: ignore[attr-defined]
    ended = run.wait()

    assert ended.done == 5
    assert ended.presumed_pico == 0  # the answer came after all, and corrected the presumption
    assert_counts_agree(here, run.id)
    assert here.engine.providers.provider.packs == [5]  # type: ignore[attr-defined]


def test_an_unreadable_response_is_kept_and_holds_the_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    here.model.script = ["garbage=1"]

    run = here.run(pack_size=5)

    assert [hold.kind for hold in run.progress().holds] == ["undecodable"]
    assert here.model.calls == 1
    request = here.engine.queries.requests(run.id)[0].id
    attempt = here.engine.queries.exchange(request).attempts[0]
    assert attempt.state == AttemptState.ANSWERED
    assert "this is no answer" in (attempt.raw or "")


def test_a_mended_decoder_reads_what_was_kept_without_a_second_call(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5))
    here.model.script = ["garbage=1"]
    run = here.run(pack_size=5)

    class Mended(Scripted):
        """Knows one more form of response."""

        decoder_version = 2

        def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
            return super().decode(kept if b"no answer" in raw else raw)

    later = world()
    later.model.script = []
    kept = _answer_to(later, run.id)
    later.engine.providers.provider = mended = Mended()  # type: ignore[attr-defined]
    ended = later.engine.get(run.id).wait()

    assert (ended.done, mended.calls) == (5, 0)
    assert ended.presumed_pico == 0
    assert_counts_agree(later, run.id)


def _answer_to(here: World, run: RunId) -> bytes:
    """What the model would have answered to the run's first request."""
    import asyncio

    from quire.domain.ids import AttemptId
    from quire.domain.models import Params
    from quire.pipeline.contexts import Contexts

    view = here.engine.queries.exchange(here.engine.queries.requests(run)[0].id)
    with here.engine.ledger.snapshot() as tx:
        context = Contexts().any_of_stage(tx, run, view.request.stage_id)
    call = Call(
        attempt_id=AttemptId(1),
        model="simulated/small",
        system=view.system,
        user=view.user or "",
        output_schema=context.prefix.output_schema,
        params=Params(max_tokens=4000),
    )
    return asyncio.run(Scripted().send(call)).raw


@pytest.mark.parametrize("bodies", ["lean", "full"])
def test_what_is_shown_as_sent_is_what_was_sent(world: Worlds, bodies: str) -> None:
    here = world()
    here.ingest(sentences(3))
    seen: list[str] = []

    class Watching(Scripted):
        """Remembers what it was asked."""

        async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
            seen.append(call.system + "\n---\n" + call.user)
            return await super().send(call, account)

    here.engine.providers.provider = Watching()  # type: ignore[attr-defined]
    run = here.run(pack_size=3, ledger=bodies)
    view = here.engine.queries.exchange(here.engine.queries.requests(run.id)[0].id)

    assert seen == [f"{view.system}\n---\n{view.user}"]
