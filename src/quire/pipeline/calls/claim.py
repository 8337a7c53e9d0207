"""Claim: queued requests go out as attempts, each rechecked and rendered.

Claim is the moment before money is spent. In one transaction queued requests become `out` and each
gets an attempt, the intent to send it; only after the commit does the courier send. So a process
that dies leaves either nothing or an open attempt whose call may have been carried out: never a
call that nobody knows of. What could go wrong: the world moved since the request was packed (a task
was cancelled, an input made way, a template renders differently), so members and inputs are looked
at again and the text must hash to what was promised; what does not is given back, for nothing.
Several workers claim at once, so requests move by compare-and-set and limits are taken under a
lock. An attempt's number is the fencing token: an answer counts for the attempt that it answers.

`receive` is the other half: what came back is stored before anything else is read from it, and
storing it twice is harmless (idempotent), because a commit of unknown outcome is simply repeated.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from quire.domain.accounts import Account, Need, Pool, Rates
from quire.domain.ids import AttemptId, LaneId, RequestId, WorkerId
from quire.domain.models import Limits, StructuredOutput
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.requests import Answer, AttemptGroup, Call, CallFailure, CallText, QueuedRequest
from quire.domain.states import RequestState
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import to_micros
from quire.pipeline.calls.admit import (
    LONGEST_REST,
    LimitReport,
    call_size,
    learn_limits,
    likely_room,
    note_cached,
    note_not_cached,
    pool_of,
    prime_cache,
    reserve_limits,
)
from quire.pipeline.calls.afford import Purse, release_unsent, reserve_funds
from quire.pipeline.calls.culprits import CallOutcome, isolate_culprits
from quire.pipeline.calls.embed import (
    awaited_texts,
    embedding_call,
    record_embedding_failures,
)
from quire.pipeline.calls.estimate import with_estimates
from quire.pipeline.calls.learn_rates import (
    AcceptedCalls,
    RateRefusal,
    learn_rates,
    note_accepted_calls,
)
from quire.pipeline.calls.limit_profiles import lane_limits
from quire.pipeline.calls.odd_answers import remedy_odd_answers
from quire.pipeline.calls.plugin_holds import check_plugins
from quire.pipeline.calls.provider_holds import hold_for_provider
from quire.pipeline.calls.record import (
    drop_requests,
    record_answers,
    record_failures,
    split_or_give_up,
)
from quire.pipeline.calls.refusals import note_answered
from quire.pipeline.calls.render import unchanged_requests
from quire.pipeline.calls.stored_texts import verified_texts
from quire.pipeline.contexts import Contexts, LaneContext, LaneRest
from quire.planning.call_health import SentCall
from quire.planning.fallbacks import weaken_call
from quire.planning.learnt_rates import RefusedCall

NO_REST = timedelta(0)


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
    sent: SentCall
    at: datetime  # when it was claimed
    size: int  # bytes of its prompt, about


def claim(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    sender: Sender,
    limit: int,
    now: datetime,
) -> list[Outgoing]:
    """Take up to `limit` sendable requests; the intent is stored before anything is sent."""
    pool, account = pool_of(context, sender.account), sender.account
    priming = prime_cache(tx, contexts, context, pool, now)
    most = min(limit, priming.most) if check_plugins(tx, contexts, context.spec, now) else 0
    queued, needs, purse = _next_requests(tx, contexts, context, sender, most, now)
    tx.requests.claim_requests(queued)
    texts = _sendable_texts(tx, contexts, context, queued) if queued else {}
    sendable = [request for request in queued if request.id in texts]
    if len(sendable) < len(queued):
        _drop_claimed(tx, contexts, context, [item for item in queued if item.id not in texts])
    if purse:
        release_unsent(tx, purse, sendable)
    if not sendable and priming.caching and priming.most == 1:
        note_not_cached(tx, context, pool)
    pairs = _add_attempts(tx, context, sender, sendable, purse, now) if sendable else []
    reckoned = dict(zip([request.id for request in queued], needs, strict=False))
    return [
        Outgoing(
            call_of(context, account, item, attempt, texts[item.id], caching=priming.caching),
            *(context, item.reserve, account, reckoned.get(item.id)),
            _sent_call(context, item),
            now,
            call_size(context, item),
        )
        for item, attempt in pairs
    ]


class _Affordable(NamedTuple):
    """Requests that may go now: money and limits cover them."""

    requests: list[QueuedRequest]
    needs: Sequence[Need]  # as they were reckoned; none where nothing limits the calls
    purse: Purse | None  # what was reserved for them, and perhaps for more


def _next_requests(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    sender: Sender,
    most: int,
    now: datetime,
) -> _Affordable:
    """The next requests that money and limits cover; the lane rests while others must wait."""
    pool = pool_of(context, sender.account)
    room = likely_room(contexts, context, pool, now)
    waiting = tx.requests.sendable_requests(context.lane_id, min(most, room + 1), now)
    wanted = [context.with_reserve(request) for request in waiting[:room]]
    purse = reserve_funds(tx, contexts, context, sender.worker, wanted, now)
    queued = wanted[: purse.calls] if purse else wanted
    admission = reserve_limits(tx, contexts, context, pool, queued, now)
    needs = admission.needs if admission else ()
    count = admission.calls if admission else len(queued)
    more = len(waiting) >= min(most, room + 1) or count < len(queued)  # waits to go
    rest, unheard = admission.rest if admission and more else NO_REST, False
    if purse and purse.repacked:  # smaller ones come in a moment
        rest = NO_REST
    elif len(queued) < len(wanted):  # until calls that are out release something
        rest = LONGEST_REST
    elif admission:
        unheard = admission.unheard
    contexts.rests[context.lane_id] = LaneRest(now + rest, unheard)
    return _Affordable(queued[:count], needs, purse)


def _sent_call(context: LaneContext, item: QueuedRequest) -> SentCall:
    return SentCall(item.id, context.lane_id, item.tasks, item.sent + 1, item.lost)


def _drop_claimed(
    tx: Transaction, contexts: Contexts, context: LaneContext, requests: Sequence[QueuedRequest]
) -> None:
    drop_unsendable(tx, context, requests)
    contexts.call_health[context.facts.name].forget([request.id for request in requests])


def _add_attempts(
    tx: Transaction,
    context: LaneContext,
    sender: Sender,
    sendable: Sequence[QueuedRequest],
    purse: Purse | None,
    now: datetime,
) -> list[tuple[QueuedRequest, AttemptId]]:
    pairs = list(zip(sendable, tx.attempts.take_ids(len(sendable)), strict=True))
    head, (worker, account) = context.request_head, sender
    tx.attempts.add_attempts(
        AttemptGroup(
            worker,
            context.provider,
            context.facts.name,
            account.id,
            to_micros(now),
            purse and purse.slice_id,
        ),
        [
            (attempt, item.id, item.sent + 1, head(item.max_output).params_text, item.reserve)
            for item, attempt in pairs
        ],
    )
    if again := sum(item.sent > 0 for item, _ in pairs):
        tx.tallies.add_tallies(context.stage_id, {"resent": again})
    return pairs


def _sendable_texts(
    tx: Transaction, contexts: Contexts, context: LaneContext, queued: Sequence[QueuedRequest]
) -> dict[RequestId, CallText]:
    """The texts to send; none where a member moved on or the text is not what was promised."""
    if context.embeds:
        return awaited_texts(tx, context, queued)
    most = context.policy.max_calls
    ids = [request.id for request in queued]
    waiting = tx.requests.count_sendable_members(ids, most)
    if context.reads_results:  # what they were made from may have made way since
        same = unchanged_requests(tx, ids)
        waiting = {request_id: count for request_id, count in waiting.items() if request_id in same}
    texts: dict[RequestId, CallText] = {}
    unknown: list[QueuedRequest] = []
    for request in queued:
        kept = contexts.prepared_texts.pop(request.payload_hash, None)
        if waiting.get(request.id) != request.tasks or request.lost >= most:
            continue
        if kept is None:
            unknown.append(request)
        else:
            texts[request.id] = kept
    return texts | verified_texts(tx, context, unknown) if unknown else texts


def drop_unsendable(
    tx: Transaction, context: LaneContext, requests: Sequence[QueuedRequest]
) -> None:
    """Give back what cannot go; what was in vain too often is split, and given up when alone."""
    # as the claim has just left them
    drop_requests(tx, [request.id for request in requests], [RequestState.OUT])
    for request in requests:
        if request.lost >= context.policy.max_calls:  # lost, or a batch said that it broke down
            members = tx.requests.take_members([request.id])
            error = TaskError(TaskErrorKind.NO_ANSWER, times=request.lost)
            split_or_give_up(tx, members, request.tasks, error)


def call_of(
    context: LaneContext,
    account: Account,
    request: QueuedRequest,
    attempt: AttemptId,
    text: CallText,
    *,
    caching: bool,
) -> Call:
    """What a request asks the provider, in no vendor's words yet, and as it takes calls."""
    if context.embeds:
        return embedding_call(context, attempt, text)
    call = Call(
        attempt_id=attempt,
        model=context.facts.name,
        system=context.prefix.system,
        user=text.user,
        turns=text.turns,
        stable_turns=min(context.stable_turns, len(text.turns)),
        output_schema=context.prefix.output_schema or None,
        params=context.request_head(request.max_output).params,
        wire=context.facts.wire,
        caching=caching,
        long_lived=caching and context.long_lived,
    )
    call = weaken_call(call, context.facts, context.fallbacks_with(account))
    if text.bound:
        return call
    return replace(call, wire=replace(call.wire, structured=StructuredOutput.TEXT))


class ReturnedCall(NamedTuple):
    """A call that came back: with an answer, or without."""

    outgoing: Outgoing
    outcome: Answer | CallFailure
    rates: Rates | None = None  # what the headers said


def receive(
    tx: Transaction, contexts: Contexts, returned: Sequence[ReturnedCall], now: datetime
) -> None:
    """Store paid answers before anything else, then apply what else the calls brought."""
    outcomes = [call.outcome for call in returned]
    answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
    note_accepted_calls(contexts, _accepted_calls(returned))
    answers = with_estimates(tx, contexts, answers, now)
    record_answers(tx, answers, now)
    remedy_odd_answers(tx, [answer for answer in answers if answer.odd], now)
    if any(answer.reply for answer in answers):
        note_answered(contexts, _answered_accounts(returned))
    if len(answers) < len(outcomes):
        record_embedding_failures(tx, contexts, _failures(returned, embeds=True), now)
        failures = _failures(returned, embeds=False)
        record_failures(tx, contexts, failures, now)
        hold_for_provider(tx, contexts, failures, now)
        learn_rates(tx, contexts, list(_rate_refusals(returned)), now)
    asked = [call for call in returned if not call.outgoing.context.embeds]
    isolate_culprits(tx, contexts, [_call_outcome(call) for call in asked], now)
    reporting = [
        call for call in returned if not (call.rates is None and call.outgoing.need is None)
    ]
    if reporting:
        learn_limits(tx, _limit_reports(tx, contexts, reporting, now), now)
    marked = [call for call in returned if call.outgoing.call.caching]
    if marked:
        _note_caches(tx, contexts, marked, now)


def _failures(returned: Sequence[ReturnedCall], *, embeds: bool) -> list[CallFailure]:
    """The calls that brought nothing: those for embeddings, or the others."""
    return [
        call.outcome
        for call in returned
        if isinstance(call.outcome, CallFailure) and call.outgoing.context.embeds is embeds
    ]


def _answered_accounts(
    returned: Sequence[ReturnedCall],
) -> Iterable[tuple[LaneContext, Account]]:
    """Each once: many calls of a lane come back together."""
    answered = {
        (id(outgoing.context), id(outgoing.account)): (outgoing.context, outgoing.account)
        for outgoing, outcome, _ in returned
        if isinstance(outcome, Answer) and outcome.reply is not None
    }
    return answered.values()


def _call_outcome(call: ReturnedCall) -> CallOutcome:
    failure = call.outcome if isinstance(call.outcome, CallFailure) else None
    return CallOutcome(call.outgoing.sent, call.outgoing.context, failure and failure.error)


def _rate_refusals(returned: Sequence[ReturnedCall]) -> Iterator[RateRefusal]:
    for outgoing, outcome, _ in returned:
        if isinstance(outcome, CallFailure) and outcome.error.of_rate:
            pool = pool_of(outgoing.context, outgoing.account)
            yield RateRefusal(pool, RefusedCall(to_micros(outgoing.at), outgoing.size))


def _accepted_calls(returned: Sequence[ReturnedCall]) -> Iterator[AcceptedCalls]:
    """The calls that were not too many, and when they were claimed: some at once."""
    claimed = Counter(
        (outgoing.context.facts.name, outgoing.account.id or 0, outgoing.at)
        for outgoing, outcome, _ in returned
        if isinstance(outcome, Answer)
    )
    for (model, account, at), calls in claimed.items():
        yield AcceptedCalls(Pool(model, account), to_micros(at), calls)


def _limit_reports(
    tx: Transaction, contexts: Contexts, returned: Sequence[ReturnedCall], now: datetime
) -> list[LimitReport]:
    """One for each pool, and for each word of its limits: runs may be told different ones."""
    lanes: dict[tuple[LaneId, int | None], list[ReturnedCall]] = defaultdict(list)
    for call in returned:
        lanes[call.outgoing.context.lane_id, call.outgoing.account.id].append(call)
    pools: dict[tuple[Pool, Limits], list[ReturnedCall]] = defaultdict(list)
    for calls in lanes.values():
        context, account = calls[0].outgoing.context, calls[0].outgoing.account
        pools[pool_of(context, account), lane_limits(tx, contexts, context, now)] += calls
    return [
        LimitReport(pool, limits, _unused_need(calls), [call.rates for call in calls if call.rates])
        for (pool, limits), calls in pools.items()
    ]


def _unused_need(returned: Sequence[ReturnedCall]) -> Need:
    """What answered calls were reckoned at and did not take; the provider counted the requests."""
    answered = [
        (outgoing.need, outcome.reply.usage)
        for outgoing, outcome, _ in returned
        if outgoing.need and isinstance(outcome, Answer) and outcome.reply
    ]
    known = [(need, usage) for need, usage in answered if usage.exact]
    return Need(
        0,
        sum([need.input - usage.input_total for need, usage in known]),
        sum([need.output - usage.output for need, usage in known]),
    )


def _note_caches(
    tx: Transaction, contexts: Contexts, returned: Sequence[ReturnedCall], now: datetime
) -> None:
    kept = {
        (call.outgoing.context.lane_id, call.outgoing.account.id): call.outgoing
        for call in sorted(returned, key=lambda call: isinstance(call.outcome, Answer))
    }
    answered = {
        (call.outgoing.context.lane_id, call.outgoing.account.id)
        for call in returned
        if isinstance(call.outcome, Answer)
    }
    for key, outgoing in kept.items():
        pool = pool_of(outgoing.context, outgoing.account)
        if key in answered:
            note_cached(tx, contexts, outgoing.context, pool, now)
        else:
            note_not_cached(tx, outgoing.context, pool)
