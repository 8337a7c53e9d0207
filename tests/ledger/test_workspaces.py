"""Two workspaces in one ledger never see each other's things."""

from datetime import timedelta

import pytest

from quire.domain.ids import WorkspaceId
from quire.domain.reasons import EventKind
from quire.domain.states import RunMove, TaskMove
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.calls.record import record_answers
from quire.pipeline.calls.rescue import reclaim_expired_leases
from tests.ledger.factories import (
    NOW,
    SCHEMA,
    Place,
    add_document,
    add_worker,
    answer,
    parsed_document,
    reply,
    request_of,
    run_with_ready_tasks,
    send_all,
    tasks_of,
)
from tests.ledger.raw import Raw


@pytest.fixture
def theirs(ledger: Ledger) -> Ledger:
    """The same database, as another workspace sees it."""
    return Ledger(ledger._database, WorkspaceId("theirs"))


def test_documents_of_others_are_not_seen(ledger: Ledger, theirs: Ledger) -> None:
    with ledger.transaction() as tx:
        document = add_document(tx, ["one"])

    with theirs.transaction() as tx:
        assert tx.documents.list_documents() == []
        assert tx.documents.document_names() == []
        assert tx.documents.find_document(parsed_document().conv_uid) is None
        assert (
            tx.documents.match_documents(str(document))
            == tx.documents.match_documents("a.txt")
            == []
        )
        assert tx.documents.count_blocks([document]) == 0
        assert tx.sources.list_sources() == []
        assert tx.sources.sources_of_documents([document]) == {}
        assert list(tx.documents.block_sizes([document])) == []


def test_two_workspaces_may_hold_the_same_document_and_schema(
    ledger: Ledger, theirs: Ledger
) -> None:
    for item in (ledger, theirs):
        with item.transaction() as tx:
            add_document(tx, ["one"])
            tx.schemas.add_schema(SCHEMA, NOW)

    with theirs.snapshot() as tx:
        assert len(tx.documents.list_documents()) == len(tx.schemas.list_schemas()) == 1


def test_schemas_of_others_are_not_seen(ledger: Ledger, theirs: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.schemas.add_schema(SCHEMA, NOW)

    with theirs.snapshot() as tx:
        assert tx.schemas.list_schemas() == []
        assert tx.schemas.schema_by_ref(SCHEMA.ref) is tx.schemas.schema_by_uid(SCHEMA.uid) is None


def test_runs_of_others_are_neither_seen_nor_moved(ledger: Ledger, theirs: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    with theirs.transaction() as tx:
        assert tx.runs.get_run(place.run) is None
        assert tx.runs.list_runs(10) == []
        assert tx.runs.running_wishes() == []
        assert tx.runs.count_run_inputs(place.run) == (0, 0)
        assert not tx.runs.move_run(RunMove.FINISH, place.run, NOW)
        tx.runs.ask_cancel_run(place.run, NOW)
        tx.runs.set_task_limit(place.run, 1)
        assert tx.events.events_of_run(place.run) == []

    with ledger.snapshot() as tx:
        run = tx.runs.get_run(place.run)
        assert run
        assert (run.state, run.cancel_asked_at, run.task_limit) == ("running", None, None)


def test_lanes_and_requests_of_others_are_neither_seen_nor_claimed(
    ledger: Ledger, theirs: Ledger
) -> None:
    place, (attempt,) = send_all(ledger)
    with theirs.transaction() as tx:
        assert tx.requests.open_lanes(NOW) == tx.requests.lanes_of_run(place.run) == []
        assert tx.requests.queued_requests_of_run(place.run, 10) == []
        assert tx.views.list_requests(place.run, 0, 10) == []
        assert tx.attempts.attempts_by_id([attempt]) == []
        assert tx.attempts.spend_of_run(place.run) == (0, 0)


def test_tasks_of_others_are_neither_seen_nor_moved(ledger: Ledger, theirs: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.snapshot() as tx:
        tasks = tasks_of(tx, place)

    with theirs.transaction() as tx:
        assert tx.tasks.ready_tasks(place.stage, 10) == []
        assert (
            tx.tasks.move_tasks(TaskMove.PACK, tasks)
            == tx.tasks.move_tasks_of_stage(TaskMove.CANCEL, place.stage)
            == 0
        )
        assert tx.tasks.get_task(tasks[0]) is None
        assert tx.tasks.task_content(tasks[0]) is None
        assert tx.tallies.recount_tasks(place.stage) == {}
        assert list(tx.results.export_rows(place.run, place.stage)) == []


def test_answers_and_members_of_others_are_not_taken(ledger: Ledger, theirs: Ledger) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"{}", reply())], NOW)
        request = request_of(tx, attempt)

    with theirs.transaction() as tx:
        assert tx.attempts.take_answered(10) == []
        assert tx.requests.take_members([request]) == []
        assert tx.requests.member_contents([request]) == []
        assert tx.views.get_request(request) is None


def test_documents_of_others_are_not_purged(ledger: Ledger, theirs: Ledger, raw: Raw) -> None:
    place, _ = send_all(ledger)
    with theirs.transaction() as tx:
        scope = tx.purges.take_scope(place.document)
        assert (scope.requests, scope.tasks) == ([], [])
        tx.purges.erase_documents(scope, NOW)

    assert raw.one("SELECT count(*) FROM blocks") == 1
    assert raw.one("SELECT purged_at FROM documents") is None


def test_a_command_of_others_with_the_same_name_is_another_command(
    ledger: Ledger, theirs: Ledger
) -> None:
    mine, other = run_with_ready_tasks(ledger), run_with_ready_tasks(theirs)
    for item, place in ((ledger, mine), (theirs, other)):
        with item.transaction() as tx:
            assert tx.runs.add_command("c1", place.run, "pause", NOW)
            assert not tx.runs.add_command("c1", place.run, "pause", NOW)


def test_calls_of_a_dead_worker_are_rescued_by_any_workspace(
    ledger: Ledger, theirs: Ledger, raw: Raw
) -> None:
    send_all(ledger)
    lease = timedelta(seconds=30)
    with theirs.transaction() as tx:
        rescued = reclaim_expired_leases(tx, lease, NOW + 2 * lease)

    assert (rescued.workers, rescued.calls) == (1, 1)
    assert raw.rows("SELECT state FROM attempts") == [("unknown",)]
    assert raw.rows("SELECT state FROM requests") == [("queued",)]
    [(run,)] = raw.rows("SELECT id FROM runs")
    with ledger.snapshot() as tx, theirs.snapshot() as other:
        assert tx.events.events_of_run(run)[-1].kind == EventKind.WORKER_LOST
        assert other.events.events_of_run(run) == []


def test_workers_of_others_are_not_counted(ledger: Ledger, theirs: Ledger) -> None:
    with theirs.transaction() as tx:
        other = add_worker(tx)
    with ledger.snapshot() as tx:
        assert tx.workers.live_workers(NOW) == []
    with ledger.transaction() as tx:
        own = add_worker(tx)
        assert tx.workers.live_workers(NOW) == [own]
    with theirs.snapshot() as tx:
        assert tx.workers.live_workers(NOW) == [other]


def test_a_worker_opens_the_workspace_it_is_told(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    other = open_ledger(ledger.url, workspace=WorkspaceId("theirs"))
    mine: Place = run_with_ready_tasks(other)
    with other.snapshot() as tx:
        assert [run.id for run in tx.runs.list_runs(10)] == [mine.run] != [place.run]
    other.close()
