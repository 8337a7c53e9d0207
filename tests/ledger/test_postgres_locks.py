"""On PostgreSQL transactions overlap: they skip or wait for each other's rows as the verbs need."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

import pytest

from quire.domain.errors import LedgerUnavailable
from quire.domain.states import AttemptMove, RequestMove, TaskMove
from quire.ledger.ledger import Ledger
from quire.pipeline.calls.record import record_answers
from quire.pipeline.commands.control import pause
from tests.ledger.factories import (
    NOW,
    add_document,
    answer,
    claim_next,
    expand_runs,
    new_run,
    pack_tasks,
    reply,
    request_of,
    run_with_ready_tasks,
    send_all,
    tasks_of,
)
from tests.ledger.raw import Raw
from tests.time_limits import PATIENCE

T = TypeVar("T")
LONG = 120.0  # seconds: whoever waits so long was not woken


def test_two_claims_take_different_requests_and_never_more_than_their_limit(
    postgres_ledger: Ledger,
) -> None:
    place = run_with_ready_tasks(postgres_ledger, ["one"] * 16)
    with postgres_ledger.transaction() as tx:
        assert pack_tasks(tx, place) == 8

    with postgres_ledger.transaction() as first, postgres_ledger.transaction() as second:
        one = {request.id for request in claim_next(first, place.lane, 3, NOW)}
        two = {request.id for request in claim_next(second, place.lane, 3, NOW)}
        with postgres_ledger.transaction() as third:
            three = {request.id for request in claim_next(third, place.lane, 5, NOW)}

    assert [len(item) for item in (one, two, three)] == [3, 3, 2]
    assert len(one | two | three) == 8


def test_two_settlers_take_different_answers(postgres_ledger: Ledger) -> None:
    place, attempts = send_all(postgres_ledger, ["one"] * 8)
    with postgres_ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"{}", reply()) for attempt in attempts], NOW)

    with postgres_ledger.transaction() as first, postgres_ledger.transaction() as second:
        one = {attempt.attempt_id for attempt in first.attempts.take_answered(3)}
        two = {attempt.attempt_id for attempt in second.attempts.take_answered(3)}

    assert (len(one), len(two), len(one | two)) == (3, 1, 4)


def test_two_who_read_again_read_different_responses(postgres_ledger: Ledger) -> None:
    place, attempts = send_all(postgres_ledger, ["one"] * 4)
    with postgres_ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt) for attempt in attempts], NOW)

    with postgres_ledger.transaction() as first, postgres_ledger.transaction() as second:
        assert [
            response.attempt_id for response in first.attempts.undecoded_responses()
        ] == attempts
        assert second.attempts.undecoded_responses() == []


def test_two_who_prepare_pack_different_tasks(postgres_ledger: Ledger) -> None:
    place = run_with_ready_tasks(postgres_ledger, ["one"] * 6)

    with postgres_ledger.transaction() as first, postgres_ledger.transaction() as second:
        one = {task.id for task in first.tasks.ready_tasks(place.stage, 4)}
        two = {task.id for task in second.tasks.ready_tasks(place.stage, 4)}

    assert (len(one), len(two), len(one | two)) == (4, 2, 6)


def test_a_request_is_not_claimed_while_its_late_answer_is_judged(postgres_ledger: Ledger) -> None:
    place, (attempt,) = send_all(postgres_ledger)
    with postgres_ledger.transaction() as tx:
        tx.attempts.move_attempts(AttemptMove.LOSE, [attempt])
        tx.requests.move_requests(RequestMove.REQUEUE, [request_of(tx, attempt)])
        record_answers(tx, [answer(place, attempt, b"{}", reply())], NOW)

    with postgres_ledger.transaction() as settler, postgres_ledger.transaction() as courier:
        assert [
            answered_attempt.attempt_id for answered_attempt in settler.attempts.take_answered(5)
        ] == [attempt]
        settler.attempts.move_attempts(AttemptMove.SETTLE, [attempt])

        assert claim_next(courier, place.lane, 5, NOW) == []


def test_a_second_who_expands_gives_way_and_adds_nothing_twice(postgres_ledger: Ledger) -> None:
    place = new_run(postgres_ledger, ["one"] * 7)
    with postgres_ledger.transaction() as tx:
        tx.runs.lock_stage(place.stage)
        subjects = tx.documents.next_subjects(place.run, 0, -1, 4)
        tx.runs.set_stage_cursor(place.stage, 0, subjects[-1].block_index, len(subjects))

        assert expand_runs(postgres_ledger) == 0

    assert expand_runs(postgres_ledger) == 3


def test_a_second_command_on_a_run_waits_for_the_first(postgres_ledger: Ledger) -> None:
    place = new_run(postgres_ledger)

    def pause_again() -> bool:
        with postgres_ledger.transaction() as tx:
            return pause(tx, place.run, NOW, "command-2")

    with postgres_ledger.transaction() as tx:
        assert pause(tx, place.run, NOW, "command-1")
        with meanwhile(postgres_ledger, pause_again) as second:
            pass

    assert second.result(PATIENCE) is False


def test_members_of_a_request_are_taken_until_the_end(postgres_ledger: Ledger) -> None:
    place, (attempt,) = send_all(postgres_ledger)

    def accept_too() -> list[str]:
        with postgres_ledger.transaction() as tx:
            return [member.state for member in tx.requests.take_members([request_of(tx, attempt)])]

    with postgres_ledger.transaction() as tx:
        tx.requests.take_members([request_of(tx, attempt)])
        with meanwhile(postgres_ledger, accept_too) as second:
            tx.tasks.move_tasks(TaskMove.ACCEPT, tasks_of(tx, place))

    assert second.result(PATIENCE) == ["done"]


def test_tallies_appended_while_others_fold_are_neither_lost_nor_counted_twice(
    postgres_ledger: Ledger,
) -> None:
    place = run_with_ready_tasks(postgres_ledger)

    def fold_too() -> None:
        with postgres_ledger.transaction() as tx:
            tx.tallies.fold_tallies(place.stage)

    with postgres_ledger.transaction() as tx:
        tx.tallies.fold_tallies(place.stage)
        with meanwhile(postgres_ledger, fold_too) as second:
            with postgres_ledger.transaction() as other:
                other.tasks.move_tasks(TaskMove.PACK, tasks_of(other, place)[:1])
            with postgres_ledger.snapshot() as reader:
                assert reader.tallies.tallies_of_stage(place.stage) == {"ready": 2, "packed": 1}
    second.result(PATIENCE)

    with postgres_ledger.snapshot() as reader:
        assert reader.tallies.tallies_of_stage(place.stage) == {"ready": 2, "packed": 1}


def test_requests_of_a_document_that_is_purged_are_not_claimed_meanwhile(
    postgres_ledger: Ledger,
) -> None:
    place = run_with_ready_tasks(postgres_ledger)
    with postgres_ledger.transaction() as tx:
        pack_tasks(tx, place)

    with postgres_ledger.transaction() as purger, postgres_ledger.transaction() as courier:
        assert {state for _, state in purger.purges.take_scope(place.document).requests} == {
            "queued"
        }

        assert claim_next(courier, place.lane, 5, NOW) == []


def test_tasks_of_a_document_that_is_purged_are_not_packed_meanwhile(
    postgres_ledger: Ledger,
) -> None:
    place = run_with_ready_tasks(postgres_ledger)

    with postgres_ledger.transaction() as purger, postgres_ledger.transaction() as courier:
        purger.purges.take_scope(place.document)

        assert courier.tasks.ready_tasks(place.stage, 5) == []


def test_two_who_ingest_the_same_document_at_once_end_with_one_of_them_trying_again(
    postgres_ledger: Ledger,
) -> None:
    def ingest_too() -> None:
        with postgres_ledger.transaction() as tx:
            add_document(tx, ["one"])

    with postgres_ledger.transaction() as tx:
        add_document(tx, ["one"])
        with meanwhile(postgres_ledger, ingest_too) as second:
            pass

    with pytest.raises(LedgerUnavailable, match="try again"):
        second.result(PATIENCE)
    raw = Raw(postgres_ledger.url)
    assert raw.one("SELECT count(*) FROM blocks") == 1
    raw.close()


def test_a_notification_wakes_those_who_wait(postgres_ledger: Ledger) -> None:
    postgres_ledger.wait(0)  # listens from here on
    with postgres_ledger.transaction() as tx:
        tx.notify()

    woken = _measure_wait(postgres_ledger, LONG)
    unwoken = _measure_wait(postgres_ledger, 1.0)

    assert woken < LONG / 2
    assert unwoken > 0.9  # not half of it, as without a connection: one notice wakes once


def _measure_wait(ledger: Ledger, seconds: float) -> float:
    """How long it was waited for news, in seconds."""
    began = monotonic()
    ledger.wait(seconds)
    return monotonic() - began


@contextmanager
def meanwhile(ledger: Ledger, action: Callable[[], T]) -> Iterator["Future[T]"]:
    """Run an action in another thread, and go on when it waits for a lock of ours."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(action)
    pool.shutdown(wait=False)  # it ends when our transaction does
    observer = Raw(ledger.url)
    while not future.done() and not observer.one(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ):
        pass
    observer.close()
    assert not future.done(), "it did not wait"
    yield future
