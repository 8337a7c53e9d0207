"""Outages: a batch of which nothing was answered counts against no block; its calls wait.

A provider that is down breaks every row of a batch alike, and then waiting is all that helps. A
block that breaks its row does so among rows that are answered, or alone. Which of the two it was is
known only when all rows are here, for errors may come before, or apart from, the answers.

Two things could go on for ever. Where nothing has ever come from a model, a person looks. And what
is left of a run may be nothing but blocks that break their rows: after many sendings they count.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.batches import Batch
from quire.domain.errors import ProviderError, Remedy
from quire.domain.reasons import EventKind, Fields, HoldCause
from quire.domain.requests import AttemptRow
from quire.domain.states import RunState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import hold_run
from quire.pipeline.contexts import Contexts
from quire.planning.batch_schedule import backoff_seconds

FEWEST_ROWS = 2  # that broke: one alone may be due to what it carries
MOST_SENDINGS = 30  # of a call, from which on its failures count all the same
BATCHES_TO_HOLD = 5  # in a row of nothing but errors, where nothing ever succeeded
SERVER_FAULTS = (Remedy.RETRY, Remedy.WAIT)


class Outage(NamedTuple):
    """A batch of which nothing was answered."""

    calls: int  # that broke by the server's fault
    sendings: int  # of the call among them that was sent most often
    problem: str  # of one of them


def find_outage(tx: Transaction, batch: Batch, errors: Sequence[ProviderError]) -> Outage | None:
    """What all errors of a batch that are the server's fault come to, with its answers stored."""
    if len(errors) < FEWEST_ROWS or tx.batches.is_batch_answered(batch.id):
        return None
    sendings = tx.batches.most_sendings(batch.id)
    return Outage(len(errors), sendings, str(errors[0]))


def wait_for_provider(
    tx: Transaction, failed: Sequence[tuple[AttemptRow, ProviderError]], now: datetime
) -> list[tuple[AttemptRow, ProviderError]]:
    """Let calls that broke in an outage go again later and later; returns those that count."""
    waiting = [
        row
        for row, why in failed
        if why.remedy in SERVER_FAULTS and why.retry_after is None and row.no < MOST_SENDINGS
    ]
    tx.requests.delay_requests(
        [
            (row.request_id, now + timedelta(seconds=backoff_seconds(row.no, None)))
            for row in waiting
        ]
    )
    spared = {row.id for row in waiting}
    return [(row, why) for row, why in failed if row.id not in spared]


def tell_outage(
    tx: Transaction, contexts: Contexts, batch: Batch, outage: Outage, now: datetime
) -> None:
    """Say that nothing of a batch was answered; where nothing ever was, a person is to look."""
    run = tx.runs.get_run(batch.run_id)
    if run is None or run.state != RunState.RUNNING:  # nothing goes again
        return
    event: Fields = {"batch": batch.id, "calls": outage.calls, "problem": outage.problem}
    tx.events.add_event(batch.run_id, EventKind.BATCH_UNANSWERED, now, **event)
    model = contexts.of_batch(tx, batch).facts.name
    if outage.sendings < BATCHES_TO_HOLD or tx.attempts.has_answered(model):
        return
    first, calls = tx.attempts.first_sending(batch.lane_id)
    minutes = int((now - (first or now)).total_seconds() // 60)
    facts: Fields = {"model": model, "calls": calls, "minutes": minutes, "problem": outage.problem}
    hold_run(tx, batch.run_id, HoldCause.NOTHING_SUCCEEDED, now, **facts)
