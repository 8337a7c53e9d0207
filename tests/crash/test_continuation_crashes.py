"""A process that dies between two pieces of an answer loses nothing, and asks nothing twice."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

import pytest

from quire.dispatch.runtime import POINTS
from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.requests import Call
from quire.domain.states import RunState
from quire.engine import Engine, RunHandle
from quire.engine.context import make_context
from quire.ledger.ledger import Ledger, Transaction, open_ledger
from quire.providers.protocol import RawResponse
from quire.settings import Settings
from tests.crash.test_simulation import Died
from tests.pipeline.recipe_stages import SMALL
from tests.pipeline.test_continuation import WORDS, essay
from tests.pipeline.test_money import assert_counts_agree
from tests.world import Calm, OneProvider, Scripted, World

Worlds = Callable[..., World]

LIMIT = 180  # tokens of a call: the answer comes in four pieces
STRIDE = 17  # of the moments at which a life ends; the soak takes every one


class Countdown(Calm):
    """A world in which the process dies once, when as many moments have passed as were given."""

    def __init__(self) -> None:
        """Live on until told otherwise."""
        self.left = 0
        self.died_at = ""
        self._ahead = timedelta()

    def now(self) -> datetime:
        """The present, after the hours lost to dying."""
        return super().now() + self._ahead

    def reach(self, point: str) -> None:
        """One more moment."""
        assert point in POINTS
        self.meet(point)

    def meet(self, moment: str) -> None:
        """Count, and die."""
        self.left -= 1
        if self.left == 0:
            self.died_at = moment
            self._ahead += timedelta(hours=1)
            raise Died(moment)


class MortalLedger(Ledger):
    """A ledger whose process may die right before and right after any commit."""

    runtime: Countdown

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All of it or nothing."""
        with super().transaction() as tx:
            yield tx
            self.runtime.meet("before a commit")
        self.runtime.meet("after a commit")


class Witness(Scripted):
    """The simulated model, which remembers every call that reached it."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        super().__init__()
        self.asked: Counter[tuple[str, ...]] = Counter()

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Note the call, and answer it."""
        self.asked[call.user, *[turn.text for turn in call.turns]] += 1
        return await super().send(call, account)


@pytest.fixture
def mortal(ledger_url: str) -> Iterator[World]:
    """A world whose process can die at every commit and at every point."""
    runtime = Countdown()
    here = World(ledger_url, runtime=runtime)
    opened = open_ledger(ledger_url)
    ledger = MortalLedger(opened._database, opened.workspace)
    ledger.runtime = runtime
    here.engine.close()
    settings = Settings(ledger=ledger_url, lease=600.0, grace=600.0)
    here.engine = Engine(make_context(settings, ledger, runtime))
    yield here
    here.close()


def live_and_die(here: World, moment: int) -> tuple[RunHandle, Witness]:
    """Run the recipe; the first process dies at this moment, if it lives so long."""
    assert isinstance(here.runtime, Countdown)
    model = Witness()
    here.engine.context.providers = OneProvider(model)
    run = here.engine.run(recipe=essay(LIMIT), model=SMALL, new=True, reuse=False)
    here.runtime.left, here.runtime.died_at = moment, ""
    while run.progress().state != RunState.FINISHED:
        with suppress(Died):
            try:
                run.wait()
            except BaseExceptionGroup as group:
                raise (group.split(Died)[1] or Died()) from group
    return run, model


def check_every(here: World, first: int, stride: int) -> list[str]:
    """Die at one moment after the other; returns where."""
    assert isinstance(here.runtime, Countdown)
    here.ingest([WORDS])
    whole, calls = (run := live_and_die(here, 0))[0].rows(), len(run[1].asked)
    died_at: list[str] = []
    for moment in range(first, 1000, stride):
        run_after, model = live_and_die(here, moment)
        if not here.runtime.died_at:
            break
        died_at.append(here.runtime.died_at)
        assert [row["text"] for row in run_after.rows()] == [row["text"] for row in whole]
        assert len(model.asked) == calls  # the same questions, whatever became of them
        assert sum(model.asked.values()) <= calls + 1  # the one that was in flight
        assert_counts_agree(here, run_after.id)
    return died_at


def test_a_crash_between_any_two_pieces_asks_nothing_twice(mortal: World) -> None:
    died_at = check_every(mortal, 1, STRIDE)

    assert len(died_at) > 3


@pytest.mark.soak
def test_a_crash_at_every_single_moment_asks_nothing_twice(mortal: World) -> None:
    assert set(POINTS) <= {*check_every(mortal, 1, 1), "after_start"}
