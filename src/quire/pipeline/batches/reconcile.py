"""Reconcile: whether a batch in doubt was made is found out before anything of it goes again.

Who dies, or hears nothing, between `creating_at` and the provider's answer may have made a batch:
it is `unknown`, and nothing of it is sent until somebody has looked. To reconcile is to look for
its nonce at the provider (`dispatch/poller.py` asks, `apply_match` carries out what it means) until
it is found and adopted, or until it is certain that it was never made: later than anybody who still
held the lease could have created it, and later than the provider's lists may lag
(`absence_certain_at`). Nothing less will do: a batch that is sent again while it exists is paid
twice, and one that is waited for in vain stalls its run.

A batch taken for absent may yet show: it is looked for once more, and a duplicate is cancelled and
noted. Where no list can tell, or what was found is somebody else's, the run is held for a person.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from quire.domain.batches import Batch, BatchMatch
from quire.domain.reasons import BatchTrouble, EventKind, HoldCause, HoldKind, ResumeCause
from quire.domain.states import BatchMove, BatchState
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.notifications import lift_holds
from quire.pipeline.batches.submit import (
    CHUNK,
    abandon_if_run_ended,
    confirm_created,
    fenced_move,
)
from quire.pipeline.calls.record import hold_run, write_off_attempts
from quire.planning.batch_schedule import backoff_seconds

RECONCILE_INTERVAL = timedelta(seconds=30)  # between two looks for a batch that may have been made
FOREIGN_DELAY = timedelta(hours=1)  # until somebody may have named the right batch


def mark_unknown(tx: Transaction, batch: Batch, problem: str, now: datetime) -> bool:
    """Nobody knows whether the provider has it: nothing is sent until that is known."""
    if fenced_move(tx, batch, BatchMove.LOSE) is None:
        return False
    tx.batches.delay_batch(batch.id, now, BatchTrouble.SUBMIT_UNKNOWN, problem)
    tx.events.add_event(batch.run_id, EventKind.BATCH_UNKNOWN, now, batch=batch.id, problem=problem)
    return True


def recover_submission(tx: Transaction, batch: Batch, now: datetime) -> None:
    """Whoever submitted it is gone: before the create nothing was sent, after it perhaps."""
    gone = "the worker that submitted it is gone"
    if batch.creating_at is None:
        if tx.batches.move_batch(BatchMove.RETURN_TO_DRAFT, batch.id):
            tx.batches.delay_batch(batch.id, now, BatchTrouble.WORKER_GONE, gone)
    else:
        mark_unknown(tx, batch, gone, now)


def absence_certain_at(batch: Batch, lease: timedelta, timeout: float, lag: float) -> datetime:
    """From when on a batch that no listing shows was surely never made."""
    since = batch.creating_at or batch.created_at
    return since + lease + timedelta(seconds=timeout + lag)


def mark_absent(tx: Transaction, batch: Batch, now: datetime) -> bool:
    """It is certain that the provider does not have it: it is a draft again."""
    if fenced_move(tx, batch, BatchMove.ABSENT) is None:
        return False
    tx.batches.delay_batch(batch.id, now, BatchTrouble.NONE)
    tx.batches.mark_batch_absent(batch.id, now)
    tx.events.add_event(batch.run_id, EventKind.BATCH_ABSENT, now, batch=batch.id)
    abandon_if_run_ended(tx, batch, now)
    return True


def apply_match(
    tx: Transaction,
    batch: Batch,
    match: BatchMatch,
    gone: bool,
    longest_wait: timedelta,
    now: datetime,
) -> Sequence[str]:
    """Carry out what a look at the provider's lists means; returns what is to be cancelled.

    What an earlier submission made is adopted, once the last one is known to be nowhere (`gone`):
    its rows find their calls by the names that they were sent under.
    """
    made = (match.ref, *match.earlier) if match.ref else match.earlier
    spare: Sequence[str] = ()
    if match.ref or (gone and made):
        if confirm_created(tx, batch, made[0], now, now):
            kinds = [HoldKind.UNKNOWN_SUBMIT]
            lift_holds(tx, batch.run_id, kinds, ResumeCause.BATCH_SETTLED, now)
            spare = made[1:]
            note_duplicates(tx, batch, spare, now)
    elif gone:
        mark_absent(tx, batch, now)
    else:
        _schedule_lookup(tx, batch, match, longest_wait, now)
    return spare


def _schedule_lookup(
    tx: Transaction, batch: Batch, match: BatchMatch, longest_wait: timedelta, now: datetime
) -> None:
    """It is not certain yet whether a batch was made: it stays unknown."""
    wait, waits = RECONCILE_INTERVAL, "not found yet; it may still show"
    trouble = BatchTrouble.NOT_FOUND_YET
    if match.earlier:
        trouble = BatchTrouble.EARLIER_FOUND
        waits = (
            f"an earlier submission was made, as {match.earlier[0]}; the last one may still show"
        )
    if match.unsure:  # asked ever more rarely: it may stay so for hours
        trouble, waits = BatchTrouble.LISTING_UNSURE, match.unsure
        wait = min(timedelta(seconds=backoff_seconds(batch.failures, None)), longest_wait)
    tx.batches.delay_batch(batch.id, now + wait, trouble, waits, failed=bool(match.unsure))


def may_be_duplicate(tx: Transaction, batch: Batch) -> bool:
    """Whether it was once taken for absent, and nobody has found since that it was not.

    Every other name that it lost was refused by the provider, or never got there.
    """
    found = tx.batches.get_batch(batch.id)
    if found is None or found.absent_at is None or found.duplicate_found_at is not None:
        return False
    return len(tx.batches.nonces_of_batch(batch.id)) > 1


def note_duplicates(tx: Transaction, batch: Batch, refs: Sequence[str], now: datetime) -> None:
    """The provider has it more than once: the others are cancelled, at a cost nobody knows."""
    if refs:
        tx.batches.mark_duplicate_found(batch.id, now)
    for ref in refs:
        tx.events.add_event(batch.run_id, EventKind.BATCH_MADE_TWICE, now, batch=batch.id, ref=ref)


def hold_unknown_batch(tx: Transaction, batch: Batch, now: datetime) -> None:
    """Nobody but a person can find out whether a batch was made."""
    hold_run(tx, batch.run_id, HoldCause.BATCH_UNKNOWN, now, batch=batch.id)


def hold_foreign_batch(tx: Transaction, batch: Batch, rows: int, now: datetime) -> None:
    """What was taken for a batch is somebody else's: nothing is asked again before all is known."""
    hold_run(tx, batch.run_id, HoldCause.BATCH_FOREIGN, now, batch=batch.id, rows=rows)
    tx.batches.delay_batch(
        batch.id, now + FOREIGN_DELAY, BatchTrouble.NEEDS_PERSON, "a person must look"
    )


def abandon_batch(tx: Transaction, batch: Batch, now: datetime) -> bool:
    """A person says that the provider has it no more: what it owes is presumed, and goes again."""
    why = "the provider has the batch no more"
    while rows := tx.batches.open_attempts_of_batch(batch.id, CHUNK):
        write_off_attempts(tx, rows, why, now)
    if not tx.batches.move_batch(BatchMove.ABANDON, batch.id, [BatchState.OPEN, BatchState.ENDED]):
        return False
    tx.events.add_event(batch.run_id, EventKind.BATCH_ABANDONED, now, batch=batch.id, problem=why)
    return True
