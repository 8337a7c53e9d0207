"""Submit: a draft goes to the provider once; each step is fenced by its nonce.

A batch is thousands of calls that are paid for once it is made, and creating one is a request whose
answer can get lost. So: the intent is written down under a fresh nonce, the file is uploaded,
`creating_at` is written down, and only then is the batch created, with the nonce in every row. Who
dies before `creating_at` has sent nothing: the batch is a draft again. Who dies, or hears nothing,
after it may have made one: that is for `pipeline/batches/reconcile.py`.

Meanwhile a slow worker may still be at it. Fencing by the nonce keeps it from harm: every step
moves only the submission that the caller saw (`fenced_move`), and whoever finds that others went on
cancels what it made. A key with an unsettled create submits nothing else, because some providers
can tell batches apart only by when they were made.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.accounts import Account, CredentialId
from quire.domain.batches import Batch, DraftedCall
from quire.domain.ids import AttemptId, BatchId
from quire.domain.reasons import BatchTrouble, EventKind
from quire.domain.requests import Call
from quire.domain.states import BatchMove, BatchState, RequestState, RunState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.claim import call_of, drop_unsendable
from quire.pipeline.calls.record import (
    drop_requests,
    refuse_uncharged,
    requeue_uncharged,
)
from quire.pipeline.calls.stored_texts import verified_texts
from quire.pipeline.contexts import LaneContext
from quire.planning.batch_schedule import backoff_seconds

CHUNK = 1000


class BatchPart(NamedTuple):
    """Some calls of a batch, in order."""

    calls: list[Call]
    last: AttemptId  # of all that were looked at; 0 where nothing was left


def record_intent(
    tx: Transaction, batch: BatchId, credential: CredentialId | None, nonce: str, now: datetime
) -> Batch | None:
    """Write down the intent, under a new nonce.

    None where it is no draft any more, or where another create of its key is not settled yet.
    """
    if credential is not None and tx.batches.count_unacknowledged_batches(credential):
        return None
    if not tx.batches.move_batch(BatchMove.SUBMIT, batch):
        return None
    tx.batches.note_submission(batch, nonce, credential, now)
    return tx.batches.get_batch(batch)


def is_current_submission(tx: Transaction, batch: Batch) -> bool:
    """Whether nobody else took over the submission that this was."""
    found = tx.batches.get_batch(batch.id)
    return found is not None and found.nonce == batch.nonce and found.state == BatchState.SUBMITTING


def next_part(
    tx: Transaction,
    context: LaneContext,
    account: Account,
    batch: BatchId,
    after: AttemptId,
    now: datetime,
) -> BatchPart:
    """Render the next calls of a batch; those whose tasks moved on stay behind."""
    drafted = tx.batches.drafted_calls(batch, after, CHUNK)
    if not drafted:
        return BatchPart([], AttemptId(0))
    requests = [call.request for call in drafted]
    most = context.policy.max_calls
    waiting = tx.requests.count_sendable_members([request.id for request in requests], most)
    whole = [
        request
        for request in requests
        if waiting.get(request.id) == request.tasks and request.lost < most
    ]
    texts = verified_texts(tx, context, whole) if whole else {}
    _refuse_outdated(tx, context, [call for call in drafted if call.request.id not in texts], now)
    calls = [
        call_of(
            context,
            account,
            call.request,
            call.attempt_id,
            texts[call.request.id],
            caching=context.caching,
        )
        for call in drafted
        if call.request.id in texts
    ]
    return BatchPart(calls, drafted[-1].attempt_id)


def _refuse_outdated(
    tx: Transaction, context: LaneContext, drafted: Sequence[DraftedCall], now: datetime
) -> None:
    """Calls that do not go: their tasks moved on, or they were lost too often already."""
    if drafted:
        rows = tx.attempts.attempts_by_id([call.attempt_id for call in drafted])
        gone = refuse_uncharged(tx, rows, "what it was about moved on before it was sent", now)
        left = {row.request_id for row in gone}
        drop_unsendable(tx, context, [call.request for call in drafted if call.request.id in left])


def requeue_rest(tx: Transaction, batch: BatchId, after: AttemptId, now: datetime) -> None:
    """Queue again what did not fit."""
    while drafted := tx.batches.drafted_calls(batch, after, CHUNK):
        rows = tx.attempts.attempts_by_id([call.attempt_id for call in drafted])
        requeue_uncharged(tx, rows, "did not fit into the batch", now)


def fenced_move(tx: Transaction, batch: Batch, move: BatchMove) -> Batch | None:
    """Move on the very submission that the caller has seen; None where another took its place."""
    found = tx.batches.get_batch(batch.id)
    ours = found is not None and found.nonce == batch.nonce
    return found if ours and tx.batches.move_batch(move, batch.id) else None


def confirm_created(
    tx: Transaction, batch: Batch, ref: str, next_at: datetime, now: datetime
) -> bool:
    """The provider has it; false where somebody else went on from here in the meantime."""
    if fenced_move(tx, batch, BatchMove.CONFIRM) is None:
        return False
    tx.batches.set_provider_ref(batch.id, ref, next_at, now)
    tx.events.add_event(
        batch.run_id, EventKind.BATCH_SUBMITTED, now, batch=batch.id, calls=batch.calls
    )
    return True


def return_to_draft(
    tx: Transaction, batch: Batch, problem: str, now: datetime, retry_after: float | None = None
) -> bool:
    """The provider does not have it: it is a draft again, and waits a while."""
    if (found := fenced_move(tx, batch, BatchMove.RETURN_TO_DRAFT)) is None:
        return False
    wait = timedelta(seconds=backoff_seconds(found.failures, retry_after))
    tx.batches.delay_batch(batch.id, now + wait, BatchTrouble.REFUSED, problem, failed=True)
    abandon_if_run_ended(tx, found, now)
    return True


def take_back(tx: Transaction, batch: Batch, now: datetime) -> None:
    """It was not sent, and is not to go now: it is a draft again, until its lane is open."""
    if (found := fenced_move(tx, batch, BatchMove.RETURN_TO_DRAFT)) is not None:
        tx.batches.delay_batch(batch.id, now, BatchTrouble.NONE)
        abandon_if_run_ended(tx, found, now)


def abandon_if_run_ended(tx: Transaction, draft: Batch, now: datetime) -> None:
    """A draft of a run that has ended is nobody's: its calls are not sent any more."""
    run = tx.runs.get_run(draft.run_id)
    if run is None or run.state == RunState.RUNNING:
        return
    while rows := tx.batches.open_attempts_of_batch(draft.id, CHUNK):
        gone = refuse_uncharged(tx, rows, "the run ended before it was sent", now)
        drop_requests(tx, [row.request_id for row in gone], [RequestState.OUT])
    tx.batches.move_batch(BatchMove.ABANDON, draft.id, [BatchState.DRAFT])
