"""The PostgreSQL that the tests stand on behaves as they assume."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests import postgres as harness
from tests.postgres import Databases, PostgresMissing, PostgresServer
from tests.time_limits import wait_until


def test_each_test_gets_an_empty_database(postgres: Databases) -> None:
    with postgres.database() as first, postgres.database() as second:
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE mine (id int)")

        with psycopg.connect(second) as connection:
            found = connection.execute("SELECT to_regclass('mine')").fetchone()

    assert found == (None,)


def test_a_database_is_dropped_even_while_someone_is_connected(postgres: Databases) -> None:
    with postgres.database() as url:
        left_open = psycopg.connect(url)

    with left_open, pytest.raises(psycopg.OperationalError):
        left_open.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_a_stopped_server_refuses_and_a_started_one_has_kept_everything(
    stoppable_postgres: PostgresServer,
) -> None:
    url = stoppable_postgres.create_database("kept")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE things AS SELECT 7 AS id")

    stoppable_postgres.stop()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    stoppable_postgres.start()

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT id FROM things").fetchone() == (7,)


def test_the_server_goes_away_when_its_owner_is_killed() -> None:
    program = (
        "from tests.postgres import own_server\n"
        "with own_server() as server: print(server.url, flush=True); input()"
    )
    root = Path(harness.__file__).parents[1]
    owner = subprocess.Popen(
        [sys.executable, "-c", program], stdin=-1, stdout=-1, text=True, cwd=root
    )
    with owner:
        assert owner.stdout
        url = owner.stdout.readline().strip()
        psycopg.connect(url).close()

        owner.kill()

    wait_until(lambda: _refuses(url))


def test_a_named_server_is_used_instead_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIRE_TEST_POSTGRES", "postgresql:///main?host=/run/postgresql")

    with harness.postgres_server() as server:
        assert server.url_of("other") == "postgresql:///other?host=/run/postgresql"


def test_a_missing_server_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "find_binaries", lambda: None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    with pytest.raises(PostgresMissing, match="QUIRE_TEST_POSTGRES=postgresql://"):
        harness.ensure_binaries()


def _refuses(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return True
    return False
