"""A seeded life of crashes with batches: dying at any commit, whatever else goes wrong."""

import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import pytest

from quire.dispatch.runtime import BATCH_POINTS, POINTS
from quire.domain.ids import RunId
from quire.domain.reasons import HoldKind
from quire.domain.states import RunState
from quire.engine import Engine, RunHandle
from quire.engine.context import make_context
from quire.ledger.ledger import Ledger, Transaction, open_ledger
from quire.providers.catalog import CATALOG
from quire.rehearsal.fault_script import BATCH_FAULTS
from quire.rehearsal.server import rehearsal_server
from tests.crash.test_simulation import Died, assert_one_result_a_task
from tests.ledger.raw import Raw
from tests.pipeline.test_money import assert_counts_agree
from tests.rehearsed.rehearsed import (
    ANTHROPIC,
    BASES,
    GEMINI,
    KEYS,
    OPENAI,
    ByClock,
    QuickClock,
    Rehearsed,
)
from tests.world import sentences

SPEED = 60.0  # times real time, while nothing is done
BLOCKS = 60  # more than go first and alone
MANY_BLOCKS = 150
LIVES = 600  # after which nobody believes in an end
HOURS = (1, 9)  # that a death costs
RARE = ("batch_stuck", "batch_errors")  # which cost much time, or a hold
RATES = {name: 0.05 if name in RARE else 0.12 for name in BATCH_FAULTS}
ROWS = "500=0.04,garbage=0.01,skip=0.04,wrong=0.03,truncate=0.02,400=0.01"
FAULTS = ",".join((*(f"{name}={rate}" for name, rate in RATES.items()), ROWS))


class Fate:
    """Decides when a process dies; one that is dead writes nothing more."""

    def __init__(self, seed: int, chance: float) -> None:
        """Draw every death from one seed."""
        self._random = random.Random(seed)
        self._chance = chance
        self._lock = Lock()
        self._living = False
        self._dead = False
        self.deaths: list[str] = []
        gc.collect()
        gc.freeze()  # so that only what the dead leave is looked through, after each death

    @contextmanager
    def life(self, clock: QuickClock) -> Iterator[None]:
        """One process; a death costs hours."""
        self._living = True
        try:
            yield
        except Died:
            clock.advance(3600 * self._random.uniform(*HOURS))
        except BaseExceptionGroup as group:  # a death inside a call's own task
            if others := group.split(Died)[1]:
                raise others from group
            clock.advance(3600 * self._random.uniform(*HOURS))
        finally:
            self._living = self._dead = False
            gc.collect()  # what the dead left open is closed here, and not in another test

    def meet(self, place: str) -> None:
        """Die here, perhaps."""
        with self._lock:
            if not self._dead and self._living and self._random.random() < self._chance:
                self.deaths.append(place)
                self._dead = True
            if self._dead:
                raise Died(place)


class MortalLedger(Ledger):
    """A ledger whose process may die just before a commit, or just after it."""

    def __init__(self, url: str, fate: Fate) -> None:
        """Open it."""
        opened = open_ledger(url)
        super().__init__(opened._database, opened.workspace)
        self._fate = fate

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All of it or nothing, and perhaps nobody learns which."""
        with super().transaction() as tx:
            yield tx
            self._fate.meet("before a commit")
        self._fate.meet("after a commit")


class Mortal(ByClock):
    """A world in which the process may die at any point too."""

    def __init__(self, clock: QuickClock, fate: Fate) -> None:
        """Share the clock."""
        super().__init__(clock)
        self._fate = fate

    def reach(self, point: str) -> None:
        """Die here, perhaps."""
        assert point in (*POINTS, *BATCH_POINTS)
        self._fate.meet(point)


@pytest.fixture
def clock() -> QuickClock:
    """The time of this test, at the server and in every life."""
    return QuickClock(SPEED)


@pytest.fixture
def fate(seed: int) -> Fate:
    """When processes die."""
    return Fate(seed, chance=0.02)


@pytest.fixture
def here(
    asks: str,
    seed: int,
    ledger_url: str,
    clock: QuickClock,
    fate: Fate,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Rehearsed]:
    """An engine that is mortal, and a server that makes every mistake it can."""
    faults, takes = f"{FAULTS},seed={seed}", "uniform:5s-60s"
    with rehearsal_server(
        models=CATALOG, clock=clock, faults=faults, batch_latency=takes
    ) as server:
        environment = {**KEYS, **{name: server.url + path for name, path in BASES.items()}}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        made = Rehearsed(ledger_url, server=server, asks=asks, lease=600.0, poll=10.0)
        made.close()
        ledger, runtime = MortalLedger(ledger_url, fate), Mortal(clock, fate)
        made.engine = Engine(make_context(made.engine.settings, ledger, runtime))
        yield made
        made.close()


def assert_the_ledger_is_sound(here: Rehearsed, run: RunId) -> None:
    """What holds after every death."""
    assert_counts_agree(here, run)
    assert_one_result_a_task(here, run)
    raw = Raw(here.url)
    twice = raw.rows(
        "SELECT request_id FROM attempts WHERE state = 'open' GROUP BY request_id HAVING"
        " count(*) > 1"
    )
    orphans = raw.rows(
        "SELECT a.id FROM attempts a JOIN batches b ON b.id = a.batch_id"
        " WHERE a.state = 'open' AND b.state IN ('collected', 'abandoned')"
    )
    raw.close()
    assert (twice, orphans) == ([], [])


def go_on(here: Rehearsed, run: RunHandle) -> None:
    """Do what the holds ask of a person."""
    holds = {hold.kind for hold in run.progress().holds}
    if HoldKind.UNDECODABLE in holds:
        run.retry()
    if holds:
        run.resume()


def drive_until_the_end(here: Rehearsed, run: RunHandle, clock: QuickClock, fate: Fate) -> None:
    """Let one process after another work and die until nothing is left to do; check each time."""
    for _ in range(LIVES):
        with fate.life(clock):
            go_on(here, run)
            here.engine.drive(run.id, batches=True)
        assert_the_ledger_is_sound(here, run.id)
        progress = run.progress()
        if progress.state == RunState.FINISHED and not progress.batches:
            return
    raise AssertionError(f"never finished: {run.progress()}, {fate.deaths}")


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the dead close nothing
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # and say so late
@pytest.mark.parametrize(
    ("asks", "seed", "blocks"),
    [
        (OPENAI, 0, BLOCKS),
        (ANTHROPIC, 1, BLOCKS),
        (GEMINI, 2, BLOCKS),
        pytest.param(OPENAI, 3, MANY_BLOCKS, marks=pytest.mark.soak),
    ],
)
def test_dying_at_any_commit_among_faults_of_batches_ends_in_the_same_data(
    here: Rehearsed, clock: QuickClock, fate: Fate, blocks: int
) -> None:
    here.ingest(texts := sentences(blocks))
    run = here.start(
        route="batch", min_batch_size=2, pack_size=3, max_tries=50, max_calls=500, concurrency=4
    )

    drive_until_the_end(here, run, clock, fate)

    assert fate.deaths
    rows = run.rows()
    assert [row["status"] for row in rows] == ["accepted"] * blocks
    assert [row["first_40_chars"] for row in rows] == [text[:40] for text in texts]
    assert {batch.state for batch in here.engine.batches()} <= {"collected", "abandoned"}
    spent = run.progress()
    bill = here.bill(pages=False)
    assert spent.cost_pico <= bill <= spent.cost_pico + spent.presumed_pico
