"""Prepare: ready tasks become packed, rendered, queued requests, just in time."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import NamedTuple

from quire.domain.ids import RequestId
from quire.domain.money import most_cost
from quire.domain.requests import Kind, Membership, NewRequest, QueuedTogether, Sample
from quire.domain.runs import BATCH, HoldKind
from quire.domain.tasks import ReadyTask
from quire.ledger.ledger import Transaction
from quire.pipeline.admit import NO_LIMIT
from quire.pipeline.contexts import NOTHING_LEARNT, Contexts, LaneContext, Sizes
from quire.pipeline.drop import drop
from quire.pipeline.gather import Gathered, gather, prompt_of
from quire.pipeline.plugins import is_fit
from quire.pipeline.record import hold
from quire.plan.calibrating import MOST_SAMPLES, Measured, calibrate
from quire.plan.forecasting import EARLY_TASKS
from quire.plan.packing import pack
from quire.plan.rendering import (
    RENDER_VERSION,
    item_bytes,
    items_bytes,
    pack_bytes,
    rendered_hash,
    wire_ids,
)
from quire.plan.sizing import bound_tokens, learn, max_tokens, output_estimates

QUEUE_FACTOR = 8  # requests queued in a lane, per call in flight
ANSWER, REPAIR = Kind.ANSWER.value, Kind.REPAIR.value
REFILL_AFTER = 7  # of these have gone: one call for each in flight is left
LEARN_AFTER = 1000  # tasks packed with sizes once learnt, before they are learnt again
GROUP = 1024  # tasks packed in one transaction, unless the calls in flight alone need more
EARLY_FAILED_PERCENT = 20


class Pack(NamedTuple):
    """Tasks that share a request."""

    tasks: list[ReadyTask]
    estimates: Sequence[int]  # of each one's output, in tokens, as far as it is to be allowed


def prepare(tx: Transaction, contexts: Contexts, context: LaneContext, now: datetime) -> int:
    """Refill a lane's queue when it runs low; returns how many requests were added."""
    if not is_fit(tx, contexts, context.told, now):
        return 0
    queue = QUEUE_FACTOR * context.policy.concurrency
    slots = _slots(tx, context, queue)
    if not slots:
        return 0
    wanted = slots * context.budget.cap
    room = min(wanted, _early_room(tx, contexts, context, now))
    if room <= 0:
        return 0
    if len(contexts.rendered) > 4 * queue:  # texts whose requests another worker took
        contexts.rendered.clear()
    gathered = gather(tx, context, room)
    ready = gathered.tasks
    sizes = _learn(tx, contexts, context, len(ready))
    packs = _packs(context, sizes, ready, more=len(ready) == wanted)[:slots]
    if packs:
        _queue(tx, contexts, context, packs, gathered)
    return len(packs)


def _slots(tx: Transaction, context: LaneContext, queue: int) -> int:
    """How many requests to add now; a batch takes all it may carry, a group at a time."""
    group = max(1, GROUP // context.budget.cap)
    if context.route == BATCH:
        return group
    low = (QUEUE_FACTOR - REFILL_AFTER) * context.policy.concurrency
    queued = tx.requests.queued(context.lane_id, low + 1)
    if queued > low:
        return 0
    drop(tx, tx.requests.outdated(context.lane_id, RENDER_VERSION))
    return min(queue - queued, max(context.policy.concurrency, group))


def may_pack(tx: Transaction, contexts: Contexts, context: LaneContext, now: datetime) -> bool:
    """Whether more of a stage can be packed without waiting for an answer."""
    wishes = tx.runs.wishes_of(context.run_id)
    if wishes is None or wishes.cancelling:
        return False
    stage = next(each for each in tx.runs.stages(context.run_id) if each.id == context.stage_id)
    limit = wishes.task_limit
    if stage.state == "expanding" and (limit is None or stage.expanded < limit):
        return True
    room = _early_room(tx, contexts, context, now)
    if context.stage.critic and _may_propose(tx, context):
        return True
    return room > 0 and bool(tx.subjects.ready(context.stage_id, context.model_no, 1))


def _may_propose(tx: Transaction, context: LaneContext) -> bool:
    """Whether answers that a critic must see are still to come: a fuller batch costs less."""
    counts = tx.tallies.of_stage(context.told.stage_ids[context.stage.of])
    return any(counts.get(state, 0) for state in ("ready", "packed"))


def _early_room(tx: Transaction, contexts: Contexts, context: LaneContext, now: datetime) -> int:
    """How many tasks may be packed: all, once the first ones were looked at and most were fine."""
    run = context.run_id
    if run in contexts.judged_early:
        return NO_LIMIT
    counts = tx.tallies.of_stage(context.stage_id)
    failed = counts.get("failed", 0)
    ended = failed + counts.get("done", 0)
    if ended < EARLY_TASKS:
        return EARLY_TASKS - counts.get("packed", 0) - counts.get("proposed", 0) - ended
    if not tx.runs.mark_early_judged(run, now):
        contexts.judged_early.add(run)  # it is committed: no need to look again
    elif failed * 100 > ended * EARLY_FAILED_PERCENT:
        detail = (
            f"{failed} of the first {ended} tasks failed; see `quire failures {run}`,"
            f" then `quire resume {run}` to pay for the rest anyway"
        )
        hold(tx, run, HoldKind.FAILURES, detail, now)
        return 0
    return NO_LIMIT


def _learn(tx: Transaction, contexts: Contexts, context: LaneContext, tasks: int) -> Sizes:
    """Sizes of real calls, looked at again once in a while."""
    key = (context.stage_id, context.model_no)
    sizes = contexts.sizes.get(key, NOTHING_LEARNT)
    if sizes.learned is None or sizes.packed >= LEARN_AFTER:
        sizes = _learnt(context, _samples(tx, context))
    contexts.sizes[key] = sizes._replace(packed=sizes.packed + tasks)
    return sizes


def _samples(tx: Transaction, context: LaneContext) -> list[Sample]:
    """A model's answers to the stage, however they travelled; the newest of a lane first."""
    wanted = (context.stage_id, context.facts.name)
    lanes = tx.requests.lanes_of_run(context.run_id)
    mine = [each.id for each in lanes if (each.stage_id, each.model) == wanted]
    most = MOST_SAMPLES
    return [each for lane in mine for each in tx.attempts.samples(lane, most)][:most]


def _learnt(context: LaneContext, samples: Sequence[Sample]) -> Sizes:
    measured = [
        Measured(
            context.prefix_bytes + items_bytes(each.tasks, each.content_bytes), each.input_tokens
        )
        for each in reversed(samples)
    ]
    per_byte = calibrate(measured).most_per_byte
    budget = context.budget if per_byte is None else context.budget_at(per_byte)
    return Sizes(learn(samples), per_byte, budget)


def _packs(context: LaneContext, known: Sizes, ready: list[ReadyTask], *, more: bool) -> list[Pack]:
    """Pack tasks by their sizes; a last pack that more tasks could fill waits."""
    shape, most = context.output_shape, context.facts.max_output
    sizes = [task.json_bytes for task in ready]
    inputs = [bound_tokens(item_bytes(size)) for size in sizes]
    outputs = output_estimates(shape, sizes, known.learned, most)
    allowed = outputs
    if known.learned is not None:  # a limit costs nothing, and an answer cut off is paid twice
        allowed = list(map(max, outputs, output_estimates(shape, sizes, None, most)))
    caps = [task.pack_cap for task in ready]
    packs: list[Pack] = []
    done = 0
    for members in pack(zip(count(), inputs, outputs, caps), known.budget or context.budget):
        cut = slice(done, done + len(members))  # packs keep the order
        packs.append(Pack(ready[cut], allowed[cut]))
        done = cut.stop
    return packs[:-1] if more and len(packs) > 1 else packs


def _queue(
    tx: Transaction,
    contexts: Contexts,
    context: LaneContext,
    packs: Sequence[Pack],
    gathered: Gathered,
) -> None:
    requests: list[NewRequest] = []
    members: list[Membership] = []
    for request, packed in zip(tx.requests.take_ids(len(packs)), packs, strict=True):
        names = wire_ids(request, len(packed.tasks))
        reasons = gathered.mended.get(packed.tasks[0].id)
        requests.append(_request(contexts, context, packed, (request, names), reasons))
        members += [
            (request, ordinal, task.id, name, task.version)
            for ordinal, name, task in zip(count(1), names, packed.tasks, strict=False)
        ]
    tasks = [task.id for packed in packs for task in packed.tasks]
    queue = QueuedTogether(context.lane_id, context.prefix.hash, RENDER_VERSION)
    tx.requests.add(queue, requests, members)
    if gathered.used:
        used = gathered.used
        carried = [(request, task) for request, _, task, *_ in members if task in used]
        tx.subjects.note_used([(request, task, used[task]) for request, task in carried])
    tx.tasks.move_group("pack", context.stage_id, tasks, "ready")
    tx.tallies.add(context.stage_id, {"packs": len(requests), "packed_tasks": len(tasks)})


def _request(
    contexts: Contexts,
    context: LaneContext,
    packed: Pack,
    named: tuple[RequestId, Sequence[str]],
    reasons: str | None,
) -> NewRequest:
    stage, facts, tasks = context.stage, context.facts, packed.tasks
    request, names = named
    if stage.schema is None:
        rendered = tasks[0].content.encode()
    else:
        rendered = pack_bytes(prompt_of(context, reasons), names, tasks)
    user = rendered.decode()
    floor = max([task.output_floor for task in tasks])
    limit = max_tokens(packed.estimates, facts, stage.max_tokens_per_block, floor)
    content_bytes = sum([task.json_bytes for task in tasks])
    sent_bytes = context.prefix_bytes + items_bytes(len(tasks), content_bytes) + len(reasons or "")
    digest = rendered_hash(context.sending(limit).payload_head, rendered)
    if context.route != BATCH:  # a batch is written later, and may be larger than memory
        contexts.rendered[digest] = user
    per_byte = contexts.sizes[context.stage_id, context.model_no].per_byte
    most_input = context.most_tokens(sent_bytes, per_byte)
    reserve = most_cost(most_input, limit, context.price_at(most_input))
    return NewRequest(
        request,
        ANSWER if reasons is None else REPAIR,
        digest,
        len(tasks),
        content_bytes,
        limit,
        reserve,
        user if context.policy.ledger == "full" or reasons is not None else "",
    )
