"""Notifications: how far a run is, told in steps, and that it goes on once nothing holds it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from quire.domain.ids import RunId
from quire.domain.reasons import EventKind, HoldKind, ResumeCause
from quire.domain.states import TASK, TASK_OWED, RunState, TaskState
from quire.ledger.ledger import Transaction

STEPS = 20  # of its known tasks: a step is told when a twentieth more of them has ended
TELL_AFTER = timedelta(seconds=30)  # what has ended meanwhile is told, however little it is


def tell_progress(tx: Transaction, now: datetime) -> int:
    """Tell of running runs that came a step further; several at once tell a step once."""
    steps = 0
    for wishes in tx.runs.running_wishes():
        counts = tx.tallies.tallies_of_run(wishes.run_id)
        tasks = sum(counts.get(state, 0) for state in TASK.states)
        ended = tasks - sum(counts.get(state, 0) for state in TASK_OWED)
        before, at = tx.runs.noted_progress(wishes.run_id)
        new = ended - before
        worth = new > 0 and (new * STEPS >= tasks or now - at >= TELL_AFTER)
        if not (worth or new < 0):  # after a retry, less has ended than was told
            continue
        if tx.runs.note_progress(wishes.run_id, before, ended, now) and worth:
            done, failed = counts.get(TaskState.DONE, 0), counts.get(TaskState.FAILED, 0)
            tx.events.add_event(
                wishes.run_id,
                EventKind.PROGRESS,
                now,
                ended=ended,
                tasks=tasks,
                done=done,
                failed=failed,
            )
            steps += 1
    return steps


def lift_holds(
    tx: Transaction, run: RunId, kinds: Sequence[HoldKind], cause: ResumeCause, now: datetime
) -> bool:
    """Lift holds, and tell that the run goes on where nothing else holds it."""
    lifted = tx.holds.lift_holds(run, kinds) > 0
    free = lifted and not tx.holds.holds_of_run(run)
    if free and tx.runs.must_get_run(run).state == RunState.RUNNING:
        tx.events.add_event(run, EventKind.RESUMED, now, cause=cause)
    return lifted
