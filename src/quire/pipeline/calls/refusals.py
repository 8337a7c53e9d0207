"""Refusals: those about what one call carries are told from those that all calls would meet."""

from collections.abc import Iterable

from quire.domain.accounts import Account
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import AttemptRow, CallFailure
from quire.domain.runs import BATCH
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.refused_calls import RefusedCalls
from quire.planning.retrying import HoldRun, Resend, Split, backoff_seconds


def note_answered(contexts: Contexts, answered: Iterable[tuple[LaneContext, Account]]) -> None:
    """Calls with these accounts were answered."""
    for context, account in answered:
        _refused_calls(contexts, context, account).note_answer()


def blame_request(
    tx: Transaction, contexts: Contexts, row: AttemptRow, failure: CallFailure
) -> CallFailure:
    """The failure as that of one request, where others like it are answered; else as it is."""
    if not failure.error.may_concern_one:
        return failure
    context = contexts.of_lane_id(tx, row.run_id, row.lane_id)
    calls = _refused_calls(contexts, context, failure.account)
    # an earlier worker may have had the answers
    if not calls.has_answered and not tx.tallies.tallies_of_stage(row.stage_id).get("calls"):
        return failure
    members = tx.requests.take_members([row.request_id])
    if not calls.is_about_one([member.task_id for member in members]):
        return failure
    return failure._replace(error=ProviderError(str(failure.error), remedy=Remedy.FIX_REQUEST))


def doubt_refusal(
    tx: Transaction, contexts: Contexts, row: AttemptRow, failure: CallFailure
) -> Resend | Split | HoldRun | None:
    """What follows a refusal that nobody can explain; None where calls are known to be answered.

    What a batch carries is not doubted: its calls were all sent before the first came back.
    """
    if not failure.error.unexplained:
        return None
    context = contexts.of_lane_id(tx, row.run_id, row.lane_id)
    calls, model = _refused_calls(contexts, context, failure.account), context.facts.name
    if context.route == BATCH or calls.has_answered or model in contexts.answered_models:
        return None
    if tx.attempts.has_answered(model):  # an earlier worker had the answers
        contexts.answered_models.add(model)
        return None
    members = [member.task_id for member in tx.requests.take_members([row.request_id])]
    delay = backoff_seconds(failure.error, row.no, failure.jitter)
    awaited = tx.attempts.is_first_sending_out(row.lane_id, row.request_id)
    return calls.after_unexplained(members, row.no, delay, awaited=awaited)


def _refused_calls(contexts: Contexts, context: LaneContext, account: Account) -> RefusedCalls:
    return contexts.refused_calls[
        context.facts.name, context.address_of(account), account.credential
    ]
