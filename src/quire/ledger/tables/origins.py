"""Origins: what results were made from, results and documents, whether they are current or not."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.ids import DocumentId, ResultId, RunId, TaskId
from quire.ledger.tables.table import Table


class ResultOriginRow(NamedTuple):
    """A result with its task, and what that is about."""

    id: ResultId
    task_id: TaskId
    run_id: RunId
    stage: str
    model_no: int
    sample: int
    version: int
    author: str  # model or person
    reused_from: ResultId | None
    current: int
    stale: int
    purged: int
    judged_result_id: ResultId | None
    document_id: DocumentId | None
    block_index: int | None
    used: str | None  # JSON: the input results that its call showed
    origin_id: TaskId | None  # the task that its lineage began at; None: with itself


class DocumentOriginRow(NamedTuple):
    """A document with the result that it is made of."""

    id: DocumentId
    title: str
    locator: str
    result_id: ResultId | None
    purged: int


class Origins(Table):
    """What the workspace's results come from."""

    def results_with_origins(self, results: Sequence[ResultId]) -> list[ResultOriginRow]:
        """Some results, in no order."""
        return self._list(ResultOriginRow, "results_with_origins", ids=list(results))

    def results_used_by_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[ResultId]]:
        """What the current results of some tasks were made from."""
        found: dict[TaskId, list[ResultId]] = defaultdict(list)
        for task, result in self._run("results_used_by_tasks", ids=list(tasks)):
            if result is not None:
                found[task].append(result)
        return found

    def documents_with_results(self, documents: Sequence[DocumentId]) -> list[DocumentOriginRow]:
        """Some documents, purged ones too."""
        return self._list(DocumentOriginRow, "documents_with_results", ids=list(documents))

    def current_result_of_task(self, task: TaskId) -> ResultId | None:
        """The result that a task has now."""
        return self._one(lambda row: ResultId(row[0]), "current_result_of_task", task=task)
