"""Release: tasks that waited for results may go, or are told that they cannot, and why."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from quire.domain.ids import StageId, TaskId
from quire.domain.runs import RunStage
from quire.domain.states import TASK_OWED
from quire.ledger.ledger import Transaction
from quire.ledger.tables.tasks import Note
from quire.pipeline.looks import Looks
from quire.pipeline.told import Told

CHUNK = 5000  # tasks looked at in one transaction


def release(tx: Transaction, told: Told, done: Sequence[TaskId], now: datetime) -> int:
    """Let go whoever waited for one of these alone; returns how many."""
    hopeful = tx.lineage.hopeful(done)
    if hopeful:  # they were told that it would not come
        tx.tasks.move("reset", [task for task, _ in hopeful], ["blocked"])
        for stage in sorted({stage for _, stage in hopeful}):
            tx.runs.move_stage("reopen", stage)
        tx.runs.move("reopen", told.run_id, now)
    return tx.tasks.move("unblock", tx.lineage.released(done))


def rests(tx: Transaction, told: Told, stage: RunStage) -> bool:
    """Whether nothing that a stage reads is still on its way: then nobody else looks after it."""
    for name in told.stages[stage.id].upstream:
        counts = tx.tallies.of_stage(told.stage_ids[name])
        if any(counts.get(state, 0) for state in TASK_OWED):
            return False
    return True


def sweep(tx: Transaction, looks: Looks, told: Told, stage: RunStage, now: datetime) -> int:
    """Look again at all that waits or is blocked in a stage; returns how many moved.

    What was looked at in vain is not looked at again while nothing above it moves.
    """
    counts = tx.tallies.of_stage(stage.id)
    if not counts.get("blocked", 0) and not counts.get("waiting", 0):
        return 0
    above = [tx.tallies.of_stage(told.stage_ids[name]) for name in told.stages[stage.id].upstream]
    state = (counts.get("blocked", 0), counts.get("waiting", 0), above)
    if looks.was_vain(("sweep", stage.id), state, now):
        return 0
    moved = _sweep(tx, told, stage, counts)
    if not moved:
        looks.note(("sweep", stage.id), state, now)
    return moved


def _sweep(tx: Transaction, told: Told, stage: RunStage, counts: Mapping[str, int]) -> int:
    moved = 0
    if counts.get("blocked", 0):
        moved += _hope_again(tx, stage.id)
        counts = tx.tallies.of_stage(stage.id)
    if counts.get("waiting", 0):
        moved += _let_go(tx, told, stage)
    return moved


def _hope_again(tx: Transaction, stage: StageId) -> int:
    """What was blocked by something that may succeed after all waits for it again."""
    hopeful = tx.lineage.blocked_hopeful(stage, CHUNK)
    if not hopeful:
        return 0
    tx.tasks.note([Note(task) for task in hopeful])
    return tx.tasks.move("reset", hopeful, ["blocked"])


def _let_go(tx: Transaction, told: Told, stage: RunStage) -> int:
    gathers = told.gathers(told.stages[stage.id])
    look = tx.lineage.waiting_gathered if gathers else tx.lineage.waiting_released
    ready = look(stage.id, CHUNK)
    moved = tx.tasks.move("unblock", ready) if ready else 0
    if gathers and ready:
        return moved
    reasons: dict[str, list[TaskId]] = defaultdict(list)
    for task, culprit, above in tx.lineage.waiting_doomed(stage.id, CHUNK):
        reasons[f"task {culprit} of {above}, which it reads, came to nothing"].append(task)
    for reason, tasks in reasons.items():
        tx.tasks.note([Note(task, error=reason) for task in tasks])
        moved += tx.tasks.move("block", tasks)
    return moved
