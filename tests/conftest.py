"""What every test may ask for: databases of both kinds, fresh each time."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres import Databases, PostgresServer, own_server, postgres_server
from tests.world import World

settings.register_profile("quire", deadline=None, print_blob=True)  # a busy machine is not a bug
settings.load_profile("quire")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """One PostgreSQL for this test process, up in about a second."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres: Databases) -> str:
    """The URL of the server's own database, to look at but not to fill."""
    return postgres.url


@pytest.fixture
def postgres_database(postgres: Databases) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def stoppable_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for this test alone, to stop and start at will."""
    with own_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty ledger may be made: a SQLite file, then a PostgreSQL database."""
    if request.param == "sqlite":
        return str(tmp_path / "quire.db")
    url: str = request.getfixturevalue("postgres_database")
    return url


@pytest.fixture
def world(ledger_url: str) -> Iterator[Callable[..., World]]:
    """Make worlds on one ledger; each is closed at the end."""
    made: list[World] = []

    def make(faults: str = "", **how: object) -> World:
        made.append(World(ledger_url, faults, **how))  # type: ignore[arg-type]  # as World takes it
        return made[-1]

    yield make
    for each in made:
        each.close()
