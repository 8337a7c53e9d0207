"""A provider that only fails, or asks us to come back tomorrow: told, and held with the reason."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.errors import ProviderError, Remedy
from quire.domain.reasons import EventKind, HoldCause
from quire.domain.requests import Call
from quire.domain.states import RunState
from quire.providers.protocol import RawResponse
from tests.pipeline.recipe_stages import SMALL, recipe, record_stage
from tests.world import Calm, OneProvider, Scripted, World, sentences

Worlds = Callable[..., World]
LARGE = "simulated/large"
A_DAY = 86_400.0


class MovedClock(Calm):
    """The real clock, moved on by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        """The moment it is taken to be."""
        return super().now() + self.ahead


class Failing(Scripted):
    """Answers while it may, and then fails; every failure takes half a minute."""

    def __init__(self, clock: MovedClock, error: ProviderError, *, answers: int = 0) -> None:
        super().__init__()
        self.clock, self.error, self.answers, self.asked = clock, error, answers, 0
        self.only = ""  # the model that fails; else all do

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer or fail."""
        self.asked += 1
        if self.answers or (self.only and call.model != self.only):
            self.answers = max(0, self.answers - 1)
            return await super().send(call, account)
        self.clock.ahead += timedelta(seconds=30)
        raise self.error


@pytest.fixture
def failing(world: Worlds) -> Callable[..., tuple[World, Failing]]:
    """A world with blocks, whose model fails."""

    def make(error: ProviderError, answers: int = 0) -> tuple[World, Failing]:
        clock = MovedClock()
        here = world(runtime=clock)
        here.ingest(sentences(12))
        model = Failing(clock, error, answers=answers)
        here.engine.context.providers = OneProvider(model)
        return here, model

    return make


def broken(remedy: Remedy = Remedy.RETRY) -> ProviderError:
    return ProviderError("500: something went wrong inside", remedy=remedy)


def come_back_tomorrow() -> ProviderError:
    return ProviderError("429: the day's quota is used up", remedy=Remedy.WAIT, retry_after=A_DAY)


@pytest.mark.parametrize("remedy", [Remedy.RETRY, Remedy.WAIT, Remedy.LOST])
def test_where_nothing_ever_succeeded_a_run_is_held_after_minutes_of_errors(
    failing: Callable[..., tuple[World, Failing]], remedy: Remedy
) -> None:
    here, model = failing(broken(remedy))
    told: list[str] = []

    run = here.start(pack_size=4, concurrency=1)
    here.engine.work(lambda: bool(run.progress().holds), tell=told.append)

    (hold,) = run.progress().holds
    assert hold.cause is HoldCause.NOTHING_SUCCEEDED
    assert hold.fields["problem"] == "500: something went wrong inside"
    assert 8 <= model.asked <= 14  # half a minute each
    assert told[0].startswith("500: something went wrong inside; trying again")
    model.answers = 12
    run.resume()
    assert run.wait().state == RunState.FINISHED


def test_an_outage_after_something_succeeded_is_only_waited_for(
    failing: Callable[..., tuple[World, Failing]],
) -> None:
    here, model = failing(broken(), answers=1)

    run = here.start(pack_size=4, concurrency=1)
    here.engine.work(lambda: model.asked > 25)
    held = run.progress().holds
    model.answers = 12

    assert held == ()
    assert run.wait().done == 12


@pytest.mark.parametrize("pack_size", [1, 2])
def test_an_outage_of_lost_calls_holds_the_run_and_costs_no_block(
    failing: Callable[..., tuple[World, Failing]], pack_size: int
) -> None:
    here, model = failing(broken(Remedy.LOST), answers=1)

    run = here.start(pack_size=pack_size, concurrency=2)
    here.engine.work(lambda: bool(run.progress().holds or run.progress().failed))
    held = run.progress()
    model.answers = 100
    run.resume()
    ended = run.wait()

    (hold,) = held.holds
    assert (hold.cause, held.failed, held.splits) == (HoldCause.ANSWERS_LOST, 0, 0)
    assert "500: something went wrong inside" in hold.detail
    assert (ended.state, ended.done) == (RunState.FINISHED, 12)


class Dropping(Scripted):
    """Drops every call, each perhaps billed, until it answers; every drop takes seconds."""

    def __init__(self, clock: MovedClock) -> None:
        super().__init__()
        self.clock, self.asked, self.drops = clock, 0, True

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer or drop."""
        self.asked += 1
        if self.drops:
            self.clock.ahead += timedelta(seconds=5)
            raise broken(Remedy.LOST)
        return await super().send(call, account)


@pytest.fixture
def dropping(world: Worlds) -> Callable[[], tuple[World, Dropping]]:
    """A world with blocks, whose model drops calls."""

    def make() -> tuple[World, Dropping]:
        clock = MovedClock()
        here, model = world(runtime=clock), Dropping(clock)
        here.ingest(sentences(40))
        here.engine.context.providers = OneProvider(model)
        return here, model

    return make


@pytest.mark.parametrize("pack_size", [1, 4])
def test_a_run_is_held_soon_where_calls_are_lost_and_nothing_was_ever_answered(
    dropping: Callable[[], tuple[World, Dropping]], pack_size: int
) -> None:
    here, model = dropping()

    run = here.start(pack_size=pack_size, concurrency=4, max_calls=12)
    asked = []
    for _ in range(2):  # what a person lets go on gets as many calls again
        here.engine.work(lambda: bool(run.progress().holds))
        asked.append(model.asked)
        (hold,) = run.progress().holds
        run.resume()
    model.drops = False
    ended = run.wait()

    assert (hold.cause, hold.fields["calls"]) == (HoldCause.ANSWERS_LOST, 12)
    assert 12 <= asked[0] < 12 + 4
    assert 12 <= asked[1] - asked[0] < 12 + 4
    assert (ended.state, ended.done, ended.failed) == (RunState.FINISHED, 40, 0)


def test_lost_calls_are_waited_out_where_another_run_was_answered_before(
    dropping: Callable[[], tuple[World, Dropping]],
) -> None:
    here, model = dropping()
    model.drops = False
    here.run(limit=1)
    model.drops, before = True, model.asked

    run = here.start(pack_size=4, concurrency=4, max_calls=12, reuse=False)
    here.engine.work(lambda: model.asked - before > 12 + 4 or bool(run.progress().holds))
    held = run.progress().holds
    model.drops = False

    assert held == ()
    assert run.wait().done == 40


def test_push_back_that_lasts_is_told_also_after_an_answer(
    failing: Callable[..., tuple[World, Failing]],
) -> None:
    here, model = failing(broken(Remedy.WAIT), answers=1)
    told: list[str] = []

    run = here.start(pack_size=4, concurrency=1)
    here.engine.work(lambda: model.asked > 20, tell=told.append)
    model.answers = 12

    assert told[0].startswith("500: something went wrong inside; trying again")
    assert 3 <= len(told) <= 5  # at each doubling
    assert run.wait().done == 12


class PushesFirstBack(Scripted):
    """Asks to wait whenever the call that came first comes again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.pushed_back = "", 0

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer, or ask to wait."""
        self.first = self.first or call.user
        if call.user != self.first:
            return await super().send(call, account)
        self.pushed_back += 1
        raise ProviderError("429: too many requests", remedy=Remedy.WAIT, retry_after=0.1)


def test_a_call_that_is_always_pushed_back_lets_the_others_go_first(world: Worlds) -> None:
    here, model = world(), PushesFirstBack()
    here.ingest(sentences(12))
    here.engine.context.providers = OneProvider(model)

    run = here.start(pack_size=4, concurrency=1)
    here.engine.work(lambda: run.progress().done >= 8 or model.pushed_back > 20)

    assert run.progress().done >= 8


def test_a_wait_until_tomorrow_holds_the_run_with_the_time(
    failing: Callable[..., tuple[World, Failing]],
) -> None:
    here, model = failing(come_back_tomorrow(), answers=1)

    run = here.run(pack_size=4, concurrency=1)
    now = run.progress()

    (hold,) = now.holds
    assert (hold.cause, now.done, model.asked) == (HoldCause.PROVIDER_WAITS, 4, 2)
    tomorrow = here.runtime.now() + timedelta(seconds=A_DAY)
    assert f"is not to be asked before {tomorrow:%Y-%m-%d}" in hold.detail
    assert f"after that `quire resume {run.id}` goes on" in hold.detail
    model.answers = 12
    run.resume()
    assert run.wait().done == 12


def test_other_models_of_a_run_go_on_while_one_is_not_to_be_asked(
    failing: Callable[..., tuple[World, Failing]],
) -> None:
    here, model = failing(come_back_tomorrow())
    model.only = LARGE
    stages = recipe(record_stage("facts", "each_block", "Read.", models=(SMALL, LARGE)))

    run = here.engine.run(recipe=stages, model=SMALL, pack_size=4)
    here.engine.work(lambda: run.progress().done == 12)

    assert run.progress().holds == ()
    kinds = [event.kind for event in here.engine.queries.events(run.id)]
    assert kinds.count(EventKind.PROVIDER_WAITS) == 1
