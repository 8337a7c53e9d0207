"""A PostgreSQL database that was emptied is as new as one that the migrations made."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.postgres import Databases
from tests.ready_databases import OTHERS, RESTING, ReadyDatabases, ready_databases
from tests.time_limits import wait_until
from tests.world import World, sentences

Spoil = Callable[[psycopg.Connection], object]


@pytest.fixture
def databases(postgres: Databases) -> Iterator[ReadyDatabases]:
    """Databases that no other test has used."""
    with ready_databases(postgres) as made:
        yield made


def test_a_database_is_lent_again_and_nothing_of_the_last_run_is_in_it(
    databases: ReadyDatabases,
) -> None:
    first = _lend(databases, _nothing)
    rows = dict[str, int]()
    for _ in range(RESTING):
        with databases.lend() as url:
            _run_something(url)
            rows |= _count_rows(url)
    assert rows["tasks"] > 1

    with databases.lend() as url, psycopg.connect(url) as connection:
        assert set(_count_rows(url).values()) == {0}
        ids = connection.execute("SELECT nextval('runs_id_seq'), nextval('tasks_id_seq')")
        assert ids.fetchone() == (1, 1)
    assert first in [_lend(databases, _nothing) for _ in range(RESTING)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda connection: connection.execute("ALTER TABLE runs DROP CONSTRAINT runs_pkey CASCADE"),
        lambda connection: connection.execute("ALTER TABLE runs ADD COLUMN more INT"),
        lambda connection: connection.execute("CREATE INDEX ON runs (state)"),
        lambda connection: connection.execute("CREATE TABLE mine (id INT)"),
        lambda connection: connection.execute("UPDATE quire_version SET version = 1000"),
        lambda connection: connection.execute("ANALYZE runs"),
    ],
    ids=["constraint", "column", "index", "table", "version", "figures"],
)
def test_a_database_in_which_more_than_rows_was_changed_is_not_lent_again(
    databases: ReadyDatabases, spoil: Spoil
) -> None:
    spoiled = _lend(databases, spoil)

    assert spoiled not in [_lend(databases, _nothing) for _ in range(2 * RESTING)]


def test_a_database_to_which_somebody_is_connected_is_not_lent_again(
    databases: ReadyDatabases, postgres: Databases
) -> None:
    with databases.lend() as url:
        left_open = psycopg.connect(url)

    with left_open:
        assert url not in [_lend(databases, _nothing) for _ in range(2 * RESTING)]
        left_open.close()


def test_two_who_borrow_at_once_get_two_databases(databases: ReadyDatabases) -> None:
    for _ in range(RESTING + 1):
        with databases.lend() as first, databases.lend() as second:
            assert first != second


def _lend(databases: ReadyDatabases, use: Spoil) -> str:
    with databases.lend() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            use(connection)
        return url


def _nothing(_: psycopg.Connection) -> None:
    pass


def _run_something(url: str) -> None:
    world = World(url)
    world.ingest(sentences(3))
    world.run()
    world.close()
    with psycopg.connect(url, autocommit=True) as connection:
        wait_until(lambda: not connection.execute(OTHERS).fetchone())


def _count_rows(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'public'::regnamespace AND relname <> 'quire_version'"
        ).fetchall()
        counted = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for (name,) in tables)
        return dict(connection.execute(counted).fetchall())
