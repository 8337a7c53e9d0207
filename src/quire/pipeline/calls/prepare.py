"""Prepare: ready tasks become packed, rendered, queued requests, just in time."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import NamedTuple

from quire.domain.ids import RequestId, TaskId
from quire.domain.models import Usage
from quire.domain.pricing import price_call
from quire.domain.reasons import HoldCause, TaskError, TaskErrorKind
from quire.domain.requests import (
    CallText,
    Membership,
    NewRequest,
    RequestGroup,
    RequestKind,
    Turn,
)
from quire.domain.runs import BATCH, DIRECT
from quire.domain.states import StageState, TaskMove, TaskState
from quire.domain.tasks import ReadyTask
from quire.ledger.ledger import Transaction
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.calls.admit import NO_LIMIT
from quire.pipeline.calls.compress import prompt_bytes, prompt_room_of
from quire.pipeline.calls.continue_answers import queue_continuations
from quire.pipeline.calls.failure_holds import check_failures
from quire.pipeline.calls.funds import spendable
from quire.pipeline.calls.learn import learn_sizes
from quire.pipeline.calls.packs import (
    Money,
    Pack,
    are_covered,
    fit_packs,
    form_packs,
    output_limit,
    sent_bytes,
)
from quire.pipeline.calls.plugin_holds import check_plugins
from quire.pipeline.calls.record import drop_requests, hold_run
from quire.pipeline.calls.render import GatheredTasks, gather_ready, prompt_of
from quire.pipeline.calls.route import lanes_of
from quire.pipeline.contexts import Contexts, LaneContext, Sizes
from quire.planning.failure_limits import EXPECTED, FIRST_CALLS, NEVER, REUSED
from quire.planning.history import turn_bytes
from quire.planning.job_forecasts import EARLY_TASKS
from quire.planning.rendering import (
    RENDER_VERSION,
    pack_bytes,
    rendered_hash,
    wire_ids,
)
from quire.planning.sizing import (
    prompt_room,
    prompt_tokens,
)

QUEUE_FACTOR = 8  # requests queued in a lane, per call in flight
ANSWER, REPAIR = RequestKind.ANSWER.value, RequestKind.REPAIR.value
REFILL_AFTER = 7  # of these have gone: one call for each in flight is left
FIRST_PACKS = 2 * FIRST_CALLS  # out at most, while no answer was accepted yet
GROUP = 2048  # tasks packed in one transaction, unless the calls in flight alone need more


class SharedTasks(NamedTuple):
    """Tasks that must be asked, of those that were about to be."""

    asked: list[ReadyTask]
    moved: int  # others, which need not be: they have an answer, or wait for another's


ShareQuestions = Callable[
    [Transaction, LaneContext, GatheredTasks, list[ReadyTask], datetime], SharedTasks
]


def ask_all(
    _tx: Transaction,
    _context: LaneContext,
    _gathered: GatheredTasks,
    ready: list[ReadyTask],
    _now: datetime,
) -> SharedTasks:
    """Ask every task, whoever asks the same."""
    return SharedTasks(ready, 0)


def prepare(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    now: datetime,
    share: ShareQuestions = ask_all,
) -> int:
    """Refill a lane's queue when it runs low; returns how much was done.

    `share` says which tasks need not be asked.
    """
    fit = check_plugins(tx, contexts, context.spec, now)
    if not fit or not check_failures(tx, contexts, context, now):
        return 0
    queue = QUEUE_FACTOR * context.policy.concurrency
    slots = _slots(tx, context, queue)
    if not slots:
        return 0
    wanted = slots * context.budget.cap
    room = min(wanted, _early_room(tx, contexts, context, now))
    if room <= 0:
        return 0
    if len(contexts.prepared_texts) > 4 * queue:  # texts whose requests another worker took
        contexts.prepared_texts.clear()
    gathered = gather_ready(tx, context, room)
    if not gathered.tasks:  # for which nobody has to know what answers took
        return 0
    more = len(gathered.tasks) == wanted
    sizes = learn_sizes(tx, contexts, context, len(gathered.tasks))
    unfinished = [task for task in gathered.tasks if task.id in gathered.continued][:slots]
    continued = queue_continuations(tx, contexts, context, unfinished)
    ready = _set_aside_oversized(tx, context, gathered, sizes)
    shared = share(tx, context, gathered, ready, now)
    # few may be left of those that were looked at: they wait for the next, to share their call
    left = shared.moved > 0 and len(gathered.tasks) == room
    formed = form_packs(context, sizes, shared.asked, more=more, left=left)
    if packs := _fit_money(tx, contexts, context, formed, gathered)[: slots - continued]:
        _queue(tx, contexts, context, packs, gathered)
    return continued + len(packs) + shared.moved


def _fit_money(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    packs: Sequence[Pack],
    gathered: GatheredTasks,
) -> Sequence[Pack]:
    """Calls that the rest of a run's money covers, where that is bounded and short."""
    if not packs or context.run_id not in contexts.funded_runs:
        return packs
    known = contexts.sizes[context.stage_id, context.model_no]
    free = spendable(tx, context.run_id)

    def fit(way: LaneContext) -> Sequence[Pack]:
        if are_covered(way, known, packs, gathered, free):
            return packs
        money = Money(free, calls_out=tx.wallets.has_calls_out(context.run_id))
        return fit_packs(way, known, packs, gathered, money)

    fitting, least = fit(context), context.policy.min_batch_size
    if context.route != BATCH or len(fitting) >= least:
        return fitting
    if tx.requests.count_queued_in_lane(context.lane_id, least) + len(fitting) >= least:
        return fitting
    ways = lanes_of(tx, context.run_id, context.stage_id, context.facts.name)
    return fit(contexts.of_lane_id(tx, context.run_id, ways[DIRECT]))  # too few for a batch


def _slots(tx: Transaction, context: LaneContext, queue: int) -> int:
    """How many requests to add now; a batch takes all it may carry, a group at a time."""
    group = max(1, GROUP // context.budget.cap)
    if context.route == BATCH:
        return group
    low = (QUEUE_FACTOR - REFILL_AFTER) * context.policy.concurrency
    queued = tx.requests.count_queued_in_lane(context.lane_id, low + 1)
    if queued > low:
        return 0
    drop_requests(tx, tx.requests.outdated_requests(context.lane_id, RENDER_VERSION))
    return min(queue - queued, max(context.policy.concurrency, group))


def may_pack(tx: Transaction, contexts: Contexts, context: LaneContext, now: datetime) -> bool:
    """Whether more of a stage can be packed without waiting for an answer."""
    wishes = tx.runs.wishes_of_run(context.run_id)
    if wishes is None or wishes.cancelling:
        return False
    stage = next(
        stage for stage in tx.runs.stages_of_run(context.run_id) if stage.id == context.stage_id
    )
    limit = wishes.task_limit
    if stage.state == StageState.EXPANDING and (limit is None or stage.expanded < limit):
        return True
    room = _early_room(tx, contexts, context, now)
    if context.stage.critic and _may_propose(tx, context):
        return True
    if tx.extracts.tasks_to_compress(context.stage_id, context.model_no, 1):
        return True
    return room > 0 and bool(tx.subjects.ready_parts(context.stage_id, context.model_no, 1))


def _may_propose(tx: Transaction, context: LaneContext) -> bool:
    """Whether answers that a critic must see are still to come: a fuller batch costs less."""
    counts = tx.tallies.tallies_of_stage(context.spec.stage_ids[context.stage.of])
    return any(counts.get(state, 0) for state in (TaskState.READY, TaskState.PACKED))


def _early_room(tx: Transaction, contexts: Contexts, context: LaneContext, now: datetime) -> int:
    """How many tasks may be packed: all, once the first ones were looked at and most were fine."""
    run = context.run_id
    if run in contexts.early_checked_runs:
        return NO_LIMIT
    counts = tx.tallies.tallies_of_stage(context.stage_id)
    failed = counts.get(TaskState.FAILED, 0)
    ended = failed + counts.get(TaskState.DONE, 0) - counts.get(REUSED, 0)
    if ended < EARLY_TASKS:
        packed, proposed = counts.get(TaskState.PACKED, 0), counts.get(TaskState.PROPOSED, 0)
        stuck = _stuck_tasks(tx, contexts, context)
        room = EARLY_TASKS - packed - proposed - ended + stuck
        unheld = context.policy.hold_failed_percent >= NEVER
        if context.route == BATCH or ended > failed or proposed or unheld:
            return room
        return min(room, FIRST_PACKS * context.budget.cap - packed)  # nothing has succeeded yet
    if not tx.runs.mark_early_judged(run, now):
        contexts.early_checked_runs.add(run)  # it is committed: no need to look again
    elif failed * 100 > ended * context.policy.hold_failed_percent:
        hold_run(tx, run, HoldCause.EARLY_FAILURES, now, failed=failed, tasks=ended)
        return 0
    return NO_LIMIT


def _stuck_tasks(tx: Transaction, contexts: Contexts, context: LaneContext) -> int:
    """Tasks whose calls fail again and again, also where what a batch left of them goes direct."""
    ways = lanes_of(tx, context.run_id, context.stage_id, context.facts.name)
    return contexts.call_health[context.facts.name].stuck_tasks(ways.values())


def _set_aside_oversized(
    tx: Transaction, context: LaneContext, gathered: GatheredTasks, known: Sizes
) -> list[ReadyTask]:
    """Those whose prompts fit; the others are compressed first, or fail unsent where none can be.

    One that was compressed as far as it goes is sent unless it is known not to fit: the bound that
    packs must fit by is a cautious one.
    """
    tasks, reasons = gathered.tasks, gathered.repair_reasons
    if gathered.continued:
        tasks = [task for task in tasks if task.id not in gathered.continued]
    largest = max([task.json_bytes for task in tasks], default=0)
    room = prompt_room_of(context, known, largest)
    if context.by_block and not reasons and prompt_bytes(context, "", largest, "") <= room.fits:
        return tasks  # as nearly always: the largest block fits
    sizes = [
        prompt_bytes(context, task.content, task.json_bytes, reasons.get(task.id, ""))
        + turn_bytes(gathered.turns.get(task.id, ()))
        for task in tasks
    ]
    if max(sizes, default=0) <= room.fits:
        return tasks
    fitting: list[ReadyTask] = []
    oversized: dict[TaskId, int] = {}
    for task, size in zip(tasks, sizes, strict=True):
        room = prompt_room_of(context, known, task.json_bytes)
        looked_at = context.by_block or task.id in gathered.compressed
        if size > (room.most if looked_at else room.fits):
            oversized[task.id] = size
        else:
            fitting.append(task)
    if context.by_block:
        _give_up_oversized(tx, context, oversized, known.per_byte)
    elif oversized:
        tx.extracts.want_compression(list(oversized))
    return fitting


def _give_up_oversized(
    tx: Transaction, context: LaneContext, sizes: Mapping[TaskId, int], per_byte: float | None
) -> None:
    """Blocks are never compressed: all of them is what is asked about."""
    facts = context.facts
    room = prompt_room(facts)
    notes = [
        TaskNote(
            task,
            error=TaskError(
                TaskErrorKind.TOO_LARGE,
                facts.name,
                tokens=prompt_tokens(size, facts, per_byte),
                room=room,
            ),
        )
        for task, size in sizes.items()
    ]
    tx.tasks.note_tasks(notes)
    tx.tasks.move_tasks(TaskMove.GIVE_UP, [note.id for note in notes], [TaskState.READY])


def _queue(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    packs: Sequence[Pack],
    gathered: GatheredTasks,
) -> None:
    requests: list[NewRequest] = []
    members: list[Membership] = []
    for request, packed in zip(tx.requests.take_ids(len(packs)), packs, strict=True):
        names = wire_ids(request, len(packed.tasks))
        reasons = gathered.repair_reasons.get(packed.tasks[0].id)
        said = gathered.turns.get(packed.tasks[0].id, ())
        requests.append(_request(contexts, context, packed, (request, names), (reasons, said)))
        members += [
            (request, ordinal, task.id, name, task.version)
            for ordinal, name, task in zip(count(1), names, packed.tasks, strict=False)
        ]
    tasks = [task.id for packed in packs for task in packed.tasks]
    head = context.prefix
    tx.requests.add_prefix(head.hash, head.system, head.output_schema)  # once, whoever rendered it
    queue = RequestGroup(context.lane_id, head.hash, RENDER_VERSION)
    tx.requests.add_requests(queue, requests, members)
    if gathered.used:
        used = gathered.used
        carried = [(request, task) for request, _, task, *_ in members if task in used]
        tx.subjects.note_used_results([(request, task, used[task]) for request, task in carried])
    tx.tasks.move_task_group(TaskMove.PACK, context.stage_id, tasks, TaskState.READY)
    counts = {"packs": len(requests), "packed_tasks": len(tasks)}
    expected = _expected_cost(context, packs)
    tx.tallies.add_tallies(context.stage_id, {**counts, EXPECTED: expected})


def _expected_cost(context: LaneContext, packs: Sequence[Pack]) -> int:
    """What was forecast of tasks that are asked for the first time; the others are over it."""
    fresh = [packed.tasks for packed in packs if not packed.tasks[0].calls]
    tasks = sum(map(len, fresh))
    if not tasks:
        return 0
    content = sum([task.json_bytes for some in fresh for task in some])
    calls, use = len(fresh), context.token_use
    usual = Usage(
        input=math.ceil(use.prefix + use.input(calls, tasks, content) / calls),
        output=math.ceil(use.output(calls, tasks, content) / calls) + context.facts.thinking,
    )
    return calls * price_call(context.facts, usual, batched=context.route == BATCH)


def _request(
    contexts: Contexts,
    context: LaneContext,
    packed: Pack,
    named: tuple[RequestId, Sequence[str]],
    before: tuple[str | None, tuple[Turn, ...]],
) -> NewRequest:
    stage, tasks = context.stage, packed.tasks
    reasons, turns = before
    request, names = named
    if stage.schema is None:
        rendered = tasks[0].content.encode()
    else:
        rendered = pack_bytes(prompt_of(context, reasons), names, tasks)
    user = rendered.decode()
    limit = output_limit(context, packed)
    content_bytes = sum([task.json_bytes for task in tasks])
    digest = rendered_hash(context.request_head(limit).payload_head, rendered, turns)
    if context.route != BATCH:  # a batch is written later, and may be larger than memory
        contexts.prepared_texts[digest] = CallText(user, turns)
    per_byte = contexts.sizes[context.stage_id, context.model_no].per_byte
    most_input = context.most_tokens(sent_bytes(context, tasks, reasons, turns), per_byte)
    reserve = context.most_cost(most_input, limit)
    return NewRequest(
        request,
        ANSWER if reasons is None else REPAIR,
        digest,
        len(tasks),
        content_bytes,
        limit,
        reserve,
        user if context.policy.ledger == "full" or reasons is not None else "",
        most_input=most_input,
    )
