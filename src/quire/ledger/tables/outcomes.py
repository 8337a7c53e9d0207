"""Outcomes: what became of every task of a run, for tables and reports."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from quire.domain.ids import AttemptId, DocumentId, ResultId, RunId, TaskId, WorkspaceId
from quire.ledger.connection import Connection
from quire.ledger.tables.attempts import expand


class Outcome(NamedTuple):
    """One task, with its current result, or else its last refused answer."""

    task_id: TaskId
    stage: str
    state: str
    model_no: int
    sample: int
    part: str | None  # JSON
    calls: int
    tries: int
    error: str | None
    document_id: DocumentId | None
    of: TaskId | None  # the first task it reads
    result_id: ResultId | None
    data: str | None  # JSON
    attempt_id: AttemptId | None
    answer: str


class Outcomes:
    """What became of the workspace's tasks."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def of_run(self, run: RunId) -> Iterator[Outcome]:
        """Every task of a run, stage by stage in subject order, streamed."""
        rows = self._connection.stream("outcomes_of_run", workspace=self._workspace, run=run)
        for row in rows:
            text = expand(row[14], row[15]) if row[14] is not None else b""
            yield Outcome._make((*row[:14], (text or b"").decode()))

    def inputs(self, run: RunId) -> list[DocumentId]:
        """The documents of a run in order, purged ones too."""
        rows = self._connection.run("documents_given", run=run)
        return [row[0] for row in rows]

    def documents(self, run: RunId) -> dict[TaskId, tuple[DocumentId, ...]]:
        """Documents that tasks of a run show."""
        found: dict[TaskId, list[DocumentId]] = defaultdict(list)
        for task, document in self._connection.run(
            "documents_of_tasks", workspace=self._workspace, run=run
        ):
            found[task].append(document)
        return {task: tuple(documents) for task, documents in found.items()}
