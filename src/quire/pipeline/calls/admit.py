"""Admit: how many of the next calls may go now, by the provider's limits and its prompt cache.

Two things keep calls back before a provider has to. The first is its rate limits: a level for each
pool (model and key) fills up with time, and a claim takes what its calls will need from the row
that all workers share, in its own transaction; what they did not use is given back when they
return, and what the provider's headers say is believed where it is less than our own reckoning. So
where the figures are right a limit is met without a single 429, and where they are not a 429 only
corrects them. Output is reckoned at what nine of ten answers took: the most that a call may write
is many times that, and calls would wait for each other's answers.

The cache part is *priming*. Calls that begin alike could all read the prefix from the provider's
cache, but only once somebody has written it: a hundred calls sent at once would each write it, at
the dearer price. So while nobody is known to have written it, one call goes alone, and the others
wait for its answer. They wait a minute at most, because that answer may never come, and what
waiting could save is a part of a prefix. That a prefix is kept is written down for the pool, with a
time: all workers of the ledger share it, and a provider forgets what was not used for some minutes.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.accounts import Account, Need, Pool, Rates
from quire.domain.models import Limits, ModelFacts
from quire.domain.quantities import quantity
from quire.domain.requests import QueuedRequest
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.limits import HeldLevel
from quire.pipeline.calls.learn import learn_sizes
from quire.pipeline.calls.learn_rates import parse_rate, read_rate, write_rate
from quire.pipeline.calls.limit_profiles import lane_limits
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.first_calls import count_unheard_room, note_sent, seconds_until_heard
from quire.planning.learnt_rates import a_minute, holds_back, let_go, seconds_until_free
from quire.planning.provider_limits import (
    admit,
    full_level,
    is_limited,
    latest_limits,
    low_limits,
    narrowest_limits,
    refill,
    return_calls,
    seconds_until_admitted,
)
from quire.planning.rendering import items_bytes
from quire.planning.sizing import OutputPercentiles, output_estimate

# a provider keeps a prefix at least this long after its last use
CACHE_LIFETIME = timedelta(minutes=4)
NOTE_INTERVAL = timedelta(minutes=1)  # between two notes that it is still kept
PRIMING_TIMEOUT = timedelta(seconds=60)  # the others wait at most this long for the first answer
NO_LIMIT = 10**9  # calls, or tasks
# until a limit is looked at again: by then, answers may have given something back
LONGEST_REST = timedelta(milliseconds=250)


class LimitReport(NamedTuple):
    """What calls of a pool that came back together say about its limits."""

    pool: Pool
    limits: Limits  # as their runs were told
    unused: Need  # of what they were reckoned at, all together
    rates: Sequence[Rates]  # what the headers said, in the order in which they came


class Admission(NamedTuple):
    """What the limits allow of the next calls."""

    calls: int  # of them may go now
    needs: Sequence[Need]  # as they were reckoned; none where nothing limits the calls
    rest: timedelta  # until as many as were asked for may go, or some of them
    unheard: bool = False  # it only waits to hear of calls that are out: their answers end it


def pool_of(context: LaneContext, account: Account) -> Pool:
    """Whose limits and cache a stage's calls use."""
    return Pool(context.facts.name, account.id or 0)


def need_of(
    context: LaneContext, request: QueuedRequest, size: int, learned: OutputPercentiles | None
) -> Need:
    """What a call takes: of output as answers did, or the most while nothing is learnt of them."""
    output = request.max_output
    if learned is not None:
        content = request.content_bytes // max(1, request.tasks)
        of_task = output_estimate(context.output_shape, content, learned, output)
        output = min(output, request.tasks * of_task)
    return Need(1, context.most_tokens(size), output)


def call_size(context: LaneContext, request: QueuedRequest) -> int:
    """How large a call's prompt is, in bytes, about."""
    return context.prefix_bytes + items_bytes(request.tasks, request.content_bytes)


def reserve_limits(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    pool: Pool,
    queued: Sequence[QueuedRequest],
    now: datetime,
) -> Admission | None:
    """Take the next calls off the limits that all workers share; None where there are none.

    As many as there is room for go together: every group is a commit, and wakes a process.
    """
    if not queued:
        return None
    at, sizes = to_micros(now), [call_size(context, request) for request in queued]
    level, limits, learnt = _take_level(tx, pool, lane_limits(tx, contexts, context, now), now)
    rate = read_rate(contexts, pool, learnt, at)
    if rate is None and not is_limited(limits):
        return _admit_unheard(contexts, pool, sizes, at)
    learned = learn_sizes(tx, contexts, context, 0).learned
    needs = [need_of(context, *call, learned) for call in zip(queued, sizes, strict=True)]
    (allowed, left), wait = admit(level, limits, needs), 0.0
    count = allowed
    if rate is None:
        contexts.sent_calls[pool] = note_sent(contexts.sent_calls.get(pool), sizes[:count], at)
    else:
        count, rate = let_go(rate, sizes[:count], at)
        write_rate(tx, pool, rate)
        wait = seconds_until_free(rate, sizes, at)
    if is_limited(limits):
        if count < allowed:
            _, left = admit(level, limits, needs[:count])
        tx.levels.set_limit_level(pool, left)
        wait = max(wait, seconds_until_admitted(left, limits, needs))
    return Admission(count, needs[:count], min(timedelta(seconds=wait), LONGEST_REST))


def likely_room(contexts: Contexts, context: LaneContext, pool: Pool, now: datetime) -> int:
    """How many of a lane's calls are worth a look, by what was known of its limits last time.

    Whoever reserves money for more gives it back at once. At least one: it learns what holds now.
    """
    rest = contexts.rests.get(context.lane_id)
    if rest is None or not rest.unheard:
        return NO_LIMIT
    return max(1, count_unheard_room(contexts.sent_calls.get(pool), to_micros(now)))


def _admit_unheard(contexts: Contexts, pool: Pool, sizes: Sequence[int], at: int) -> Admission:
    """While nothing is known of a pool's limits, few calls go before a refusal could be heard."""
    sofar = contexts.sent_calls.get(pool)
    room, wait = count_unheard_room(sofar, at), 0.0
    count = min(len(sizes), room)
    if count or sofar is None:
        sofar = contexts.sent_calls[pool] = note_sent(sofar, sizes[:count], at)
    if room <= len(sizes):  # and not one more
        wait = seconds_until_heard(sofar, at)
    return Admission(count, (), min(timedelta(seconds=wait), LONGEST_REST), unheard=True)


def least_group(most: int) -> int:
    """Calls go in groups: a transaction for every single one would cost more than the calls."""
    return max(1, most // 4)


def learn_limits(tx: Transaction, reports: Sequence[LimitReport], now: datetime) -> None:
    """Give back what calls did not take; believe headers where they say that less is left.

    A level is read and written once for all calls that came back together: every answer has
    headers, and a few statements for each would cost more than storing it.
    """
    for pool, configured, unused, rates in reports:
        _learn_stated(tx, pool, [it.limits for it in rates], now)
        level, limits, _ = _take_level(tx, pool, configured, now)
        if is_limited(limits):
            left = return_calls(level, limits, unused, [it.left for it in rates])
            tx.levels.set_limit_level(pool, left)


def _learn_stated(tx: Transaction, pool: Pool, stated: Sequence[Limits], now: datetime) -> None:
    """Write down the limits that headers state; what the last of them does not name stays."""
    latest = latest_limits(stated)
    if is_limited(latest):
        tx.levels.add_limit_level(pool, full_level(latest, to_micros(now)))
        tx.levels.learn_limits(pool, latest, now)


def _take_level(tx: Transaction, pool: Pool, configured: Limits, now: datetime) -> HeldLevel:
    """What is left now, taken for this transaction, and all that limits the pool."""
    full = full_level(configured, to_micros(now))
    held = tx.levels.take_limit_level(pool, now)
    if held is None:
        if not is_limited(configured):
            return HeldLevel(full, Limits())
        tx.levels.add_limit_level(pool, full)
        held = tx.levels.take_limit_level(pool, now)
        assert held is not None
    limits = narrowest_limits(configured, held.stated)
    if not is_limited(limits):  # what headers said once has lapsed
        return held._replace(stated=limits)
    return HeldLevel(refill(held.level, limits, to_micros(now)), limits, held.learnt)


def scarce_limits(
    tx: Transaction, facts: ModelFacts, now: datetime, configured: Limits | None = None
) -> list[str]:
    """Say which limits of a model keep calls back now, in words."""
    words = {
        "requests": "requests",
        "input": "tokens in",
        "output": "tokens out",
        "total": "tokens",
    }
    said = set()
    for pool, level, learnt in tx.levels.list_limit_levels(now):
        if pool.model == facts.name:
            limits = narrowest_limits(configured or facts.limits, learnt)
            left = refill(level, limits, to_micros(now))
            said |= {
                f"{getattr(limits, name):,} {words[name]}" for name in low_limits(left, limits)
            }
    for pool, kept in tx.levels.list_learnt_rates():
        rate = parse_rate(kept, to_micros(now)) if pool.model == facts.name else None
        if rate is not None and holds_back(rate):
            said.add(f"about {quantity(a_minute(rate), 'request')}")
    return sorted(said)


class Priming(NamedTuple):
    """How many calls may go, as far as the provider's prompt cache is concerned."""

    most: int
    caching: bool  # mark the prefix


def prime_cache(
    tx: Transaction, contexts: Contexts, context: LaneContext, pool: Pool, now: datetime
) -> Priming:
    """Let the first call of a prefix go alone, so that a wide fan-out does not pay N writes."""
    if not context.caching:
        return Priming(NO_LIMIT, caching=False)
    noted_at = contexts.primed.get((context.lane_id, pool.credential))
    if noted_at is not None and now - noted_at < NOTE_INTERVAL:
        return Priming(NO_LIMIT, caching=True)
    kept_at, writing_until = tx.caches.get_prefix_cache(context.prefix.hash, pool)
    if (
        to_micros(now - CACHE_LIFETIME) < kept_at <= to_micros(now + NOTE_INTERVAL)
    ):  # clocks differ, but not by much
        return Priming(NO_LIMIT, caching=True)
    if to_micros(now) < writing_until <= to_micros(now + 2 * PRIMING_TIMEOUT):
        if tx.requests.count_calls_in_flight(context.run_id):
            return Priming(0, caching=True)
        note_not_cached(tx, context, pool)  # who was to write it is gone
    queued = tx.requests.count_queued_in_lane(context.lane_id, 2)
    if queued < 2:  # nobody would read what it writes; what others queue meanwhile is no part of it
        return Priming(queued, caching=False)
    mine = tx.caches.start_priming(context.prefix.hash, pool, now + PRIMING_TIMEOUT, now)
    return Priming(1 if mine else 0, caching=True)


def note_cached(
    tx: Transaction, contexts: Contexts, context: LaneContext, pool: Pool, now: datetime
) -> None:
    """An answer came: the provider has the prefix, and the others may go."""
    key = (context.lane_id, pool.credential)
    noted_at = contexts.primed.get(key)
    if noted_at is None or now - noted_at >= NOTE_INTERVAL:
        tx.caches.end_priming(context.prefix.hash, pool, now)
        contexts.primed[key] = now


def note_not_cached(tx: Transaction, context: LaneContext, pool: Pool) -> None:
    """A call failed: if it was to write the prefix, another may."""
    tx.caches.end_priming(context.prefix.hash, pool, None)
