"""What a vendor says in an unexpected way holds up no batch, and makes none a second time."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from quire.providers import anthropic_batches, batching, gemini_batches
from tests.patience import at_most
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, QuickClock, Rehearsed
from tests.world import sentences

BLOCKS = 30
MODULES: dict[str, Any] = {ANTHROPIC: anthropic_batches, GEMINI: gemini_batches}
DEEP = "[" * 300 + "1" + "]" * 300


def batched(rehearse: Rehearse, asks: str, **scene: Any) -> Rehearsed:
    """An engine and a server whose hours are minutes, with a few blocks to ask about."""
    here = rehearse(asks, clock=QuickClock(240), batch_latency="20s", **scene)
    here.ingest(sentences(BLOCKS))
    return here


def with_deep_argument(asks: str, line: bytes) -> bytes:
    """A row whose model wrote an argument that reads deeper than it writes."""
    row = json.loads(line)
    if asks == ANTHROPIC:
        called = {"type": "tool_use", "id": "t", "name": "other", "input": {"x": "DEEP"}}
        row["result"]["message"]["content"].append(called)
    else:
        parts = row["response"]["candidates"][0]["content"]["parts"]
        parts.append({"functionCall": {"name": "other", "args": {"x": "DEEP"}}})
    return json.dumps(row).replace('"DEEP"', DEEP).encode()


@pytest.mark.parametrize("asks", MODULES)
def test_one_deep_row_does_not_hold_up_the_others(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    whole = batching.lines

    async def deeper(*about: Any, **more: Any) -> AsyncGenerator[bytes]:
        number = 0
        async for line in whole(*about, **more):
            number += 1
            yield with_deep_argument(asks, line) if number == 3 else line

    monkeypatch.setattr(MODULES[asks], "lines", deeper)
    monkeypatch.setattr(gemini_batches, "INLINE_CALLS", 0)
    here = batched(rehearse, asks)

    progress = here.start(route="batch", min_batch_size=2, pack_size=3).wait(at_most(60))

    assert progress.done >= BLOCKS - 3
    assert [view.state for view in here.engine.batches()] == ["collected"]
    assert progress.cost + progress.presumed >= here.bill()
