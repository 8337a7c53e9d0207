"""The ledger goes away in the middle of a run: the worker waits, keeps its answers, and goes on."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.errors import LedgerUnavailable
from quire.domain.runs import Progress
from tests.postgres import PostgresServer
from tests.time_limits import wait_until
from tests.world import World, sentences

Worlds = Callable[..., World]


def test_a_worker_waits_for_postgresql_to_come_back(stoppable_postgres: PostgresServer) -> None:
    here = World(stoppable_postgres.create_database("outage"))
    here.ingest(texts := sentences(120))
    run = here.start(pack_size=1, concurrency=4)
    messages: list[str] = []
    here.model.hold = lambda number: number > 20 and not messages  # until the worker has noticed
    outage = threading.Thread(target=_stop_and_start, args=(stoppable_postgres, here, messages))
    outage.start()

    ended = here.engine.drive(run.id, tell=messages.append)
    outage.join()

    assert ended.done == 120
    assert here.model.calls == 120  # no answer was lost, so nothing was asked twice
    assert [row["first_40_chars"] for row in run.rows()] == [text[:40] for text in texts]
    assert any("nothing is lost" in name for name in messages)
    here.close()


def _stop_and_start(server: PostgresServer, here: World, messages: list[str]) -> None:
    wait_until(lambda: here.model.calls > 20)
    server.stop()
    wait_until(lambda: messages)
    server.start()


def test_a_full_disk_loses_no_answer_and_the_run_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    here = World(str(tmp_path / "quire.db"), "latency=0.01")
    here.ingest(sentences(80))
    run = here.start(pack_size=1, concurrency=4)
    messages: list[str] = []
    writer: sqlite3.Connection = here.engine.ledger._database._writer  # type: ignore[attr-defined]
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages + 4}")

    def tell(message: str) -> None:
        messages.append(message)
        writer.execute("PRAGMA max_page_count = 1000000")  # somebody made room

    ended = here.engine.drive(run.id, tell=tell)

    assert any("disk is full" in name for name in messages)
    assert (ended.done, here.model.calls) == (80, 80)
    here.close()


def test_a_worker_that_is_stopped_while_the_ledger_is_away_says_so(
    stoppable_postgres: PostgresServer,
) -> None:
    url = stoppable_postgres.create_database("away")
    here = World(url, "latency=0.01", grace=0.5, lease=3.0)  # which it could not give back
    here.ingest(sentences(50))
    run = here.start(pack_size=1, concurrency=2)
    stopped = threading.Event()
    seen: list[Progress] = []

    def stop_the_ledger(progress: Progress) -> None:
        seen.append(progress)
        if progress.done > 0 and not stopped.is_set():
            stopped.set()
            stoppable_postgres.stop()
            here.engine.stop()

    with pytest.raises(LedgerUnavailable, match="PostgreSQL at"):
        here.engine.drive(run.id, stop_the_ledger)
    stoppable_postgres.start()
    assert here.engine.drive(run.id).done == 50
    here.close()
