"""What nobody foresaw while calls are out: the loop goes on, and the books stay right."""

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress

import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, lists, tuples

from quire.dispatch.ledger_thread import LedgerThread
from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import RunId
from quire.domain.requests import Call
from quire.domain.states import RunState
from quire.providers.protocol import RawResponse
from tests.world import Scripted, World, sentences

Worlds = Callable[..., World]


class Odd(BaseException):
    """No error that anybody knows."""


class Surprising(Scripted):
    """Ends its first call in a way that nobody foresaw."""

    ending: type[BaseException] = Odd

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer, but not at first."""
        sent = await super().send(call, account)
        if self.calls == 1:
            raise self.ending("odd")
        return sent


class Restarting(Scripted):
    """Nobody listens at its address, for a moment."""

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer, once it is there."""
        sent = await super().send(call, account)
        if 3 < self.calls < 6:
            raise ProviderError("nothing listens", remedy=Remedy.RETRY, absent=True)
        return sent


def became(here: World, run: RunId) -> Counter[str]:
    """How the attempts of a run ended."""
    look = here.engine.queries
    exchanges = [look.exchange(request.id) for request in look.requests(run)]
    return Counter(attempt.state for exchange in exchanges for attempt in exchange.attempts)


def test_the_loop_goes_on_while_another_process_writes(world: Worlds) -> None:
    ledger = world().engine.ledger
    if ledger.dialect != "sqlite":
        pytest.skip("a server is always spoken to beside the loop")

    def write() -> bool:
        with ledger.transaction():
            return True

    async def meanwhile() -> bool:
        thread = LedgerThread(ledger)
        thread.may_block_loop = lambda: True
        assert await thread.run(threading.current_thread) is threading.current_thread()
        with closing(sqlite3.connect(ledger.url, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            written = asyncio.create_task(thread.run(write))
            for _ in range(50):
                await asyncio.sleep(0.001)
            waits = not written.done()
            other.execute("ROLLBACK")
        done = await written
        thread.close()
        return waits and done

    assert asyncio.run(meanwhile())


def test_no_step_overtakes_those_that_wait_for_the_ledger(world: Worlds) -> None:
    ledger = world().engine.ledger
    order: list[str] = []

    async def ask_in_order() -> None:
        thread, turn = LedgerThread(ledger), threading.Event()
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(thread.in_thread(turn.wait))
            group.create_task(thread.run(order.append, "first"))
            await asyncio.sleep(0)
            thread.may_block_loop = lambda: True
            group.create_task(thread.transact(lambda tx: order.append("second")))
            await asyncio.sleep(0)
            turn.set()
        assert await thread.run(threading.current_thread) is threading.current_thread()
        thread.close()

    asyncio.run(ask_in_order())

    assert order == ["first", "second"]


def test_steps_happen_in_the_order_in_which_they_were_asked_for(world: Worlds) -> None:
    ledger = world().engine.ledger

    async def order_of(steps: list[tuple[bool, bool, bool]]) -> list[int]:
        thread, order = LedgerThread(ledger), list[int]()
        async with asyncio.TaskGroup() as group:
            for number, (idle, beside, pause) in enumerate(steps):
                thread.may_block_loop = (lambda: True) if idle else (lambda: False)
                run = thread.in_thread if beside else thread.run
                group.create_task(run(order.append, number))
                if pause:
                    await asyncio.sleep(0)
        thread.close()
        return order

    @settings(max_examples=60)
    @given(steps=lists(tuples(booleans(), booleans(), booleans()), max_size=12))
    def check(steps: list[tuple[bool, bool, bool]]) -> None:
        assert asyncio.run(order_of(steps)) == [*range(len(steps))]

    check()


def test_nobody_to_tell_costs_no_call_its_place_in_the_books(world: Worlds) -> None:
    here = world(faults="drop=0.6")
    here.ingest(sentences(12))
    run = here.start(pack_size=1, concurrency=4)
    messages: list[str] = []

    def tell(message: str) -> None:
        messages.append(message)
        raise BrokenPipeError

    here.engine.work(lambda: run.progress().state == RunState.FINISHED, tell=tell)

    assert messages
    assert became(here, run.id) == {
        "settled": run.progress().done,
        "unknown": here.model.carried_out - run.progress().done,
    }


def test_a_server_that_is_restarted_holds_nobody_up(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(8))
    here.engine.providers.provider = Restarting()  # type: ignore[attr-defined]

    run = here.run(pack_size=1, concurrency=1)

    assert (run.progress().done, run.progress().holds) == (8, ())
    assert became(here, run.id) == {"settled": 8, "refused": 2}


@pytest.mark.parametrize("ending", [GeneratorExit, Odd])
def test_a_call_that_ends_as_nobody_foresaw_may_have_been_paid(
    world: Worlds, ending: type[BaseException]
) -> None:
    here = world()
    here.ingest(sentences(4))
    here.engine.providers.provider = model = Surprising()  # type: ignore[attr-defined]
    model.ending = ending
    run = here.start(pack_size=1, concurrency=1)

    with suppress(ending):
        run.wait()
    run.wait()

    assert became(here, run.id) == {"settled": 4, "unknown": 1}
