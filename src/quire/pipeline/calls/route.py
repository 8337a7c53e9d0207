"""Route: which way a stage's calls travel from now on, and what happens to those on the way."""

from datetime import datetime

from quire.domain.ids import BatchId, LaneId, RunId, StageId
from quire.domain.reasons import EventKind
from quire.domain.runs import BATCH, DIRECT, Lane
from quire.domain.states import BatchMove, BatchState, TaskMove, TaskState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import requeue_uncharged

CHUNK = 1000


def set_route(tx: Transaction, run: RunId, route: str) -> None:
    """Let every stage's new packs travel this way; what is queued the other way follows."""
    lanes = tx.requests.lanes_of_run(run)
    packed = (item for item in lanes if item.serves)  # others' calls are never packed
    for stage, model in dict.fromkeys((item.stage_id, item.model) for item in packed):
        ways = lanes_of(tx, run, stage, model)
        if route not in ways:
            ways[route] = tx.requests.add_lane(run, stage, model, route)
        tx.batches.serve_lane(ways[route])
        for other, lane in ways.items():
            if other != route:
                tx.batches.redirect_requests(lane, ways[route])


def lanes_of(tx: Transaction, run: RunId, stage: StageId, model: str) -> dict[str, LaneId]:
    """The lanes to one model of a stage, by how their requests travel."""
    lanes = tx.requests.lanes_of_run(run)
    return {e.route: e.id for e in lanes if e.stage_id == stage and e.model == model}


def direct_lane(tx: Transaction, lane: Lane) -> LaneId:
    """The lane in which the same calls would go direct."""
    return lanes_of(tx, lane.run_id, lane.stage_id, lane.model)[DIRECT]


def send_directly(tx: Transaction, lane: Lane) -> int:
    """What is queued for a batch goes direct; returns how many calls that is."""
    return tx.batches.redirect_requests(lane.id, direct_lane(tx, lane))


def dissolve_draft(tx: Transaction, draft: BatchId, why: str, now: datetime) -> int:
    """Give up a draft that nobody has sent: its calls are queued again; returns how many."""
    count = 0
    while rows := tx.batches.open_attempts_of_batch(draft, CHUNK):
        count += requeue_uncharged(tx, rows, why, now)
    tx.batches.move_batch(BatchMove.ABANDON, draft, [BatchState.DRAFT])
    return count


def fall_back_to_direct(tx: Transaction, run: RunId, now: datetime) -> None:
    """The deadline came: what batches still owe goes direct, and their late answers still count."""
    served = [item for item in tx.requests.lanes_of_run(run) if item.route == BATCH and item.serves]
    calls, late = 0, 0
    for lane in served:
        tx.batches.serve_lane(direct_lane(tx, lane))
        for draft in tx.batches.drafts_of_run(run):
            dissolve_draft(tx, draft, "the deadline came before it was sent", now)
        calls += send_directly(tx, lane)
        for batch in tx.batches.open_batches_of_lane(lane.id):
            owed = _overtake_batch(tx, batch)
            calls, late = calls + owed, late + (owed > 0)
    if served:
        tx.events.add_event(run, EventKind.DEADLINE_PASSED, now, calls=calls, late=late)


def _overtake_batch(tx: Transaction, batch: BatchId) -> int:
    """Owe again what a batch has not answered, beside the batch; returns how many calls."""
    calls = tx.batches.mark_requests_late(batch)
    while calls and (tasks := tx.batches.tasks_in_late_requests(batch, CHUNK)):
        tx.tasks.move_tasks(TaskMove.RETURN, tasks, [TaskState.PACKED])
    return calls
