"""Purging: a document's text leaves the ledger; money, counts and neighbours' results stay."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.ids import DocumentId, RequestId, TaskId, WorkspaceId
from quire.ledger.connection import Connection
from quire.ledger.moments import to_micros


class Purges:
    """Erasure, statement by statement."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def look(self, document: DocumentId) -> list[TaskId]:
        """Every task about the document or what comes from it, taken by nobody."""
        rows = self._connection.run("tasks_touched", workspace=self._workspace, document=document)
        return [row[0] for row in rows]

    def tasks(self, document: DocumentId) -> list[tuple[TaskId, str]]:
        """Every task about the document or what comes from it, with its state, all taken."""
        rows = self._connection.run("tasks_touching", workspace=self._workspace, document=document)
        return [(row[0], row[1]) for row in rows]

    def requests(self, tasks: Sequence[TaskId]) -> list[tuple[RequestId, str]]:
        """Every request that ever carried one of these tasks, with its state, all taken."""
        rows = self._connection.run("requests_touching", tasks=list(tasks))
        return [(row[0], row[1]) for row in rows]

    def unsettled(self, requests: Sequence[RequestId]) -> bool:
        """Whether an answer is here that nobody has judged: a neighbour's may be in it."""
        rows = self._connection.run("unsettled_answers", requests=requests)
        return bool(rows)

    def erase_exchanges(self, requests: Sequence[RequestId], now: datetime) -> None:
        """Erase what was sent and what came back."""
        self._connection.change("purge_responses", requests=requests)
        self._connection.change("purge_requests", requests=requests, now=to_micros(now))
        self._connection.change("purge_reasons", requests=requests)

    def erase_document(self, document: DocumentId, tasks: Sequence[TaskId], now: datetime) -> None:
        """Erase results, blocks and names of the document, and what came from it."""
        self._connection.change("purge_results", tasks=list(tasks))
        self._connection.change("purge_task_subjects", workspace=self._workspace, tasks=list(tasks))
        self._connection.change("purge_task_documents", document=document)
        self._connection.change("purge_blocks", workspace=self._workspace, document=document)
        self._connection.change(
            "purge_document", workspace=self._workspace, id=document, now=to_micros(now)
        )
