"""Lines of a batch's results as somebody between here and there may leave them."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from quire.domain.reasons import HoldKind
from quire.providers.batch_requests import ApiCaller
from tests.rehearsed.rehearsed import Rehearsed
from tests.time_limits import at_most
from tests.world import until_rest

BLOCKS = 30
Garble = Callable[[bytes], list[bytes]]


def garble_lines(monkeypatch: pytest.MonkeyPatch, garble: Garble, count: int = 2) -> None:
    """Let the first lines of a download be others."""
    whole, left = ApiCaller.lines, [count]

    async def garbled_stream(*about: Any) -> AsyncGenerator[bytes]:
        async for line in whole(*about):
            left[0] -= 1
            for item in garble(line) if left[0] >= 0 else [line]:
                yield item

    monkeypatch.setattr(ApiCaller, "lines", garbled_stream)


def half(line: bytes) -> list[bytes]:
    """A line that breaks off, with its name."""
    return [line[:-20]]


def without_name(line: bytes) -> list[bytes]:
    """A line in a form that nobody has seen, without a name of ours."""
    return [line.replace(b"custom_id", b"customId").replace(b"-", b"_")]


def run_until_held(here: Rehearsed) -> Any:
    """Run through batches until it is held."""
    run = here.start(route="batch", min_batch_size=2, pack_size=3)
    progress = until_rest(run, at_most())
    assert [hold.kind for hold in progress.holds] == [HoldKind.UNDECODABLE]
    assert progress.done == BLOCKS - 6
    return run
