"""Connections to PostgreSQL: no more than are needed, and none that its server has closed."""

import psycopg

from quire.ledger.ledger import open_ledger

OTHERS = """
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_a_ledger_is_opened_with_one_connection(postgres_database: str) -> None:
    ledger = open_ledger(postgres_database)

    with psycopg.connect(postgres_database) as raw:
        connections = raw.execute(OTHERS).fetchall()
    ledger.close()

    assert len(connections) == 1


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
