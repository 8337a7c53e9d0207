"""Claim: queued requests go out, each rechecked, rendered, and written down as an attempt."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from quire.domain.ids import AttemptId, RequestId, WorkerId
from quire.domain.requests import Call, NewAttempt, Queued
from quire.domain.tasks import MemberContent
from quire.ledger.ledger import Transaction
from quire.ledger.moments import to_micros
from quire.ledger.tables.tasks import Note
from quire.pipeline.contexts import StageContext, params_text
from quire.pipeline.drop import drop
from quire.pipeline.params import sent_params
from quire.plan.rendering import Item, payload_hash, user_text


class Outgoing(NamedTuple):
    """A call about to be made, with what recording its answer needs."""

    call: Call
    context: StageContext
    reserved: int


def claim(
    tx: Transaction, context: StageContext, worker: WorkerId, limit: int, now: datetime
) -> list[Outgoing]:
    """Take up to `limit` sendable requests; the intent is stored before anything is sent."""
    queued = tx.requests.claim(context.lane_id, limit, now)
    if not queued:
        return []
    contents = _by_request(tx, queued)
    users: dict[RequestId, str] = {}
    for request in queued:
        user = _checked(context, request, contents.get(request.id, []))
        if user is not None:
            users[request.id] = user
    _drop_unsendable(tx, context, [each for each in queued if each.id not in users])
    sendable = [each for each in queued if each.id in users]
    ids = tx.attempts.take_ids(len(sendable))
    tx.attempts.add(
        [
            _attempt(context, each, attempt, worker, now)
            for each, attempt in zip(sendable, ids, strict=True)
        ]
    )
    return [
        Outgoing(_call(context, each, attempt, users[each.id]), context, each.reserve)
        for each, attempt in zip(sendable, ids, strict=True)
    ]


def _by_request(tx: Transaction, queued: Sequence[Queued]) -> dict[RequestId, list[MemberContent]]:
    contents = tx.requests.contents([each.id for each in queued])
    return {key: list(group) for key, group in groupby(contents, lambda each: each.request_id)}


def _checked(
    context: StageContext, request: Queued, members: Sequence[MemberContent]
) -> str | None:
    """The text to send, or None if a member moved on or the text is not what was promised."""
    policy = context.policy
    if request.lost >= policy.max_calls:
        return None
    items = [
        Item(each.block_index, each.block_type, each.content)
        for each in members
        if each.state == "packed"
        and each.current
        and each.calls < policy.max_calls
        and each.content is not None
    ]
    if len(items) != request.tasks:
        return None
    user = request.body or user_text(context.stage.prompt, request.id, items)
    params = sent_params(context.params, request.max_output)
    digest = payload_hash(context.prefix.hash, user, params, context.facts.name)
    return user if digest == request.payload_hash else None


def _drop_unsendable(tx: Transaction, context: StageContext, requests: Sequence[Queued]) -> None:
    """Give back what cannot go; what was lost too often is split, and given up when alone."""
    drop(tx, [each.id for each in requests])
    most = context.policy.max_calls
    sizes = {each.id: each.tasks for each in requests if each.lost >= most}
    error = f"the call was lost {most} times without an answer"
    for each in tx.requests.members(list(sizes)) if sizes else []:
        cap = -(-sizes[each.request_id] // 2)
        tx.tasks.note([Note(each.task_id, each.tries, cap, 0, error)])
        if sizes[each.request_id] == 1:
            tx.tasks.move("give_up", [each.task_id], ["ready"])


def _attempt(
    context: StageContext, request: Queued, attempt: AttemptId, worker: WorkerId, now: datetime
) -> NewAttempt:
    return NewAttempt(
        id=attempt,
        request_id=request.id,
        no=request.sent,
        worker_id=worker,
        provider=context.facts.provider,
        model=context.facts.name,
        params=params_text(sent_params(context.params, request.max_output)),
        sent_at=to_micros(now),
        reserved=request.reserve,
    )


def _call(context: StageContext, request: Queued, attempt: AttemptId, user: str) -> Call:
    return Call(
        attempt_id=attempt,
        model=context.facts.name,
        system=context.prefix.system,
        user=user,
        output_schema=context.prefix.output_schema,
        params=sent_params(context.params, request.max_output),
    )
