"""Reviews: what persons decided about results, one row a decision, and who is at which item."""

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from quire.domain.data import stored_json
from quire.domain.ids import RequestId, ResultId, RunId, TaskId
from quire.domain.reviews import ReviewDecision, ReviewLease
from quire.domain.states import ReviewMove, ReviewState, TaskState
from quire.ledger.connection import Row
from quire.ledger.stored_values import from_micros, storable_text, to_micros
from quire.ledger.tables.table import Table


class TaskStanding(NamedTuple):
    """How a task stands, as far as a decision changes it."""

    state: TaskState
    tries: int = 0
    calls: int = 0
    pack_cap: int = 0
    error: str | None = None
    error_kind: str | None = None
    error_stage: str | None = None
    error_task: TaskId | None = None
    waived_at: int | None = None  # in microseconds
    version: int = 0  # that it owes or has; 0: an older version wrote it down


class StandingBefore(NamedTuple):
    """How a task and its current result stand before a decision."""

    task: TaskStanding
    result_id: ResultId | None
    data: str | None  # JSON
    review_state: ReviewState | None
    reviewer: str | None
    reviewed_at: int | None  # in microseconds


class NewDecision(NamedTuple):
    """A decision on its way into the ledger."""

    task_id: TaskId
    move: ReviewMove
    who: str
    note: str
    after_result: ResultId | None
    after_data: str | None  # JSON
    undoes: int | None
    command: str | None
    bulk: str | None = None  # what all that is decided at once shares


class UndoableDecision(NamedTuple):
    """A decision, with what taking it back needs."""

    id: int
    task_id: TaskId
    move: ReviewMove
    who: str
    before_result: ResultId | None
    after_result: ResultId | None
    before_review: ReviewState
    before_reviewer: str | None
    before_reviewed_at: int | None  # in microseconds
    before_task: str | None  # JSON
    undone_by: int | None


class Reviews(Table):
    """The workspace's decisions and leases."""

    def standing_of_task(self, task: TaskId) -> StandingBefore | None:
        """How a task and its current result stand."""
        return self._one(
            lambda row: StandingBefore(TaskStanding._make(row[:10]), *row[10:]),
            "standing_of_task",
            id=task,
        )

    def current_result(self, task: TaskId) -> tuple[ResultId, str] | None:
        """The current result of a task, with its data."""
        return self._one(lambda row: (row[0], row[1]), "current_result", id=task)

    def add_review(
        self, decision: NewDecision, before: StandingBefore, task: str, now: datetime
    ) -> int:
        """Keep a decision for good, with what it found; returns its number."""
        return self._count(
            "add_review",
            task=decision.task_id,
            move=str(decision.move),
            who=storable_text(decision.who),
            now=to_micros(now),
            note=storable_text(decision.note),
            before_result=before.result_id,
            after_result=decision.after_result,
            before_data=before.data,
            after_data=decision.after_data,
            before_review=str(before.review_state or ReviewState.UNREVIEWED),
            before_reviewer=before.reviewer,
            before_reviewed_at=before.reviewed_at,
            before_task=task,
            undoes=decision.undoes,
            command=decision.command,
            bulk=decision.bulk and storable_text(decision.bulk),
        )

    def last_decision(self, task: TaskId) -> int | None:
        """The newest decision about a task that was not taken back."""
        return self._one(lambda row: int(row[0]), "last_decision", task=task)

    def last_decisions(self, tasks: Sequence[TaskId]) -> set[int]:
        """Of each of some tasks the newest decision that was not taken back."""
        return set(self._column("last_decisions", ids=list(tasks))) if tasks else set()

    def decision_to_undo(self, decision: int) -> UndoableDecision | None:
        """A decision by its number."""
        return self._one(UndoableDecision._make, "decision_to_undo", id=decision)

    def decisions_of_task(
        self, run: RunId, task: TaskId, before: int, limit: int
    ) -> list[ReviewDecision]:
        """Decisions about a task of a run, the newest first, before one."""
        about = {"run": run, "task": task}
        rows = self._run("decisions_of_task", **about, before=before, limit=limit)
        return [_to_decision(row) for row in rows]

    def decisions_of_run(self, run: RunId, before: int, limit: int) -> list[ReviewDecision]:
        """Decisions about a run's results, the newest first, before one."""
        rows = self._run("decisions_of_run", run=run, before=before, limit=limit)
        return [_to_decision(row) for row in rows]

    def bulk_of_decision(self, decision: int) -> tuple[RunId, str | None] | None:
        """The run of a decision, and what it shares with those that were made at once with it."""
        return self._one(lambda row: (row[0], row[1]), "bulk_of_decision", id=decision)

    def first_of_bulk(self, run: RunId, bulk: str) -> int | None:
        """The first of the decisions that were made at once."""
        return self._one(itemgetter(0), "first_of_bulk", run=run, bulk=storable_text(bulk))

    def standing_of_bulk(self, run: RunId, bulk: str) -> list[tuple[int, TaskId]]:
        """Decisions that were made at once and stand, each with its task."""
        return [(row[0], row[1]) for row in self._run("standing_of_bulk", run=run, bulk=bulk)]

    def supersede_result(self, result: ResultId, now: datetime) -> bool:
        """Let a result make way, whoever confirmed it."""
        return self._connection.change("supersede_result", id=result, now=to_micros(now)) > 0

    def reinstate_result(self, result: ResultId) -> bool:
        """Let a result stand again; false where it does, or was purged."""
        return self._connection.change("reinstate_result", id=result) > 0

    def forget_reviewer(self, result: ResultId) -> None:
        """Nobody has said anything of a result."""
        self._connection.change("forget_reviewer", id=result)

    def restore_task(self, task: TaskId, before: TaskStanding) -> None:
        """Know of a task what was known before a decision."""
        self._change("restore_task", id=task, **_restorable(before))

    def request_of_result(self, result: ResultId) -> RequestId | None:
        """The call that a result came in."""
        rows = self._connection.run("request_of_result", id=result)
        return rows[0][0] if rows else None

    def withdrawn_critics(self, result: ResultId) -> list[TaskId]:
        """Critics of a result that were let go when a person decided about it."""
        return self._column("withdrawn_critics", result=result)

    def rejections_taken_back(self, task: TaskId, result: ResultId, note: str) -> list[str]:
        """How a task stood, as JSON, before it was asked again for a note that was taken back."""
        found = {"result": result, "note": storable_text(note)}
        return list(self._column("rejections_taken_back", task=task, **found))

    def paid_answer(self, task: TaskId, versions: Sequence[int]) -> ResultId | None:
        """An answer to one of these versions that came, and stands no longer."""
        if not versions:
            return None
        return self._one(itemgetter(0), "paid_answer", task=task, versions=list(versions))

    def take_lease(self, task: TaskId, who: str, until: datetime, now: datetime) -> bool:
        """Give an item to a reviewer; false if another has it."""
        moments = {"until": to_micros(until), "now": to_micros(now)}
        return bool(self._run("take_lease", task=task, who=storable_text(who), **moments))

    def renew_leases(
        self, tasks: Sequence[TaskId], who: str, until: datetime, now: datetime
    ) -> list[TaskId]:
        """Let a reviewer keep some items for longer; returns those that are still theirs."""
        moments = {"until": to_micros(until), "now": to_micros(now)}
        return sorted(self._column("renew_leases", ids=list(tasks), who=who, **moments))

    def give_back_leases(self, who: str, tasks: Sequence[TaskId]) -> int:
        """Let others have some items of a reviewer's."""
        return self._change("give_back_leases", who=who, ids=list(tasks))

    def give_back_all_leases(self, who: str) -> int:
        """Let others have all items of a reviewer's."""
        return self._change("give_back_all_leases", who=who)

    def end_lease(self, task: TaskId) -> int:
        """Nobody is at an item any more; returns how many were."""
        return self._change("end_lease", task=task)

    def count_leases(self, who: str, now: datetime) -> int:
        """How many items a reviewer holds."""
        rows = self._run("count_leases", who=storable_text(who), now=to_micros(now))
        return int(rows[0][0])

    def leases_of_tasks(self, tasks: Sequence[TaskId], now: datetime) -> dict[TaskId, ReviewLease]:
        """Who is at some items now."""
        rows = self._run("leases_of_tasks", ids=list(tasks), now=to_micros(now)) if tasks else []
        return {row[0]: _to_lease(row) for row in rows}

    def leases_of_run(self, run: RunId, now: datetime) -> list[ReviewLease]:
        """Who is at which items of a run now."""
        return [_to_lease(row) for row in self._run("leases_of_run", run=run, now=to_micros(now))]


def _restorable(before: TaskStanding) -> dict[str, object]:
    kept = ("state", "version")  # a task never goes back to an earlier version
    return {name: value for name, value in before._asdict().items() if name not in kept}


def _to_lease(row: Row) -> ReviewLease:
    return ReviewLease(task_id=row[0], who=row[1], until=from_micros(row[2]))


def _to_decision(row: Row) -> ReviewDecision:
    number, run, stage, task, move, who, at, note, before, after, was, became, *rest = row
    undoes, by, name, bulk = rest
    return ReviewDecision(
        id=number,
        run_id=run,
        stage=stage,
        task_id=task,
        move=ReviewMove(move),
        who=who,
        at=from_micros(at),
        note=note,
        before_result=before,
        after_result=after,
        before=stored_json(was),
        after=stored_json(became),
        undoes=undoes,
        undone_by=by,
        command=name,
        bulk=bulk,
    )
