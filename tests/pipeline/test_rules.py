"""Rules between the tables that a rollback, a race or a late answer would break."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.errors import Conflict, IllegalMove
from quire.domain.ids import RunId, WorkerId
from quire.domain.models import Usage
from quire.domain.reasons import EventKind, HoldCause
from quire.domain.requests import Answer, Call, Reply, Stop
from quire.domain.runs import Lane
from quire.domain.states import RunState, TaskMove
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.claim import Sender, claim
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.calls.record import hold_run, record_answers
from quire.pipeline.calls.rescue import reclaim_expired_leases
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from quire.providers.protocol import RawResponse
from tests.pipeline.test_money import assert_counts_agree
from tests.world import METADATA, Scripted, World, sentences

Worlds = Callable[..., World]


class Undone(Exception):
    """The transaction is rolled back."""


def only_lane(tx: Transaction, run: RunId) -> Lane:
    (lane,) = tx.requests.lanes_of_run(run)
    return lane


def test_a_text_prepared_in_vain_is_never_sent_under_a_key_that_is_used_again(
    world: Worlds,
) -> None:
    here, contexts = world(), Contexts()
    here.ingest(sentences(4))
    run = here.start(pack_size=2)
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, here.runtime.now())
        context = contexts.of_lane(tx, only_lane(tx, run.id))
    with suppress(Undone), here.engine.ledger.transaction() as tx:
        prepare(tx, contexts, context, here.runtime.now())
        raise Undone
    with here.engine.ledger.transaction() as tx:  # somebody else packs other tasks meanwhile
        stage = tx.runs.stages_of_run(run.id)[0].id
        first = tx.tasks.ready_tasks(stage, 1)[0].id
        tx.tasks.move_tasks(TaskMove.GIVE_UP, [first])
        prepare(tx, Contexts(), context, here.runtime.now())

    with here.engine.ledger.transaction() as tx:
        worker = tx.workers.add_worker("here", 1, "0", here.runtime.now())
        sent = claim(
            tx, contexts, context, Sender(WorkerId(worker), KEYLESS_ACCOUNT), 9, here.runtime.now()
        )

    assert ["Block 0 says" in outgoing.call.user for outgoing in sent] == [False, False]


def test_where_nothing_is_to_be_packed_nobody_looks_what_answers_took(world: Worlds) -> None:
    here, contexts = world(), Contexts()
    here.ingest(sentences(4))
    run = here.run(pack_size=2)

    with here.engine.ledger.transaction() as tx:
        context = contexts.of_lane(tx, only_lane(tx, run.id))
        queued = prepare(tx, contexts, context, here.runtime.now())

    assert queued == 0
    assert contexts.sizes == {}


def test_two_equal_orders_at_once_are_one_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4))
    here.engine.add_schema(METADATA)
    together = threading.Barrier(4)
    started: list[int] = []

    def order() -> None:
        together.wait()
        started.append(here.engine.run(schema="metadata", model="simulated/small").id)

    threads = [threading.Thread(target=order) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(started)) == 1


def test_resume_does_not_lift_what_a_person_cannot_cure(world: Worlds) -> None:
    here = world(faults="garbage=1")
    here.ingest(sentences(4))
    run = here.run()

    with pytest.raises(IllegalMove, match="cannot go on"):
        run.resume()
    assert [hold.kind for hold in run.progress().holds] == ["undecodable"]


def test_the_early_look_is_not_forgotten_when_its_transaction_is_undone(world: Worlds) -> None:
    here, contexts = world(), Contexts()
    here.ingest(sentences(120))
    run = here.start(pack_size=10)
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, here.runtime.now())
        context = contexts.of_lane(tx, only_lane(tx, run.id))
        failed = [task.id for task in tx.tasks.ready_tasks(context.stage_id, 60)]
        tx.tasks.move_tasks(TaskMove.GIVE_UP, failed)
    with suppress(Undone), here.engine.ledger.transaction() as tx:
        prepare(tx, contexts, context, here.runtime.now())
        raise Undone

    with here.engine.ledger.transaction() as tx:
        prepare(tx, contexts, context, here.runtime.now())

    assert [hold.kind for hold in run.progress().holds] == ["failures"]


def test_the_early_look_does_not_tell_again_that_a_run_is_held(world: Worlds) -> None:
    here, contexts = world(), Contexts()
    here.ingest(sentences(120))
    run = here.start(pack_size=10)
    now = here.runtime.now()
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, now)
        context = contexts.of_lane(tx, only_lane(tx, run.id))
        tx.tasks.move_tasks(
            TaskMove.GIVE_UP, [task.id for task in tx.tasks.ready_tasks(context.stage_id, 60)]
        )
        hold_run(tx, run.id, HoldCause.EXACT_FAILURES, now, failed=60, stage="extract")
        prepare(tx, contexts, context, now)

        causes = [
            event.fields["cause"]
            for event in tx.events.events_of_run(run.id)
            if event.kind == EventKind.HELD
        ]
    assert causes == [HoldCause.EXACT_FAILURES]


def test_going_on_takes_the_speed_of_the_newest_order(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4))
    run = here.start(concurrency=2)

    here.start(concurrency=9)

    with here.engine.ledger.snapshot() as tx:
        context = Contexts().of_lane(tx, only_lane(tx, run.id))
    assert context.policy.concurrency == 9


def test_an_answer_that_comes_after_a_purge_leaves_its_cost_but_no_word(world: Worlds) -> None:
    here = world()
    here.ingest(["The secret is Zanzibar."], name="secret")
    run = here.start()

    class Late(Scripted):
        """Answers when its worker was declared dead and the document is gone."""

        async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
            now = here.runtime.now() + timedelta(seconds=60)
            with here.engine.ledger.transaction() as tx:
                reclaim_expired_leases(tx, timedelta(seconds=30), now)
            here.engine.purge("secret")
            return await super().send(call, account)

    here.engine.providers.provider = Late()  # type: ignore[attr-defined]
    run.wait()

    view = here.engine.queries.exchange(here.engine.queries.requests(run.id)[0].id)
    assert [(attempt.raw, attempt.decoded) for attempt in view.attempts] == [("", "")]
    assert run.progress().cost_pico > 0


def test_a_limit_that_covers_everything_lets_the_run_finish(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(12))

    assert here.run(limit=12).progress().state == RunState.FINISHED


def test_a_run_that_is_made_larger_says_so(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(12))
    here.run(limit=3)
    here.run(limit=3)

    run = here.run()

    events = here.engine.queries.events(run.id, 100)
    said = [event.detail for event in events if event.kind == EventKind.LIMIT_CHANGED]
    assert said == ["from the first 3 to all"]
    assert events[-1].kind == "run_finished"


def test_a_lost_call_that_turns_out_refused_costs_nothing_and_disturbs_nobody(
    world: Worlds,
) -> None:
    here = world(lease=3.0)  # a third of which it takes to notice that one was declared dead
    here.ingest(sentences(5))
    run = here.start(pack_size=5)

    class Refused(Scripted):
        """Says no when its worker was declared dead; whoever takes over is answered."""

        async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
            if not self.packs:
                now = here.runtime.now() + timedelta(seconds=60)
                with here.engine.ledger.transaction() as tx:
                    reclaim_expired_leases(tx, timedelta(seconds=30), now)
                self.script = ["500=1"]
            return await super().send(call, account)

    here.engine.providers.provider = model = Refused()  # type: ignore[attr-defined]
    ended = run.wait()

    assert (ended.done, ended.presumed_pico) == (5, 0)
    assert model.packs == [5, 5]
    assert_counts_agree(here, run.id)


def test_no_more_than_the_first_fifty_are_asked_about_before_anybody_looks(world: Worlds) -> None:
    here = world(faults="wrong@plain")
    here.ingest(sentences(300))

    here.run(pack_size=10, max_tries=1)

    assert here.model.blocks == 50


def test_a_late_answer_that_nobody_has_judged_keeps_a_document_from_being_purged(
    world: Worlds,
) -> None:
    here, contexts = world(), Contexts()
    here.ingest(sentences(1), name="secret")
    here.ingest([f"x {sentence}" for sentence in sentences(1)], name="neighbour")
    run = here.start(pack_size=2)
    now = here.runtime.now()
    with here.engine.ledger.transaction() as tx:
        advance(tx, contexts, now)
        context = contexts.of_lane(tx, only_lane(tx, run.id))
        prepare(tx, contexts, context, now)
        worker = tx.workers.add_worker("elsewhere", 1, "0", now)
        (sent,) = claim(tx, contexts, context, Sender(worker, KEYLESS_ACCOUNT), 9, now)
        reclaim_expired_leases(tx, timedelta(seconds=30), now + timedelta(seconds=60))
        reply = Reply(text='{"results":[]}', stop=Stop.END, usage=Usage(input=1))
        place = (sent.call.attempt_id, run.id, context.stage_id)
        record_answers(tx, [Answer(*place, b"raw", reply, 1, 1)], now)

    with pytest.raises(Conflict):
        here.engine.purge("secret")
