"""Two workspaces in one ledger never see each other's things."""

from datetime import timedelta

import pytest

from quire.domain.ids import WorkspaceId
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.record import record_answers
from quire.pipeline.rescue import rescue
from tests.ledger.making import (
    NOW,
    SCHEMA,
    Place,
    add_document,
    answer,
    owing,
    parsed,
    reply,
    request_of,
    sent,
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
        assert tx.documents.all() == []
        assert tx.documents.names() == []
        assert tx.documents.find(parsed().conv_uid) is None
        assert tx.documents.match(str(document)) == tx.documents.match("a.txt") == []
        assert tx.documents.count_blocks([document]) == 0
        assert list(tx.documents.sizes([document])) == []


def test_two_workspaces_may_hold_the_same_document_and_schema(
    ledger: Ledger, theirs: Ledger
) -> None:
    for each in (ledger, theirs):
        with each.transaction() as tx:
            add_document(tx, ["one"])
            tx.schemas.add(SCHEMA, NOW)

    with theirs.snapshot() as tx:
        assert len(tx.documents.all()) == len(tx.schemas.all()) == 1


def test_schemas_of_others_are_not_seen(ledger: Ledger, theirs: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.schemas.add(SCHEMA, NOW)

    with theirs.snapshot() as tx:
        assert tx.schemas.all() == []
        assert tx.schemas.by_ref(SCHEMA.ref) is tx.schemas.by_uid(SCHEMA.uid) is None


def test_runs_of_others_are_neither_seen_nor_moved(ledger: Ledger, theirs: Ledger) -> None:
    place = owing(ledger)
    with theirs.transaction() as tx:
        assert tx.runs.get(place.run) is None
        assert tx.runs.newest(10) == []
        assert tx.runs.wishes() == []
        assert tx.runs.inputs(place.run) == (0, 0)
        assert not tx.runs.move("finish", place.run, NOW)
        tx.runs.ask_cancel(place.run, NOW)
        tx.runs.set_limit(place.run, 1)
        assert tx.events.of_run(place.run) == []

    with ledger.snapshot() as tx:
        run = tx.runs.get(place.run)
        assert run
        assert (run.state, run.cancel_asked_at, run.task_limit) == ("running", None, None)


def test_lanes_and_requests_of_others_are_neither_seen_nor_claimed(
    ledger: Ledger, theirs: Ledger
) -> None:
    place, (attempt,) = sent(ledger)
    with theirs.transaction() as tx:
        assert tx.requests.open_lanes(NOW) == tx.requests.lanes_of_run(place.run) == []
        assert tx.requests.queued_of_run(place.run, 10) == []
        assert tx.views.requests(place.run, 0, 10) == []
        assert tx.attempts.by_id([attempt]) == []
        assert tx.attempts.spend(place.run) == (0, 0)


def test_tasks_of_others_are_neither_seen_nor_moved(ledger: Ledger, theirs: Ledger) -> None:
    place = owing(ledger)
    with ledger.snapshot() as tx:
        tasks = tasks_of(tx, place)

    with theirs.transaction() as tx:
        assert tx.tasks.ready(place.stage, 10) == []
        assert tx.tasks.move("pack", tasks) == tx.tasks.move_stage("cancel", place.stage) == 0
        assert tx.tasks.view(tasks[0]) is None
        assert tx.tasks.content(tasks[0]) is None
        assert tx.tallies.recount(place.stage) == {}
        assert list(tx.results.export(place.run, place.stage)) == []


def test_answers_and_members_of_others_are_not_taken(ledger: Ledger, theirs: Ledger) -> None:
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"{}", reply())], NOW)
        request = request_of(tx, attempt)

    with theirs.transaction() as tx:
        assert tx.attempts.answered(10) == []
        assert tx.requests.members([request]) == []
        assert tx.requests.contents([request]) == []
        assert tx.views.request(request) is None


def test_documents_of_others_are_not_purged(ledger: Ledger, theirs: Ledger, raw: Raw) -> None:
    place, _ = sent(ledger)
    with theirs.transaction() as tx:
        assert tx.purges.touched(place.document).requests == []
        assert tx.purges.touched(place.document).tasks == []
        tx.purges.erase_document(place.document, NOW)

    assert raw.one("SELECT count(*) FROM blocks") == 1
    assert raw.one("SELECT purged_at FROM documents") is None


def test_a_command_of_others_with_the_same_name_is_another_command(
    ledger: Ledger, theirs: Ledger
) -> None:
    mine, other = owing(ledger), owing(theirs)
    for each, place in ((ledger, mine), (theirs, other)):
        with each.transaction() as tx:
            assert tx.runs.command("c1", place.run, "pause", NOW)
            assert not tx.runs.command("c1", place.run, "pause", NOW)


def test_calls_of_a_dead_worker_are_rescued_by_any_workspace(
    ledger: Ledger, theirs: Ledger, raw: Raw
) -> None:
    sent(ledger)
    lease = timedelta(seconds=30)
    with theirs.transaction() as tx:
        rescued = rescue(tx, lease, NOW + 2 * lease)

    assert (rescued.workers, rescued.calls) == (1, 1)
    assert raw.rows("SELECT state FROM attempts") == [("unknown",)]
    assert raw.rows("SELECT state FROM requests") == [("queued",)]


def test_a_worker_opens_the_workspace_it_is_told(ledger: Ledger) -> None:
    place = owing(ledger)
    other = open_ledger(ledger.url, workspace=WorkspaceId("theirs"))
    mine: Place = owing(other)
    with other.snapshot() as tx:
        assert [run.id for run in tx.runs.newest(10)] == [mine.run] != [place.run]
    other.close()
