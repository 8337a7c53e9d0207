"""Opening brings a ledger's tables up to date, one process at a time, and refuses newer ones."""

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from quire.domain.errors import LedgerError, NewerLedger
from quire.domain.ids import DocumentId, RunId, WorkspaceId
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.recipes import Schema
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.sqlite import SqliteDatabase
from quire.ledger.statements import migrations, whole_schema
from scripts.write_schema import write_schema
from tests.ledger import factories
from tests.ledger.factories import NOW, new_run, run_with_ready_tasks
from tests.ledger.raw import Raw

pytestmark = pytest.mark.usefixtures("migrated_ledgers")

ROOT = Path(factories.__file__).parents[2]
OPEN = "import sys; from quire.ledger.ledger import open_ledger; open_ledger(sys.argv[1]).close()"


def test_a_fresh_ledger_has_the_newest_version(ledger: Ledger, raw: Raw) -> None:
    assert _version(raw) == max(migrations(ledger.dialect))


def test_a_new_sqlite_ledger_is_what_all_migrations_make_of_an_empty_one(tmp_path: Path) -> None:
    assert whole_schema()[1] == write_schema(), "write it anew: make docs"
    one, all_of_them = tmp_path / "one.db", tmp_path / "all.db"

    open_ledger(str(one)).close()
    database = SqliteDatabase(str(all_of_them))
    for number, script in migrations("sqlite").items():
        database.migrate({number: script})
    database.close()

    assert _schema(one) == _schema(all_of_them)


def _schema(path: Path) -> list[tuple[object, ...]]:
    """Tables and indexes with their texts, and how many rows a table has."""
    raw = Raw(str(path))
    found = raw.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
    tables = [row[1] for row in found if row[0] == "table"]
    counts = [(name, raw.one(f"SELECT count(*) FROM {name}")) for name in tables]
    raw.close()
    return found + counts


def test_opening_a_ledger_again_changes_nothing(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger)
    before = _tables(raw)

    again = open_ledger(ledger.url)

    assert _tables(raw) == before
    with again.snapshot() as tx:
        assert tx.tallies.tallies_of_run(place.run) == {"ready": 3}
    again.close()


def test_processes_that_open_a_fresh_ledger_at_once_all_succeed(
    bare_url: str, warm: list[str]
) -> None:
    command = [*warm, "-c", OPEN, bare_url]
    running = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    complaints = [process.communicate()[1] for process in running]

    assert complaints == [""] * 4
    ledger = open_ledger(bare_url)
    new_run(ledger)
    ledger.close()


def test_a_ledger_of_a_newer_version_is_refused_and_left_alone(ledger: Ledger, raw: Raw) -> None:
    newer = max(migrations(ledger.dialect)) + 1
    if raw.dialect == "sqlite":
        raw.rows(f"PRAGMA user_version = {newer}")
    else:
        raw.rows("INSERT INTO quire_version VALUES (:newer)", newer=newer)

    with pytest.raises(NewerLedger, match=rf"newer Quire .*version {newer}.*upgrade"):
        open_ledger(ledger.url)

    assert _version(raw) == newer


def test_a_migration_that_fails_leaves_nothing_half_done(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {1: "CREATE TABLE things (id INTEGER PRIMARY KEY);\nCREATE TABLE things (id INTEGER);"}
    monkeypatch.setattr("quire.ledger.ledger.migrations", lambda dialect: broken)
    with pytest.raises(LedgerError, match="already exists"):
        open_ledger(bare_url)
    monkeypatch.undo()

    ledger = open_ledger(bare_url)

    raw = Raw(bare_url)
    assert "things" not in _tables(raw)
    raw.close()
    ledger.close()


def test_a_later_migration_is_applied_to_a_ledger_that_holds_something(
    ledger: Ledger, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = run_with_ready_tasks(ledger)
    newest = max(migrations(ledger.dialect))
    added = {newest + 1: "ALTER TABLE runs ADD COLUMN colour TEXT;  -- a comment; with a semicolon"}
    known = migrations(ledger.dialect)
    monkeypatch.setattr("quire.ledger.ledger.migrations", lambda dialect: known | added)

    open_ledger(ledger.url).close()

    assert raw.rows("SELECT id, colour FROM runs") == [(place.run, None)]
    assert _version(raw) == newest + 1


def test_holds_outlast_the_migration_that_knows_more_reasons(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {dialect: migrations(dialect) for dialect in ("sqlite", "postgres")}
    old = {
        name: {no: text for no, text in record.items() if no < 9} for name, record in known.items()
    }
    monkeypatch.setattr("quire.ledger.ledger.migrations", old.__getitem__)
    open_ledger(bare_url).close()
    raw = Raw(bare_url)
    raw.rows(
        "INSERT INTO runs (workspace_id, run_key, recipe, model, policy, state, created_at)"
        " VALUES ('local', :key, '{}', '{}', '{}', 'running', 1)",
        key=b"key",
    )
    run = RunId(raw.one("SELECT id FROM runs"))
    raw.rows("INSERT INTO holds VALUES (:run, 'user', 'paused', 1)", run=run)
    raw.close()
    monkeypatch.undo()

    ledger = open_ledger(bare_url)

    with ledger.transaction() as tx:
        assert tx.holds.add_hold(run, HoldCause.PLUGIN, NOW, problem="broken")
        assert not tx.holds.add_hold(run, HoldCause.PAUSED, NOW)  # once is enough
        kinds = [hold.kind for hold in tx.holds.holds_of_run(run)]
    assert kinds == [HoldKind.PLUGIN, HoldKind.USER]
    ledger.close()


def test_evidence_from_before_is_no_document_of_the_next_run(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {dialect: migrations(dialect) for dialect in ("sqlite", "postgres")}
    old = {
        name: {no: text for no, text in record.items() if no < 13} for name, record in known.items()
    }
    monkeypatch.setattr("quire.ledger.ledger.migrations", old.__getitem__)
    open_ledger(bare_url).close()
    raw = Raw(bare_url)
    for number, tool in ((1, "quire-evidence/1"), (2, "quire-text/1")):
        raw.rows(
            "INSERT INTO documents VALUES (:id, 'local', 'uid', 'txt', 1, 1, 'a', 'a', 1, :uid,"
            " :tool, 'text', 1, '{}', 1, NULL)",
            id=number,
            uid=f"uid {number}",
            tool=tool,
        )
    raw.close()
    monkeypatch.undo()

    ledger = open_ledger(bare_url)

    with ledger.snapshot() as tx:
        assert tx.documents.usual_documents() == {DocumentId(2)}
        assert len(tx.documents.list_documents()) == 2
        assert [source.path for source in tx.sources.list_sources()] == ["a", "a"]
    ledger.close()


def test_schemas_from_before_are_the_first_versions_of_their_names(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {dialect: migrations(dialect) for dialect in ("sqlite", "postgres")}
    old = {
        name: {no: text for no, text in record.items() if no < 28} for name, record in known.items()
    }
    monkeypatch.setattr("quire.ledger.ledger.migrations", old.__getitem__)
    open_ledger(bare_url).close()
    raw = Raw(bare_url)
    raw.rows(
        "INSERT INTO schemas (workspace_id, ref, uid, body, created_at)"
        " VALUES ('local', 'a', 'u', '{}', 1)"
    )
    raw.close()
    monkeypatch.undo()

    ledger = open_ledger(bare_url)

    kept = Schema(ref="a", uid="u", body={})
    with ledger.transaction() as tx:
        assert tx.schemas.list_schemas() == [kept]
        tx.schemas.add_schema(replace(kept, uid="v", version=2), NOW)
        assert [schema.version for schema in tx.schemas.schema_versions("a")] == [2, 1]
    ledger.close()


def _add_old_decisions(raw: Raw, decisions: Iterable[tuple[int, str]]) -> None:
    """Tasks of a run, approved by people whose names stand in the history alone."""
    some = raw.bytes_of("'some'")
    for text in (
        "INSERT INTO runs (id, workspace_id, run_key, recipe, model, policy, state, created_at)"
        f" VALUES (1, 'local', {some}, '{{}}', '{{}}', '{{}}', 'running', 1)",
        "INSERT INTO stages (id, run_id, name, state) VALUES (1, 1, 'extract', 'open')",
    ):
        raw.rows(text)
    for task, who in decisions:
        subject = raw.bytes_of(f"'{task}'")
        fields = f'{{"task": {task}, "stage": "extract", "who": "{who}"}}'
        raw.rows(
            "INSERT INTO tasks (id, workspace_id, run_id, stage_id, subject_hash, question_hash,"
            f" state) VALUES (:id, 'local', 1, 1, {subject}, {some}, 'done')",
            id=task,
        )
        raw.rows(
            "INSERT INTO results (task_id, version, origin, gate_version, review_state, created_at)"
            " VALUES (:id, 1, 'model', '1', 'approved', 1)",
            id=task,
        )
        raw.rows(
            "INSERT INTO events (workspace_id, run_id, at, kind, detail, fields)"
            " VALUES ('local', 1, :at, 'approved', '', :fields)",
            at=100 + task,
            fields=fields,
        )


def test_decisions_from_before_say_who_made_them_as_far_as_the_history_tells(
    bare_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {dialect: migrations(dialect) for dialect in ("sqlite", "postgres")}
    old = {
        name: {no: text for no, text in record.items() if no < 30} for name, record in known.items()
    }
    monkeypatch.setattr("quire.ledger.ledger.migrations", old.__getitem__)
    open_ledger(bare_url).close()
    raw = Raw(bare_url)
    _add_old_decisions(raw, ((1, "Ada B."), (2, "Zo\\u00eb"), (11, "Ben")))
    monkeypatch.undo()

    open_ledger(bare_url).close()

    found = raw.rows("SELECT task_id, reviewer, reviewed_at FROM results ORDER BY task_id")
    raw.close()
    assert found == [(1, "Ada B.", 101), (2, None, 102), (11, "Ben", 111)]


def test_both_databases_have_the_same_tables_and_columns(
    tmp_path: Path, postgres_database: str
) -> None:
    shapes = []
    for url in (str(tmp_path / "quire.db"), postgres_database):
        ledger, raw = open_ledger(url, workspace=WorkspaceId("any")), Raw(url)
        shapes.append({name: _columns(raw, name) for name in _tables(raw) - {"quire_version"}})
        ledger.close()
        raw.close()

    assert shapes[0] == shapes[1]
    assert "tasks" in shapes[0]


def _version(raw: Raw) -> int:
    version: int = raw.one(
        "PRAGMA user_version"
        if raw.dialect == "sqlite"
        else "SELECT max(version) FROM quire_version"
    )
    return version


def _tables(raw: Raw) -> set[str]:
    rows = raw.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        if raw.dialect == "sqlite"
        else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    )
    return {row[0] for row in rows}


def _columns(raw: Raw, table: str) -> list[tuple[str, bool]]:
    """Names in order, each with whether it may be missing; keys never are."""
    if raw.dialect == "sqlite":
        rows = raw.rows(f"SELECT name, \"notnull\", pk FROM pragma_table_info('{table}')")
        return [(name, not notnull and not key) for name, notnull, key in rows]
    rows = raw.rows(
        "SELECT column_name, is_nullable FROM information_schema.columns"
        " WHERE table_name = :table ORDER BY ordinal_position",
        table=table,
    )
    return [(name, nullable == "YES") for name, nullable in rows]
