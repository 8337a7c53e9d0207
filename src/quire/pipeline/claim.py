"""Claim: queued requests go out, each rechecked, rendered, and written down as an attempt."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from quire.domain.accounts import Account
from quire.domain.ids import AttemptId, RequestId, WorkerId
from quire.domain.limits import Need
from quire.domain.requests import Call, NewAttempt, Queued, SentTogether
from quire.ledger.ledger import Transaction
from quire.ledger.moments import to_micros
from quire.ledger.tables.tasks import Note
from quire.pipeline.admit import note_not_cached, pool_of, primed, within_limits
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.drop import drop
from quire.pipeline.gather import gathered_again, unchanged
from quire.pipeline.plugins import is_fit
from quire.plan.packing import halved
from quire.plan.rendering import Item, payload_hash, user_text


class Sender(NamedTuple):
    """Who sends, and as whom."""

    worker: WorkerId
    account: Account


class Outgoing(NamedTuple):
    """A call about to be made, with what recording its answer needs."""

    call: Call
    context: LaneContext
    reserved: int
    account: Account
    need: Need | None  # what it was reckoned at; None where nothing limits the calls


def claim(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    sender: Sender,
    limit: int,
    now: datetime,
) -> list[Outgoing]:
    """Take up to `limit` sendable requests; the intent is stored before anything is sent."""
    pool = pool_of(context, sender.account)
    priming = primed(tx, contexts, context, pool, now)
    most = min(limit, priming.most) if is_fit(tx, contexts, context.told, now) else 0
    queued = tx.requests.next(context.lane_id, most, now)
    needs = within_limits(tx, context, pool, queued, now)
    queued = queued if needs is None else queued[: len(needs)]
    tx.requests.claim(queued)
    texts = _texts(tx, contexts, context, queued) if queued else {}
    sendable = [each for each in queued if each.id in texts]
    if len(sendable) < len(queued):
        drop_unsendable(tx, context, [each for each in queued if each.id not in texts])
    if not sendable:
        if priming.most == 1:
            note_not_cached(tx, context, pool)
        return []
    ids = tx.attempts.take_ids(len(sendable))
    pairs = list(zip(sendable, ids, strict=True))
    tx.attempts.add(_together(context, sender, now), _attempts(context, pairs))
    if again := sum(each.sent > 0 for each in sendable):
        tx.tallies.add(context.stage_id, {"resent": again})
    reckoned = dict(zip([each.id for each in queued], needs or (), strict=False))
    return [
        Outgoing(
            call_of(context, each, attempt, texts[each.id], caching=priming.caching),
            context,
            each.reserve,
            sender.account,
            reckoned.get(each.id),
        )
        for each, attempt in pairs
    ]


def _texts(
    tx: Transaction, contexts: Contexts, context: LaneContext, queued: Sequence[Queued]
) -> dict[RequestId, str]:
    """The texts to send; none where a member moved on or the text is not what was promised."""
    most = context.policy.max_calls
    ids = [each.id for each in queued]
    waiting = tx.requests.sendable(ids, most)
    if context.reads:  # what they were made from may have made way since
        same = unchanged(tx, ids)
        waiting = {each: count for each, count in waiting.items() if each in same}
    texts: dict[RequestId, str] = {}
    unknown: list[Queued] = []
    for each in queued:
        kept = contexts.rendered.pop(each.payload_hash, None)
        if waiting.get(each.id) != each.tasks or each.lost >= most:
            continue
        if kept is None:
            unknown.append(each)
        else:
            texts[each.id] = kept
    return texts | promised_texts(tx, context, unknown) if unknown else texts


def promised_texts(
    tx: Transaction, context: LaneContext, requests: Sequence[Queued]
) -> dict[RequestId, str]:
    """Texts as the ledger stores or renders them, where they are what was promised."""
    texts = _rendered(tx, context, [each.id for each in requests if each.body is None])
    texts |= {each.id: each.body for each in requests if each.body is not None}
    return {
        each.id: texts[each.id]
        for each in requests
        if each.id in texts
        and payload_hash(context.sending(each.max_output).payload_head, texts[each.id])
        == each.payload_hash
    }


def _rendered(
    tx: Transaction, context: LaneContext, requests: Sequence[RequestId]
) -> dict[RequestId, str]:
    if not context.by_block:
        return gathered_again(tx, context, requests)
    contents = tx.requests.contents(requests) if requests else []
    return {
        request: user_text(
            context.stage.prompt,
            request,
            [Item(each.block_index, each.block_type, each.content or "") for each in members],
        )
        for request, members in groupby(contents, lambda each: each.request_id)
    }


def drop_unsendable(tx: Transaction, context: LaneContext, requests: Sequence[Queued]) -> None:
    """Give back what cannot go; what was in vain too often is split, and given up when alone."""
    drop(tx, [each.id for each in requests], ["out"])  # as the claim has just left them
    vain = {each.id: each for each in requests if each.lost >= context.policy.max_calls}
    for each in tx.requests.members(list(vain)) if vain else []:
        if not each.current:  # a newer question about it is on its way
            continue
        request = vain[each.request_id]
        times = "once" if request.lost == 1 else f"{request.lost} times"
        error = f"the call brought no answer {times}"  # lost, or a batch said that it broke down
        cap = halved(request.tasks)
        tx.tasks.note([Note(each.task_id, tries=each.tries, pack_cap=cap, error=error)])
        if request.tasks == 1:
            tx.tasks.move("give_up", [each.task_id], ["ready"])


def _together(context: LaneContext, sender: Sender, now: datetime) -> SentTogether:
    worker, account = sender
    model, sent_at = context.facts.name, to_micros(now)
    return SentTogether(worker, context.provider, model, account.id, sent_at)


def _attempts(
    context: LaneContext,
    pairs: Sequence[tuple[Queued, AttemptId]],
) -> list[NewAttempt]:
    sending = context.sending
    return [
        (
            attempt,
            request.id,
            request.sent + 1,
            sending(request.max_output).params_text,
            request.reserve,
        )
        for request, attempt in pairs
    ]


def call_of(
    context: LaneContext, request: Queued, attempt: AttemptId, user: str, *, caching: bool
) -> Call:
    """What a request asks the provider, in no vendor's words yet."""
    return Call(
        attempt_id=attempt,
        model=context.facts.name,
        system=context.prefix.system,
        user=user,
        output_schema=context.prefix.output_schema or None,
        params=context.sending(request.max_output).params,
        wire=context.facts.wire,
        caching=caching,
        long_lived=caching and context.long_lived,
    )
