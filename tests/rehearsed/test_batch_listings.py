"""Batches that nobody knows of are looked for in lists; what a list does not prove is not so."""

from collections.abc import Callable
from typing import Any

import pytest

from quire.domain.batches import Found
from quire.domain.runs import Progress
from quire.providers.openai_batches import OpenAIBatches
from tests.patience import at_most
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, QuickClock, Rehearsed
from tests.world import sentences

BLOCKS = 30


@pytest.fixture
def batched(rehearse: Rehearse) -> Callable[..., Rehearsed]:
    """An engine and a server whose hours are minutes, with a few blocks to ask about."""

    def make(asks: str = OPENAI, **scene: Any) -> Rehearsed:
        here = rehearse(asks, clock=QuickClock(240), batch_latency="20s", **scene)
        here.ingest(sentences(BLOCKS))
        return here

    return make


def test_a_list_without_an_end_never_makes_a_batch_absent(
    batched: Callable[..., Rehearsed], monkeypatch: pytest.MonkeyPatch
) -> None:
    find, looks = OpenAIBatches.find, list[str]()
    told = "openai's list of batches does not end: 500 pages were read"

    async def endless(self: OpenAIBatches, *about: Any) -> Found:
        (view,) = here.engine.batches()
        looks.append(view.problem)
        return Found(unsure=told) if len(looks) < 6 else await find(self, *about)

    monkeypatch.setattr(OpenAIBatches, "find", endless)
    here = batched(faults="batch_drop@1")
    in_time = at_most(60)

    def hasten(progress: Progress) -> None:
        in_time(progress)
        if here.engine.batches() and here.engine.batches()[0].state == "unknown":
            here.server.advance(600)  # long after it would surely be absent

    progress = here.start(route="batch", min_batch_size=2, pack_size=3).wait(hasten)

    assert progress.done == BLOCKS
    assert looks[1:] == [told] * 5
    assert len(here.server.batches()) == 1
