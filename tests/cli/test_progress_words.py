"""What is said of batches that are out, on a line and in a log."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from quire.cli.live_progress import NARROW_BAR, bar_width, live_words
from quire.cli.printing import moment
from quire.dispatch.runtime import Runtime
from quire.domain.batches import BatchView
from quire.domain.ids import BatchId, RunId
from quire.domain.runs import Progress
from quire.domain.states import BatchState, RunState
from quire.engine.progress_words import (
    answer_counts,
    next_poll,
    outstanding_batches,
    plain_words,
    provider_counts,
)

NOW = Runtime().now()
BUSY = Progress(
    run_id=RunId(3),
    state=RunState.RUNNING,
    total=1_450,
    expanded=1_450,
    counts={"done": 50, "failed": 3, "packed": 1_397},
    calls=55,
    input_tokens=9_000,
    output_tokens=600,
    cost_pico=31_200_000_000,
    batches=1,
)


def view(
    rows: int = 145, state: BatchState = BatchState.OPEN, counts: Mapping[str, int] | None = None
) -> BatchView:
    """A batch, and what its provider counts."""
    nothing: dict[str, Any] = dict.fromkeys(
        ("tasks", "tokens", "answered", "cost_pico", "duplicates", "strangers", "missing"), 0
    )
    return BatchView(
        id=BatchId(1),
        run_id=RunId(3),
        model="openai/gpt-6-luna",
        state=state,
        end_reason=None,
        ref="batch_1",
        credential="",
        rows=rows,
        counts=counts or {},
        attempts={},
        created_at=NOW,
        submitted_at=NOW,
        next_at=NOW,
        ended_at=None,
        problem="",
        cancelling=False,
        tag="",
        **nothing,
    )


@pytest.mark.parametrize(
    ("counts", "done"),
    [
        ({"total": 145, "completed": 28, "failed": 1}, 29),
        ({"processing": 116, "succeeded": 29, "errored": 0}, 29),
        ({"requestCount": 145, "successfulRequestCount": 29, "pendingRequestCount": 116}, 29),
        ({"total": 145, "completed": 29, "succeeded": 28, "failed": 1}, 29),
        ({"completed": 999}, 145),
        ({}, 0),
    ],
)
def test_every_vendor_counts_in_its_own_words(counts: Mapping[str, int], done: int) -> None:
    assert answer_counts(
        [view(counts=counts), view(7, BatchState.COLLECTED, {"completed": 7})]
    ) == (
        done,
        145,
    )


def test_the_live_line_fits_80_columns_with_all_that_matters() -> None:
    late = replace(BUSY, next_poll_at=Runtime().now() + timedelta(seconds=30.4))
    room = 80 - len("run 3 1,450/1,450") - NARROW_BAR - 3

    words = live_words(late, [view(counts={"completed": 29})], room)

    assert len(words) <= room
    assert words.startswith("3 failed · 1 batch 29/145 · look in ")
    assert words.endswith(" · $0.0312")


def test_the_bar_uses_the_width_that_there_is() -> None:
    widths = [bar_width(columns) for columns in (60, 80, 100, 140, 200, 400)]

    assert widths == [8, 8, 20, 40, 70, 80]


def test_the_live_line_leaves_out_what_is_0_and_tells_more_where_there_is_room() -> None:
    assert live_words(replace(BUSY, batches=0, counts={"done": 50}), (), 50) == (
        "55 calls · 9.6k tokens · $0.0312"
    )
    assert "3 failed · 2 in flight · 1 batch out, 29 of 145 · next look now · 55 calls" in (
        live_words(
            replace(BUSY, in_flight=2, next_poll_at=NOW), [view(counts={"completed": 29})], 120
        )
    )


def test_a_look_that_is_overdue_is_done_now_or_needs_a_worker() -> None:
    since = moment(NOW)[11:16]

    assert str(next_poll(NOW, 1)) == "now"
    assert str(next_poll(NOW, 0)).endswith(f"{since}; needs a worker: quire work")
    assert str(next_poll(NOW - timedelta(days=2), 0)).startswith(
        f"due since {moment(NOW - timedelta(days=2))[:16]};"
    )
    soon = Runtime().now() + timedelta(hours=5)  # NOW may be half an hour ago
    assert next_poll(soon, 0) == ("in 5 h", False)
    assert next_poll(None, 0) is None


def test_a_run_says_what_providers_have_of_it() -> None:
    late = replace(BUSY, next_poll_at=NOW)

    assert outstanding_batches(replace(BUSY, batches=0), 1) == ""
    assert outstanding_batches(late, 1) == "1 batch out, next look now"
    assert outstanding_batches(late, 0, [view(counts={"completed": 29})]).startswith(
        "1 batch out, 29 of 145 calls answered there, due since "
    )


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"total": 145, "completed": 28, "failed": 1}, "145 in all, 28 completed, 1 failed"),
        ({"processing": 116, "succeeded": 29, "errored": 0}, "116 in progress, 29 answered"),
        (
            {"requestCount": 195, "successfulRequestCount": 29, "pendingRequestCount": 166},
            "195 in all, 29 answered, 166 waiting",
        ),
        ({"successfulCount": 4, "incompleteCount": 1}, "4 answered, 1 not done"),
    ],
)
def test_what_vendors_count_is_told_in_plain_words(counts: Mapping[str, int], said: str) -> None:
    assert provider_counts(counts) == said


def test_what_was_written_down_is_told_in_words() -> None:
    assert plain_words("the batch queue_full") == "the provider's queue was full"
    assert plain_words("batch 3 queue_full: wait") == "batch 3: the provider's queue was full: wait"
    assert plain_words("batch 3: 1 calls") == "batch 3: 1 call"
    assert plain_words("batch 3: 1,001 calls, 21 calls") == "batch 3: 1,001 calls, 21 calls"
