"""Admit: how many of the next calls may go now, by the provider's limits and its prompt cache."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.accounts import Account, Rates
from quire.domain.limits import Level, Need, Pool
from quire.domain.models import Limits, ModelFacts
from quire.domain.requests import Queued
from quire.ledger.ledger import Transaction
from quire.ledger.moments import to_micros
from quire.pipeline.contexts import Contexts, LaneContext
from quire.plan.pacing import (
    admit,
    corrected,
    full,
    give_back,
    is_limited,
    narrowest,
    refilled,
    scarce,
)
from quire.plan.rendering import items_bytes

KEPT = timedelta(minutes=4)  # a provider keeps a prefix at least this long after its last use
TOLD = timedelta(minutes=1)  # between two notes that it is still kept
PRIMING = timedelta(seconds=60)  # the others wait at most this long for the first answer
NO_LIMIT = 10**9  # calls, or tasks


class News(NamedTuple):
    """What a call that came back says about limits."""

    pool: Pool
    limits: Limits  # as its run was told
    unused: Need  # of what it was reckoned at
    rates: Rates | None  # what the headers said


def pool_of(context: LaneContext, account: Account) -> Pool:
    """Whose limits and cache a stage's calls use."""
    return Pool(context.facts.name, account.id or 0)


def need_of(context: LaneContext, request: Queued) -> Need:
    """The most that a call may take."""
    size = context.prefix_bytes + items_bytes(request.tasks, request.content_bytes)
    return Need(1, context.most_tokens(size), request.max_output)


def within_limits(
    tx: Transaction, context: LaneContext, pool: Pool, queued: Sequence[Queued], now: datetime
) -> list[Need] | None:
    """Take the next calls off the limits that all workers share; None where there are none.

    Returns what each call that may go now was reckoned at.
    """
    held = _take(tx, pool, context.facts.limits, now) if queued else None
    if held is None:
        return None
    level, limits = held
    needs = [need_of(context, each) for each in queued]
    count, level = admit(level, limits, needs)
    tx.levels.set(pool, level)
    return needs[:count]


def learn_limits(tx: Transaction, news: Sequence[News], now: datetime) -> None:
    """Give back what calls did not take, and believe what the headers said."""
    for pool, limits, unused, rates in sorted(news, key=lambda each: each.pool):
        if rates is not None and is_limited(rates.limits):
            tx.levels.add(pool, full(rates.limits, to_micros(now)))
            tx.levels.learn(pool, rates.limits, now)
        held = _take(tx, pool, limits, now)
        if held is None:
            continue
        level = give_back(held[0], held[1], unused)
        tx.levels.set(pool, corrected(level, rates) if rates else level)


def _take(tx: Transaction, pool: Pool, told: Limits, now: datetime) -> tuple[Level, Limits] | None:
    """What is left now, taken for this transaction; None where nothing limits the pool."""
    held = tx.levels.take(pool, now)
    if held is None:
        if not is_limited(told):
            return None
        tx.levels.add(pool, full(told, to_micros(now)))
        held = tx.levels.take(pool, now)
        assert held is not None
    limits = narrowest(told, held[1])
    if not is_limited(limits):  # what headers said once has lapsed
        return None
    return refilled(held[0], limits, to_micros(now)), limits


def held_back_by(tx: Transaction, facts: ModelFacts, now: datetime) -> list[str]:
    """Say which limits of a model keep calls back now, in words."""
    words = {
        "requests": "requests",
        "input": "tokens in",
        "output": "tokens out",
        "total": "tokens",
    }
    said = set()
    for pool, level, told in tx.levels.all(now):
        if pool.model == facts.name:
            limits = narrowest(facts.limits, told)
            left = refilled(level, limits, to_micros(now))
            said |= {f"{getattr(limits, each):,} {words[each]}" for each in scarce(left, limits)}
    return sorted(said)


class Priming(NamedTuple):
    """How many calls may go, as far as the provider's prompt cache is concerned."""

    most: int
    caching: bool  # mark the prefix


def primed(
    tx: Transaction, contexts: Contexts, context: LaneContext, pool: Pool, now: datetime
) -> Priming:
    """Let the first call of a prefix go alone, so that a wide fan-out does not pay N writes."""
    if not context.caching:
        return Priming(NO_LIMIT, caching=False)
    told = contexts.primed.get((context.lane_id, pool.credential))
    if told is not None and now - told < TOLD:
        return Priming(NO_LIMIT, caching=True)
    kept_at, writing_until = tx.caches.get(context.prefix.hash, pool)
    if to_micros(now - KEPT) < kept_at <= to_micros(now + TOLD):  # clocks differ, but not by much
        return Priming(NO_LIMIT, caching=True)
    if to_micros(now) < writing_until <= to_micros(now + 2 * PRIMING):
        if tx.requests.in_flight(context.run_id):
            return Priming(0, caching=True)
        note_not_cached(tx, context, pool)  # who was to write it is gone
    if tx.requests.queued(context.lane_id, 2) < 2:  # nobody would read what it writes
        return Priming(NO_LIMIT, caching=False)
    mine = tx.caches.begin(context.prefix.hash, pool, now + PRIMING, now)
    return Priming(1 if mine else 0, caching=True)


def note_cached(
    tx: Transaction, contexts: Contexts, context: LaneContext, pool: Pool, now: datetime
) -> None:
    """An answer came: the provider has the prefix, and the others may go."""
    key = (context.lane_id, pool.credential)
    told = contexts.primed.get(key)
    if told is None or now - told >= TOLD:
        tx.caches.end(context.prefix.hash, pool, now)
        contexts.primed[key] = now


def note_not_cached(tx: Transaction, context: LaneContext, pool: Pool) -> None:
    """A call failed: if it was to write the prefix, another may."""
    tx.caches.end(context.prefix.hash, pool, None)
