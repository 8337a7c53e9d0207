"""What every test may ask for: databases of both kinds, fresh each time; and its time limit."""

import gc
import signal
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from resource import RUSAGE_SELF
from typing import Any

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from typer.main import get_command

from quire.ledger import ledger
from quire.ledger.sqlite import SqliteDatabase
from tests.cpu_time import seconds_of, seconds_so_far
from tests.memory import use_compiled_modules, use_quick_folder
from tests.postgres import Databases, PostgresServer, own_server, postgres_server
from tests.ready_databases import ReadyDatabases, ready_databases
from tests.ready_ledgers import use_ready_ledgers
from tests.repetitions import Repetitions
from tests.reports import Stopwatch, Teller, tell_less
from tests.schedule import LONG, longest_first
from tests.time_limits import time_limit
from tests.warm import warm_starts
from tests.world import World

# After so many new objects; after 700, as Python does by itself, it takes a tenth of all CPU. The
# third is low for the sake of memory: what three processes leave lying about adds up.
COLLECT_AFTER = (10_000, 10, 5)

gc.disable()  # until all tests are collected: what is made by then stays
use_quick_folder()  # before pytest looks for a folder of its own
use_compiled_modules()
use_ready_ledgers()
typer.testing._get_command = cache(get_command)  # type: ignore[attr-defined]  # once
# No deadline: a busy machine is not a bug. What takes many tries to find is for `make soak`.
# Neither is chance: how many examples a filter lets through in a row says nothing of the code.
settings.register_profile(
    "quire",
    deadline=None,
    print_blob=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.register_profile("soak", settings.get_profile("quire"), max_examples=500)
settings.load_profile("quire")
_repetitions = Repetitions()
_seconds_of_workers = list[float]()


def pytest_itemcollected(item: pytest.Item) -> None:
    """What only repeats a behaviour is left to `make soak`."""
    callspec = getattr(item, "callspec", None)
    if callspec and _repetitions.is_repetition(item.nodeid, callspec.params):
        item.add_marker(pytest.mark.soak)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much is told."""
    parser.addoption(
        "--slowest", type=int, default=0, help="name so many slow tests, and failed ones at once"
    )


@pytest.hookimpl(trylast=True)  # after there is a terminal
def pytest_configure(config: pytest.Config) -> None:
    """Measure, and tell what was measured where somebody looks."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a terminal, also where nohup began it
    config.pluginmanager.register(Stopwatch())
    tell_less(config)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and (most := config.getoption("slowest")):
        config.pluginmanager.register(Teller(terminal, most))


@pytest.hookimpl(trylast=True)  # after chance had its say
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests, each begins with some that take long."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    if processes > 1:
        items[:] = longest_first(items, lambda item: item.nodeid.startswith(LONG), processes)


def pytest_collection_finish() -> None:
    """What was collected stays: no search for garbage has to go through thousands of tests."""
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where several processes share the tests, each says what it used."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["seconds"] = seconds_so_far()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a process said that is done."""
    _seconds_of_workers.append(getattr(node, "workeroutput", {}).get("seconds", 0.0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what all of it cost: CPU time hardly depends on how busy the machine is."""
    workers = sum(_seconds_of_workers)
    seconds = seconds_of(RUSAGE_SELF) + workers if workers else seconds_so_far()
    terminalreporter.write_line(f"CPU: {seconds / 60:.1f} min of tests")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test that hangs fails in words; a soak takes as long as it takes."""
    if item.get_closest_marker("soak"):
        return (yield)
    with time_limit():
        return (yield)


@pytest.fixture(scope="session")
def warm() -> Iterator[list[str]]:
    """How to start processes that need not import anything first."""
    with warm_starts() as command:
        yield command


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


@pytest.fixture(scope="session")
def ready_postgres(postgres: Databases) -> Iterator[ReadyDatabases]:
    """PostgreSQL databases that have the ledger's tables."""
    with ready_databases(postgres) as databases:
        yield databases


@pytest.fixture(params=["sqlite", "postgres"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where an empty ledger is, or may be made: a SQLite file, then a PostgreSQL database."""
    if request.param == "sqlite":
        yield str(tmp_path / "quire.db")
        return
    databases: ReadyDatabases = request.getfixturevalue("ready_postgres")
    with databases.lend() as url:
        yield url


@pytest.fixture
def migrated_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite ledgers made as everybody's are, by one migration after the other."""
    monkeypatch.setattr(ledger, "SqliteDatabase", SqliteDatabase)


@pytest.fixture
def world(ledger_url: str) -> Iterator[Callable[..., World]]:
    """Make worlds on one ledger; each is closed at the end."""
    made: list[World] = []

    def make(faults: str = "", **how: object) -> World:
        made.append(World(ledger_url, faults, **how))  # type: ignore[arg-type]  # as World takes it
        return made[-1]

    yield make
    for item in made:
        item.close()
