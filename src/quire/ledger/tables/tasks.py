"""Tasks: what is owed; every change of state appends its tally in the same transaction."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from quire.domain.ids import RunId, StageId, TaskId, WorkspaceId
from quire.domain.reasons import TaskError
from quire.domain.states import TASK, TaskMove, TaskState
from quire.domain.task_wording import task_error_text
from quire.domain.tasks import Failure, ReadyTask, TaskView
from quire.ledger.connection import Connection, Row
from quire.ledger.stored_values import storable_text, to_micros
from quire.ledger.tables.table import Table, allowed_sources
from quire.ledger.tables.tallies import Tallies

PURGED = b"purged"  # in the place of what was asked, and named the content


class TaskNote(NamedTuple):
    """What a wrong or lost answer taught about a task."""

    id: TaskId
    tries: int = 0
    pack_cap: int = 0
    output_floor: int = 0
    error: TaskError | None = None


class Tasks(Table):
    """The workspace's tasks."""

    def __init__(self, connection: Connection, workspace: WorkspaceId, tallies: Tallies) -> None:
        """Work in one transaction, for one workspace."""
        super().__init__(connection, workspace)
        self._tallies = tallies

    def expand_blocks(
        self, run: RunId, stage: StageId, after: tuple[int, int], question: bytes, limit: int
    ) -> int:
        """Owe an answer about each of the next blocks, or sampled blocks, of a run after a place.

        The ledger reads and writes by itself; returns how many there were.
        """
        sampled = self._connection.run("is_sampled", run=run)
        made = self._connection.change(
            "expand_sampled_blocks" if sampled else "expand_blocks",
            workspace=self._workspace,
            run=run,
            stage=stage,
            ordinal=after[0],
            index=after[1],
            question=question,
            state=str(TaskState.READY),
            limit=limit,
        )
        self._tallies.add_tallies(stage, {TaskState.READY: made})
        return made

    def last_ready_block(self, stage: StageId) -> tuple[int, int]:
        """Where the newest ready task's block stands: its document's ordinal, and its index."""
        ordinal, index = self._run("last_ready_block", stage=stage)[0]
        return ordinal, index

    def ready_tasks(self, stage: StageId, limit: int) -> list[ReadyTask]:
        """What may be packed, in subject order."""
        return self._list(ReadyTask, "ready_tasks", stage=stage, limit=limit)

    def move_tasks(
        self, name: TaskMove, tasks: Sequence[TaskId], sources: Iterable[TaskState] | None = None
    ) -> int:
        """Make a move with every task that is where the move starts; returns how many moved."""
        if not tasks:
            return 0
        moved = 0
        for source, rows in self._move("move_tasks", TASK, name, sources, ids=tasks):
            moved += len(rows)
            self._tally(name, source, Counter(row[0] for row in rows))
        return moved

    def move_task_group(
        self,
        name: TaskMove,
        stage: StageId,
        tasks: Sequence[TaskId],
        source: TaskState,
        calls: int = 0,
    ) -> int:
        """Make a move with tasks of one stage in one state: the fast way for the common paths."""
        if not tasks:
            return 0
        allowed_sources(TASK, name, [source])
        moved = self._change(
            "move_task_group",
            stage=stage,
            ids=tasks,
            source=str(source),
            target=str(TASK.targets[name]),
            calls=calls,
        )
        self._tally(name, source, {stage: moved})
        return moved

    def move_tasks_of_stage(
        self, name: TaskMove, stage: StageId, sources: Iterable[TaskState] | None = None
    ) -> int:
        """Make a move with every task of a stage that is where the move starts."""
        statement = "grant_tasks" if name == TaskMove.RETRY else "move_stage_tasks"
        more: dict[str, object] = {"purged": PURGED} if name == TaskMove.RETRY else {}
        total = 0
        for source in allowed_sources(TASK, name, sources):
            moved = self._change(
                statement, stage=stage, source=str(source), target=str(TASK.targets[name]), **more
            )
            self._tally(name, source, {stage: moved})
            total += moved
        return total

    def count_calls(self, tasks: Sequence[TaskId]) -> None:
        """Count one more answered call for each."""
        if tasks:
            self._change("count_calls", ids=tasks)

    def note_tasks(self, notes: Sequence[TaskNote]) -> None:
        """Write down what wrong or lost answers taught."""
        rows = [(*note[:-1], *error_columns(note.error)) for note in notes]
        self._connection.run_many("note_tasks", rows)

    def count_unwaived_failures(self, stage: StageId) -> int:
        """How many failed tasks of a stage nobody has said to go on without."""
        return self._count("count_unwaived_failures", stage=stage)

    def waive_task(self, task: TaskId, now: datetime) -> bool:
        """Go on without a failed task; false if it has not failed, or was waived before."""
        return self._change("waive_task", id=task, now=to_micros(now)) > 0

    def failures_of_stage(self, stage: StageId, limit: int) -> list[Failure]:
        """Failed tasks, for people."""
        return [
            Failure._make(_with_block_name(row, 1))
            for row in self._run("failures_of_stage", stage=stage, limit=limit)
        ]

    def blocked_tasks_of_stage(self, stage: StageId, limit: int) -> list[Failure]:
        """Blocked tasks, for people."""
        return [
            Failure._make(_with_block_name(row, 1))
            for row in self._run("blocked_tasks_of_stage", stage=stage, limit=limit)
        ]

    def get_task(self, task: TaskId) -> TaskView | None:
        """One task, for people."""
        rows = self._run("get_task", id=task)
        return TaskView._make(_with_block_name(rows[0], 3)) if rows else None

    def task_before(self, task: TaskId) -> TaskId | None:
        """The task before one, in the order of a stage's results."""
        return self._one(lambda row: TaskId(row[0]), "task_before", id=task)

    def task_after(self, task: TaskId) -> TaskId | None:
        """The task after one, in the order of a stage's results."""
        return self._one(lambda row: TaskId(row[0]), "task_after", id=task)

    def task_content(self, task: TaskId) -> ReadyTask | None:
        """One task as prepare would read it; None once its block was purged."""
        return self._one(ReadyTask._make, "task_content", id=task)

    def _tally(
        self, name: TaskMove, source: TaskState, moved: "Counter[StageId] | dict[StageId, int]"
    ) -> None:
        for stage, count in moved.items():
            self._tallies.add_tallies(stage, {source: -count, TASK.targets[name]: count})


def error_columns(error: TaskError | None) -> tuple[str, str | None, str | None, TaskId | None]:
    """What stands against a task as its row keeps it: in words, and as a kind with its fields."""
    if error is None:
        return "", None, None, None
    text = storable_text(task_error_text(error))
    return text, error.kind.value, error.stage or None, error.task


def _with_block_name(row: Row, place: int) -> list[Any]:
    """A task's row for people: the name of its block, if it is about one or was before a purge."""
    *columns, question = row
    columns[place] = columns[place] or ("(purged)" if bytes(question) == PURGED else "")
    return columns
