"""What the ledger's tests may ask for: a ledger of each kind, and plain SQL on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.ledger.ledger import Ledger, open_ledger
from tests.ledger.raw import Raw
from tests.ready_databases import ReadyDatabases


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """A fresh ledger: on SQLite, then on PostgreSQL."""
    opened = open_ledger(ledger_url, durable=False)
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgres"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where there is no ledger yet: no SQLite file, then a PostgreSQL database without tables."""
    if request.param == "sqlite":
        return str(tmp_path / "quire.db")
    url: str = request.getfixturevalue("postgres_database")
    return url


@pytest.fixture
def raw(ledger: Ledger) -> Iterator[Raw]:
    """Plain SQL on the ledger."""
    connection = Raw(ledger.url)
    yield connection
    connection.close()


@pytest.fixture
def postgres_ledger(ready_postgres: ReadyDatabases) -> Iterator[Ledger]:
    """A fresh ledger on PostgreSQL, where several transactions may be open at once."""
    with ready_postgres.lend() as url:
        opened = open_ledger(url)
        yield opened
        opened.close()
