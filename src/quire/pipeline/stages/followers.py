"""Followers: tasks that wait for another's answer to the same question are let go at its end.

Whoever ends tasks wakes those that follow them, in the same transaction. What nobody woke (another
worker let a task follow in the moment in which its leader ended; a leader was cancelled, purged or
blocked) is woken by the sweep, once nothing of the stage is on its way any more: leader and
follower are of one stage, so that then no leader is left to wait for. A woken task is looked at
like any other that is ready: it takes the answer, or asks for itself, and follows nobody again.
"""

from collections.abc import Sequence

from quire.domain.ids import StageId, TaskId
from quire.domain.states import TaskMove, TaskState
from quire.ledger.ledger import Transaction

CHUNK = 20_000  # tasks woken in one transaction
_ANSWERING = (TaskState.READY, TaskState.PACKED, TaskState.PROPOSED)


def wake_followers(tx: Transaction, stage: StageId, ended: Sequence[TaskId]) -> int:
    """Let go whoever waits for the answers of these tasks of a stage; returns how many."""
    if not ended or not tx.questions.has_followers(stage):
        return 0
    return _wake(tx, tx.questions.followers_of_tasks(ended))


def wake_unled(tx: Transaction, stage: StageId) -> int:
    """Let go whoever follows where nobody is on the way any more; returns how many."""
    if not tx.questions.has_followers(stage):
        return 0
    counts = tx.tallies.tallies_of_stage(stage)
    if any(counts.get(state, 0) for state in _ANSWERING):
        return 0
    return _wake(tx, tx.questions.followers_in_stage(stage, CHUNK))


def _wake(tx: Transaction, tasks: Sequence[TaskId]) -> int:
    if not tasks:
        return 0
    tx.questions.stop_following(tasks)
    return tx.tasks.move_tasks(TaskMove.RELEASE, tasks)
