"""Ready checks: ready tasks that are not asked after all: what they judge or read made way."""

from collections.abc import Sequence

from quire.domain.ids import TaskId
from quire.domain.states import TASK_OPEN, TASK_OWED, TaskState
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import LaneContext


def orphan_critics(tx: Transaction, context: LaneContext, ready: Sequence[TaskId]) -> set[TaskId]:
    """Critics of results that are not current any more."""
    if not context.stage.critic or not ready:
        return set()
    inputs = tx.subjects.inputs_of_tasks(ready)
    current = {task: {row.result_id for row in rows} for task, rows in inputs.items()}
    rows = tx.subjects.subjects_of_tasks(ready)
    return {row.id for row in rows if row.judged_result_id not in current.get(row.id, set())}


def unfounded_tasks(tx: Transaction, context: LaneContext, ready: Sequence[TaskId]) -> set[TaskId]:
    """Tasks that read something which is owed again."""
    if not context.reads_results or context.stage.critic or not ready:
        return set()
    unfinished = (*TASK_OPEN, TaskState.FAILED, TaskState.CANCELLED)
    owed = TASK_OWED if context.spec.leaving_out(context.stage) else unfinished
    inputs = tx.subjects.inputs_of_tasks(ready)
    return {task for task, rows in inputs.items() if any(row.state in owed for row in rows)}
