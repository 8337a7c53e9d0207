"""What a vendor says in an unexpected way holds up no batch, and makes none a second time."""

import json
from collections.abc import AsyncGenerator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from quire.domain.runs import Progress
from quire.providers import gemini
from quire.providers.batch_requests import ApiCaller
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.transport import Transport
from tests.rehearsed.conftest import Rehearse, Serve
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI, ByClock, QuickClock, Rehearsed
from tests.time_limits import at_most
from tests.world import sentences

BLOCKS = 30
DEEP = "[" * 300 + "1" + "]" * 300


def batched(rehearse: Rehearse, asks: str, **server_config: Any) -> Rehearsed:
    """An engine and a server whose hours are minutes, with a few blocks to ask about."""
    here = rehearse(asks, clock=QuickClock(240), batch_latency="20s", **server_config)
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


@pytest.mark.parametrize("asks", [ANTHROPIC, GEMINI])
def test_one_deep_row_does_not_hold_up_the_others(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    whole = ApiCaller.lines

    async def deeper(*about: Any, **more: Any) -> AsyncGenerator[bytes]:
        number = 0
        async for line in whole(*about, **more):
            number += 1
            yield with_deep_argument(asks, line) if number == 3 else line

    monkeypatch.setattr(ApiCaller, "lines", deeper)
    monkeypatch.setattr(gemini, "INLINE_CALLS", 0)
    here = batched(rehearse, asks)

    progress = here.start(route="batch", min_batch_size=2, pack_size=3).wait(at_most())

    assert progress.done >= BLOCKS - 3
    assert [view.state for view in here.engine.batches()] == ["collected"]
    assert progress.cost_pico + progress.presumed_pico >= here.bill()


class Ahead(ByClock):
    """A world whose clock is an hour ahead of the server's."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=1)


def test_a_clock_ahead_of_the_vendors_makes_no_second_batch(serve: Serve, tmp_path: Path) -> None:
    clock = QuickClock(240)
    server = serve(clock=clock, batch_latency="20s", faults="batch_drop@1")
    url = str(tmp_path / "quire.db")
    here = Rehearsed(url, runtime=Ahead(clock), lease=600.0, server=server, asks=ANTHROPIC)
    here.ingest(sentences(BLOCKS))

    progress = here.start(route="batch", min_batch_size=2, pack_size=3).wait(at_most())

    assert progress.done == BLOCKS
    assert len(server.batches()) == 1
    assert progress.cost_pico == here.bill()
    here.close()


STRANGE: dict[tuple[str, str], Callable[[dict[str, Any]], dict[str, Any]]] = {
    (ANTHROPIC, "null items"): lambda body: {**body, "data": [None for _ in body["data"]]},
    (ANTHROPIC, "more, in words"): lambda body: {**body, "data": [], "has_more": "true"},
    (GEMINI, "null items"): lambda body: {"operations": [None]},
    (GEMINI, "another name"): lambda body: {"batches": body.get("operations", [])},
    (OPENAI, "more, in words"): lambda body: {"data": [], "has_more": "true"},
}


@pytest.mark.parametrize(("asks", "kind"), STRANGE)
def test_a_list_in_a_strange_form_makes_no_second_batch(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, asks: str, kind: str
) -> None:
    exchange, strange = Transport.exchange, [True]

    async def garbled(self: Transport, request: HttpRequest, upload: Any = ()) -> HttpResponse:
        response = await exchange(self, request, upload)
        listing = request.method == "GET" and request.url.partition("?")[0].endswith("batches")
        if not listing or not strange[0]:
            return response
        body = STRANGE[asks, kind](json.loads(response.body))
        return response._replace(body=json.dumps(body).encode())

    monkeypatch.setattr(Transport, "exchange", garbled)
    here = batched(rehearse, asks, faults="batch_drop@1")
    in_time = at_most()
    problems = set[str]()

    def hasten(progress: Progress) -> None:
        in_time(progress)
        for view in here.engine.batches():
            if view.state == "unknown" and strange[0]:
                problems.add(view.problem)
                strange[0] = not any("list of batches" in problem for problem in problems)
                here.server.advance(900)  # long after it would surely be absent

    progress = here.start(route="batch", min_batch_size=2, pack_size=3).wait(hasten)

    assert progress.done == BLOCKS
    assert not strange[0]
    assert len(here.server.batches()) == 1
