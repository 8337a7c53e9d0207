"""Exports: what became of the tasks of a stage, and why some came to nothing, for people."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.domain.data import Json, named
from quire.domain.ids import RunId, StageId, TaskId, WorkspaceId
from quire.ledger.connection import Connection, Row

CHUNK = 500  # tasks read at once
CAUSES = 200  # of blocked tasks


class Outcome(NamedTuple):
    """One task of a stage, with what it is about and its current result where there is one."""

    task_id: TaskId
    subject: bytes
    state: str
    error: str | None
    version: int
    stale_since: int | None
    model_no: int
    sample: int
    part: str | None  # JSON
    title: str | None
    conv_uid: str | None
    block_index: int | None
    data: str | None  # JSON
    review_state: str | None


class Word(NamedTuple):
    """What a critic said of a current result, if it has spoken."""

    task_id: TaskId
    stage: str
    state: str
    model_no: int
    error: str | None
    data: str | None  # JSON


class Cause(NamedTuple):
    """What became of tasks that others read, so that those are blocked."""

    stage: str  # of those that are blocked
    above: str  # of those that they read
    state: str
    error: str
    tasks: int  # that are blocked by it


class Further(NamedTuple):
    """What else is known of some tasks."""

    inputs: dict[TaskId, list[TaskId]]
    attempts: dict[TaskId, int]
    words: dict[TaskId, list[Word]]


class Exports:
    """The outcomes of the workspace's stages."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def outcomes(self, stage: StageId) -> Iterator[list[Outcome]]:
        """Every task of a stage in subject order, some at a time."""
        after = b""
        while rows := self._run("outcomes_after", stage=stage, after=after, limit=CHUNK):
            chunk = named(Outcome, rows)
            yield chunk
            after = bytes(chunk[-1].subject)

    def further(self, tasks: Sequence[TaskId]) -> Further:
        """What some tasks read, how often they were sent, and what critics said of them."""
        inputs: dict[TaskId, list[TaskId]] = defaultdict(list)
        for task, read in self._connection.run("inputs_read", ids=list(tasks)):
            inputs[task].append(read)
        counted = self._connection.run("attempts_counted", ids=list(tasks))
        return Further(inputs, {row[0]: row[1] for row in counted}, self.words(tasks))

    def words(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[Word]]:
        """What critics said of the current results of some tasks."""
        found: dict[TaskId, list[Word]] = defaultdict(list)
        for each in named(Word, self._run("words_kept", ids=list(tasks)) if tasks else []):
            found[each.task_id].append(each)
        return found

    def refusals(self, task: TaskId) -> list[str]:
        """Why gates refused answers of a task, in the order they were asked."""
        return [row[0] for row in self._connection.run("refusals_of_task", task=task)]

    def ever_said(self, task: TaskId) -> list[tuple[str, Json]]:
        """What critics ever said of results of a task, current or not, each with its stage."""
        rows = self._run("words_ever", task=task)
        return [(row[0], json.loads(row[1] or "null")) for row in rows]

    def blocked(self, run: RunId) -> list[Cause]:
        """Why tasks are blocked, stage by stage, the commonest reason first."""
        return named(Cause, self._run("blocked_causes", run=run, limit=CAUSES))

    def _run(self, name: str, /, **values: object) -> list[Row]:
        return self._connection.run(name, workspace=self._workspace, **values)
