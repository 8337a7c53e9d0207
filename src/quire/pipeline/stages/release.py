"""Release: tasks that waited for results may go, or are told that they cannot, and why."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from quire.domain.ids import StageId, TaskId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.runs import RunStage
from quire.domain.states import TASK_OWED, RunMove, StageMove, TaskMove, TaskState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.contexts import SweepMemo
from quire.pipeline.run_spec import RunSpec

CHUNK = 5000  # tasks looked at in one transaction


def release(tx: Transaction, spec: RunSpec, done: Sequence[TaskId], now: datetime) -> int:
    """Let go whoever waited for one of these alone; returns how many."""
    hopeful = tx.lineage.dependants_to_reset(done, spec.lenient_stages)
    if hopeful:  # they were told that it would not come
        tx.tasks.move_tasks(TaskMove.RESET, [task for task, _ in hopeful], [TaskState.BLOCKED])
        for stage in sorted({stage for _, stage in hopeful}):
            tx.runs.move_stage(StageMove.REOPEN, stage)
        tx.runs.move_run(RunMove.REOPEN, spec.run_id, now)
    return tx.tasks.move_tasks(TaskMove.RELEASE, tx.lineage.dependants_to_release(done))


def has_owed_tasks(tx: Transaction, stage: StageId) -> bool:
    """Whether a stage still owes answers."""
    counts = tx.tallies.tallies_of_stage(stage)
    return any(counts.get(state, 0) for state in TASK_OWED)


def has_settled_inputs(tx: Transaction, spec: RunSpec, stage: RunStage) -> bool:
    """Whether nothing that a stage reads is still on its way: then nobody else looks after it."""
    return not any(
        has_owed_tasks(tx, spec.stage_ids[name]) for name in spec.stages[stage.id].upstream
    )


def sweep(tx: Transaction, memo: SweepMemo, spec: RunSpec, stage: RunStage, now: datetime) -> int:
    """Look again at all that waits or is blocked in a stage; returns how many moved.

    What was looked at in vain is not looked at again while nothing above it moves.
    """
    counts = tx.tallies.tallies_of_stage(stage.id)
    if not counts.get(TaskState.BLOCKED, 0) and not counts.get(TaskState.WAITING, 0):
        return 0
    above = [
        tx.tallies.tallies_of_stage(spec.stage_ids[name]) for name in spec.stages[stage.id].upstream
    ]
    state = (counts.get(TaskState.BLOCKED, 0), counts.get(TaskState.WAITING, 0), above)
    if memo.is_unchanged(("sweep", stage.id), state, now):
        return 0
    moved = _sweep_tasks(tx, spec, stage, counts)
    if not moved:
        memo.note(("sweep", stage.id), state, now)
    return moved


def _sweep_tasks(tx: Transaction, spec: RunSpec, stage: RunStage, counts: Mapping[str, int]) -> int:
    moved = 0
    if counts.get(TaskState.BLOCKED, 0):
        moved += _reset_unblocked(tx, spec, stage.id)
        counts = tx.tallies.tallies_of_stage(stage.id)
    if counts.get(TaskState.WAITING, 0):
        moved += _release_or_block(tx, spec, stage)
    return moved


def _reset_unblocked(tx: Transaction, spec: RunSpec, stage: StageId) -> int:
    """What was blocked by something that may succeed after all waits for it again."""
    hopeful = tx.lineage.tasks_to_reset(stage, CHUNK, spec.leaving_out(spec.stages[stage]))
    if not hopeful:
        return 0
    tx.tasks.note_tasks([TaskNote(task) for task in hopeful])
    return tx.tasks.move_tasks(TaskMove.RESET, hopeful, [TaskState.BLOCKED])


def _release_or_block(tx: Transaction, spec: RunSpec, stage: RunStage) -> int:
    leaving_out = spec.leaving_out(spec.stages[stage.id])
    ready = tx.lineage.tasks_to_release(stage.id, CHUNK, leaving_out)
    moved = tx.tasks.move_tasks(TaskMove.RELEASE, ready) if ready else 0
    if leaving_out and ready:
        return moved
    reasons: dict[TaskError, list[TaskId]] = defaultdict(list)
    for task, culprit, above in tx.lineage.tasks_to_block(stage.id, CHUNK, leaving_out):
        error = TaskError(TaskErrorKind.BLOCKED, stage=above or "", task=culprit)
        reasons[error if culprit else TaskError(TaskErrorKind.UNREAD)].append(task)
    for error, tasks in reasons.items():
        tx.tasks.note_tasks([TaskNote(task, error=error) for task in tasks])
        moved += tx.tasks.move_tasks(TaskMove.BLOCK, tasks)
    return moved
