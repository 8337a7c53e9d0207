"""Results: the accepted data of each task, versioned, and the outcomes that exports show."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from quire.domain.data import Json, stored_json, stream_named_tuples, to_named_tuples
from quire.domain.gates import NoteKind, ReadingNote
from quire.domain.ids import AttemptId, DocumentId, ResultId, RunId, StageId, TaskId
from quire.domain.states import ReviewState, TaskState
from quire.ledger.stored_values import storable_text, to_micros
from quire.ledger.tables.attempts import decompress
from quire.ledger.tables.table import Table

# An accepted answer on its way into the ledger: task, its version, attempt, gates, data as JSON,
# what was read in another form, its stage, and why it wants a person: reasons as bits, and its rank
# among what does; None: nobody decides about it yet.
AcceptedAnswer: TypeAlias = tuple[
    TaskId, int, AttemptId, str, str, tuple[ReadingNote, ...], StageId, int, int | None
]
_GATES_AND_STAGE = itemgetter(3, 6)  # which nearly all that are accepted together share


class ExportRow(NamedTuple):
    """One block of a run's inputs, with its task and current result where there are any."""

    document_id: DocumentId
    block_index: int
    block_type: str
    locator: str
    content: str  # "" where it was not asked for
    task_id: TaskId | None
    state: TaskState | None
    error: str | None
    tries: int | None
    data: str | None
    review_state: ReviewState | None
    version: int | None
    notes: str | None  # JSON
    reused_from: ResultId | None  # the result it was taken from
    model_no: int | None
    created_at: int | None  # of the result, in microseconds
    reviewer: str | None
    reviewed_at: int | None  # in microseconds


class TaskOutcome(NamedTuple):
    """One task, with its current result, or else its last refused answer."""

    task_id: TaskId
    stage: str
    state: TaskState
    model_no: int
    sample: int
    part: str | None  # JSON
    calls: int
    tries: int
    error: str | None
    error_kind: str | None  # a TaskErrorKind; None: an older version wrote the error
    document_id: DocumentId | None
    of: TaskId | None  # the first task it reads
    result_id: ResultId | None
    data: str | None  # JSON
    attempt_id: AttemptId | None
    answer: str


OUTCOME_CHUNK = 500  # tasks read at once
MAX_CAUSES = 200  # of blocked tasks


class StageOutcome(NamedTuple):
    """One task of a stage, with what it is about and its current result where there is one."""

    task_id: TaskId
    subject: bytes
    state: TaskState
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
    review_state: ReviewState | None
    notes: str | None  # JSON
    result_id: ResultId | None
    reused_from: ResultId | None  # the result it was taken from
    document_id: DocumentId | None  # that it is about, or comes from
    source: str | None  # where that was first read from
    locator: str | None  # of its block, as JSON
    block_type: str | None
    content: str | None  # of its block
    created_at: int | None  # of the result, in microseconds
    reviewer: str | None
    reviewed_at: int | None  # in microseconds


class CarryingCalls(NamedTuple):
    """What the calls that carried a task come to; of a call with several, its share."""

    task_id: TaskId
    attempts: int = 0
    cost_pico: int = 0  # presumed or known
    last_at: int = 0  # when the last of them ended, in microseconds


class Rejection(NamedTuple):
    """Who rejected a result, and when."""

    task_id: TaskId
    reviewer: str | None
    reviewed_at: int | None  # in microseconds


class CritiqueRow(NamedTuple):
    """What a critic said of a current result, if it has spoken."""

    task_id: TaskId
    stage: str
    state: TaskState
    model_no: int
    error: str | None
    data: str | None  # JSON


class BlockCause(NamedTuple):
    """What became of tasks that others read, so that those are blocked."""

    stage: str  # of those that are blocked
    above: str  # of those that they read
    state: TaskState
    error: str
    error_kind: str | None
    error_stage: str | None
    tasks: int  # that are blocked by it


class EndedBlock(NamedTuple):
    """A block whose task is done, with its result, or failed, with the reason."""

    result_id: ResultId
    task_id: TaskId
    document_id: DocumentId
    block_index: int
    state: TaskState
    review_state: ReviewState | None
    data: str | None  # JSON
    error: str | None
    notes: str | None  # JSON


class TaskHistory(NamedTuple):
    """What else is known of some tasks."""

    inputs: dict[TaskId, list[TaskId]]
    critiques: dict[TaskId, list[CritiqueRow]]


class Results(Table):
    """The workspace's results, and what became of its tasks."""

    def add_results(self, results: Sequence[AcceptedAnswer], now: datetime) -> None:
        """Keep accepted answers; a task that has a current one already breaks the transaction."""
        at = to_micros(now)
        for (gates, stage), answers in groupby(results, _GATES_AND_STAGE):
            rows = [
                (task, version, attempt, data, notes_json(notes) if notes else "", bits, rank)
                for task, version, attempt, _, data, notes, _, bits, rank in answers
            ]
            self._connection.run_many("add_results", rows, created_at=at, gates=gates, stage=stage)

    def tasks_with_results(self, tasks: Sequence[TaskId]) -> set[TaskId]:
        """Which of these tasks have a current result."""
        return set(self._column("tasks_with_results", ids=list(tasks)))

    def count_incomplete(self, stages: Sequence[StageId]) -> dict[str, int]:
        """How many current results of these stages are not whole, by stage; those without none."""
        mark = f'%"kind": "{NoteKind.INCOMPLETE.value}"%'
        return dict(self._run("count_incomplete", stages=list(stages), mark=mark)) if stages else {}

    def export_rows(
        self, run: RunId, stage: StageId, *, contents: bool = True
    ) -> Iterator[ExportRow]:
        """Every block of a run's inputs in order, streamed, with their contents or without."""
        rows = self._connection.stream(
            "export_rows",
            workspace=self._workspace,
            run=run,
            stage=stage,
            contents=int(contents),
        )
        return stream_named_tuples(ExportRow, rows)

    def outcomes_of_run(self, run: RunId) -> Iterator[TaskOutcome]:
        """Every task of a run by stage and subject, streamed; critics of current results."""
        rows = self._connection.stream("outcomes_of_run", workspace=self._workspace, run=run)
        for row in rows:
            *head, decoded, codec = row
            text = decompress(decoded, codec) if decoded is not None else b""
            yield TaskOutcome._make((*head, (text or b"").decode()))

    def all_documents_of_run(self, run: RunId) -> list[DocumentId]:
        """The documents of a run in order, purged ones too."""
        return self._column("all_documents_of_run", run=run)

    def documents_shown_in_run(self, run: RunId) -> dict[TaskId, tuple[DocumentId, ...]]:
        """Documents that tasks of a run show."""
        found: dict[TaskId, list[DocumentId]] = defaultdict(list)
        for task, document in self._run("documents_shown_in_run", run=run):
            found[task].append(document)
        return {task: tuple(documents) for task, documents in found.items()}

    def all_outcomes(self, stage: StageId) -> Iterator[list[StageOutcome]]:
        """Every task of a stage in subject order, some at a time; critics of current results."""
        after = b""
        while chunk := self.outcomes_after(stage, after, OUTCOME_CHUNK):
            yield chunk
            after = bytes(chunk[-1].subject)

    def outcomes_after(self, stage: StageId, after: bytes, limit: int) -> list[StageOutcome]:
        """The next tasks of a stage in subject order; critics of current results."""
        return self._list(StageOutcome, "outcomes_after", stage=stage, after=after, limit=limit)

    def failed_outcomes_after(self, stage: StageId, after: int, limit: int) -> list[StageOutcome]:
        """The next that failed, by their numbers."""
        return self._list(
            StageOutcome, "failed_outcomes_after", stage=stage, after=after, limit=limit
        )

    def proposed_outcomes_after(self, stage: StageId, after: int, limit: int) -> list[StageOutcome]:
        """The next that wait for their critics."""
        return self._list(
            StageOutcome, "proposed_outcomes_after", stage=stage, after=after, limit=limit
        )

    def blocked_outcomes_after(self, stage: StageId, after: int, limit: int) -> list[StageOutcome]:
        """The next that are blocked."""
        return self._list(
            StageOutcome, "blocked_outcomes_after", stage=stage, after=after, limit=limit
        )

    def outcome_of_task(self, task: TaskId) -> StageOutcome | None:
        """One task with its current result."""
        found = self._list(StageOutcome, "outcome_of_task", id=task)
        return found[0] if found else None

    def task_history(self, tasks: Sequence[TaskId]) -> TaskHistory:
        """What some tasks read, and what critics said of them."""
        inputs: dict[TaskId, list[TaskId]] = defaultdict(list)
        for task, read in self._connection.run("inputs_read_by_tasks", ids=list(tasks)):
            inputs[task].append(read)
        return TaskHistory(inputs, self.critiques_of_tasks(tasks))

    def calls_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, CarryingCalls]:
        """What the calls that carried some tasks come to, for those that were sent."""
        rows = self._connection.run("calls_of_tasks", ids=list(tasks)) if tasks else []
        return {calls[0]: calls for calls in stream_named_tuples(CarryingCalls, rows)}

    def rejections_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, Rejection]:
        """The last rejection of some tasks, for those that have one."""
        rows = self._connection.run("rejections_of_tasks", ids=list(tasks)) if tasks else []
        return {rejection[0]: rejection for rejection in stream_named_tuples(Rejection, rows)}

    def accepted_blocks_after(self, stage: StageId, after: int, limit: int) -> list[EndedBlock]:
        """The next accepted results of a stage, in the order they came."""
        return self._list(
            EndedBlock, "accepted_blocks_after", stage=stage, after=after, limit=limit
        )

    def failed_blocks(self, stage: StageId) -> list[EndedBlock]:
        """The blocks that a stage has given up."""
        return self._list(EndedBlock, "failed_blocks", stage=stage)

    def critiques_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[CritiqueRow]]:
        """What critics said of the current results of some tasks."""
        found: dict[TaskId, list[CritiqueRow]] = defaultdict(list)
        for verdict in to_named_tuples(
            CritiqueRow, self._run("critiques_of_tasks", ids=list(tasks)) if tasks else []
        ):
            found[verdict.task_id].append(verdict)
        return found

    def answers_before_edits(self, stage: StageId) -> dict[TaskId, str]:
        """What a model had answered, as JSON, where a person's data stands now."""
        return dict(self._run("answers_before_edits", stage=stage))

    def refusals_of_task(self, task: TaskId) -> list[str]:
        """Why gates refused answers of a task, in the order they were asked."""
        return self._column("refusals_of_task", task=task)

    def last_answers_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, tuple[str, str]]:
        """The last answer that was judged of some tasks, each with the task's id in it."""
        rows = self._connection.run("last_answers_of_tasks", ids=list(tasks)) if tasks else []
        newest = {row[0]: row[1:] for row in rows}
        return {
            task: (wire_id, (decompress(decoded, codec) or b"").decode("utf-8", "replace"))
            for task, (wire_id, decoded, codec) in newest.items()
        }

    def last_critiques_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, tuple[str, Json]]:
        """The last thing that a critic said of some tasks, each with the critic's stage."""
        rows = self._run("last_critiques_of_tasks", ids=list(tasks)) if tasks else []
        return {row[0]: (row[1], stored_json(row[2])) for row in rows}

    def all_critiques_of_task(self, task: TaskId) -> list[tuple[str, Json]]:
        """What critics ever said of results of a task, current or not, each with its stage."""
        rows = self._run("all_critiques_of_task", task=task)
        return [(row[0], stored_json(row[1])) for row in rows]

    def causes_of_blocked_tasks(self, run: RunId) -> list[BlockCause]:
        """Why tasks are blocked, stage by stage, the commonest reason first."""
        return self._list(BlockCause, "causes_of_blocked_tasks", run=run, limit=MAX_CAUSES)


def notes_json(notes: tuple[ReadingNote, ...]) -> str | None:
    if not notes:
        return None
    return storable_text(json.dumps([note._asdict() for note in notes], ensure_ascii=False))
