"""Reading limits: how many tasks are put into words at once, so that memory stays bounded."""

from collections.abc import Sequence
from itertools import accumulate

from quire.domain.ids import TaskId
from quire.ledger.ledger import Transaction

MOST_TEXT = 32_000_000  # characters of documents


def readable_at_once(tx: Transaction, tasks: Sequence[TaskId]) -> Sequence[TaskId]:
    """The first of some tasks, whose documents have no more text together; at least one."""
    if not tasks:
        return tasks
    sizes = tx.subjects.document_characters_of_tasks(tasks)
    totals = accumulate(sizes.get(task, 0) for task in tasks)
    return tasks[: max(1, sum(total <= MOST_TEXT for total in totals))]
