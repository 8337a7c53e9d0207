"""Waive: where every answer counts, a person may say which failed tasks to go on without."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.ids import RunId, TaskId
from quire.domain.runs import HoldKind
from quire.domain.tasks import TaskView
from quire.ledger.ledger import Transaction
from quire.pipeline.begin import EXACT
from quire.pipeline.control import begin_command, going_run
from quire.recipes.policies import policy_from_json


def waive(
    tx: Transaction, tasks: Sequence[TaskId], now: datetime, command: str | None = None
) -> int:
    """Go on without failed tasks of an exact run; returns how many were not waived before."""
    views = [_view(tx, task) for task in dict.fromkeys(tasks)]
    runs = sorted({each.run_id for each in views})
    if len(runs) != 1:
        raise UsageError(
            f"these tasks belong to runs {', '.join(map(str, runs))}; waive those of one run"
            if runs
            else "no task is named; `quire failures RUN` shows their numbers"
        )
    run = RunId(runs[0])
    if not begin_command(tx, run, "waive", now, command):
        return 0
    _check(tx, run, views)
    waived = sum(tx.tasks.waive(each.id, now) for each in views)
    for each in views:
        tx.controls.waive_critics(each.id, now)
    if waived:
        listed = ", ".join(str(each.id) for each in views)
        tx.events.add(run, "waived", f"the run goes on without {listed}", now)
    if not any(tx.tasks.unwaived(stage.id) for stage in tx.runs.stages(run)):
        if tx.holds.lift(run, [HoldKind.FAILURES]):
            tx.events.add(run, "resumed", "every failed task is waived", now)
        tx.notify()
    return waived


def _view(tx: Transaction, task: TaskId) -> TaskView:
    view = tx.tasks.view(task)
    if view is None:
        raise NotFound(f"there is no task {task}; `quire failures RUN` shows some numbers")
    return view


def _check(tx: Transaction, run: RunId, views: Sequence[TaskView]) -> None:
    mode = policy_from_json(going_run(tx, run).policy).policy.completion_mode
    if mode != EXACT:
        raise IllegalMove(
            f"run {run} is {mode}: it goes on without failed tasks as it is;"
            " only an exact run waits for a waiver"
        )
    for each in views:
        if each.state != "failed":
            raise IllegalMove(
                f"task {each.id} is {each.state}, and only a failed one can be waived;"
                f" `quire failures {run}` shows those"
            )
