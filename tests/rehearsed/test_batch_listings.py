"""Batches that nobody knows of are looked for in lists; what a list does not prove is not so."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.batches import BatchMatch
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import BatchId
from quire.domain.runs import Progress
from quire.domain.states import BatchState
from quire.pipeline.batches.reconcile import mark_absent
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.gemini import GeminiBatches
from quire.providers.openai_batches import OpenAIBatches
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI, QuickClock, Rehearsed
from tests.time_limits import at_most
from tests.world import sentences

BLOCKS = 30


@pytest.fixture
def batched(rehearse: Rehearse) -> Callable[..., Rehearsed]:
    """An engine and a server whose hours are minutes, with a few blocks to ask about."""

    def make(asks: str = OPENAI, **server_config: Any) -> Rehearsed:
        here = rehearse(asks, clock=QuickClock(240), batch_latency="20s", **server_config)
        here.ingest(sentences(BLOCKS))
        return here

    return make


def test_a_list_without_an_end_never_makes_a_batch_absent(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    find, looks = OpenAIBatches.find, list[str]()
    told = "openai's list of batches does not end: 500 pages were read"

    async def endless(self: OpenAIBatches, *about: Any) -> BatchMatch:
        (view,) = here.engine.batches()
        looks.append(view.problem)
        return BatchMatch(unsure=told) if len(looks) < 6 else await find(self, *about)

    monkeypatch.setattr(OpenAIBatches, "find", endless)
    here = batched(faults="batch_drop@1")
    in_time = at_most()

    def hasten(progress: Progress) -> None:
        in_time(progress)
        if here.engine.batches() and here.engine.batches()[0].state == BatchState.UNKNOWN:
            here.server.advance(600)  # long after it would surely be absent

    progress = here.start(route="batch", min_batch_size=2, pack_size=3).wait(hasten)

    assert progress.done == BLOCKS
    assert looks[1:] == [told] * 5
    assert len(here.server.batches()) == 1


VENDOR: dict[str, Any] = {OPENAI: OpenAIBatches, ANTHROPIC: AnthropicBatches, GEMINI: GeminiBatches}


def given_up(here: Rehearsed) -> None:
    """Take the first batch for absent, as when a list shows it too late."""
    with here.engine.ledger.transaction() as tx:
        batch = tx.batches.get_batch(BatchId(1))
        assert batch is not None
        assert mark_absent(tx, batch, here.runtime.now())


def lose_first(here: Rehearsed, monkeypatch: pytest.MonkeyPatch, asks: str) -> list[Any]:
    """Let the list hide the first batch until it was taken for absent; returns what is sought."""
    vendor, sought = VENDOR[asks], list[Any]()
    find = vendor.find

    async def late(self: Any, http: Any, account: Any, about: Any) -> BatchMatch:
        sought.append(about)
        found: BatchMatch = (
            await find(self, http, account, about) if about.retired else BatchMatch()
        )
        return found

    monkeypatch.setattr(vendor, "find", late)
    return sought


def hastening(here: Rehearsed) -> Callable[[Progress], None]:
    """Watch a run; while a batch is unknown, time flies."""
    in_time = at_most()
    done = list[bool]()

    def watch(progress: Progress) -> None:
        in_time(progress)
        if [batch.state for batch in here.engine.batches()] == ["unknown"]:
            if not done:
                given_up(here)
                done.append(True)
            here.server.advance(900)

    return watch


@pytest.mark.parametrize("asks", VENDOR)
def test_a_batch_of_an_earlier_name_is_found_and_adopted_in_the_place_of_a_third(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    here = batched(asks, faults="batch_drop@1")
    sought = lose_first(here, monkeypatch, asks)
    create, refused = VENDOR[asks].create, list[str]()

    async def second_is_cut_off(self: Any, http: Any, account: Any, *about: Any) -> str:
        if not refused and here.server.batches():  # it never arrives
            refused.append("")
            raise ProviderError("the connection broke", remedy=Remedy.LOST)
        made: str = await create(self, http, account, *about)
        return made

    monkeypatch.setattr(VENDOR[asks], "create", second_is_cut_off)
    run = here.start(route="batch", min_batch_size=2, pack_size=3)

    progress = run.wait(hastening(here))

    assert progress.done == BLOCKS
    assert refused
    assert len(here.server.batches()) == 1  # the first one, which was taken for absent
    assert sought[-1].retired == {here.server.batches()[0]["tag"]} or asks == ANTHROPIC
    assert progress.cost_pico == here.bill()


def test_of_two_that_were_made_the_last_is_adopted_and_the_other_cancelled(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch, ledger_url: str
) -> None:
    here = batched(faults="batch_drop@2", url=ledger_url)
    lose_first(here, monkeypatch, OPENAI)
    run = here.start(route="batch", min_batch_size=2, pack_size=3)

    progress = run.wait(hastening(here))

    assert progress.done == BLOCKS
    first, last = sorted(here.server.batches(), key=lambda record: record["id"])
    assert here.engine.batch(1).tag == last["tag"] != first["tag"]
    told = [
        event.detail for event in here.engine.queries.events(run.id) if "second" in event.detail
    ]
    assert told == [f"batch 1 was made a second time, as {first['id']}; that one is cancelled"]


@pytest.mark.parametrize("asks", VENDOR)
def test_a_batch_that_was_taken_for_absent_is_cancelled_when_it_shows_beside_the_one_made_then(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    here = batched(asks, faults="batch_drop@1")
    sought = lose_first(here, monkeypatch, asks)
    cancel, cancelled = VENDOR[asks].cancel, list[str]()

    async def told(self: Any, http: Any, account: Any, ref: str) -> None:
        cancelled.append(ref)
        await cancel(self, http, account, ref)

    monkeypatch.setattr(VENDOR[asks], "cancel", told)
    run = here.start(route="batch", min_batch_size=2, pack_size=3)

    progress = run.wait(hastening(here))

    assert progress.done == BLOCKS
    first, last = sorted(here.server.batches(), key=lambda record: record["id"])
    assert here.engine.batch(1).ref == last["id"]  # confirmed at once: nobody had to look for it
    assert sum(len(item.retired) for item in sought) == 1  # and it was looked for once
    assert cancelled == [first["id"]]
    about = [
        event.detail for event in here.engine.queries.events(run.id) if "second" in event.detail
    ]
    assert about == [f"batch 1 was made a second time, as {first['id']}; that one is cancelled"]


def test_a_batch_whose_earlier_submissions_were_refused_is_not_looked_for(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    sought, find = list[Any](), OpenAIBatches.find

    async def noted(self: OpenAIBatches, *about: Any) -> BatchMatch:
        sought.append(about)
        return await find(self, *about)

    monkeypatch.setattr(OpenAIBatches, "find", noted)
    create, refused = OpenAIBatches.create, list[str]()

    async def first_is_refused(self: Any, http: Any, account: Any, *about: Any) -> str:
        if not refused:
            refused.append("")
            raise ProviderError("the queue is full", remedy=Remedy.WAIT)
        return await create(self, http, account, *about)

    monkeypatch.setattr(OpenAIBatches, "create", first_is_refused)
    here = batched()

    progress = here.start(route="batch", min_batch_size=2, pack_size=3).wait(at_most())

    assert (progress.done, len(refused), sought) == (BLOCKS, 1, [])
