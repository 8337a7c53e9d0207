"""The database itself refuses what must never be, whoever writes it."""

from datetime import timedelta

import pytest

from quire.domain.errors import LedgerError
from quire.domain.reasons import HoldCause, HoldKind
from quire.ledger.ledger import Ledger
from tests.ledger.factories import (
    NOW,
    SCHEMA,
    add_document,
    expand_runs,
    run_with_ready_tasks,
    send_all,
    tasks_of,
)
from tests.ledger.raw import REFUSED, Raw

DANGLING = (
    "UPDATE tasks SET block_id = 999",
    "UPDATE tasks SET stage_id = 999",
    "UPDATE requests SET lane_id = 999",
    "UPDATE attempts SET worker_id = 999",
    "UPDATE attempts SET request_id = 999",
    "UPDATE request_tasks SET task_id = 999",
    "UPDATE run_documents SET document_id = 999",
    "INSERT INTO holds (run_id, kind, detail, since) VALUES (999, 'user', '', 0)",
    "DELETE FROM blocks",
    "DELETE FROM requests",
    "DELETE FROM runs",
)


def test_a_task_has_at_most_one_current_result(ledger: Ledger) -> None:
    place, (attempt,) = send_all(ledger)

    def accept() -> None:
        with ledger.transaction() as tx:
            (task,) = tasks_of(tx, place)
            tx.results.add_results([(task, 1, attempt, "1", "{}", (), place.stage, 0, 6)], NOW)

    accept()
    with pytest.raises(LedgerError):
        accept()


def test_a_task_may_have_many_results_that_were_superseded(ledger: Ledger, raw: Raw) -> None:
    place, (attempt,) = send_all(ledger)
    for _ in range(3):
        raw.rows("UPDATE results SET superseded_at = 1")
        with ledger.transaction() as tx:
            (task,) = tasks_of(tx, place)
            tx.results.add_results([(task, 1, attempt, "1", "{}", (), place.stage, 0, 6)], NOW)

    with ledger.snapshot() as tx:
        assert len(list(tx.results.export_rows(place.run, place.stage))) == 1


def test_a_stage_owes_one_answer_for_a_subject(ledger: Ledger, raw: Raw) -> None:
    run_with_ready_tasks(ledger, ["one"])

    with pytest.raises(REFUSED):
        raw.rows(
            "INSERT INTO tasks (id, workspace_id, run_id, stage_id, block_id, subject_hash,"
            " question_hash, state) SELECT id + 1, workspace_id, run_id, stage_id, block_id,"
            " subject_hash, question_hash, state FROM tasks"
        )


def test_expanding_a_stage_again_from_its_start_is_refused(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger)
    raw.rows("UPDATE stages SET state = 'expanding', cursor_block = -1, cursor_document = 0")

    with pytest.raises(LedgerError):
        expand_runs(ledger)

    with ledger.snapshot() as tx:
        assert (
            tx.tallies.tallies_of_stage(place.stage)
            == tx.tallies.recount_tasks(place.stage)
            == {"ready": 3}
        )


@pytest.mark.parametrize("change", ["worker_id = NULL", "batch_id = 1"])
def test_an_open_attempt_has_exactly_one_of_worker_and_batch(
    change: str, ledger: Ledger, raw: Raw
) -> None:
    send_all(ledger)
    raw.rows("INSERT INTO batches (id, nonce, state) VALUES (1, 'n', 'open')")

    with pytest.raises(REFUSED):
        raw.rows(f"UPDATE attempts SET {change}")


def test_an_open_attempt_may_belong_to_a_batch_alone(ledger: Ledger, raw: Raw) -> None:
    send_all(ledger)
    raw.rows("INSERT INTO batches (id, nonce, state) VALUES (1, 'n', 'open')")

    raw.rows("UPDATE attempts SET worker_id = NULL, batch_id = 1")

    assert raw.rows("SELECT worker_id, batch_id FROM attempts") == [(None, 1)]


def test_a_request_has_one_attempt_of_a_number(ledger: Ledger, raw: Raw) -> None:
    send_all(ledger)

    with pytest.raises(REFUSED):
        raw.rows(
            "INSERT INTO attempts (id, request_id, no, worker_id, state, provider, model, params,"
            " sent_at, reserved) SELECT id + 1, request_id, no, worker_id, state, provider, model,"
            " params, sent_at, reserved FROM attempts"
        )


def test_a_run_has_an_end_exactly_when_it_has_ended(ledger: Ledger, raw: Raw) -> None:
    run_with_ready_tasks(ledger)

    with pytest.raises(REFUSED):
        raw.rows("UPDATE runs SET state = 'finished'")
    with pytest.raises(REFUSED):
        raw.rows("UPDATE runs SET ended_at = 1")


def test_nothing_refers_to_what_is_not_there(ledger: Ledger, raw: Raw) -> None:
    send_all(ledger)

    assert [item for item in DANGLING if not _is_refused(raw, item)] == []


def test_the_ledgers_own_connection_enforces_references(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger)

    def hold_nobody() -> None:
        with ledger.transaction() as tx:
            tx.tallies.add_tallies(place.stage + 1, {"ready": 1})  # type: ignore[arg-type]

    with pytest.raises(LedgerError):
        hold_nobody()


def test_a_document_is_kept_once(ledger: Ledger) -> None:
    def keep() -> None:
        with ledger.transaction() as tx:
            add_document(tx, ["one"])

    keep()
    with pytest.raises(LedgerError):
        keep()


def test_a_body_has_one_name_and_a_version_one_body(ledger: Ledger) -> None:
    def keep(ref: str, uid: str, version: int = 1) -> None:
        with ledger.transaction() as tx:
            made = type(SCHEMA)(ref=ref, uid=uid, body={}, version=version)
            tx.schemas.add_schema(made, NOW)

    keep("a", "1")
    keep("a", "2", version=2)
    with pytest.raises(LedgerError):
        keep("a", "3", version=2)
    with pytest.raises(LedgerError):
        keep("b", "1")


def test_a_number_is_not_kept_where_text_belongs(ledger: Ledger, raw: Raw) -> None:
    """SQLite's tables are STRICT: both databases hold what the columns say."""
    run_with_ready_tasks(ledger)

    with pytest.raises(Exception, match=r"(?i)cannot store|invalid input syntax"):
        raw.rows("UPDATE tasks SET tries = 'many'")


def test_a_hold_of_a_kind_is_kept_once(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        later = NOW + timedelta(1)
        assert tx.holds.add_hold(place.run, HoldCause.PLUGIN, NOW, problem="first")
        assert not tx.holds.add_hold(place.run, HoldCause.PLUGIN, later, problem="second")

        (hold,) = tx.holds.holds_of_run(place.run)
        assert (hold.kind, hold.since) == (HoldKind.PLUGIN, NOW)
        assert (hold.cause, hold.fields) == (HoldCause.PLUGIN, {"problem": "first"})
        assert hold.detail.startswith("first, start the workers again")


def _is_refused(raw: Raw, statement: str) -> bool:
    try:
        raw.rows(statement)
    except REFUSED:
        return True
    return False
