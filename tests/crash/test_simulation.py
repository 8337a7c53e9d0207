"""A seeded life of crashes: the process dies at every kind of point, and everything comes right."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from quire.dispatch.runtime import POINTS
from quire.domain.ids import RunId
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.runs import HeldError
from quire.domain.states import RunState, TaskState
from quire.domain.wallets import EntryKind
from tests.pipeline.test_money import assert_counts_agree
from tests.world import Calm, World, sentences

Worlds = Callable[..., World]

FAULTS = (
    "skip=0.1,wrong=0.05,500=0.1,429=0.05,truncate=0.1,drop=0.05,conflict=0.05,413=0.03,seed=11"
)


PAID_IN = "0.04"  # dollars at a time: money runs out more than once
WALLET = "team"
SEEDS = (0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3)))


class Died(BaseException):
    """The process is gone, with all it had in memory."""


class Mortal(Calm):
    """A world in which the process may die at any point; each death costs an hour."""

    def __init__(self, seed: int, chance: float) -> None:
        """Draw every death from one seed."""
        self._random = random.Random(seed)
        self._chance = chance
        self._ahead = timedelta()
        self.deaths: list[str] = []

    def now(self) -> datetime:
        """The present, after the hours lost to dying."""
        return super().now() + self._ahead

    def reach(self, point: str) -> None:
        """Die here, perhaps."""
        assert point in POINTS
        if self._random.random() < self._chance:
            self.deaths.append(point)
            self._ahead += timedelta(hours=1)
            raise Died(point)


def lift_holds(here: World, run: RunId) -> None:
    """Pay in where money is missing; go on where hours of dying looked like an outage."""
    for hold in here.engine.progress(run).holds:
        if hold.kind == HoldKind.FUNDS:
            here.engine.wallets.credit(WALLET, PAID_IN)
        else:
            assert hold.cause == HoldCause.NOTHING_SUCCEEDED
            here.engine.resume(run)


def drive_until_the_end(here: World, run: RunId, runtime: Mortal) -> None:
    """Let one process after another work and die until the run has ended; check after each."""
    for _ in range(400):
        with suppress(Died):
            try:
                here.engine.get(run).wait()
            except BaseExceptionGroup as group:  # a death inside a call's own task
                raise (group.split(Died)[1] or Died()) from group
            except HeldError:
                lift_holds(here, run)
        assert_counts_agree(here, run)
        assert_one_result_a_task(here, run)
        if here.engine.progress(run).state == RunState.FINISHED:
            return
    raise AssertionError(f"never finished: {here.engine.progress(run)}, {runtime.deaths}")


def assert_all_is_paid_from_the_wallet(here: World, run: RunId) -> None:
    """What was paid in and is not there any more is what the run cost, and nobody has more."""
    entries = here.engine.wallets.entries(WALLET, 10_000)
    paid_in = sum(entry.amount for entry in entries if entry.kind == EntryKind.CREDIT)
    now, wallet = here.engine.progress(run), here.engine.wallets.get(WALLET)
    assert wallet.granted == now.cost_pico + now.presumed_pico > 0
    assert wallet.balance == paid_in - wallet.granted


def assert_one_result_a_task(here: World, run: RunId) -> None:
    """A done task has exactly one current result, every other task none."""
    with here.engine.ledger.snapshot() as tx:
        for row in tx.results.export_rows(run, tx.runs.stages_of_run(run)[0].id):
            assert (row.data is not None) == (row.state == TaskState.DONE)


@pytest.mark.parametrize("seed", SEEDS)
def test_killing_at_any_point_and_starting_again_ends_in_the_same_data(
    world: Worlds, seed: int
) -> None:
    texts = sentences(60, mark=7)
    runtime = Mortal(seed, chance=0.2)
    here = world(faults=FAULTS, runtime=runtime)
    here.ingest(texts)
    here.engine.wallets.create(WALLET)
    run = here.start(pack_size=8, concurrency=3, max_tries=50, max_calls=500, wallet=WALLET)

    drive_until_the_end(here, run.id, runtime)

    assert runtime.deaths
    assert_all_is_paid_from_the_wallet(here, run.id)
    rows = run.rows()
    assert [row["status"] for row in rows] == ["accepted"] * 60
    assert [row["first_40_chars"] for row in rows] == [text[:40] for text in texts]


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_dies_those_that_follow_another_have_their_answers(
    world: Worlds, seed: int
) -> None:
    texts = [text for text in sentences(20, mark=7) for _ in range(3)]
    runtime = Mortal(seed, chance=0.2)
    here = world(faults="wrong@MARK,500=0.1,drop=0.05,seed=5", runtime=runtime)
    here.ingest(texts)
    run = here.start(pack_size=4, concurrency=3, max_tries=2, max_calls=500)

    drive_until_the_end(here, run.id, runtime)

    assert runtime.deaths
    rows = run.rows()
    failed = ["failed" if "MARK" in text else "accepted" for text in texts]
    assert [row["status"] for row in rows] == failed
    assert run.progress().reused == 2 * 19  # each of them once, whatever died meanwhile
