"""Lines that named no call are read again by a newer Quire: what is in them is found, and once."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from quire.domain.ids import AttemptId, BatchId
from quire.domain.reasons import HoldKind
from quire.domain.requests import Answer
from quire.pipeline.batches.collect import KeptLine, collect_kept_lines
from quire.providers.openai_batches import OpenAIBatches
from tests.ledger.factories import NOW, reply
from tests.pipeline.test_money import assert_counts_agree
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.garbled_lines import BLOCKS, garble_lines, run_until_held, without_name
from tests.rehearsed.rehearsed import OPENAI, QuickClock, Rehearsed
from tests.time_limits import at_most
from tests.world import sentences, until_rest, without_costs


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


def newer(line: bytes) -> bytes:
    """What a newer reader of lines makes of one that `nameless` left."""
    return re.sub(rb'"customId":"(\w+)_(\d+)"', rb'"custom_id":"\1-\2"', line)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[bytes], bytes]], None]:
    """Let a newer reader make something of lines first."""
    known = OpenAIBatches.row

    def begin(mend: Callable[[bytes], bytes]) -> None:
        monkeypatch.setattr(
            OpenAIBatches, "row", lambda self, line, account: known(self, mend(line), account)
        )

    return begin


def test_a_newer_quire_finds_the_calls_of_lines_that_named_none(
    batched: Rehearsed, garbled: Callable[..., None], reading: Callable[..., None]
) -> None:
    garbled(without_name)
    run = run_until_held(batched)
    assert until_rest(run, at_most()).done == BLOCKS - 6  # the same reader again finds nothing
    reading(newer)

    after = run.wait(at_most())

    assert (after.state, after.done, after.holds) == ("finished", BLOCKS, ())
    assert (after.cost_pico, after.presumed_pico) == (batched.bill(), 0)
    assert len(batched.server.batches()) == 1
    view = batched.engine.batch(1)
    assert (view.unread, view.kept, view.missing, view.answered) == (0, 0, 0, 10)
    assert_counts_agree(batched, run.id)


def test_two_who_find_the_same_answer_store_and_count_it_once(
    batched: Rehearsed, garbled: Callable[..., None], reading: Callable[..., None]
) -> None:
    garbled(without_name)
    run, ledger = run_until_held(batched), batched.engine.ledger
    lines = batched.engine.batch_lines(1)
    reading(newer)
    before = run.wait(at_most())
    numbers = [int(re.findall(rb'customId":"\w+_(\d+)', line)[0]) for line in lines]

    with ledger.transaction() as tx:  # as a second worker would that was a moment slower
        batch = tx.batches.get_batch(BatchId(1))
        assert batch is not None
        head = (run.id, batch.stage_id, b"{}", reply(), 2, 1_000_000)
        found = [KeptLine(*item) for item in zip(lines, _answers(numbers, head), strict=True)]
        assert collect_kept_lines(tx, batched.engine.context.contexts, batch, found, NOW)

    view = batched.engine.batch(1)
    assert (run.progress().cost_pico, view.duplicates, view.missing) == (before.cost_pico, 0, 0)


def _answers(attempts: list[int], head: Any) -> list[Answer]:
    return [Answer(AttemptId(attempt), *head) for attempt in attempts]


def test_a_newer_quire_corrects_what_was_presumed_of_calls_that_were_asked_again(
    batched: Rehearsed, garbled: Callable[..., None], reading: Callable[..., None]
) -> None:
    garbled(without_name)
    run = run_until_held(batched)
    run.retry()
    again = run.wait(at_most())
    assert (again.done, again.presumed_pico > 0) == (BLOCKS, True)
    rows = without_costs(run.rows())
    reading(newer)

    batched.engine.work(batched.engine.queries.is_idle)

    after = run.progress()
    assert (after.done, after.cost_pico, after.presumed_pico) == (BLOCKS, batched.bill(), 0)
    assert without_costs(run.rows()) == rows
    assert_counts_agree(batched, run.id)


def test_a_newer_quire_counts_no_copy_of_an_answer_twice(
    batched: Rehearsed, garbled: Callable[..., None], reading: Callable[..., None]
) -> None:
    garbled(lambda line: [line, *without_name(line)])
    run = batched.start(route="batch", min_batch_size=2, pack_size=3)
    before = run.wait(at_most())
    reading(newer)

    batched.engine.work(batched.engine.queries.is_idle)

    after, view = run.progress(), batched.engine.batch(1)
    assert (
        (after.cost_pico, after.calls) == (before.cost_pico, before.calls) == (batched.bill(), 10)
    )
    assert (view.unread, view.kept, view.duplicates) == (0, 0, 2)


def fails(line: bytes) -> bytes:
    """A reader with a bug."""
    raise KeyError(line)


@pytest.mark.parametrize(
    ("mend", "left"),
    [
        (fails, 2),
        (lambda line: newer(line).replace(b'"custom_id":"q', b'"custom_id":"r'), 2),  # a stranger's
        (lambda line: re.sub(rb'(custom_id":"\w+-)\d+', rb"\g<1>999", newer(line)), 2),  # nobody's
        (lambda line: newer(line).replace(b'"output"', b'"outcome"'), 2),  # without an answer
        (lambda line: newer(line) if b'_1"' in line else line, 1),
    ],
)
def test_what_a_newer_quire_cannot_place_stays_with_a_person(
    batched: Rehearsed,
    garbled: Callable[..., None],
    reading: Callable[..., None],
    mend: Callable[[bytes], bytes],
    left: int,
) -> None:
    garbled(without_name)
    run = run_until_held(batched)
    reading(mend)

    after = until_rest(run, at_most())

    view = batched.engine.batch(1)
    assert [hold.kind for hold in after.holds] == [HoldKind.UNDECODABLE]
    assert (view.kept, view.missing, after.done) == (left, left, BLOCKS - 3 * left)
    assert after.cost_pico < batched.bill() <= after.cost_pico + after.presumed_pico
    assert len(batched.server.batches()) == 1
