"""Draft: queued requests gather until they are worth a batch, or go direct if they never are."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.accounts import CredentialId
from quire.domain.batches import Batch, BatchRules, NewBatchAttempt
from quire.domain.ids import BatchId, fingerprint
from quire.domain.models import Limits
from quire.domain.requests import QueuedRequest
from quire.domain.runs import Lane
from quire.domain.wallets import BATCHES
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import to_micros
from quire.pipeline.calls.admit import call_size
from quire.pipeline.calls.afford import Purse, release_unsent, reserve_funds
from quire.pipeline.calls.limit_profiles import lane_limits
from quire.pipeline.calls.plugin_holds import check_plugins
from quire.pipeline.calls.prepare import may_pack
from quire.pipeline.calls.route import dissolve_draft, send_directly
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.batch_schedule import (
    CallSize,
    count_fitting_calls,
    is_due,
    room_in,
    written_size,
)

CHUNK = 2000  # calls that join a draft in one transaction


class DraftTerms(NamedTuple):
    """What a lane's batches are gathered by."""

    rules: BatchRules
    credential: CredentialId | None  # as whom they would be sent now
    waited: float  # seconds since its queue was last empty


class DraftResult(NamedTuple):
    """What became of a lane's queue."""

    ready: BatchId | None = None  # a draft to be submitted now
    moved: int = 0  # calls taken into a draft, or sent on their way directly
    waiting: bool = False  # something is queued, and more may join it


NOTHING_DRAFTED = DraftResult()


def fill_draft(
    tx: Transaction, contexts: Contexts, lane: Lane, terms: DraftTerms, now: datetime
) -> DraftResult:
    """Fill a lane's draft if its time has come."""
    context = contexts.of_lane(tx, lane)
    if not check_plugins(tx, contexts, context.spec, now) or not tx.batches.take_lane(lane.id):
        return NOTHING_DRAFTED
    found = tx.batches.draft_of_lane(lane.id)
    if not lane.serves:  # packs go elsewhere by now: what is left here follows
        given_up = dissolve_draft(tx, found.id, "sent another way", now) if found else 0
        return DraftResult(moved=given_up + send_directly(tx, lane))
    if found is not None and (found.next_at > now or found.lease_until > now):
        return NOTHING_DRAFTED  # somebody has it in hand, or the provider asked to wait
    if found is None:
        more = may_pack(tx, contexts, context, now)
        queued = tx.requests.count_queued_in_lane(lane.id, terms.rules.calls)
        if not queued or not _is_ripe(tx, context, terms, queued, more, now):
            return DraftResult(waiting=queued > 0)
        if queued < context.policy.min_batch_size:
            return DraftResult(moved=send_directly(tx, lane))
    return _fill_batch(tx, contexts, context, found, terms, now)


def _is_ripe(
    tx: Transaction, context: LaneContext, terms: DraftTerms, queued: int, more: bool, now: datetime
) -> bool:
    """Whether a lane's queue goes now, as it is; calls that wait to go again go together."""
    policy = context.policy
    waited = terms.waited >= policy.batch_wait
    if not is_due(queued, terms.rules, more=more, waited=waited):
        return False
    ready = len(tx.requests.sendable_requests(context.lane_id, CHUNK, now))
    return ready == min(queued, CHUNK) or (waited and ready >= policy.min_batch_size)


def _fill_batch(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    found: Batch | None,
    terms: DraftTerms,
    now: datetime,
) -> DraftResult:
    sendable = tx.requests.sendable_requests(context.lane_id, CHUNK, now)
    queued = [context.with_reserve(request) for request in sendable]
    loads = [_load(context, request) for request in queued]
    limits = lane_limits(tx, contexts, context, now)
    allowance = _allowance(tx, context, terms.credential, limits)
    if found is None and not queued:  # they wait for a while themselves
        return NOTHING_DRAFTED
    if found is None and _must_wait(tx, context, terms, limits, allowance, loads[0]):
        return DraftResult(waiting=True)
    purse = reserve_funds(tx, contexts, context, BATCHES, queued, now)
    queued = queued[: purse.calls] if purse else queued
    if found is None:
        if not queued:  # nothing of it is affordable now
            return DraftResult(waiting=True)
        found = tx.batches.get_batch(tx.batches.add_batch(context.lane_id, now))
        assert found is not None
    room = room_in(terms.rules, found, allowance)
    count = count_fitting_calls(room, loads[: len(queued)], empty=found.calls == 0)
    if purse:
        release_unsent(tx, purse, queued[:count])
    _add_calls(tx, context, found.id, list(zip(queued[:count], loads, strict=False)), purse, now)
    complete = count < len(queued) or len(queued) < CHUNK
    return DraftResult(found.id if complete and found.calls + count else None, count)


def _load(context: LaneContext, request: QueuedRequest) -> CallSize:
    sent = call_size(context, request)
    return CallSize(written_size(sent), context.most_tokens(sent))


def _must_wait(
    tx: Transaction,
    context: LaneContext,
    terms: DraftTerms,
    limits: Limits,
    allowance: int | None,
    first: CallSize,
) -> bool:
    """Whether a new batch waits until the provider has worked some off, or has ended one."""
    if allowance is not None and allowance < min(first.tokens, limits.enqueued or 0):
        return True
    return _has_all_jobs(tx, context, terms.credential, limits)


def _has_all_jobs(
    tx: Transaction, context: LaneContext, credential: CredentialId | None, limits: Limits
) -> bool:
    """Whether the provider has as many batches as it takes at once; others wait for the answer."""
    if limits.jobs is None:
        return False
    name = context.facts.name
    tx.runs.lock_key(fingerprint("batches", name))
    return tx.batches.count_batch_jobs(name, credential) >= limits.jobs


def _allowance(
    tx: Transaction, context: LaneContext, credential: CredentialId | None, limits: Limits
) -> int | None:
    """How many tokens may be queued at the provider besides those that are; None: nobody says."""
    most = limits.enqueued
    return None if most is None else most - tx.batches.queued_tokens(context.facts.name, credential)


def _add_calls(
    tx: Transaction,
    context: LaneContext,
    batch: BatchId,
    calls: Sequence[tuple[QueuedRequest, CallSize]],
    purse: Purse | None,
    now: datetime,
) -> None:
    """Take calls into a draft: each is out from now on, and the batch answers for it."""
    if not calls:
        return
    queued, loads = zip(*calls, strict=True)
    tx.requests.claim_requests(queued)
    ids = tx.attempts.take_ids(len(queued))
    at = to_micros(now)
    attempts = [
        NewBatchAttempt(
            attempt,
            request.id,
            request.sent + 1,
            batch,
            context.provider,
            context.facts.name,
            context.request_head(request.max_output).params_text,
            at,
            request.reserve,
            purse and purse.slice_id,
        )
        for attempt, request in zip(ids, queued, strict=True)
    ]
    size, tokens = (sum(item) for item in zip(*loads, strict=True))
    tx.batches.add_calls(batch, attempts, size, tokens)
    if again := sum(request.sent > 0 for request in queued):
        tx.tallies.add_tallies(context.stage_id, {"resent": again})
