"""Views for people's tools: documented columns, joins that find their rows, nothing to write."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from quire.domain.ids import RunId
from quire.ledger.statements import migrations
from quire.ledger.view_scripts import views
from tests.ledger.raw import Raw
from tests.ready_databases import ReadyDatabases
from tests.world import World, sentences

KEYS = {
    "run_id": "v_runs",
    "stage_id": "v_run_stages",
    "request_id": "v_requests",
    "attempt_id": "v_attempts",
    "batch_id": "v_batches",
    "result_id": "v_results",
    "task_id": "v_results_flat",
}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the run that every test reads may be, on either database."""
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("views") / "quire.db")
        return
    databases: ReadyDatabases = request.getfixturevalue("ready_postgres")
    with databases.lend() as lent:
        yield lent


@pytest.fixture(scope="module")
def here(url: str) -> Iterator[World]:
    """A run with packs, a failure, a lost call and decisions."""
    made = World(url, faults="wrong@MARK")
    made.model.script = ["", "drop=1"]
    made.ingest(sentences(9, mark=4), name="letters")
    run = made.run(pack_size=4, max_tries=2)
    first, second, *_ = (int(str(row["task_id"])) for row in run.rows(only="accepted"))
    run.approve(first, who="Ada")
    run.reject(second, "Count again.", who="Ben")
    run.wait()
    yield made
    made.close()


@pytest.fixture
def raw(here: World) -> Any:
    connection = Raw(here.url)
    yield connection
    connection.close()


def test_every_view_has_the_columns_that_are_documented(raw: Raw) -> None:
    for view in views():
        cursor = raw._connection.execute(f"SELECT * FROM {view.name} WHERE 1 = 0")
        names = [column[0] for column in cursor.description]

        assert names == [column.name for column in view.columns], view.name
        assert view.meaning


def test_every_key_leads_to_a_row_of_its_view(raw: Raw) -> None:
    for view in views():
        rows = raw.rows(f"SELECT * FROM {view.name}")
        assert rows or view.name in ("v_batches", "v_batch_items"), view.name
        for column in view.columns:
            if column.name not in KEYS or KEYS[column.name] == view.name:
                continue
            other = KEYS[column.name]
            lost = raw.one(
                f"SELECT count(*) FROM {view.name} a WHERE a.{column.name} IS NOT NULL"
                f" AND NOT EXISTS (SELECT 1 FROM {other} b WHERE b.{column.name} = a.{column.name})"
            )
            assert lost == 0, (view.name, column.name)


def test_moments_are_iso_in_utc_and_money_comes_to_what_was_spent(here: World, raw: Raw) -> None:
    now = here.engine.get(1).progress()

    sent = raw.rows("SELECT sent_at FROM v_attempts")
    spent = float(raw.one("SELECT sum(cost_usd) FROM v_attempts"))
    run = raw.rows("SELECT done, failed, cost_usd, presumed_usd FROM v_runs")[0]

    assert all(
        len(moment) == 27 and moment.endswith("Z") and moment[10] == "T" for (moment,) in sent
    )
    assert spent == pytest.approx(now.cost_usd + now.presumed_usd)
    assert (run[0], run[1]) == (now.done, now.failed)
    assert float(run[2]) == pytest.approx(now.cost_usd)
    rows = float(raw.one("SELECT sum(cost_usd) FROM v_results_flat"))
    assert rows == pytest.approx(spent)


def test_a_flat_row_says_what_an_export_says(here: World, raw: Raw) -> None:
    exported = here.engine.get(1).rows()

    rows = raw.rows(
        "SELECT task_id, status, source, title, text, model, review, data FROM v_results_flat"
        " ORDER BY block_index"
    )

    names = ("task_id", "status", "source", "title", "text", "model", "review")
    assert [row[:7] for row in rows] == [tuple(row[name] for name in names) for row in exported]
    assert json.loads(rows[0][7])["word_count"] == exported[0]["word_count"]
    assert raw.rows("SELECT decision, reviewer FROM v_reviews ORDER BY result_id") == [
        ("approved", "Ada"),
        ("rejected", "Ben"),
    ]


def test_every_judged_task_has_its_verdict(here: World, raw: Raw) -> None:
    columns = "request_id, task_id, verdict"
    stated = raw.rows(f"SELECT {columns} FROM v_request_tasks ORDER BY request_id, ordinal")

    with here.engine.context.ledger.snapshot() as tx:
        shown = [
            (request.id, member.task_id, member.verdict)
            for request in tx.views.list_requests(RunId(1), 0, 100)
            for member in tx.views.verdicts_of_request(request.id)
        ]
    assert [tuple(row) for row in stated] == shown
    assert {verdict for *_, verdict in shown} >= {"accept", "retry"}


def test_nobody_can_write_through_a_view(raw: Raw) -> None:
    for view in views():
        with pytest.raises(Exception, match=r"cannot (modify|delete|update)|is a view"):
            raw.rows(f"DELETE FROM {view.name}")
    assert raw.one("SELECT count(*) FROM v_runs") == 1


def test_a_migration_may_change_tables_that_views_read(here: World) -> None:
    database = here.engine.ledger._database
    known = migrations(database.dialect)
    script = "ALTER TABLE events RENAME TO history;\nALTER TABLE history RENAME TO events;"

    database.migrate({**known, max(known) + 1: script})

    again = Raw(here.url)
    assert again.rows("SELECT kind FROM v_events") != []
    again.close()
