"""Lines of a batch's results that nobody can read may be paid for: they are kept, and told of."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from quire.dispatch.response_decoder import BatchLine, decode_response, response_body
from quire.domain.accounts import Account
from quire.domain.batches import BatchRow
from quire.domain.errors import Undecodable
from quire.domain.ids import AttemptId, BatchId
from quire.domain.reasons import HoldKind
from quire.providers import batch_requests
from quire.providers.anthropic_batches import AnthropicBatches
from quire.providers.gemini import GeminiBatches
from quire.providers.http import HttpProvider
from quire.providers.openai import OpenAI
from quire.providers.openai_batches import OpenAIBatches
from quire.providers.transport import Transport
from tests.cli.conftest import Quire
from tests.pipeline.test_money import assert_counts_agree
from tests.rehearsed.conftest import Rehearse, Serve
from tests.rehearsed.garbled_lines import BLOCKS, garble_lines, half, run_until_held, without_name
from tests.rehearsed.rehearsed import ANTHROPIC, GEMINI, OPENAI, QuickClock, Rehearsed
from tests.rehearsed.test_undecodable import WORD, mended, speaking
from tests.time_limits import at_most
from tests.world import sentences, until_rest

BATCHES = {OPENAI: OpenAIBatches, ANTHROPIC: AnthropicBatches, GEMINI: GeminiBatches}


@pytest.fixture
def garbled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the first lines of a download be others."""
    return partial(garble_lines, monkeypatch)


@pytest.fixture
def batched(rehearse: Rehearse, ledger_url: str) -> Rehearsed:
    """An engine and a server whose hours are minutes, with blocks to ask about."""
    here = rehearse(OPENAI, url=ledger_url, clock=QuickClock(240), batch_latency="20s")
    here.ingest(sentences(BLOCKS))
    return here


def check_paid_once(here: Rehearsed, run: Any) -> None:
    """What was paid is known or presumed; and after a retry everything is answered."""
    spent = run.progress()
    assert spent.cost_pico < here.bill() <= spent.cost_pico + spent.presumed_pico
    assert len(here.server.batches()) == 1  # nothing was asked again
    run.retry()
    assert run.wait(at_most()).done == BLOCKS
    assert_counts_agree(here, run.id)


def test_a_line_that_still_names_its_call_is_kept_as_its_response(
    batched: Rehearsed, garbled: Callable[..., None]
) -> None:
    garbled(half)

    run = run_until_held(batched)

    kept = [attempt for attempt in batched.attempts(run.id) if attempt.error]
    assert len(kept) == 2
    assert all(attempt_view.raw and '"custom_id"' in attempt_view.raw for attempt_view in kept)
    view = batched.engine.batch(1)
    assert (view.unread, view.kept, view.missing, view.answered) == (2, 0, 0, 10)
    check_paid_once(batched, run)


def test_a_line_that_names_no_call_is_kept_with_its_batch(
    batched: Rehearsed, garbled: Callable[..., None]
) -> None:
    garbled(without_name)

    run = run_until_held(batched)

    view = batched.engine.batch(1)
    assert (view.unread, view.kept, view.missing) == (2, 2, 2)
    lines = [json.loads(line) for line in batched.engine.batch_lines(1)]
    assert all(line["response"]["body"] for line in lines)
    assert "quire batches show 1 --lines" in run.progress().holds[0].detail
    check_paid_once(batched, run)


def test_a_row_that_can_be_read_counts_whichever_came_first(
    batched: Rehearsed, garbled: Callable[..., None]
) -> None:
    garbled(lambda line: [*half(line), line, *without_name(line)])

    progress = batched.start(route="batch", min_batch_size=2, pack_size=3).wait(at_most())

    assert (progress.state, progress.done, progress.holds) == ("finished", BLOCKS, ())
    assert progress.cost_pico == batched.bill()
    view = batched.engine.batch(1)
    assert (view.unread, view.kept, view.duplicates, view.missing) == (4, 2, 2, 0)


def test_lines_that_are_read_again_are_kept_once(
    batched: Rehearsed, garbled: Callable[..., None]
) -> None:
    ends = (b'-1"', b'-2"')
    garbled(lambda item: without_name(item) if any(end in item for end in ends) else [item], 10**6)
    batched.server.change_faults("batch_truncate@1")

    run = run_until_held(batched)

    assert len(batched.engine.batch_lines(1)) == 2
    fetched = [entry for entry in batched.server.entries() if entry.path.endswith("/content")]
    assert len(fetched) > 1
    check_paid_once(batched, run)


def test_a_purge_takes_lines_along_that_may_be_about_the_document(
    batched: Rehearsed, garbled: Callable[..., None]
) -> None:
    garbled(lambda line: [line, *without_name(line)])
    batched.start(route="batch", min_batch_size=2, pack_size=3).wait(at_most())
    assert len(batched.engine.batch_lines(1)) == 2

    batched.engine.purge(batched.engine.documents()[0].title)

    assert batched.engine.batch_lines(1) == []


def test_the_command_line_says_where_such_lines_are(
    quire: Quire, serve: Serve, garbled: Callable[..., None]
) -> None:
    serve(batch_latency="0.1")
    garbled(without_name)
    route = ("--route", "batch", "--min-batch-size", "2", "--pack-size", "3", "--poll", "0.1")

    told = quire("run", "-s", "metadata", "-m", OPENAI, *route[:-2], code=4)

    assert "quire batches show 1 --lines" in told.stderr
    shown = quire("batches", "show", "1").stdout
    assert "2 missing, 2 unreadable" in shown
    assert "2 kept here: quire batches show 1 --lines" in shown
    lines = quire("batches", "show", "1", "--lines").stdout.splitlines()
    assert [json.loads(line)["customId"][0] for line in lines] == ["q", "q"]
    assert quire.json("batches", "show", "1", "--lines")["lines"] == lines


@pytest.mark.parametrize(("asks", "vendor"), BATCHES.items())
def test_a_newer_quire_reads_a_line_that_was_kept_without_a_second_call(
    rehearse: Rehearse, ledger_url: str, monkeypatch: pytest.MonkeyPatch, asks: str, vendor: Any
) -> None:
    known = vendor.row

    def old(self: Any, line: bytes, account: Account) -> BatchRow:
        row: BatchRow = known(self, line, account)
        return batch_requests.unreadable_row(line) if WORD in line else row

    here = rehearse(asks, url=ledger_url, clock=QuickClock(240), batch_latency="20s")
    here.ingest([f"{WORD.decode()} block.", *sentences(BLOCKS - 1)])
    with monkeypatch.context() as before:
        before.setattr(vendor, "row", old)
        run = here.start(route="batch", min_batch_size=2, pack_size=3)
        held_up = until_rest(run, at_most())
    assert [hold.kind for hold in held_up.holds] == [HoldKind.UNDECODABLE]
    assert (held_up.done, held_up.presumed_pico > 0) == (BLOCKS - 3, True)

    same = here.engine.drive(run.id, at_most())
    after = speaking(here, mended(asks)).engine.drive(run.id, at_most())

    assert same.done == held_up.done  # what could not be read is not read by the same again
    assert (after.state, after.done, after.holds) == ("finished", BLOCKS, ())
    assert (after.cost_pico, after.presumed_pico) == (here.bill(), 0)
    assert len(here.server.batches()) == 1
    assert here.engine.rows(run.id)[0]["first_40_chars"] == "UNHEARD block."
    assert_counts_agree(here, run.id)


def test_a_newer_quire_leaves_lines_that_name_no_call_to_a_person(
    rehearse: Rehearse, ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rehearse(OPENAI, url=ledger_url, clock=QuickClock(240), batch_latency="20s")
    here.ingest([f"{WORD.decode()} block.", *sentences(BLOCKS - 1)])
    with monkeypatch.context() as before:
        unread = lambda self, line, account: batch_requests.unreadable_row(line)  # noqa: E731
        before.setattr(BATCHES[OPENAI], "row", unread)
        run = here.start(route="batch", min_batch_size=2, pack_size=3)
        until_rest(run, at_most())
    with here.engine.ledger.transaction() as tx:
        tx.batches.keep_line(BatchId(1), b"somebody's", here.engine.runtime.now())

    after = speaking(here, mended(OPENAI)).engine.drive(run.id, at_most())

    assert after.done == BLOCKS  # what names its call was read
    assert [hold.kind for hold in after.holds] == [HoldKind.UNDECODABLE]


def test_what_is_no_line_about_this_very_call_stays_as_it_is() -> None:
    about = BatchLine(OpenAIBatches(), AttemptId(7))
    line = b'{"custom_id":"%s","response":{"status_code":%d,"body":{"output":[]}}}'

    assert response_body(about, line % (b"q-7", 200)) == b'{"output":[]}'
    for raw in (
        line % (b"q-8", 200),
        line % (b"q-7", 500),
        line % (b"seven", 200),
        b'{"output":[]}',
        b"\xff[",
    ):
        assert response_body(about, raw) == raw


def test_a_reader_of_lines_that_fails_loses_nothing() -> None:
    class Failing(OpenAIBatches):
        def row(self, line: bytes, account: Account) -> BatchRow:
            raise KeyError("a bug")

    found = decode_response(
        HttpProvider(OpenAI(), Transport()), b"{}", line=BatchLine(Failing(), AttemptId(7))
    )

    assert isinstance(found, Undecodable)
    assert "KeyError" in str(found)
