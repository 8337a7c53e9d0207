"""Results: the accepted data of one task, versioned, never overwritten."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from quire.domain.ids import AttemptId, DocumentId, RunId, StageId, TaskId, WorkspaceId
from quire.ledger.connection import Connection
from quire.ledger.moments import to_micros

# An accepted answer on its way into the ledger: task, its version, attempt, gates, data as JSON.
Accepted: TypeAlias = tuple[TaskId, int, AttemptId, str, str]


class ExportRow(NamedTuple):
    """One block of a run's inputs, with its task and current result where there are any."""

    document_id: DocumentId
    block_index: int
    block_type: str
    locator: str
    content: str
    task_id: TaskId | None
    state: str | None
    error: str | None
    tries: int | None
    data: str | None
    review_state: str | None
    version: int | None


class Results:
    """The workspace's results."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def add(self, results: Sequence[Accepted], now: datetime) -> None:
        """Keep accepted answers; a task that has a current one already breaks the transaction."""
        self._connection.many("add_results", results, created_at=to_micros(now))

    def current(self, tasks: Sequence[TaskId]) -> set[TaskId]:
        """Which of these tasks have a current result."""
        rows = self._connection.run("tasks_with_results", ids=list(tasks))
        return {row[0] for row in rows}

    def export(self, run: RunId, stage: StageId) -> Iterator[ExportRow]:
        """Every block of a run's inputs in order, streamed."""
        rows = self._connection.stream(
            "export_rows", workspace=self._workspace, run=run, stage=stage
        )
        return map(ExportRow._make, rows)
