"""Estimate: what answers used where their provider does not say, and what that costs."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.models import Usage
from quire.domain.pricing import price_call
from quire.domain.reasons import EventKind
from quire.domain.requests import Answer, Reply
from quire.domain.runs import BATCH
from quire.ledger.ledger import Transaction
from quire.ledger.tables.attempts import SentSize
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.rendering import items_bytes


def with_estimates(
    tx: Transaction, contexts: Contexts, answers: Sequence[Answer], now: datetime
) -> list[Answer]:
    """The same answers; where usage is not known it is estimated, and the run told so once."""
    doubtful = {
        answer.attempt_id: answer.reply
        for answer in answers
        if answer.reply is not None and not answer.reply.usage.exact
    }
    if not doubtful:
        return list(answers)
    sizes = {size.id: size for size in tx.attempts.sizes_of_attempts(list(doubtful))}
    estimated = []
    for answer in answers:
        reply, size = doubtful.get(answer.attempt_id), sizes.get(answer.attempt_id)
        if reply is None or size is None:
            estimated.append(answer)
            continue
        context = contexts.of_lane_id(tx, answer.run_id, size.lane_id)
        usage = _estimate_usage(context, reply, size)
        cost = price_call(context.facts, usage, batched=context.route == BATCH)
        estimated.append(answer._replace(reply=reply._replace(usage=usage), cost=cost))
        _tell_once(tx, context, now)
    return estimated


def _tell_once(tx: Transaction, context: LaneContext, now: datetime) -> None:
    if not tx.events.has_event(context.run_id, EventKind.USAGE_ESTIMATED):
        model = context.facts.name
        tx.events.add_event(context.run_id, EventKind.USAGE_ESTIMATED, now, model=model)


def _estimate_usage(context: LaneContext, reply: Reply, size: SentSize) -> Usage:
    """What was said, and for what was not the tokens to allow for: presumed is at most."""
    usage = reply.usage
    if usage.input_total == 0:
        sent = context.prefix_bytes + items_bytes(size.tasks, size.content_bytes)
        usage = usage._replace(input=context.most_tokens(sent))
    if usage.output == 0:
        written = len(reply.text.encode()) + len(reply.reasoning.encode())
        usage = usage._replace(output=context.most_tokens(written))
    return usage
