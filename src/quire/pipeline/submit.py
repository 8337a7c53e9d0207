"""Submit: a draft goes to the provider once; each step is written down before the next is taken."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.accounts import CredentialId
from quire.domain.batches import Batch, Drafted
from quire.domain.ids import AttemptId, BatchId
from quire.domain.requests import Call
from quire.ledger.ledger import Transaction
from quire.pipeline.claim import call_of, drop_unsendable, promised_texts
from quire.pipeline.contexts import LaneContext
from quire.pipeline.drop import drop
from quire.pipeline.record import let_go_again, lose_for_good, refuse_unsent
from quire.plan.batching import wait_after

CHUNK = 1000
HISTORY = 10_000  # events of a run that are looked through
LOOK_AGAIN = timedelta(seconds=30)  # between two looks for a batch that may have been made


class Part(NamedTuple):
    """Some calls of a batch, in order."""

    calls: list[Call]
    last: AttemptId  # of all that were looked at; 0 where nothing was left


def begin(
    tx: Transaction, batch: BatchId, credential: CredentialId | None, nonce: str, now: datetime
) -> Batch | None:
    """Write down the intent, under a new name; None where another create is not settled yet."""
    if credential is not None and tx.batches.unacknowledged(credential):
        return None
    if not tx.batches.move("submit", batch):
        return None
    tx.batches.submit(batch, nonce, credential, now)
    return tx.batches.get(batch)


def is_ours(tx: Transaction, batch: Batch) -> bool:
    """Whether nobody else took over the submission that this was."""
    found = tx.batches.get(batch.id)
    return found is not None and found.nonce == batch.nonce and found.state == "submitting"


def next_part(
    tx: Transaction, context: LaneContext, batch: BatchId, after: AttemptId, now: datetime
) -> Part:
    """Render the next calls of a batch; those whose tasks moved on stay behind."""
    drafted = tx.batches.drafted(batch, after, CHUNK)
    if not drafted:
        return Part([], AttemptId(0))
    requests = [each.request for each in drafted]
    most = context.policy.max_calls
    waiting = tx.requests.sendable([each.id for each in requests], most)
    whole = [each for each in requests if waiting.get(each.id) == each.tasks and each.lost < most]
    texts = promised_texts(tx, context, whole) if whole else {}
    _leave_behind(tx, context, [each for each in drafted if each.request.id not in texts], now)
    calls = [
        call_of(
            context, each.request, each.attempt_id, texts[each.request.id], caching=context.caching
        )
        for each in drafted
        if each.request.id in texts
    ]
    return Part(calls, drafted[-1].attempt_id)


def _leave_behind(
    tx: Transaction, context: LaneContext, drafted: Sequence[Drafted], now: datetime
) -> None:
    """Calls that do not go: their tasks moved on, or they were lost too often already."""
    if drafted:
        rows = tx.attempts.by_id([each.attempt_id for each in drafted])
        gone = refuse_unsent(tx, rows, "what it was about moved on before it was sent", now)
        gone_requests = {row.request_id for row in gone}
        drop_unsendable(tx, context, [each[1] for each in drafted if each[1].id in gone_requests])


def cut_off(tx: Transaction, batch: BatchId, after: AttemptId, now: datetime) -> None:
    """Queue again what did not fit."""
    while drafted := tx.batches.drafted(batch, after, CHUNK):
        rows = tx.attempts.by_id([each.attempt_id for each in drafted])
        let_go_again(tx, rows, "did not fit into the batch", now)


def confirm(tx: Transaction, batch: Batch, ref: str, next_at: datetime, now: datetime) -> bool:
    """The provider has it; false where somebody else went on from here in the meantime."""
    found = tx.batches.get(batch.id)
    if found is None or found.nonce != batch.nonce or not tx.batches.move("confirm", batch.id):
        return False
    tx.batches.name(batch.id, ref, next_at, now)
    tx.events.add(batch.run_id, "batch_submitted", f"batch {batch.id}: {batch.calls} calls", now)
    return True


def note_twice(tx: Transaction, batch: Batch, refs: Sequence[str], now: datetime) -> None:
    """The provider has it more than once: the others are cancelled, at a cost nobody knows."""
    for ref in refs:
        told = f"batch {batch.id} was made a second time, as {ref}; that one is cancelled"
        tx.events.add(batch.run_id, "batch_made_twice", told, now)


def may_be_twice(tx: Transaction, batch: Batch) -> bool:
    """Whether it was once taken for absent, and nobody has found since that it was not.

    Every other name that it lost was refused by the provider, or never got there.
    """
    if len(tx.batches.nonces(batch.id)) == 1:  # nearly always: it was submitted once
        return False
    about = [
        each.kind
        for each in tx.events.of_run(batch.run_id, HISTORY)
        if each.detail.startswith(f"batch {batch.id} was ")
    ]
    return "batch_absent" in about and "batch_made_twice" not in about


def refuse(
    tx: Transaction, batch: Batch, problem: str, now: datetime, told: float | None = None
) -> bool:
    """The provider does not have it: it is a draft again, and waits a while."""
    found = tx.batches.get(batch.id)
    if found is None or found.nonce != batch.nonce or not tx.batches.move("refuse", batch.id):
        return False
    wait = timedelta(seconds=wait_after(found.failures, told))
    tx.batches.delay(batch.id, now + wait, problem, failed=True)
    _forget_if_over(tx, found, now)
    return True


def lose(tx: Transaction, batch: Batch, problem: str, now: datetime) -> bool:
    """Nobody knows whether the provider has it: nothing is sent until that is known."""
    found = tx.batches.get(batch.id)
    if found is None or found.nonce != batch.nonce or not tx.batches.move("lose", batch.id):
        return False
    tx.batches.delay(batch.id, now, problem, failed=False)
    tx.events.add(batch.run_id, "batch_unknown", f"batch {batch.id}: {problem}", now)
    return True


def recover(tx: Transaction, batch: Batch, now: datetime) -> None:
    """Whoever submitted it is gone: before the create nothing was sent, after it perhaps."""
    gone = "the worker that submitted it is gone"
    if batch.creating_at is None:
        if tx.batches.move("refuse", batch.id):
            tx.batches.delay(batch.id, now, gone, failed=False)
    else:
        lose(tx, batch, gone, now)


def absent(tx: Transaction, batch: Batch, now: datetime) -> bool:
    """It is certain that the provider does not have it: it is a draft again."""
    found = tx.batches.get(batch.id)
    if found is None or found.nonce != batch.nonce or not tx.batches.move("absent", batch.id):
        return False
    tx.batches.delay(batch.id, now, "", failed=False)
    tx.events.add(batch.run_id, "batch_absent", f"batch {batch.id} was never made", now)
    _forget_if_over(tx, batch, now)
    return True


def _forget_if_over(tx: Transaction, draft: Batch, now: datetime) -> None:
    """A draft of a run that has ended is nobody's: its calls are not sent any more."""
    run = tx.runs.get(draft.run_id)
    if run is None or run.state == "running":
        return
    while rows := tx.batches.open_of(draft.id, CHUNK):
        gone = refuse_unsent(tx, rows, "the run ended before it was sent", now)
        drop(tx, [row.request_id for row in gone], ["out"])
    tx.batches.move("abandon", draft.id, ["draft"])


def abandon(tx: Transaction, batch: Batch, now: datetime) -> bool:
    """A person says that the provider has it no more: what it owes is presumed, and goes again."""
    why = "the provider has the batch no more"
    while rows := tx.batches.open_of(batch.id, CHUNK):
        lose_for_good(tx, rows, why, now)
    if not tx.batches.move("abandon", batch.id, ["open", "ended"]):
        return False
    tx.events.add(batch.run_id, "batch_abandoned", f"batch {batch.id}: {why}", now)
    return True


def not_before(batch: Batch, lease: timedelta, timeout: float, lag: float) -> datetime:
    """From when on a batch that no listing shows was surely never made."""
    since = batch.creating_at or batch.created_at
    return since + lease + timedelta(seconds=timeout + lag)
