"""Continue: tasks whose answers are not whole become requests that go on with them, each alone."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.continuation import AnswerPiece
from quire.domain.ids import AttemptId, RequestId, TaskId
from quire.domain.models import Usage
from quire.domain.pricing import price_call
from quire.domain.requests import CallText, Membership, NewRequest, RequestGroup, RequestKind
from quire.domain.runs import BATCH
from quire.domain.states import TaskMove, TaskState
from quire.domain.tasks import MemberRow, ReadyTask
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.stored_texts import continuation_text, seed_texts
from quire.pipeline.contexts import Contexts, LaneContext
from quire.planning.failure_limits import EXPECTED
from quire.planning.rendering import RENDER_VERSION, payload_hash
from quire.planning.sizing import SMALLEST_MAX_TOKENS

KIND = RequestKind.CONTINUATION.value


class _Continuation(NamedTuple):
    """A task with what goes on with its answer."""

    task: ReadyTask
    parent: AttemptId
    root: MemberRow  # the task in the request that its chain began with
    text: CallText


def queue_continuations(
    tx: Transaction, contexts: Contexts, context: LaneContext, tasks: Sequence[ReadyTask]
) -> int:
    """Queue a call for each of these tasks; whose question has changed is asked anew.

    Returns how many were moved on, in either way.
    """
    if not tasks:
        return 0
    parents = tx.pieces.last_pieces([task.id for task in tasks])
    chains = tx.pieces.pieces_before([*parents.values()])
    seeds = seed_texts(tx, context, chains)
    roots = _root_members(tx, chains)
    ready = [
        _Continuation(task, parent, root, continuation_text(context, seeds[parent], chains[parent]))
        for task in tasks
        if (parent := parents.get(task.id)) is not None
        and parent in seeds
        and (root := roots.get(task.id)) is not None
    ]
    going_on = {continuation.task.id for continuation in ready}
    tx.pieces.end_chains([task.id for task in tasks if task.id not in going_on])
    if ready:
        _queue(tx, contexts, context, ready)
    return len(tasks)


def _root_members(
    tx: Transaction, chains: dict[AttemptId, list[AnswerPiece]]
) -> dict[TaskId, MemberRow]:
    """Each chain's task in the request that it began with."""
    firsts = [chain[0].attempt_id for chain in chains.values()]
    requests = [request.id for request in tx.pieces.requests_of_attempts(firsts).values()]
    members = tx.subjects.members_of_requests(sorted(requests)) if requests else []
    return {member.task_id: member for member in members}


def _queue(
    tx: Transaction, contexts: Contexts, context: LaneContext, ready: Sequence[_Continuation]
) -> None:
    ids = tx.requests.take_ids(len(ready))
    requests = [
        _request(contexts, context, request, item) for request, item in zip(ids, ready, strict=True)
    ]
    members: list[Membership] = [
        (request, 1, item.task.id, item.root.wire_id, item.task.version)
        for request, item in zip(ids, ready, strict=True)
    ]
    head = context.prefix
    tx.requests.add_prefix(head.hash, head.system, head.output_schema)
    tx.requests.add_requests(
        RequestGroup(context.lane_id, head.hash, RENDER_VERSION), requests, members
    )
    used = [
        (request, item.task.id, item.root.used)
        for request, item in zip(ids, ready, strict=True)
        if item.root.used
    ]
    if used:
        tx.subjects.note_used_results(used)
    tasks = [item.task.id for item in ready]
    tx.tasks.move_task_group(TaskMove.PACK, context.stage_id, tasks, TaskState.READY)
    expected = sum(_expected_cost(context, request) for request in requests)
    tx.tallies.add_tallies(context.stage_id, {"continuations": len(requests), EXPECTED: expected})


def _request(
    contexts: Contexts, context: LaneContext, request: RequestId, item: _Continuation
) -> NewRequest:
    text, facts = item.text, context.facts
    said = sum(len(turn.text.encode()) for turn in text.turns) + len(text.user.encode())
    per_byte = contexts.sizes[context.stage_id, context.model_no].per_byte
    most_input = context.most_tokens(context.prefix_bytes + said, per_byte)
    room = max(SMALLEST_MAX_TOKENS, facts.window - most_input)
    limit = facts.max_output if facts.window_guessed else min(facts.max_output, room)
    digest = payload_hash(context.request_head(limit).payload_head, text.user, text.turns)
    if context.route != BATCH:
        contexts.prepared_texts[digest] = text
    reserve = context.most_cost(most_input, limit)
    return NewRequest(request, KIND, digest, 1, said, limit, reserve, "", item.parent, most_input)


def _expected_cost(context: LaneContext, request: NewRequest) -> int:
    """What a call costs that writes as much as was forecast of the first."""
    use = context.token_use
    usual = Usage(
        input=math.ceil(use.prefix + request.content_bytes * use.byte_input),
        output=math.ceil(use.call_output + use.task_output) + context.facts.thinking,
    )
    return price_call(context.facts, usual, batched=context.route == BATCH)
