"""Fall back: what a server refuses of every call is asked in a weaker way, remembered and told."""

from datetime import datetime

from quire.domain.accounts import Account
from quire.domain.fallbacks import Fallback, Fallbacks
from quire.domain.reasons import EventKind, Fields
from quire.domain.requests import AttemptRow, CallFailure
from quire.domain.wording import event_text
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.fallbacks import next_fallback, part_of
from quire.planning.retrying import StepDown


def choose_fallback(
    tx: Transaction, contexts: Contexts, row: AttemptRow, failure: CallFailure
) -> StepDown | None:
    """The weaker way for a call that was refused for a part of it; None where there is none.

    What the ledger says counts, and not what this worker remembers: another may have been first.
    """
    refusal = failure.error.refusal
    if refusal is None:
        return None
    context = contexts.of_lane_id(tx, row.run_id, row.lane_id)
    part, current = part_of(refusal), known_fallbacks(tx, context, failure.account)
    if current.get(part) != failure.fallbacks.get(part):  # calls go another way by now
        return StepDown(fallback=None)
    weaker = next_fallback(context.facts, refusal, failure.fallbacks)
    return StepDown(fallback=weaker) if weaker else None


def known_fallbacks(
    tx: Transaction, context: LaneContext, account: Account, until: datetime | None = None
) -> Fallbacks:
    """The weaker ways that the ledger knows, or knew at a moment, for calls with an account."""
    address = context.address_of(account)
    return {
        known.part: known.way
        for known in tx.fallbacks.fallbacks_of_model(context.facts.name)
        if known.address == address and (until is None or known.since <= until)
    }


def take_fallback(
    tx: Transaction,
    contexts: Contexts,
    row: AttemptRow,
    failure: CallFailure,
    fallback: Fallback | None,
    now: datetime,
) -> None:
    """Let all calls go the weaker way from now on, and say so once."""
    contexts.forget_fallbacks()
    if fallback is None:
        return
    context = contexts.of_lane_id(tx, row.run_id, row.lane_id)
    model, address, problem = context.facts.name, context.address_of(failure.account), failure.error
    tx.fallbacks.set_fallback(model, address, fallback, str(problem), now)
    fields: Fields = {
        "model": model,
        "address": address,
        "part": fallback.part.value,
        "way": fallback.way,
        "problem": str(problem),
    }
    tx.events.add_event(row.run_id, EventKind.FELL_BACK, now, **fields)
    contexts.notices.append(event_text(EventKind.FELL_BACK, fields))
