"""What cannot be opened or written gets one clear line, and nothing is damaged."""

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from quire.domain.errors import LedgerError, LedgerUnavailable
from quire.domain.states import TaskMove
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.sqlite import SqliteDatabase
from quire.ledger.statements import migrations
from tests.ledger import factories
from tests.ledger.factories import NOW, add_document, run_with_ready_tasks, tasks_of
from tests.ledger.raw import Raw

pytestmark = pytest.mark.usefixtures("migrated_ledgers")

ROOT = Path(factories.__file__).parents[2]
NOBODY = 65534
TRY_TO_WRITE = f"""
import os, sys
from datetime import datetime, UTC
from quire.domain.errors import LedgerError
from quire.ledger.ledger import open_ledger
open_ledger(":memory:").close()  # reads its own files, which may be root's
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
try:
    with open_ledger(sys.argv[1]).transaction() as tx:
        tx.workers.add_worker("here", 1, "0", datetime(2026, 1, 1, tzinfo=UTC))
except LedgerError as error:
    print(error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="quire-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_another_programs_sqlite_file_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE things (id)")
    theirs.execute("PRAGMA user_version = 1")
    theirs.close()
    before = path.read_bytes()

    with pytest.raises(LedgerError, match=r"is a SQLite database, but not a Quire ledger$"):
        open_ledger(str(path))

    assert path.read_bytes() == before
    assert [key_path.name for key_path in tmp_path.iterdir()] == ["theirs.db"]


class Watched(SqliteDatabase):
    """A ledger's file that somebody else makes a ledger of, between two looks at it."""

    def _connect(self, *, query_only: bool = False) -> sqlite3.Connection:
        made = list[str]()

        def just_before(statement: str) -> None:
            if "sqlite_schema" in statement and not made:
                made.append(statement)
                open_ledger(self.url).close()

        raw = super()._connect(query_only=query_only)
        raw.set_trace_callback(just_before)
        return raw


def test_a_file_that_becomes_a_ledger_while_we_look_at_it_is_no_strangers(tmp_path: Path) -> None:
    path = tmp_path / "quire.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")  # as the other process begins it

        Watched(str(path)).close()

    with closing(open_ledger(str(path), must_exist=True)) as ledger:
        run_with_ready_tasks(ledger)


def test_a_text_file_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, and no ledger at all.\n" * 100)
    before = path.read_bytes()

    with pytest.raises(LedgerError, match=r"notes.txt: this file is not a Quire ledger$"):
        open_ledger(str(path))

    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r" is a folder; name a file in it, such as .*/quire.db$"):
        open_ledger(str(tmp_path))


def test_a_file_in_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"quire.db: there is no folder .*/missing; make it"):
        open_ledger(str(tmp_path / "missing" / "quire.db"))


def test_a_ledger_that_must_exist_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "quire.db"

    with pytest.raises(LedgerError, match=r"there is no ledger at .*; `quire init` makes one"):
        open_ledger(str(path), must_exist=True)

    assert not path.exists()


def test_a_ledger_that_must_exist_is_offered_under_its_right_name(tmp_path: Path) -> None:
    (tmp_path / "work.db").touch()

    with pytest.raises(LedgerError, match=r"wrok.db; did you mean .*/work.db\? `quire init`"):
        open_ledger(str(tmp_path / "wrok.db"), must_exist=True)


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "quire.db"
    path.touch()

    ledger = open_ledger(f"sqlite:///{path}")

    place = run_with_ready_tasks(ledger)
    ledger.close()
    raw = Raw(str(path))
    made = {name for (name,) in raw.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    raw.close()
    assert made == set(re.findall(r"CREATE TABLE (\w+)", "".join(migrations("sqlite").values())))
    assert made >= {"documents", "runs", "stages", "tasks", "requests", "attempts", "results"}
    again = open_ledger(str(path), must_exist=True)
    with again.snapshot() as tx:
        assert len(tasks_of(tx, place)) == 3
    again.close()


def test_a_file_that_may_not_be_read_gets_one_clear_line(open_folder: Path) -> None:
    path = open_folder / "quire.db"
    open_ledger(str(path)).close()
    path.chmod(0o000 if os.geteuid() else 0o600)

    assert (
        _try_to_write(path)
        == f"{path}: it cannot be opened; does its folder exist, and is it yours?"
    )


def test_a_read_only_ledger_gets_one_clear_line(open_folder: Path) -> None:
    path = open_folder / "quire.db"
    open_ledger(str(path)).close()
    path.chmod(0o444)
    open_folder.chmod(0o555)

    message = _try_to_write(path)

    assert message == f"{path}: the ledger is read-only; give this user write access to it"


def test_a_full_disk_passes_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    ledger = open_ledger(str(tmp_path / "quire.db"))
    place = run_with_ready_tasks(ledger)
    pages = _writer(ledger).execute("PRAGMA page_count").fetchone()[0]
    _writer(ledger).execute(f"PRAGMA max_page_count = {pages + 10}")

    def fill() -> None:
        with ledger.transaction() as tx:
            tx.tasks.move_tasks(TaskMove.PACK, tasks_of(tx, place))
            add_document(tx, ["x" * 10_000] * 100, "b.txt")

    with pytest.raises(LedgerUnavailable, match="the disk is full; free some space"):
        fill()

    with ledger.snapshot() as tx:
        assert tx.tallies.tallies_of_run(place.run) == {"ready": 3}
        assert len(tx.documents.list_documents()) == 1
    _writer(ledger).execute(f"PRAGMA max_page_count = {pages + 10_000}")
    fill()
    ledger.close()


def test_a_server_that_refuses_is_one_line_without_the_password() -> None:
    with pytest.raises(LedgerUnavailable) as caught:
        open_ledger("postgresql://me:secret@127.0.0.1:1/db?password=secret")

    assert str(caught.value).startswith("PostgreSQL at 127.0.0.1:1/db: ")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_writer_that_waits_too_long_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.ledger.sqlite.BUSY_SECONDS", 0)
    first, second = (open_ledger(str(tmp_path / "quire.db")) for _ in range(2))

    with (
        first.transaction(),
        pytest.raises(LedgerUnavailable, match="kept the ledger busy"),
        second.transaction(),
    ):
        pass

    with second.transaction() as tx:
        tx.workers.add_worker("here", 1, "0", NOW)
    first.close()
    second.close()


def test_a_damaged_ledger_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "quire.db"
    ledger = open_ledger(str(path))
    run_with_ready_tasks(ledger, ["one"] * 500)
    ledger.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))

    def read() -> None:
        with open_ledger(str(path)).snapshot() as tx:
            tx.documents.list_documents()

    with pytest.raises(LedgerError, match=r"^[^\n]*quire.db: [^\n]+$"):
        read()


def _try_to_write(path: Path) -> str:
    """What somebody without rights is told when they open and write."""
    done = subprocess.run(
        [sys.executable, "-c", TRY_TO_WRITE, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def _writer(ledger: Ledger) -> sqlite3.Connection:
    database = ledger._database
    assert isinstance(database, SqliteDatabase)
    return database._writer
