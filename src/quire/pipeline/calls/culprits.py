"""Culprits: calls that fail as a whole while others are answered are halved, then given up."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import RequestId, StageId, TaskId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.states import RequestMove, RequestState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import return_tasks, split_or_give_up
from quire.pipeline.contexts import Contexts, LaneContext
from quire.plan.call_health import SentCall
from quire.plan.retrying import LONGEST_DELAY


class CallOutcome(NamedTuple):
    """A direct call that came back; without an error it was answered."""

    sent: SentCall
    context: LaneContext
    error: ProviderError | None


def isolate_culprits(tx: Transaction, contexts: Contexts, outcomes: Sequence[CallOutcome]) -> None:
    """Note how calls fared; those that fail by what they carry go in halves, a lone task fails.

    Their requests are queued to go again by now. That costs no tries: it may be nobody's fault.
    """
    for outcome in sorted(outcomes, key=lambda outcome: outcome.error is not None):
        error, sent = outcome.error, outcome.sent
        if error is None:
            health = contexts.call_health[outcome.context.facts.name]
            members = _member_tasks(tx, sent.request) if health.seeks_culprit else ()
            health.note_answer(sent, members)
        elif _may_be_its_own_fault(error):
            _isolate_culprit(tx, contexts, outcome, error)


def _may_be_its_own_fault(error: ProviderError) -> bool:
    """Whether a failure may be due to what the call carries: so may a 503 in place of a 500.

    Who asks for a longer wait than ours means everybody.
    """
    if error.remedy is Remedy.WAIT:
        return not error.absent and (error.retry_after or 0) <= LONGEST_DELAY
    return error.remedy in (Remedy.RETRY, Remedy.LOST) and not error.absent


def _isolate_culprit(
    tx: Transaction, contexts: Contexts, failed: CallOutcome, error: ProviderError
) -> None:
    sent, context = failed.sent, failed.context
    health = contexts.call_health[context.facts.name]
    if context.facts.name in contexts.answered_models:
        health.note_past_answers()
    members = () if health.knows(sent) else _member_tasks(tx, sent.request)
    health.note_failure(sent, members)
    pushed_back = error.remedy is Remedy.WAIT
    if health.is_culprit(sent, context.policy.max_tries, pushed_back=pushed_back):
        reason = TaskError(TaskErrorKind.CALL_FAILED, str(error), times=sent.no)
        if split_request(tx, context.stage_id, sent.request, reason):
            health.note_split(sent, _member_tasks(tx, sent.request))


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
