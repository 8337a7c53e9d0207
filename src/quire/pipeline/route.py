"""Route: which way a stage's calls travel from now on, and what happens to those on the way."""

from datetime import datetime

from quire.domain.ids import BatchId, LaneId, RunId, StageId
from quire.domain.runs import BATCH, DIRECT, Lane
from quire.ledger.ledger import Transaction
from quire.pipeline.record import let_go_again

CHUNK = 1000


def set_route(tx: Transaction, run: RunId, model: str, route: str) -> None:
    """Let every stage's new packs travel this way; what is queued the other way follows."""
    for stage in tx.runs.stages(run):
        lanes = lanes_of(tx, run, stage.id)
        if route not in lanes:
            lanes[route] = tx.requests.add_lane(run, stage.id, model, route)
        tx.batches.serve(stage.id, lanes[route])
        for other, lane in lanes.items():
            if other != route:
                tx.batches.redirect(lane, lanes[route])


def lanes_of(tx: Transaction, run: RunId, stage: StageId) -> dict[str, LaneId]:
    """A stage's lanes by how their requests travel."""
    return {each.route: each.id for each in tx.requests.lanes_of_run(run) if each.stage_id == stage}


def send_directly(tx: Transaction, lane: Lane) -> int:
    """What is queued for a batch goes direct; returns how many calls that is."""
    return tx.batches.redirect(lane.id, lanes_of(tx, lane.run_id, lane.stage_id)[DIRECT])


def dissolve(tx: Transaction, draft: BatchId, why: str, now: datetime) -> int:
    """Give up a draft that nobody has sent: its calls are queued again; returns how many."""
    count = 0
    while rows := tx.batches.open_of(draft, CHUNK):
        count += let_go_again(tx, rows, why, now)
    tx.batches.move("abandon", draft, ["draft"])
    return count


def fall_back(tx: Transaction, run: RunId, now: datetime) -> int:
    """The deadline came: what batches still owe goes direct, and their late answers still count.

    Returns how many tasks are owed again.
    """
    returned = 0
    for lane in tx.requests.lanes_of_run(run):
        if lane.route == BATCH and lane.serves:
            tx.batches.serve(lane.stage_id, lanes_of(tx, run, lane.stage_id)[DIRECT])
            for draft in tx.batches.drafts_of_run(run):
                dissolve(tx, draft, "the deadline came before it was sent", now)
            send_directly(tx, lane)
            returned += sum(_overtake(tx, batch) for batch in tx.batches.out_of_lane(lane.id))
    return returned


def _overtake(tx: Transaction, batch: BatchId) -> int:
    """Owe again what a batch has not answered, beside the batch."""
    if not tx.batches.mark_late(batch):
        return 0
    returned = 0
    while tasks := tx.batches.late_tasks(batch, CHUNK):
        returned += tx.tasks.move("return", tasks, ["packed"])
    return returned
