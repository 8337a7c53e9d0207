"""Receive: what calls brought back is stored, and what it says of limits and caches is shared."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.accounts import Rates
from quire.domain.limits import Need
from quire.domain.requests import Answer, CallFailure
from quire.ledger.ledger import Transaction
from quire.pipeline.admit import (
    News,
    learn_limits,
    note_cached,
    note_not_cached,
    pool_of,
)
from quire.pipeline.claim import Outgoing
from quire.pipeline.contexts import Contexts
from quire.pipeline.record import record_answers, record_failures

NOTHING = Need(0, 0, 0)


class Returned(NamedTuple):
    """A call that came back: with an answer, or without."""

    outgoing: Outgoing
    outcome: Answer | CallFailure
    rates: Rates | None = None  # what the headers said


def receive(
    tx: Transaction, contexts: Contexts, returned: Sequence[Returned], now: datetime
) -> None:
    """Store paid answers before anything else, then apply what else the calls brought."""
    outcomes = [each.outcome for each in returned]
    answers = [each for each in outcomes if isinstance(each, Answer)]
    record_answers(tx, answers, now)
    if len(answers) < len(outcomes):
        failures = [each for each in outcomes if isinstance(each, CallFailure)]
        record_failures(tx, contexts, failures, now)
    news = [each for each in returned if not (each.rates is None and each.outgoing.need is None)]
    if news:
        learn_limits(tx, list(_news(news)), now)
    marked = [each for each in returned if each.outgoing.call.caching]
    if marked:
        _note_caches(tx, contexts, marked, now)


def _news(returned: Sequence[Returned]) -> Iterator[News]:
    for outgoing, outcome, rates in returned:
        pool = pool_of(outgoing.context, outgoing.account)
        unused = _unused(outgoing.need, outcome) if outgoing.need else NOTHING
        yield News(pool, outgoing.context.facts.limits, unused, rates)


def _unused(need: Need, outcome: Answer | CallFailure) -> Need:
    """What an answered call was reckoned at and did not take; the provider counted the request."""
    if isinstance(outcome, CallFailure) or outcome.reply is None:
        return NOTHING
    usage = outcome.reply.usage
    return Need(0, need.input - usage.input_total, need.output - usage.output)


def _note_caches(
    tx: Transaction, contexts: Contexts, returned: Sequence[Returned], now: datetime
) -> None:
    kept = {
        (each.outgoing.context.lane_id, each.outgoing.account.id): each.outgoing
        for each in sorted(returned, key=lambda each: isinstance(each.outcome, Answer))
    }
    answered = {
        (each.outgoing.context.lane_id, each.outgoing.account.id)
        for each in returned
        if isinstance(each.outcome, Answer)
    }
    for key, outgoing in kept.items():
        pool = pool_of(outgoing.context, outgoing.account)
        if key in answered:
            note_cached(tx, contexts, outgoing.context, pool, now)
        else:
            note_not_cached(tx, outgoing.context, pool)
