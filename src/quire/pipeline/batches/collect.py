"""Collect: a batch's rows are stored as they come; what no row came for is known at its end.

Rows come in any order, twice, without a name, or in a form that nobody can read, and every answered
one is paid. So each is stored as it comes, in groups, and storing is idempotent: who starts again
after a crash stores the same rows and changes nothing. What no row came for is known only at the
end, and is free where nothing ran, else presumed; a line that names no call is kept with the batch,
for a newer reader or a person.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.batches import Batch, BatchEnd, BatchStatus
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId
from quire.domain.reasons import (
    BatchTrouble,
    EventKind,
    Fields,
    HoldCause,
    TaskError,
    TaskErrorKind,
)
from quire.domain.requests import Answer, AttemptRow, CallFailure
from quire.domain.states import (
    AttemptState,
    BatchMove,
    RunState,
)
from quire.ledger.ledger import Transaction
from quire.pipeline.batches.outages import wait_for_provider
from quire.pipeline.calls.culprits import (
    are_suspected,
    note_batch_answers,
    note_batch_failures,
    split_row,
)
from quire.pipeline.calls.estimate import with_estimates
from quire.pipeline.calls.record import (
    PRESUMED_STATES,
    drop_requests,
    hold_run,
    record_answers,
    record_failures,
    requeue_uncharged,
    write_off_attempts,
)
from quire.pipeline.contexts import Contexts
from quire.planning.batch_schedule import backoff_seconds

CHUNK = 1000
NOTHING_RAN = (BatchEnd.FAILED, BatchEnd.QUEUE_FULL)
KNOWN_STATES = (*PRESUMED_STATES, AttemptState.ANSWERED, AttemptState.SETTLED)


class BatchRows(NamedTuple):
    """Some rows of a batch, read."""

    answers: Sequence[Answer] = ()
    failures: Sequence[CallFailure] = ()
    unsent: Sequence[AttemptId] = ()  # expired or cancelled: not carried out, and free
    in_outage: bool = False  # nothing of the batch was answered


class KeptLine(NamedTuple):
    """A line that was kept because it named no call, and what can be read in it by now."""

    line: bytes
    answer: Answer


class StrayRows(NamedTuple):
    """Rows that are no answers."""

    duplicates: int = 0
    foreign: int = 0
    unread: int = 0  # lines that nobody can read
    nameless: int = 0  # of them, those that may be about any call


def note_status(
    tx: Transaction, batch: Batch, status: BatchStatus, next_at: datetime, now: datetime
) -> bool:
    """Write down how a batch stands; true where it has ended."""
    tx.batches.note_batch_status(batch.id, status, next_at)
    if status.end is None or not tx.batches.move_batch(BatchMove.END, batch.id):
        return False
    tx.batches.end_batch(batch.id, status.end, now)
    facts: Fields = {"batch": batch.id, "end": status.end, "problem": status.problem}
    tx.events.add_event(batch.run_id, EventKind.BATCH_ENDED, now, **facts)
    return True


def own_attempts(tx: Transaction, batch: Batch, attempts: Sequence[AttemptId]) -> set[AttemptId]:
    """Which of these attempts travelled in this batch."""
    return set(tx.batches.attempt_states_of_batch(batch.id, attempts))


def with_presumed_costs(tx: Transaction, answers: Sequence[Answer]) -> list[Answer]:
    """Answers, those that nobody can read at what was reserved for them."""
    unread = [answer.attempt_id for answer in answers if answer.reply is None]
    if not unread:
        return list(answers)
    reserved = {row.id: row.reserved for row in tx.attempts.attempts_by_id(unread)}
    return [
        answer._replace(cost=reserved.get(answer.attempt_id, answer.cost)) for answer in answers
    ]


def collect_rows(
    tx: Transaction, contexts: Contexts, batch: Batch, rows: BatchRows, now: datetime
) -> None:
    """Store some rows; those that were stored before change nothing."""
    record_answers(tx, with_estimates(tx, contexts, rows.answers, now), now)
    read = [answer.attempt_id for answer in rows.answers if answer.reply is not None]
    note_batch_answers(tx, contexts, contexts.of_batch(tx, batch).facts.name, read)
    failed = _open_rows(tx, batch, rows.failures)
    record_failures(tx, contexts, rows.failures, now)
    if failed:
        # overtaken: in others
        drop_requests(tx, tx.batches.late_requests([row.request_id for row, _ in failed]))
        if rows.in_outage:
            failed = _counting_in_outage(tx, contexts, batch, failed, now)
        note_batch_failures(tx, contexts, batch, [row for row, why in failed if _broke(why)])
        _bound_failures(tx, contexts, batch, failed)
    if rows.unsent:
        requeue_uncharged(
            tx, tx.attempts.attempts_by_id(rows.unsent), "the batch ended before its turn", now
        )


def collect_kept_lines(
    tx: Transaction, contexts: Contexts, batch: Batch, found: Sequence[KeptLine], now: datetime
) -> bool:
    """Store answers of lines that were kept; true where nothing is left to be found in others.

    An answer takes the place of what was presumed of its call; where there is one already, it is a
    copy. Of a call that is said to have been free it may not be: that line stays with the batch.
    """
    named = [line.answer.attempt_id for line in found]
    states = tx.batches.attempt_states_of_batch(batch.id, named)
    known = [line for line in found if states.get(line.answer.attempt_id) in KNOWN_STATES]
    read = [line for line in known if tx.batches.drop_line(batch.id, line.line)]
    answers = [line.answer for line in read if states[line.answer.attempt_id] in PRESUMED_STATES]
    news = {answer.attempt_id: answer for answer in answers}
    collect_rows(tx, contexts, batch, BatchRows(list(news.values())), now)
    copies = len(read) - len(news)
    tx.batches.count_batch_rows(batch.id, duplicates=copies, missing=-len(news), unread=-len(read))
    view = tx.views.list_batches(batch=batch.id)[0]
    return not view.missing and not view.kept


def _open_rows(
    tx: Transaction, batch: Batch, failures: Sequence[CallFailure]
) -> list[tuple[AttemptRow, ProviderError]]:
    """Calls of a batch whose failure is news, each with what went wrong."""
    errors = {failure.attempt_id: failure.error for failure in failures}
    states = tx.batches.attempt_states_of_batch(batch.id, list(errors)) if errors else {}
    news = [attempt for attempt, state in states.items() if state == AttemptState.OPEN]
    return [(row, errors[row.id]) for row in tx.attempts.attempts_by_id(news)] if news else []


def _counting_in_outage(
    tx: Transaction,
    contexts: Contexts,
    batch: Batch,
    failed: Sequence[tuple[AttemptRow, ProviderError]],
    now: datetime,
) -> list[tuple[AttemptRow, ProviderError]]:
    """Failures of a batch of which nothing was answered: nearly all wait, and do not count."""
    suspected = are_suspected(tx, contexts, batch, [row for row, _ in failed])
    waiting = [(row, why) for row, why in failed if row.request_id not in suspected]
    counting = [(row, why) for row, why in failed if row.request_id in suspected]
    return counting + wait_for_provider(tx, waiting, now)


def _broke(why: ProviderError) -> bool:
    return why.remedy is Remedy.RETRY


def _bound_failures(
    tx: Transaction,
    contexts: Contexts,
    batch: Batch,
    failed: Sequence[tuple[AttemptRow, ProviderError]],
) -> None:
    """Calls that the provider breaks down at in batch after batch are halved, then given up.

    That costs no tries: it may be nobody's fault. But a batch takes hours, and somebody must know.
    """
    broken = {row.request_id: (row, str(why)) for row, why in failed if _broke(why)}
    counted = tx.batches.count_failures(list(broken)) if broken else {}
    most = contexts.of_batch(tx, batch).policy.max_tries
    for request, count in counted.items():
        if count >= most:
            row, said = broken[request]
            error = TaskError(TaskErrorKind.BATCH_FAILED, said, times=count)
            split_row(tx, contexts, batch, row, error)


def settle_missing(tx: Transaction, batch: Batch, strays: StrayRows, now: datetime) -> int:
    """Some calls without a row: free where nothing ran, else presumed; returns how many.

    Where lines came that nobody can read, the answers may be in them: a person looks first.
    """
    rows = tx.batches.open_attempts_of_batch(batch.id, CHUNK)
    if not rows:
        return 0
    if batch.end_reason in NOTHING_RAN:
        full = batch.end_reason is BatchEnd.QUEUE_FULL
        wait = backoff_seconds(max(row.no for row in rows), None) if full else 0.0
        return requeue_uncharged(tx, rows, f"the batch {batch.end_reason.value}", now, wait)
    write_off_attempts(tx, rows, "the batch ended without a row for this call", now)
    tx.batches.count_batch_rows(batch.id, missing=len(rows))
    if strays.nameless:
        _hold_unread(tx, batch, strays.nameless, now)
    return len(rows)


def _hold_unread(tx: Transaction, batch: Batch, lines: int, now: datetime) -> None:
    run = tx.runs.get_run(batch.run_id)
    if run is None or run.state != RunState.RUNNING:  # nothing is asked again
        return
    hold_run(tx, batch.run_id, HoldCause.LINES_UNREADABLE, now, batch=batch.id, lines=lines)


def finish_batch(tx: Transaction, batch: Batch, strays: StrayRows, now: datetime) -> bool:
    """Everything the batch answered is here."""
    if not tx.batches.move_batch(BatchMove.COLLECT, batch.id):
        return False
    tx.batches.count_batch_rows(
        batch.id, duplicates=strays.duplicates, strangers=strays.foreign, unread=strays.unread
    )
    tx.batches.finish_batch(batch.id, now)
    tx.events.add_event(
        batch.run_id, EventKind.BATCH_COLLECTED, now, batch=batch.id, calls=batch.calls
    )
    tx.notify()
    return True


def hold_refused_batch(tx: Transaction, batch: Batch, problem: str, now: datetime) -> None:
    """A batch of which the provider took nothing: the same again would fail again."""
    said = problem or "it did not say why"
    hold_run(tx, batch.run_id, HoldCause.BATCH_REFUSED, now, batch=batch.id, problem=said)


def back_off_poll(
    tx: Transaction, batch: Batch, problem: str, retry_after: float | None, now: datetime
) -> None:
    """The provider did not say how a batch stands: it is asked again later."""
    until = now + timedelta(seconds=backoff_seconds(batch.failures, retry_after))
    tx.batches.delay_batch(batch.id, until, BatchTrouble.POLL_FAILED, problem, failed=True)
