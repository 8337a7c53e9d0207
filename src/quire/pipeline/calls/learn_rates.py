"""Learn rates: what refusals teach of a pool's rate, kept in the row that all workers share.

The rules are in `planning/learnt_rates.py`. Where nothing was ever refused there is no row, and
nothing to write: each worker remembers what it sent, and adds that when a row is first there,
because somebody was refused.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

import orjson

from quire.domain.accounts import Level, Pool
from quire.domain.data import json_object
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import to_micros
from quire.pipeline.contexts import Contexts
from quire.planning.first_calls import SentSoFar, note_accepted
from quire.planning.learnt_rates import (
    LearntRate,
    RefusedCall,
    add_sent,
    first_rate,
    has_lapsed,
    note_refused,
    rate_from_json,
    rate_to_json,
)


class RateRefusal(NamedTuple):
    """A call that was one too many."""

    pool: Pool
    call: RefusedCall


def learn_rates(
    tx: Transaction, contexts: Contexts, refusals: Sequence[RateRefusal], now: datetime
) -> None:
    """Learn from calls that were refused without a word on how many are allowed."""
    at = to_micros(now)
    for pool, group in groupby(sorted(refusals), lambda refusal: refusal.pool):
        calls = [refusal.call for refusal in group]
        tx.levels.add_limit_level(pool, Level(at, 0, 0, 0, 0))
        held = tx.levels.take_limit_level(pool, now)
        rate = read_rate(contexts, pool, held.learnt if held else "", at)
        if rate is None:
            sofar = contexts.sent_calls.pop(pool, None) or _sent_unseen(calls, at)
            rate = first_rate(sofar, calls, at)
        else:
            rate = note_refused(rate, calls, at)
        write_rate(tx, pool, rate)


class AcceptedCalls(NamedTuple):
    """Calls of a pool that were claimed together and answered."""

    pool: Pool
    sent: int  # when, in microseconds
    calls: int


def note_accepted_calls(contexts: Contexts, accepted: Iterable[AcceptedCalls]) -> None:
    """Calls that were claimed at these moments were answered: they were not too many."""
    for pool, sent, calls in accepted:
        if (sofar := contexts.sent_calls.get(pool)) is not None:
            contexts.sent_calls[pool] = note_accepted(sofar, sent, calls)


def _sent_unseen(calls: Sequence[RefusedCall], at: int) -> SentSoFar:
    """What was sent, where nobody remembers more than what was refused."""
    first = min(call.sent for call in calls)
    return SentSoFar(first, at, len(calls), sum(call.size for call in calls))


def read_rate(contexts: Contexts, pool: Pool, kept: str, at: int) -> LearntRate | None:
    """What is known of a pool's rate, with what this worker sent before it knew."""
    rate = parse_rate(kept, at)
    if rate is None:
        return None
    untold = contexts.sent_calls.pop(pool, None)
    return add_sent(rate, untold) if untold else rate


def parse_rate(kept: str, at: int) -> LearntRate | None:
    """What is known of a rate, unless that was long ago."""
    rate = rate_from_json(json_object(kept.encode()) or {}) if kept else None
    return None if rate is None or has_lapsed(rate, at) else rate


def write_rate(tx: Transaction, pool: Pool, rate: LearntRate) -> None:
    """Write down what is known."""
    tx.levels.set_learnt_rate(pool, orjson.dumps(rate_to_json(rate)).decode())
