"""What a batch answered is paid, in whatever order, part or company its rows come."""

import json
from collections.abc import AsyncGenerator, Callable
from random import Random
from typing import Any

import pytest

from quire.domain.batches import BatchEnd, BatchMatch, BatchStatus
from quire.domain.errors import IllegalMove, ProviderError, Remedy, UsageError
from quire.domain.reasons import HoldKind
from quire.domain.states import BatchState
from quire.providers.batch_requests import ApiCaller
from quire.providers.openai_batches import OpenAIBatches
from tests.pipeline.test_money import assert_counts_agree
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, OPENAI, ByClock, QuickClock, Rehearsed
from tests.rehearsed.test_batch_routes import stop_when_out
from tests.time_limits import at_most
from tests.world import sentences, until_rest

BLOCKS = 40
ROUTE: dict[str, Any] = {"route": "batch", "min_batch_size": 2, "pack_size": 3}

Change = Callable[[int, int, bytes], list[bytes]]  # a download's number, a line's, and the line


def change_lines(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Let downloads be others; where nothing is left of a line, they break off there."""
    whole, downloads = ApiCaller.lines, [0]

    async def changed(*about: Any, **more: Any) -> AsyncGenerator[bytes]:
        downloads[0] += 1
        number, no = downloads[0], 0
        async for line in whole(*about, **more):
            no += 1
            found = change(number, no, line)
            if not found:
                raise ProviderError("it broke off", remedy=Remedy.RETRY)
            for item in found:
                yield item

    monkeypatch.setattr(ApiCaller, "lines", changed)


def batched(rehearse: Rehearse, asks: str, url: str = "", **server_config: Any) -> Rehearsed:
    here = rehearse(asks, url=url, clock=QuickClock(240), batch_latency="20s", **server_config)
    here.ingest(sentences(BLOCKS))
    return here


def errored(line: bytes) -> bytes:
    row = json.loads(line)
    said = {"type": "error", "error": {"type": "api_error", "message": "it broke down"}}
    if "result" in row:
        row["result"] = {"type": "errored", "error": said}
    else:
        row["response"] = {"status_code": 500, "body": said}
    return json.dumps(row).encode()


def expired(line: bytes) -> bytes:
    row = json.loads(line)
    if "result" in row:
        row["result"] = {"type": "expired"}
    else:
        row |= {"response": None, "error": {"code": "batch_expired", "message": "too late"}}
    return json.dumps(row).encode()


@pytest.mark.parametrize("asks", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("other", [errored, expired])
def test_an_answer_counts_also_after_another_row_of_its_call(
    rehearse: Rehearse,
    ledger_url: str,
    monkeypatch: pytest.MonkeyPatch,
    asks: str,
    other: Callable[[bytes], bytes],
) -> None:
    here = batched(rehearse, asks, ledger_url)
    change_lines(monkeypatch, lambda _, no, line: [other(line), line] if no == 3 else [line])

    run = here.start(**ROUTE)
    ended = run.wait(at_most())

    assert (ended.done, ended.presumed_pico, ended.cost_pico) == (BLOCKS, 0, here.bill())
    assert len(here.server.batches()) == 1
    assert_counts_agree(here, run.id)


@pytest.mark.parametrize("other", [errored, expired])
def test_an_answer_counts_although_an_earlier_download_said_otherwise(
    rehearse: Rehearse,
    ledger_url: str,
    monkeypatch: pytest.MonkeyPatch,
    other: Callable[[bytes], bytes],
) -> None:
    def change(download: int, no: int, line: bytes) -> list[bytes]:
        if download > 1 or no not in (3, 6):
            return [line]
        return [other(line)] if no == 3 else []

    here = batched(rehearse, ANTHROPIC, ledger_url)
    change_lines(monkeypatch, change)

    run = here.start(**ROUTE)
    ended = run.wait(at_most())

    assert (ended.done, ended.presumed_pico, ended.cost_pico) == (BLOCKS, 0, here.bill())
    assert_counts_agree(here, run.id)


def test_a_file_that_does_not_hold_all_answers_yet_is_read_again(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = batched(rehearse, OPENAI)
    whole = ApiCaller.lines
    downloads = [0]

    async def short(*about: Any) -> AsyncGenerator[bytes]:
        downloads[0] += 1
        no = 0
        async for line in whole(*about):
            no += 1
            if downloads[0] > 1 or no <= 10:
                yield line

    monkeypatch.setattr(ApiCaller, "lines", short)

    ended = here.start(**ROUTE).wait(at_most())

    assert (ended.done, ended.presumed_pico, ended.cost_pico) == (BLOCKS, 0, here.bill())
    assert len(here.server.batches()) == 1


@pytest.mark.parametrize("end", [BatchEnd.EXPIRED, BatchEnd.CANCELLED])
def test_answers_of_a_batch_that_did_not_end_well_are_waited_for_too(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, end: BatchEnd
) -> None:
    here = batched(rehearse, OPENAI)
    poll, looks = OpenAIBatches.poll, [0]

    async def without_files(self: OpenAIBatches, *about: Any) -> BatchStatus:
        found = await poll(self, *about)
        looks[0] += found.end is not None
        results = found.results if looks[0] > 1 else ()
        if found.end is None:
            return found
        return BatchStatus(end=end, answers=found.answers, results=results)

    monkeypatch.setattr(OpenAIBatches, "poll", without_files)

    ended = here.start(**ROUTE).wait(at_most())

    assert (ended.done, ended.presumed_pico, ended.cost_pico) == (BLOCKS, 0, here.bill())
    assert len(here.server.batches()) == 1


def test_a_batch_of_others_that_was_taken_for_ours_is_held_until_the_right_one_is_named(
    rehearse: Rehearse, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = QuickClock(240)
    here = rehearse(OPENAI, clock=clock, batch_latency="20s")
    here.ingest(sentences(BLOCKS))
    other = rehearse(OPENAI, url=str(tmp_path / "other.db"), server=here.server, clock=clock)
    other.ingest(sentences(BLOCKS, mark=1))
    other.start(**ROUTE).wait(at_most())
    foreign = other.engine.batch(1).ref

    async def blind(*_: Any) -> BatchMatch:
        return BatchMatch(ref=foreign)

    create = OpenAIBatches.create
    made: list[str] = []

    async def lost(self: OpenAIBatches, *about: Any) -> str:
        made.append(await create(self, *about))
        raise ProviderError("nobody knows", remedy=Remedy.LOST)

    monkeypatch.setattr(OpenAIBatches, "create", lost)
    monkeypatch.setattr(OpenAIBatches, "find", blind)
    run = here.start(**ROUTE)
    rest = until_rest(run, at_most())

    assert [hold.kind for hold in rest.holds] == [HoldKind.UNKNOWN_SUBMIT]
    assert "none of its" in rest.holds[0].detail
    here.engine.adopt_batch(1, made[0])
    ended = run.wait(at_most())

    assert (ended.done, ended.presumed_pico) == (BLOCKS, 0)
    assert len(here.server.batches()) == 2  # theirs and ours


def test_a_batch_that_is_there_is_not_made_again_because_somebody_says_that_it_is_not(
    rehearse: Rehearse,
) -> None:
    here = batched(rehearse, OPENAI)
    run = here.start(**ROUTE)
    stop_when_out(here, run)

    with pytest.raises(IllegalMove, match="paid twice; `quire batches cancel 1`"):
        here.engine.batch_absent(1)
    with pytest.raises(UsageError, match="empty"):
        here.engine.adopt_batch(1, " ")

    ended = run.wait(at_most())
    assert (ended.done, ended.cost_pico, len(here.server.batches())) == (BLOCKS, here.bill(), 1)


def test_calls_that_go_again_go_together(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread = Random(1)  # each call waits for a while of its own
    monkeypatch.setattr(ByClock, "jitter", lambda _: spread.random())
    here = rehearse(OPENAI, clock=QuickClock(8), batch_latency="2s")
    here.ingest(sentences(200))
    change_lines(
        monkeypatch,
        lambda download, no, line: [errored(line) if download == 1 and no > 1 else line],
    )

    ended = here.start(route="batch", min_batch_size=20, pack_size=1).wait(at_most())

    rows = [batch["rows"] for batch in here.server.batches()]
    assert ended.done == 200
    assert min(rows) >= 20
    assert len(rows) <= 4


def test_whoever_waits_for_rest_waits_for_batches_that_nobody_needs_any_more(
    rehearse: Rehearse,
) -> None:
    here = rehearse(OPENAI, clock=QuickClock(240), batch_latency="2h")
    here.ingest(sentences(BLOCKS))
    run = here.start(**ROUTE, deadline="5m")

    assert run.wait(at_most()).done == BLOCKS  # directly
    assert here.engine.batch(1).state != BatchState.COLLECTED
    assert not here.engine.queries.is_idle()
    here.server.advance(7200)
    here.engine.work(here.engine.queries.is_idle)

    assert here.engine.batch(1).state == BatchState.COLLECTED
    assert here.engine.progress(run.id).cost_pico == here.bill()
