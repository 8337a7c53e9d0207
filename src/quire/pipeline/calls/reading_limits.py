"""Reading limits: how many tasks are put into words at once, so that memory stays bounded."""

from collections.abc import Sequence
from itertools import accumulate

from quire.domain.data import stored_json
from quire.domain.ids import TaskId
from quire.ledger.ledger import Transaction
from quire.planning.spans import span_size

MOST_TEXT = 32_000_000  # characters of documents


def readable_at_once(
    tx: Transaction, tasks: Sequence[TaskId], *, spans: bool = False
) -> Sequence[TaskId]:
    """The first of some tasks, whose documents have no more text together; at least one.

    With `spans`, of which each shows a part of a document.
    """
    if not tasks:
        return tasks
    if spans:
        parts = tx.subjects.parts_of_tasks(tasks)
        sizes = {task: span_size(stored_json(part)) for task, part in parts.items()}
    else:
        sizes = tx.subjects.document_characters_of_tasks(tasks)
    totals = accumulate(sizes.get(task, 0) for task in tasks)
    return tasks[: max(1, sum(total <= MOST_TEXT for total in totals))]
