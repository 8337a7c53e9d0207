"""Controls: what a command changes in a whole stage at once, and stored answers judged again."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.gates import ReadingNote
from quire.domain.ids import AttemptId, RequestId, ResultId, RunId, StageId, TaskId, WorkspaceId
from quire.domain.requests import AnsweredAttempt
from quire.domain.states import REVIEW, TASK, ReviewMove, ReviewState, TaskMove, TaskState
from quire.domain.tasks import LeavingOut
from quire.ledger.connection import Connection
from quire.ledger.stored_values import storable_text, to_micros
from quire.ledger.tables.attempts import to_answered
from quire.ledger.tables.results import notes_json
from quire.ledger.tables.table import Table, allowed_sources
from quire.ledger.tables.tallies import Tallies
from quire.ledger.tables.tasks import PURGED

Moves = tuple[tuple[TaskMove, tuple[TaskState, ...] | None], ...]
STALE_MOVES: Moves = ((TaskMove.REOPEN, None),)
ALL_MOVES: Moves = (
    (TaskMove.REOPEN, None),
    (TaskMove.RETURN, None),
    (TaskMove.RETRY, None),
    (TaskMove.RESET, (TaskState.BLOCKED,)),
)


class AnsweredTask(NamedTuple):
    """A task whose answers were judged, with its current result if it has one."""

    id: TaskId
    state: TaskState
    version: int
    result_id: ResultId | None
    attempt_id: AttemptId | None  # that the result came from
    data: str | None  # JSON
    review_state: ReviewState | None
    error: str | None


class TaskForDecision(NamedTuple):
    """A task that a person decides about, with its current result if it has one."""

    id: TaskId
    run_id: RunId
    stage_id: StageId
    state: TaskState
    version: int
    part: str | None  # JSON
    result_id: ResultId | None
    data: str | None  # JSON
    gate_version: str | None
    review_state: ReviewState | None
    notes: str | None  # JSON


class Controls(Table):
    """The workspace's tasks, as commands see them: a stage at a time."""

    def __init__(self, connection: Connection, workspace: WorkspaceId, tallies: Tallies) -> None:
        """Work in one transaction, for one workspace."""
        super().__init__(connection, workspace)
        self._tallies = tallies

    def repropose_tasks(self, stage: StageId, sources: Sequence[TaskState]) -> int:
        """Let tasks wait for their critic again, where only its word is missing."""
        return self._move_picked("repropose_tasks", TaskMove.PROPOSE, stage, sources)

    def grant_critics(self, stage: StageId, sources: Sequence[TaskState]) -> int:
        """Ask critics again whose word somebody waits for."""
        return self._move_picked("grant_critics", TaskMove.RETRY, stage, sources)

    def renew_objected_answers(self, stage: StageId, source: TaskState, now: datetime) -> None:
        """Let answers make way that were objected to for the last time."""
        self._change("renew_objected_tasks", stage=stage, source=str(source))
        self._change(
            "supersede_objected_results", stage=stage, source=str(source), now=to_micros(now)
        )

    def judged_by_critics(self, critics: Sequence[TaskId]) -> list[TaskId]:
        """The tasks whose results some critics judge."""
        return self._column("judged_by_critics", ids=list(critics))

    def repropose_chosen_tasks(
        self, stage: StageId, tasks: Sequence[TaskId], sources: Sequence[TaskState]
    ) -> int:
        """Let some tasks wait for their critic again, where only its word is missing."""
        return self._move_picked(
            "repropose_chosen_tasks", TaskMove.PROPOSE, stage, sources, ids=list(tasks)
        )

    def renew_chosen_answers(
        self, stage: StageId, tasks: Sequence[TaskId], source: TaskState, now: datetime
    ) -> None:
        """Let answers of some tasks make way that were objected to for the last time."""
        chosen: dict[str, object] = {"stage": stage, "source": str(source), "ids": list(tasks)}
        self._change("renew_chosen_tasks", **chosen)
        self._change("supersede_chosen_results", now=to_micros(now), **chosen)

    def grant_chosen_tasks(
        self, stage: StageId, tasks: Sequence[TaskId], sources: Sequence[TaskState]
    ) -> int:
        """Owe some tasks that came to nothing again, with fresh tries."""
        return self._move_picked(
            "grant_chosen_tasks", TaskMove.RETRY, stage, sources, ids=list(tasks), purged=PURGED
        )

    def renew_tasks(self, stage: StageId, now: datetime, *, stale: bool) -> int:
        """Owe new answers of all tasks, or of stale ones; returns of how many.

        Old answers do not count any more, but for what a person confirmed.
        """
        values: dict[str, object] = {"stale": int(stale), "purged": PURGED}
        self._change("supersede_renewed_results", stage=stage, now=to_micros(now), **values)
        owed = 0
        if not stale:  # before others join them
            owed = self._change("renew_owed_tasks", stage=stage, purged=PURGED)
        for name, sources in STALE_MOVES if stale else ALL_MOVES:
            owed += self._move_picked("renew_moved_tasks", name, stage, sources, **values)
        return owed

    def stale_tasks(self, stage: StageId, limit: int) -> list[TaskId]:
        """Stale tasks of a stage that `renew_tasks` renews."""
        rows = self._run("stale_tasks", stage=stage, limit=limit)
        return [row[0] for row in rows]

    def readers_to_renew(self, stage: StageId, tasks: Sequence[TaskId]) -> list[TaskId]:
        """Answered tasks of a stage that are stale once these, which they read, are renewed."""
        if not tasks:
            return []
        rows = self._run("readers_to_renew", stage=stage, ids=list(tasks))
        return [row[0] for row in rows]

    def renew_critic_tasks(self, stage: StageId, now: datetime) -> int:
        """Count only new words of critics about what is current; returns of how many."""
        renewed = self._change("renew_critics", stage=stage)
        if renewed:
            self._change("supersede_critiques", stage=stage, now=to_micros(now))
        return renewed

    def move_critics(
        self, name: TaskMove, stage: StageId, sources: Sequence[TaskState] | None = None
    ) -> int:
        """Make a move with the tasks that `renew_critics` renews."""
        return self._move_picked("move_critics", name, stage, sources)

    def propose_judged_tasks(
        self, stage: StageId, critic: StageId, sources: Sequence[TaskState]
    ) -> int:
        """Let tasks of a stage wait for a critic again that has judged them."""
        return self._move_picked(
            "propose_judged_tasks", TaskMove.PROPOSE, stage, sources, critic=critic
        )

    def move_orphaned_critics(
        self, name: TaskMove, stage: StageId, sources: Sequence[TaskState] | None = None
    ) -> int:
        """Make a move with critics whose judged result made way."""
        return self._move_picked("move_orphaned_critics", name, stage, sources)

    def reset_tasks_without_inputs(self, stage: StageId, leaving_out: LeavingOut | None) -> int:
        """Let ready tasks wait whose inputs are not there any more."""
        if leaving_out is None:
            name, values = "reset_without_inputs", {}
        else:
            name, values = "reset_gathering_without_inputs", {"about": leaving_out.about or 0}
        return self._move_picked(name, TaskMove.RESET, stage, [TaskState.READY], **values)

    def mark_stage_stale(self, stage: StageId, now: datetime) -> int:
        """Mark whoever in a stage used what is not current; returns how many."""
        marked = self._change("mark_stage_stale", stage=stage, now=to_micros(now))
        if marked:
            self._change("flag_stale_stage", stage=stage)
        return marked

    def unsent_requests_of_stages(self, stages: Sequence[StageId], limit: int) -> list[RequestId]:
        """Unsent requests of some stages."""
        return self._column("unsent_requests_of_stages", stages=list(stages), limit=limit)

    def waive_critics(self, task: TaskId, now: datetime) -> int:
        """Go on without the critics that failed a task."""
        return self._change("waive_critics", id=task, now=to_micros(now))

    def has_command_of_other_body(self, key: str, body: str) -> bool:
        """Whether the digest of a key stands before another than this digest of a body."""
        # what follows a key begins with 0 to f, so that it is before g in every collation
        range_of_key = {"first": key, "last": f"{key}g", "id": key + body}
        return bool(self._run("has_command_of_other_body", **range_of_key))

    def has_command(self, command: str) -> bool:
        """Whether a command was carried out before."""
        return bool(self._run("has_command", id=command))

    def answered_tasks(self, stage: StageId, after: int, limit: int) -> list[AnsweredTask]:
        """The next tasks of a stage whose answers were judged."""
        return self._list(AnsweredTask, "answered_tasks", stage=stage, after=after, limit=limit)

    def answers_of_tasks(self, tasks: Sequence[TaskId]) -> list[tuple[TaskId, AttemptId, TaskId]]:
        """Who answered the current version of some tasks, the newest first, and for which task."""
        return self._run("answers_of_tasks", ids=list(tasks)) if tasks else []

    def stored_answers(self, attempts: Sequence[AttemptId]) -> list[AnsweredAttempt]:
        """Answers that were judged before."""
        rows = self._run("stored_answers", ids=list(attempts)) if attempts else []
        return [to_answered(row) for row in rows]

    def supersede_results_by_key(self, results: Sequence[ResultId], now: datetime) -> set[TaskId]:
        """Let some results make way; returns whose did."""
        if not results:
            return set()
        return set(self._column("supersede_results_by_key", ids=list(results), now=to_micros(now)))

    def judged_targets(self, critics: Sequence[TaskId]) -> list[TaskId]:
        """Done tasks that some critics judged, but for what a person confirmed."""
        return self._column("judged_targets", ids=list(critics)) if critics else []

    def get_task_for_decision(self, task: TaskId) -> TaskForDecision | None:
        """One task, for a decision about its result."""
        return self._one(TaskForDecision._make, "get_task_for_decision", id=task)

    def review_result(
        self, name: ReviewMove, result: ResultId, reviewer: str, now: datetime
    ) -> bool:
        """Make a move of the review with a current result; false if somebody was quicker."""
        who, at = storable_text(reviewer), to_micros(now)
        moves = self._move("review_result", REVIEW, name, id=result, reviewer=who, now=at)
        return any(rows for _, rows in moves)

    def supersede_edited_result(self, result: ResultId, now: datetime) -> bool:
        """Let a result make way for a person's own; false if somebody was quicker."""
        return bool(self._run("supersede_edited_result", id=result, now=to_micros(now)))

    def add_edited_result(
        self,
        task: TaskForDecision,
        data: str,
        notes: tuple[ReadingNote, ...],
        reviewer: str,
        now: datetime,
    ) -> None:
        """Keep a person's own result of a task whose last one made way."""
        self._connection.change(
            "add_edited_result",
            task=task.id,
            version=task.version,
            gate_version=task.gate_version,
            stage=task.stage_id,
            data=data,
            notes=notes_json(notes),
            review=str(ReviewState.EDITED),
            reviewer=storable_text(reviewer),
            now=to_micros(now),
        )

    def clear_task_error(self, task: TaskId) -> None:
        """Forget what was said against the answer of a task."""
        self._change("clear_task_error", id=task)

    def ask_again_rejected(self, task: TaskId, note: str) -> None:
        """Owe another version of an answer, asked with what a person has against the last."""
        self._change("ask_again_rejected", id=task, note=storable_text(note))

    def critics_of_result(self, result: ResultId) -> list[TaskId]:
        """Critics of a result that have not spoken, or came to nothing."""
        return self._column("critics_of_result", result=result)

    def unsent_requests_of_tasks(self, tasks: Sequence[TaskId]) -> list[RequestId]:
        """Unsent requests that carry some tasks."""
        return self._column("unsent_requests_of_tasks", ids=list(tasks)) if tasks else []

    def _move_picked(
        self,
        statement: str,
        name: TaskMove,
        stage: StageId,
        sources: Sequence[TaskState] | None,
        **values: object,
    ) -> int:
        """Make a move with all that a statement picks; its tally is written beside it."""
        target, total = TASK.targets[name], 0
        for source in allowed_sources(TASK, name, sources):
            moved = self._change(
                statement, stage=stage, source=str(source), target=str(target), **values
            )
            if moved:
                self._tallies.add_tallies(stage, {source: -moved, target: moved})
            total += moved
        return total
