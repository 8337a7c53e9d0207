"""Subjects: all that a prompt may say of some tasks, read together."""

from collections import defaultdict
from collections.abc import Sequence

from quire.domain.data import named
from quire.domain.ids import DocumentId, RequestId, ResultId, StageId, TaskId, WorkspaceId
from quire.domain.lineage import InputRow, JudgedRow, MemberRow, SubjectRow
from quire.ledger.connection import Connection, Row
from quire.ledger.tables.attempts import expand


class Subjects:
    """What the workspace's tasks are rendered from."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def ready(self, stage: StageId, model_no: int, limit: int) -> list[TaskId]:
        """What may be packed of one model's, in subject order."""
        rows = self._run("ready_parts", stage=stage, model=model_no, limit=limit)
        return [row[0] for row in rows]

    def rows(self, tasks: Sequence[TaskId]) -> list[SubjectRow]:
        """Tasks with all that is said of them alone."""
        return named(SubjectRow, self._run("subjects_of_tasks", ids=list(tasks)))

    def parts(self, tasks: Sequence[TaskId]) -> dict[TaskId, str]:
        """What groupings said of some tasks, where they said something, as JSON."""
        return {row[0]: row[1] for row in self._run("parts_of_tasks", ids=list(tasks))}

    def inputs(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[InputRow]]:
        """What each task reads, in order, with the current results."""
        found: dict[TaskId, list[InputRow]] = defaultdict(list)
        for each in named(InputRow, self._run("inputs_of_tasks", ids=list(tasks))):
            found[each.task_id].append(each)
        return found

    def data(self, results: Sequence[ResultId]) -> dict[ResultId, str | None]:
        """The data of some results, current or not."""
        rows = self._connection.run("data_of_results", ids=list(results))
        return {row[0]: row[1] for row in rows}

    def shown(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[DocumentId]]:
        """Documents that some tasks show beside the one they are about."""
        found: dict[TaskId, list[DocumentId]] = defaultdict(list)
        for row in self._connection.run("documents_shown", ids=list(tasks)):
            found[row[0]].append(row[1])
        return found

    def titles(self, documents: Sequence[DocumentId]) -> dict[DocumentId, tuple[str, str]]:
        """Title and locator of some documents."""
        rows = self._run("document_titles", ids=list(documents))
        return {row[0]: (row[1], row[2]) for row in rows}

    def texts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """The whole text of some documents, block after block."""
        found: dict[DocumentId, list[str]] = defaultdict(list)
        for row in self._run("document_contents", ids=list(documents)):
            found[row[0]].append(row[1])
        return {each: "\n\n".join(parts) for each, parts in found.items()}

    def judged(self, critics: Sequence[TaskId]) -> list[JudgedRow]:
        """What some critics' tasks judge."""
        rows = self._run("judged_answers", ids=list(critics))
        return [
            JudgedRow._make((*row[:5], (expand(row[5], row[6]) or b"").decode() if row[5] else ""))
            for row in rows
        ]

    def members(self, requests: Sequence[RequestId]) -> list[MemberRow]:
        """Who travels in some requests, in order."""
        return named(MemberRow, self._connection.run("members_of_requests", ids=list(requests)))

    def note_used(self, used: Sequence[tuple[RequestId, TaskId, str]]) -> None:
        """Note what members of new requests were rendered from."""
        self._connection.many("note_used", used)

    def used(self, requests: Sequence[RequestId]) -> dict[tuple[RequestId, TaskId], str]:
        """What members of some requests were rendered from."""
        rows = self._connection.run("used_by_members", ids=list(requests))
        return {(row[0], row[1]): row[2] for row in rows}

    def _run(self, name: str, /, **values: object) -> list[Row]:
        return self._connection.run(name, workspace=self._workspace, **values)
