"""Connections to PostgreSQL: no more than are needed, and none that its server has closed."""

import psycopg
import pytest

from quire.ledger.ledger import open_ledger
from tests.time_limits import wait_until

OTHERS = """
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_a_ledger_is_opened_with_one_connection(postgres_database: str) -> None:
    ledger = open_ledger(postgres_database)

    with psycopg.connect(postgres_database) as raw:
        connections = raw.execute(OTHERS).fetchall()
    ledger.close()

    assert len(connections) == 1


def test_no_connection_is_made_only_to_see_whether_one_can_be(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[object]()
    connect = psycopg.Connection.connect.__func__  # type: ignore[attr-defined]  # of any class

    def count(cls: type, /, *args: object, **options: object) -> object:
        made.append(args)
        return connect(cls, *args, **options)

    monkeypatch.setattr(psycopg.Connection, "connect", classmethod(count))
    monkeypatch.setattr(psycopg, "connect", psycopg.Connection.connect)
    ledger = open_ledger(postgres_database)

    with ledger.transaction() as outer, ledger.transaction() as tx:  # which takes another
        assert outer.runs.running_wishes() == tx.runs.running_wishes() == []
    ledger.close()

    assert len(made) == 2


def test_a_connection_that_its_server_closed_is_replaced_and_nobody_is_told(
    postgres_database: str,
) -> None:
    ledger = open_ledger(postgres_database)
    with ledger.transaction() as tx:
        assert tx.runs.running_wishes() == []

    with psycopg.connect(postgres_database, autocommit=True) as raw:
        raw.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM ({OTHERS}) others")

    with ledger.transaction() as tx:
        assert tx.runs.running_wishes() == []
    ledger.close()


def test_who_waits_while_a_ledger_is_closed_opens_no_connection_again(
    postgres_database: str,
) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as raw:

        def count() -> int:
            return len(raw.execute(OTHERS).fetchall())

        before = count()
        ledger = open_ledger(postgres_database)
        ledger.wait(0.01)
        assert count() == before + 2
        ledger.close()
        wait_until(lambda: count() == before)

        ledger.wait(0.01)

        assert count() == before
