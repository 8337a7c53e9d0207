"""Culprits: calls that fail as a whole while others are answered are halved, then given up.

A call that was lost too often is given up as well (`pipeline/calls/claim.py`), for each may be
billed. But where nothing else was answered meanwhile that is nobody's fault: a person is to look.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import RequestId, StageId, TaskId
from quire.domain.reasons import HoldCause, TaskError, TaskErrorKind
from quire.domain.states import RequestMove, RequestState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import hold_run, return_tasks, split_or_give_up
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.call_health import SentCall
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
    health.note_failure(sent, members)
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
    health = contexts.call_health[context.facts.name]
    if sent.lost + 1 < context.policy.max_calls or health.is_alone_in_failing(sent):
        return
    tx.requests.forgive_losses([sent.request])
    if health.calls_in_vain >= context.policy.max_calls:
        hold_run(
            tx,
            context.run_id,
            HoldCause.ANSWERS_LOST,
            now,
            model=context.facts.name,
            calls=health.calls_in_vain,
            since=f"{contexts.silent_since[context.facts.name]:%Y-%m-%d %H:%M} UTC",
            problem=str(error),
        )


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
