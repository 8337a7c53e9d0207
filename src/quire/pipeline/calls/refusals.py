"""Refusals: a 403 or 404 about what one call carries is told from a bad key or address."""

from collections.abc import Iterable

from quire.domain.accounts import Account
from quire.domain.errors import ProviderError, Remedy
from quire.domain.requests import AttemptRow, CallFailure
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.refused_calls import RefusedCalls


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


def _refused_calls(contexts: Contexts, context: LaneContext, account: Account) -> RefusedCalls:
    return contexts.refused_calls[
        context.facts.name, context.address_of(account), account.credential
    ]
