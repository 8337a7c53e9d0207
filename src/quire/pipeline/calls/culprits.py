"""Culprits: calls that fail as a whole while others are answered are halved, then given up.

A call that was lost too often is given up as well (`pipeline/calls/claim.py`), for each may be
billed. But where nothing else was answered meanwhile that is nobody's fault: a person is to look.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.batches import Batch
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId, RequestId, StageId, TaskId
from quire.domain.reasons import HoldCause, TaskError, TaskErrorKind
from quire.domain.requests import AttemptRow
from quire.domain.states import RequestMove, RequestState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import hold_run, return_tasks, split_or_give_up
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.call_health import REMEMBERED, SentCall
from quire.planning.retrying import LONGEST_DELAY


class CallOutcome(NamedTuple):
    """A direct call that came back; without an error it was answered."""

    sent: SentCall
    context: LaneContext
    error: ProviderError | None


def isolate_culprits(
    tx: Transaction, contexts: Contexts, outcomes: Sequence[CallOutcome], now: datetime
) -> None:
    """Note how calls fared; those that fail by what they carry go in halves, a lone task fails.

    Their requests are queued to go again by now. That costs no tries: it may be nobody's fault.
    """
    for outcome in sorted(outcomes, key=lambda outcome: outcome.error is not None):
        error, sent, model = outcome.error, outcome.sent, outcome.context.facts.name
        if error is None:
            contexts.silent_since.pop(model, None)
            health = contexts.call_health[model]
            members = _member_tasks(tx, sent.request) if health.seeks_culprit else ()
            health.note_answer(sent, members)
        elif _may_be_its_own_fault(error):
            contexts.silent_since.setdefault(model, now)
            if not _isolate_culprit(tx, contexts, outcome, error) and error.remedy is Remedy.LOST:
                _spare_unproven(tx, contexts, outcome, error, now)


def note_batch_answers(
    tx: Transaction, contexts: Contexts, model: str, attempts: Sequence[AttemptId]
) -> None:
    """Calls of a batch were answered; of many the last ones speak for all."""
    health = contexts.call_health[model]
    noted = attempts if health.seeks_culprit else attempts[-REMEMBERED:]
    for row in tx.attempts.attempts_by_id(noted) if noted else ():
        members = _member_tasks(tx, row.request_id) if health.seeks_culprit else ()
        health.note_answer(_sent_call(row), members)


def note_batch_failures(
    tx: Transaction, contexts: Contexts, batch: Batch, failed: Sequence[AttemptRow]
) -> None:
    """Calls failed in a batch; a few, whose neighbours were answered, speak against themselves."""
    if not failed or len(failed) > REMEMBERED or not tx.batches.is_batch_answered(batch.id):
        return
    health = contexts.call_health[contexts.of_batch(tx, batch).facts.name]
    for row in failed:
        call = _sent_call(row)
        members = () if health.knows(call) else _member_tasks(tx, row.request_id)
        health.note_failure(call, members, among_answers=True)


def are_suspected(
    tx: Transaction, contexts: Contexts, batch: Batch, failed: Sequence[AttemptRow]
) -> set[RequestId]:
    """Of calls of a batch of which nothing was answered, those whose failure counts all the same.

    More culprits than one may be all that is left for a batch.
    """
    health = contexts.call_health[contexts.of_batch(tx, batch).facts.name]
    return {row.request_id for row in failed if health.is_suspected_in_batches(_sent_call(row))}


def split_row(
    tx: Transaction, contexts: Contexts, batch: Batch, row: AttemptRow, reason: TaskError
) -> None:
    """Drop a call that failed in batch after batch; its tasks go on as of any other."""
    if split_request(tx, batch.stage_id, row.request_id, reason):
        health = contexts.call_health[contexts.of_batch(tx, batch).facts.name]
        health.note_split(_sent_call(row), _member_tasks(tx, row.request_id))


def _sent_call(row: AttemptRow) -> SentCall:
    return SentCall(row.request_id, row.lane_id, row.tasks, row.no)


def _may_be_its_own_fault(error: ProviderError) -> bool:
    """Whether a failure may be due to what the call carries: so may a 503 in place of a 500.

    Who asks for a longer wait than ours means everybody.
    """
    if error.remedy is Remedy.WAIT:
        return not error.absent and (error.retry_after or 0) <= LONGEST_DELAY
    return error.remedy in (Remedy.RETRY, Remedy.LOST) and not error.absent


def _isolate_culprit(
    tx: Transaction, contexts: Contexts, failed: CallOutcome, error: ProviderError
) -> bool:
    sent, context = failed.sent, failed.context
    health = contexts.call_health[context.facts.name]
    if context.facts.name in contexts.answered_models:
        health.note_past_answers()
    members = () if health.knows(sent) else _member_tasks(tx, sent.request)
    health.note_failure(sent, members, lost=error.remedy is Remedy.LOST)
    pushed_back = error.remedy is Remedy.WAIT
    if not health.is_culprit(sent, context.policy.max_tries, pushed_back=pushed_back):
        return False
    reason = TaskError(TaskErrorKind.CALL_FAILED, str(error), times=sent.no)
    if split_request(tx, context.stage_id, sent.request, reason):
        health.note_split(sent, _member_tasks(tx, sent.request))
    return True


def _spare_unproven(
    tx: Transaction, contexts: Contexts, lost: CallOutcome, error: ProviderError, now: datetime
) -> None:
    """Let a call that was lost too often begin anew, unless others were answered meanwhile.

    Where nothing is answered at all, the run waits for a person: each such call may be billed.
    """
    sent, context = lost.sent, lost.context
    health, most = contexts.call_health[context.facts.name], context.policy.max_calls
    if health.lost_unheard >= most:
        calls = health.lost_unheard
        health.forget_losses()
        _hold_for_losses(tx, contexts, context, calls, error, now)
        return
    if sent.lost + 1 < most or health.is_alone_in_failing(sent):
        return
    tx.requests.forgive_losses([sent.request])
    if health.calls_in_vain >= most:
        _hold_for_losses(tx, contexts, context, health.calls_in_vain, error, now)


def _hold_for_losses(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    calls: int,
    error: ProviderError,
    now: datetime,
) -> None:
    model = context.facts.name
    since = f"{contexts.silent_since[model]:%Y-%m-%d %H:%M} UTC"
    fields: dict[str, str | int] = {"model": model, "calls": calls, "since": since}
    fields["problem"] = str(error)
    hold_run(tx, context.run_id, HoldCause.ANSWERS_LOST, now, **fields)


def _member_tasks(tx: Transaction, request: RequestId) -> Sequence[TaskId]:
    return [member.task_id for member in tx.requests.take_members([request])]


def split_request(tx: Transaction, stage: StageId, request: RequestId, reason: TaskError) -> bool:
    """Drop a queued request; its tasks go in smaller company, and a lone one fails."""
    if not tx.requests.move_requests(RequestMove.DROP, [request], [RequestState.QUEUED]):
        return False
    members = tx.requests.take_members([request])
    return_tasks(tx, members, [request])
    owed = [member for member in members if member.current]
    split_or_give_up(tx, owed, len(owed), reason)
    if len(members) > 1:
        tx.tallies.add_tallies(stage, {"splits": 1})
    return True
