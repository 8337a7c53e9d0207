"""Purging: a document's text leaves the ledger; money, counts and neighbours' results stay."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.ids import DocumentId, RequestId, TaskId, WorkspaceId
from quire.ledger.connection import Connection, Row
from quire.ledger.moments import to_micros


class Purges:
    """Erasure, statement by statement."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def open_tasks(self, document: DocumentId) -> list[tuple[TaskId, str]]:
        """Tasks about the document that are still owed, with their states."""
        return [(row[0], row[1]) for row in self._run("purge_tasks_open", document)]

    def requests(self, document: DocumentId) -> list[tuple[RequestId, str]]:
        """Every request that ever carried a block of the document, with its state, all taken."""
        self._run("requests_touching", document)  # requests before tasks, as everywhere
        self._run("tasks_touching", document)  # from here on nobody packs them
        return [(row[0], row[1]) for row in self._run("requests_touching", document)]

    def unsettled(self, requests: Sequence[RequestId]) -> bool:
        """Whether an answer is here that nobody has judged: a neighbour's may be in it."""
        rows = self._connection.run("unsettled_answers", requests=requests)
        return bool(rows)

    def erase_exchanges(self, requests: Sequence[RequestId], now: datetime) -> None:
        """Erase what was sent and what came back."""
        self._connection.change("purge_responses", requests=requests)
        self._connection.change("purge_requests", requests=requests, now=to_micros(now))
        self._connection.change("purge_reasons", requests=requests)

    def erase_document(self, document: DocumentId, now: datetime) -> None:
        """Erase results, blocks and names of the document."""
        for name in ("purge_results", "purge_task_subjects", "purge_blocks"):
            self._connection.change(name, workspace=self._workspace, document=document)
        self._connection.change(
            "purge_document", workspace=self._workspace, id=document, now=to_micros(now)
        )

    def _run(self, name: str, document: DocumentId) -> list[Row]:
        return self._connection.run(name, workspace=self._workspace, document=document)
