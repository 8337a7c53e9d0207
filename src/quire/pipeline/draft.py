"""Draft: queued requests gather until they are worth a batch, or go direct if they never are."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.accounts import CredentialId
from quire.domain.batches import Batch, BatchRules, NewBatchAttempt
from quire.domain.ids import BatchId
from quire.domain.requests import Queued
from quire.domain.runs import Lane
from quire.ledger.ledger import Transaction
from quire.ledger.moments import to_micros
from quire.pipeline.admit import need_of
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.plugins import is_fit
from quire.pipeline.prepare import may_pack
from quire.pipeline.route import dissolve, send_directly
from quire.plan.batching import Load, fitting, is_due, room_in, written_size
from quire.plan.rendering import items_bytes

CHUNK = 2000  # calls that join a draft in one transaction


class Gathering(NamedTuple):
    """What a lane's batches are gathered by."""

    rules: BatchRules
    credential: CredentialId | None  # as whom they would be sent now
    waited: float  # seconds since its queue was last empty


class Drafting(NamedTuple):
    """What became of a lane's queue."""

    ready: BatchId | None = None  # a draft to be submitted now
    moved: int = 0  # calls taken into a draft, or sent on their way directly
    waiting: bool = False  # something is queued, and more may join it


NOTHING = Drafting()


def draft(
    tx: Transaction,
    contexts: Contexts,
    lane: Lane,
    gathering: Gathering,
    now: datetime,
) -> Drafting:
    """Fill a lane's draft if its time has come."""
    context = contexts.of_lane(tx, lane)
    if not is_fit(tx, contexts, context.told, now) or not tx.batches.take_lane(lane.id):
        return NOTHING
    found = tx.batches.draft_of(lane.id)
    if not lane.serves:  # packs go elsewhere by now: what is left here follows
        given_up = dissolve(tx, found.id, "sent another way", now) if found else 0
        return Drafting(moved=given_up + send_directly(tx, lane))
    if found is not None and (found.next_at > now or found.lease_until > now):
        return NOTHING  # somebody has it in hand, or the provider asked to wait
    if found is None:
        more = may_pack(tx, contexts, context, now)
        queued = tx.requests.queued(lane.id, gathering.rules.calls)
        if not queued or not _is_ripe(tx, context, gathering, queued, more, now):
            return Drafting(waiting=queued > 0)
        if queued < context.policy.min_batch_size:
            return Drafting(moved=send_directly(tx, lane))
    return _fill(tx, context, found, gathering, now)


def _is_ripe(
    tx: Transaction,
    context: LaneContext,
    gathering: Gathering,
    queued: int,
    more: bool,
    now: datetime,
) -> bool:
    """Whether a lane's queue goes now, as it is; calls that wait to go again go together."""
    policy = context.policy
    waited = gathering.waited >= policy.batch_wait
    if not is_due(queued, gathering.rules, more=more, waited=waited):
        return False
    ready = len(tx.requests.next(context.lane_id, CHUNK, now))
    return ready == min(queued, CHUNK) or (waited and ready >= policy.min_batch_size)


def _fill(
    tx: Transaction,
    context: LaneContext,
    found: Batch | None,
    gathering: Gathering,
    now: datetime,
) -> Drafting:
    queued = tx.requests.next(context.lane_id, CHUNK, now)
    loads = [_load(context, each) for each in queued]
    allowance = _allowance(tx, context, gathering.credential)
    if found is None:
        if not queued:  # they wait for a while themselves
            return NOTHING
        if allowance is not None and allowance < min(loads[0].tokens, _most_enqueued(context)):
            return Drafting(waiting=True)  # until the provider has worked some of it off
        found = tx.batches.get(tx.batches.add(context.lane_id, now))
        assert found is not None
    room = room_in(gathering.rules, found, allowance)
    count = fitting(room, loads, empty=found.calls == 0)
    _join(tx, context, found.id, queued[:count], loads[:count], now)
    complete = count < len(queued) or len(queued) < CHUNK
    return Drafting(found.id if complete and found.calls + count else None, count)


def _load(context: LaneContext, request: Queued) -> Load:
    sent = context.prefix_bytes + items_bytes(request.tasks, request.content_bytes)
    return Load(written_size(sent), need_of(context, request).input)


def _allowance(
    tx: Transaction, context: LaneContext, credential: CredentialId | None
) -> int | None:
    """How many tokens may be queued at the provider besides those that are; None: nobody says."""
    most = context.facts.limits.enqueued
    return None if most is None else most - tx.batches.queued_tokens(context.facts.name, credential)


def _most_enqueued(context: LaneContext) -> int:
    return context.facts.limits.enqueued or 0


def _join(
    tx: Transaction,
    context: LaneContext,
    batch: BatchId,
    queued: Sequence[Queued],
    loads: Sequence[Load],
    now: datetime,
) -> None:
    """Take calls into a draft: each is out from now on, and the batch answers for it."""
    if not queued:
        return
    tx.requests.claim(queued)
    ids = tx.attempts.take_ids(len(queued))
    at = to_micros(now)
    attempts = [
        NewBatchAttempt(
            attempt,
            each.id,
            each.sent + 1,
            batch,
            context.provider,
            context.facts.name,
            context.sending(each.max_output).params_text,
            at,
            each.reserve,
        )
        for attempt, each in zip(ids, queued, strict=True)
    ]
    size, tokens = (sum(each) for each in zip(*loads, strict=True))
    tx.batches.grow(batch, attempts, size, tokens)
    if again := sum(each.sent > 0 for each in queued):
        tx.tallies.add(context.stage_id, {"resent": again})
