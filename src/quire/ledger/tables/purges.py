"""Purging: a document's text leaves the ledger; money, counts and neighbours' results stay."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import DocumentId, RequestId, TaskId
from quire.domain.states import RequestState, TaskState
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table


class PurgeScope(NamedTuple):
    """Tasks about a document or what comes from it, and every request that carried one."""

    tasks: list[tuple[TaskId, TaskState]]
    requests: list[tuple[RequestId, RequestState]]


class Purges(Table):
    """Erasure, statement by statement."""

    def take_scope(self, document: DocumentId) -> PurgeScope:
        """All that is about the document or comes from it, taken for this transaction."""
        self._take_requests_of_tasks(
            self._tasks_from_document(document)
        )  # requests before tasks, as everywhere
        seen = self._tasks_from_document(
            document
        )  # others may have been made while we waited for those
        rows = self._run("take_tasks", tasks=seen)
        tasks = [(row[0], row[1]) for row in rows]  # from here on nobody packs them
        return PurgeScope(tasks, self._take_requests_of_tasks([task for task, _ in tasks]))

    def has_unsettled_answers(self, requests: Sequence[RequestId]) -> bool:
        """Whether an answer is here that nobody has judged: a neighbour's may be in it."""
        rows = self._connection.run("has_unsettled_answers", requests=requests)
        return bool(rows)

    def erase_exchanges(self, requests: Sequence[RequestId], now: datetime) -> None:
        """Erase what was sent and what came back."""
        self._connection.change("purge_responses", requests=requests)
        self._connection.change("purge_batch_lines", requests=requests)
        self._connection.change("purge_requests", requests=requests, now=to_micros(now))
        self._connection.change("purge_reasons", requests=requests)

    def erase_document(self, document: DocumentId, now: datetime) -> None:
        """Erase results, blocks and names of the document, and what came from it."""
        tasks = self._tasks_from_document(document)
        self._connection.change("purge_results", tasks=tasks)
        self._change("purge_task_subjects", tasks=tasks)
        self._connection.change("purge_task_documents", tasks=tasks, document=document)
        self._change("purge_blocks", document=document)
        self._change("purge_document", id=document, now=to_micros(now))

    def _tasks_from_document(self, document: DocumentId) -> list[TaskId]:
        return self._column("tasks_from_document", document=document)

    def _take_requests_of_tasks(
        self, tasks: Sequence[TaskId]
    ) -> list[tuple[RequestId, RequestState]]:
        return self._run("take_requests_of_tasks", tasks=list(tasks))
