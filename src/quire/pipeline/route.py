"""Route: which way a stage's calls travel from now on, and what happens to those on the way."""

from datetime import datetime

from quire.domain.ids import BatchId, LaneId, RunId, StageId
from quire.domain.runs import BATCH, DIRECT, Lane
from quire.ledger.ledger import Transaction
from quire.pipeline.record import let_go_again

CHUNK = 1000


def set_route(tx: Transaction, run: RunId, route: str) -> None:
    """Let every stage's new packs travel this way; what is queued the other way follows."""
    lanes = tx.requests.lanes_of_run(run)
    for stage, model in dict.fromkeys((each.stage_id, each.model) for each in lanes):
        ways = lanes_of(tx, run, stage, model)
        if route not in ways:
            ways[route] = tx.requests.add_lane(run, stage, model, route)
        tx.batches.serve(ways[route])
        for other, lane in ways.items():
            if other != route:
                tx.batches.redirect(lane, ways[route])


def lanes_of(tx: Transaction, run: RunId, stage: StageId, model: str) -> dict[str, LaneId]:
    """The lanes to one model of a stage, by how their requests travel."""
    lanes = tx.requests.lanes_of_run(run)
    return {e.route: e.id for e in lanes if e.stage_id == stage and e.model == model}


def direct_lane(tx: Transaction, lane: Lane) -> LaneId:
    """The lane in which the same calls would go direct."""
    return lanes_of(tx, lane.run_id, lane.stage_id, lane.model)[DIRECT]


def send_directly(tx: Transaction, lane: Lane) -> int:
    """What is queued for a batch goes direct; returns how many calls that is."""
    return tx.batches.redirect(lane.id, direct_lane(tx, lane))


def dissolve(tx: Transaction, draft: BatchId, why: str, now: datetime) -> int:
    """Give up a draft that nobody has sent: its calls are queued again; returns how many."""
    count = 0
    while rows := tx.batches.open_of(draft, CHUNK):
        count += let_go_again(tx, rows, why, now)
    tx.batches.move("abandon", draft, ["draft"])
    return count


def fall_back(tx: Transaction, run: RunId, now: datetime) -> None:
    """The deadline came: what batches still owe goes direct, and their late answers still count."""
    for lane in tx.requests.lanes_of_run(run):
        if lane.route == BATCH and lane.serves:
            tx.batches.serve(direct_lane(tx, lane))
            for draft in tx.batches.drafts_of_run(run):
                dissolve(tx, draft, "the deadline came before it was sent", now)
            send_directly(tx, lane)
            for batch in tx.batches.out_of_lane(lane.id):
                _overtake(tx, batch)


def _overtake(tx: Transaction, batch: BatchId) -> None:
    """Owe again what a batch has not answered, beside the batch."""
    if not tx.batches.mark_late(batch):
        return
    while tasks := tx.batches.late_tasks(batch, CHUNK):
        tx.tasks.move("return", tasks, ["packed"])
