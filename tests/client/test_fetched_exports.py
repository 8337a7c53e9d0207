"""A copy of a remote run's export is fetched when it changed, and only then."""

from pathlib import Path

import pandas
import pytest

import quire
from quire.client import fetch_export
from quire.domain.errors import LedgerError, NotFound
from tests.cli.conftest import Quire
from tests.server.served import serve
from tests.server.sites import SCHEMA, TEXT


def test_a_copy_is_fetched_again_only_when_the_run_changed(tmp_path: Path) -> None:
    (tmp_path / "lease.md").write_text(TEXT)
    copy = tmp_path / "copy.csv"
    with serve(str(tmp_path / "quire.db")) as address:
        workbench = quire.connect(address)
        documents = workbench.ingest(tmp_path / "lease.md")
        run = workbench.run(schema=SCHEMA, model="simulated/small", over=documents)
        run.wait()

        first = fetch_export(run, address, str(copy))
        written = copy.stat().st_mtime_ns
        again = fetch_export(run, address, str(copy))
        run.approve(int(str(run.rows()[0]["task_id"])), who="ann")
        decided = Quire().json("fetch", address, run.id, "-o", copy)
        confirmed = fetch_export(run, address, str(copy), "confirmed")
        with pytest.raises(NotFound):
            workbench.get(99)

    assert (first.changed, again.changed) == (True, False)
    assert again.rows == first.rows
    assert decided["changed"] is True
    assert copy.stat().st_mtime_ns != written
    assert confirmed.changed  # other rows are another copy
    assert len(pandas.read_csv(copy)) == 1
    assert not list(tmp_path.glob("*.partial"))


def test_a_copy_that_was_cut_off_is_fetched_anew(tmp_path: Path) -> None:
    (tmp_path / "lease.md").write_text(TEXT)
    copy = tmp_path / "copy.jsonl"
    with serve(str(tmp_path / "quire.db")) as address:
        workbench = quire.connect(address)
        documents = workbench.ingest(tmp_path / "lease.md")
        run = workbench.run(schema=SCHEMA, model="simulated/small", over=documents)
        run.wait()
        fetch_export(run, address, str(copy))
        whole = copy.read_bytes()
        copy.write_bytes(whole[:-10])

        mended = fetch_export(run, address, str(copy))

    assert mended.changed
    assert copy.read_bytes() == whole


def test_a_server_that_is_not_there_is_told_in_a_line() -> None:
    with pytest.raises(LedgerError, match="does not answer"):
        quire.connect("http://127.0.0.1:9")
