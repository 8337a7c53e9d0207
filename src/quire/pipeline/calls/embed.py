"""Embed: passages of prompts that are too large are embedded by calls like any other.

Such a call is about no task, and nothing judges it; else it is claimed, sent, recorded and rescued
as all are, in a lane of its own. Its vectors are read from its stored response whenever they are
needed, by this prompt or by another about the same text. Tasks wait for the calls that they need,
and are compressed when those are over. Whatever finally goes wrong with embeddings never holds a
run: one text that is refused, or all of them where the model gives none any more, are ranked by
shared words instead, which the run's history tells once.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, assert_never

import orjson

from quire.accounts.credentials import mark
from quire.domain.embeddings import EmbeddingRules, GroupState, PassageGroup, StoredGroup
from quire.domain.ids import AttemptId, LaneId, RequestId, WorkerId
from quire.domain.models import Params, Usage
from quire.domain.pricing import price_call
from quire.domain.reasons import EventKind
from quire.domain.requests import (
    AnsweredAttempt,
    AttemptRow,
    Call,
    CallFailure,
    CallText,
    NewRequest,
    QueuedRequest,
    RequestGroup,
    RequestKind,
    Stop,
)
from quire.domain.states import (
    AttemptMove,
    AttemptState,
    CredentialState,
    RequestMove,
    RequestState,
)
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.compress import OversizedTask
from quire.pipeline.calls.record import (
    drop_requests,
    lose_attempts,
    refuse_uncharged,
    requeue_uncharged,
)
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.compression import text_hash
from quire.planning.embedding_groups import call_groups, passage_bytes
from quire.planning.failure_limits import EXPECTED
from quire.planning.rendering import RENDER_VERSION
from quire.planning.retrying import HoldRun, Lose, Refuse, Resend, Split, StepDown, after_error
from quire.planning.sizing import prompt_tokens

MOST_SENDINGS = 8  # of one call that come to nothing, before shared words have to do

_LOCK = text_hash("embeddings")  # two who want the same passages ask for them once


class WantedEmbeddings(NamedTuple):
    """A task whose prompt is compressed with embeddings of these passages."""

    oversized: OversizedTask
    lane: LaneId
    groups: Sequence[PassageGroup]
    rules: EmbeddingRules


class FoundEmbeddings(NamedTuple):
    """What is there of the embeddings that a task needs."""

    wanted: WantedEmbeddings
    places: Mapping[str, StoredGroup]  # by group; {}: in vain, so that words have to do
    responses: Mapping[RequestId, bytes]  # as they came


def request_embeddings(
    tx: Transaction,
    contexts: Contexts,
    worker: WorkerId,
    wanted: Sequence[WantedEmbeddings],
    now: datetime,
) -> list[FoundEmbeddings]:
    """Ask for what is not there, and let those tasks wait; returns the tasks that can go on."""
    tx.runs.lock_key(_LOCK)
    keys = {group.key for item in wanted for group in item.groups}
    known = tx.embeddings.known_embeddings(sorted(keys))
    found: list[FoundEmbeddings] = []
    waiting: list[WantedEmbeddings] = []
    for item in wanted:
        states = {_state_of(known.get(group.key), item.lane) for group in item.groups}
        if GroupState.FAILED in states:
            found.append(FoundEmbeddings(item, {}, {}))
        elif states <= {GroupState.THERE}:
            places = {group.key: known[group.key] for group in item.groups}
            requests = {place.request_id for place in places.values()}
            responses = tx.embeddings.embedded_responses(sorted(requests))
            found.append(FoundEmbeddings(item, places, responses))
        else:
            waiting.append(item)
    for lane in dict.fromkeys(item.lane for item in waiting):
        _queue_embeddings(tx, contexts, [item for item in waiting if item.lane == lane], known)
    tx.embeddings.await_embeddings([item.oversized.task_id for item in waiting], worker)
    return found


def _state_of(stored: StoredGroup | None, lane: LaneId) -> GroupState:
    """How a group stands for one lane: what another's call may bring one day is not waited for."""
    if stored is None or (stored.lane_id != lane and stored.state is not GroupState.THERE):
        return GroupState.WANTED
    return stored.state


def _queue_embeddings(
    tx: Transaction,
    contexts: Contexts,
    waiting: Sequence[WantedEmbeddings],
    known: Mapping[str, StoredGroup],
) -> None:
    """Queue calls for what nobody asked for, and note which tasks wait for which call."""
    lane, rules = waiting[0].lane, waiting[0].rules
    context = contexts.of_lane_id(tx, waiting[0].oversized.context.run_id, lane)
    groups = {group.key: group for item in waiting for group in item.groups}
    states = {key: _state_of(known.get(key), lane) for key in groups}
    missing = [group for key, group in groups.items() if states[key] is GroupState.WANTED]
    calls = list(call_groups(missing, rules))
    requests = tx.requests.take_ids(len(calls))
    head = context.prefix
    tx.requests.add_prefix(head.hash, head.system, head.output_schema)
    new = [_new_request(context, *pair) for pair in zip(requests, calls, strict=True)]
    tx.requests.add_requests(RequestGroup(lane, head.hash, RENDER_VERSION), new, [])
    awaited = {
        key: known[key].request_id for key, it in states.items() if it is GroupState.UNDERWAY
    }
    for request, some in zip(requests, calls, strict=True):
        first = 0
        for group in some:
            tx.embeddings.add_embedding(group.key, request, first)
            awaited[group.key] = request
            first += len(group.passages)
    for item in waiting:
        for request in sorted({awaited[it.key] for it in item.groups if it.key in awaited}):
            tx.embeddings.add_embedding_task(request, item.oversized.task_id)
    expected = sum(_expected_cost(context, request.content_bytes) for request in new)
    tx.tallies.add_tallies(context.stage_id, {EXPECTED: expected})


def _new_request(
    context: LaneContext, request: RequestId, groups: Iterable[PassageGroup]
) -> NewRequest:
    passages = [passage for group in groups for passage in group.passages]
    body, size = orjson.dumps(passages).decode(), passage_bytes(passages)
    most = context.most_tokens(size) + len(passages)  # some servers put a mark around each
    reserve = price_call(context.facts, Usage(input=most))
    kind = RequestKind.EMBED.value
    return NewRequest(request, kind, text_hash(body) * 2, 0, size, 0, reserve, body)


def _expected_cost(context: LaneContext, size: int) -> int:
    tokens = math.ceil(prompt_tokens(size, context.facts))
    return price_call(context.facts, Usage(input=tokens))


def awaited_texts(
    tx: Transaction, context: LaneContext, queued: Sequence[QueuedRequest]
) -> dict[RequestId, CallText]:
    """The calls for embeddings that somebody still waits for, with their passages."""
    lane = tx.embeddings.embedding_lane(context.run_id, context.stage_id, context.facts.name)
    if lane is None or lane.given_up:
        return {}
    awaited = tx.embeddings.awaited_embeddings([request.id for request in queued])
    return {item.id: CallText(item.body) for item in queued if item.body and item.id in awaited}


def embedding_call(context: LaneContext, attempt: AttemptId, text: CallText) -> Call:
    """What a call for embeddings asks, in no vendor's words yet."""
    facts = context.facts
    return Call(
        attempt_id=attempt,
        model=facts.name,
        system="",
        user="",
        output_schema=None,
        params=Params(),
        wire=facts.wire,
        passages=tuple(orjson.loads(text.user)),
        dimensions=facts.dimensions,
    )


def settle_embeddings(
    tx: Transaction, contexts: Contexts, answered: Sequence[AnsweredAttempt], now: datetime
) -> None:
    """Close calls for embeddings that were answered, and let those go on who waited for them."""
    if not answered:
        return
    last = [item for item in answered if item.no == item.sent]
    tx.requests.move_requests(RequestMove.CLOSE, [item.request_id for item in last])
    late = [item.request_id for item in answered if item.request_state == RequestState.QUEUED]
    tx.requests.move_requests(RequestMove.DROP, late, [RequestState.QUEUED])
    settled = [item.attempt_id for item in answered]
    tx.attempts.move_attempt_group(AttemptMove.SETTLE, settled, AttemptState.ANSWERED)
    for item in answered:
        if item.stop is not Stop.END:
            context = contexts.of_lane_id(tx, item.run_id, item.lane_id)
            _tell_once(tx, context, "its answer has none that can be read", now)
    tx.embeddings.end_embedding_waits()


def record_embedding_failures(
    tx: Transaction, contexts: Contexts, failures: Sequence[CallFailure], now: datetime
) -> None:
    """Apply the remedy of calls for embeddings that brought none; nobody is asked to mend them."""
    if not failures:
        return
    rows = tx.attempts.attempts_by_id([failure.attempt_id for failure in failures])
    by_attempt = {failure.attempt_id: failure for failure in failures}
    for row in rows:
        context = contexts.of_lane_id(tx, row.run_id, row.lane_id)
        _remedy_failure(tx, context, row, by_attempt[row.id], now)
    tx.embeddings.end_embedding_waits()


def _remedy_failure(
    tx: Transaction, context: LaneContext, row: AttemptRow, failure: CallFailure, now: datetime
) -> None:
    error = failure.error
    step = after_error(error, row.tasks, row.no, failure.jitter)
    match step:
        case Lose(delay=delay):
            if lose_attempts(tx, [row], str(error), now):
                tx.requests.delay_requests([(row.request_id, now + _seconds(delay))])
        case Resend(delay=delay):
            requeue_uncharged(tx, [row], str(error), now, delay)
        case HoldRun():
            requeue_uncharged(tx, [row], str(error), now)
            _try_other_key(tx, context, failure, now)
        case Refuse() | Split() | StepDown():
            if refuse_uncharged(tx, [row], str(error), now):
                tx.requests.move_requests(RequestMove.CLOSE, [row.request_id])
                _tell_once(tx, context, str(error), now)
        case never:
            assert_never(never)
    if isinstance(step, Lose | Resend) and row.no >= MOST_SENDINGS:
        give_up_embedder(tx, context, str(error), now)


def _seconds(delay: float) -> timedelta:
    return timedelta(seconds=delay)


def _try_other_key(
    tx: Transaction, context: LaneContext, failure: CallFailure, now: datetime
) -> None:
    """Set a refused key aside; whoever claims finds out if there is no other. Else that was it."""
    error, account = failure.error, failure.account
    if account.id is None or not (error.bad_key or error.spent):
        give_up_embedder(tx, context, str(error), now)
        return
    state = CredentialState.INVALID if error.bad_key else CredentialState.SPENT
    if mark(tx, account, state, str(error), now):
        fields = {"credential": account.credential, "problem": str(error)}
        tx.events.add_event(context.run_id, EventKind.KEY_REFUSED, now, **fields)


def give_up_embedder(tx: Transaction, context: LaneContext, problem: str, now: datetime) -> None:
    """Ask a model for no more embeddings of a stage: shared words have to do.

    Calls that were out meanwhile may be queued again since, so that this is done more than once.
    """
    tx.embeddings.give_up_lane(context.lane_id, now)
    drop_requests(tx, tx.embeddings.queued_embeddings(context.lane_id))
    tx.embeddings.end_embedding_waits()
    _tell_once(tx, context, problem, now)


def _tell_once(tx: Transaction, context: LaneContext, problem: str, now: datetime) -> None:
    if not tx.events.has_event(context.run_id, EventKind.EMBEDDER_FAILED):
        fields = {"model": context.facts.name, "problem": problem}
        tx.events.add_event(context.run_id, EventKind.EMBEDDER_FAILED, now, **fields)
