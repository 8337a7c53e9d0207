"""A transaction is all or nothing, and a snapshot sees one moment."""

from datetime import timedelta

import pytest

from quire.domain.errors import LedgerError, LedgerUnavailable
from quire.domain.reasons import EventKind, HoldCause, TaskError, TaskErrorKind
from quire.domain.states import TaskMove
from quire.domain.tasks import MemberVerdict
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.tables.attempts import AttemptEnd
from quire.ledger.tables.tasks import TaskNote
from tests.ledger.factories import NOW, add_document, run_with_ready_tasks, send_all, tasks_of
from tests.ledger.raw import Raw
from tests.postgres import PostgresServer


def test_an_error_undoes_rows_and_tallies(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger)
    before = raw.rows("SELECT state, count(*) FROM tasks GROUP BY state")

    def stumble() -> None:
        with ledger.transaction() as tx:
            add_document(tx, ["more"], "b.txt")
            tx.tasks.move_tasks(TaskMove.PACK, tasks_of(tx, place))
            tx.holds.add_hold(place.run, HoldCause.PAUSED, NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stumble()

    assert raw.rows("SELECT state, count(*) FROM tasks GROUP BY state") == before
    assert raw.rows("SELECT what, delta FROM tallies") == [("ready", 3)]
    assert raw.one("SELECT count(*) FROM documents") == 1
    assert raw.one("SELECT count(*) FROM holds") == 0


def test_a_statement_that_the_database_refuses_undoes_what_came_before(
    ledger: Ledger, raw: Raw
) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.snapshot() as tx:
        (task,) = tasks_of(tx, place)

    def accept_twice() -> None:
        with ledger.transaction() as tx:
            tx.tasks.note_tasks(
                [TaskNote(task, tries=1, error=TaskError(TaskErrorKind.GATES, "noted"))]
            )
            tx.results.add_results([(task, 1, attempt, "1", "{}", (), place.stage, 0, 6)] * 2, NOW)

    with pytest.raises(LedgerError):
        accept_twice()

    assert raw.rows("SELECT tries, error FROM tasks") == [(0, None)]
    assert raw.one("SELECT count(*) FROM results") == 0


def test_the_ledger_works_on_after_an_error(ledger: Ledger) -> None:
    with pytest.raises(ZeroDivisionError), ledger.transaction():
        raise ZeroDivisionError

    with ledger.transaction() as tx:
        add_document(tx, ["one"])
    with ledger.snapshot() as tx:
        assert len(tx.documents.list_documents()) == 1


def test_a_snapshot_sees_one_moment(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.snapshot() as tx:
        before = (tx.tallies.tallies_of_run(place.run), len(tx.documents.list_documents()))
        with ledger.transaction() as other:
            other.tasks.move_tasks(TaskMove.PACK, tasks_of(other, place))
            add_document(other, ["more"], "b.txt")

        assert (tx.tallies.tallies_of_run(place.run), len(tx.documents.list_documents())) == before
    with ledger.snapshot() as tx:
        assert (
            tx.tallies.tallies_of_run(place.run)["packed"],
            len(tx.documents.list_documents()),
        ) == (3, 2)


def test_a_snapshot_does_not_see_what_is_not_committed_and_does_not_wait_for_it(
    ledger: Ledger,
) -> None:
    with ledger.transaction() as tx:
        add_document(tx, ["one"])
        with ledger.snapshot() as reader:
            assert reader.documents.list_documents() == []


def test_a_snapshot_cannot_write(ledger: Ledger, raw: Raw) -> None:
    with pytest.raises(LedgerError), ledger.snapshot() as tx:
        tx.workers.add_worker("here", 1, "0", NOW)

    assert raw.one("SELECT count(*) FROM workers") == 0


def test_an_abandoned_stream_leaves_the_next_snapshot_usable(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger, ["one"] * 50)
    with ledger.snapshot() as tx:
        next(tx.results.export_rows(place.run, place.stage))

    with ledger.snapshot() as tx:
        assert len(list(tx.results.export_rows(place.run, place.stage))) == 50


def test_moments_keep_their_microseconds(ledger: Ledger) -> None:
    late = NOW + timedelta(microseconds=1)
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        tx.runs.ask_cancel_run(place.run, late)
        tx.events.add_event(place.run, EventKind.PAUSED, late)

        run = tx.runs.get_run(place.run)
        assert run
        assert (run.cancel_asked_at, run.created_at) == (late, NOW)
        assert tx.events.events_of_run(place.run)[-1].at == late


def test_messages_may_quote_anything(ledger: Ledger) -> None:
    place, (attempt,) = send_all(ledger)
    nasty = "model said \0 and \ud83d, 𝄞"
    with ledger.transaction() as tx:
        (task,) = tasks_of(tx, place)
        tx.tasks.note_tasks([TaskNote(task, tries=1, error=TaskError(TaskErrorKind.GATES, nasty))])
        tx.attempts.end_attempts([AttemptEnd(attempt, nasty, None, None)], NOW)
        tx.holds.add_hold(place.run, HoldCause.PLUGIN, NOW, problem=nasty)
        tx.events.add_event(place.run, EventKind.STAGE_STARTED, NOW, stage=nasty)
        tx.requests.note_verdicts(
            [MemberVerdict(tx.attempts.attempts_by_id([attempt])[0].request_id, 1, "retry", nasty)]
        )

        view = tx.tasks.get_task(task)
        assert view
        assert view.error == "model said \ufffd and ?, 𝄞"
        assert tx.holds.holds_of_run(place.run)[0].fields == {"problem": view.error}
        assert tx.holds.holds_of_run(place.run)[0].detail.startswith(view.error)
        assert tx.events.events_of_run(place.run)[-1].fields == {"stage": view.error}


def test_a_server_that_stops_undoes_the_transaction_and_a_started_one_goes_on(
    stoppable_postgres: PostgresServer,
) -> None:
    ledger = open_ledger(stoppable_postgres.create_database("kept"))
    place = run_with_ready_tasks(ledger)

    def interrupted() -> None:
        with ledger.transaction() as tx:
            tx.tasks.move_tasks(TaskMove.PACK, tasks_of(tx, place))
            stoppable_postgres.stop()
            tx.tasks.move_tasks(TaskMove.RETURN, tasks_of(tx, place))

    with pytest.raises(LedgerUnavailable, match=r"^PostgreSQL at 127\.0\.0\.1[^\n]*$"):
        interrupted()
    stoppable_postgres.start()

    with ledger.transaction() as tx:
        assert tx.tallies.tallies_of_stage(place.stage) == {"ready": 3}
        assert tx.tasks.move_tasks(TaskMove.PACK, tasks_of(tx, place)) == 3
    ledger.close()
