"""Audits: random samples of results, and what persons marked in them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.audits import AuditMark
from quire.domain.ids import ResultId, RunId, StageId, TaskId
from quire.ledger.stored_values import storable_text, to_micros
from quire.ledger.tables.table import Table


class AuditRow(NamedTuple):
    """One audit."""

    id: int
    run_id: RunId
    stage: str
    size: int
    population: int
    tolerance: int  # in millionths
    seed: int
    who: str
    started_at: int  # in microseconds
    stage_id: StageId
    marked: int  # items


class NewAudit(NamedTuple):
    """An audit that begins."""

    run_id: RunId
    stage_id: StageId
    size: int
    tolerance: int  # in millionths
    seed: int


class Audits(Table):
    """The workspace's audits."""

    def audit_population(self, stage: StageId) -> list[tuple[ResultId, TaskId]]:
        """Accepted results of a stage with their tasks, in their order."""
        return self._run("audit_population", stage=stage)

    def find_audit(self, audit: NewAudit) -> int | None:
        """The newest audit that was asked for in the same words."""
        asked = {"size": audit.size, "tolerance": audit.tolerance, "seed": audit.seed}
        return self._one(lambda row: int(row[0]), "find_audit", stage=audit.stage_id, **asked)

    def add_audit(self, audit: NewAudit, population: int, who: str, now: datetime) -> int:
        """Begin an audit; returns its number."""
        return self._count(
            "add_audit",
            run=audit.run_id,
            stage=audit.stage_id,
            size=audit.size,
            population=population,
            tolerance=audit.tolerance,
            seed=audit.seed,
            who=storable_text(who),
            now=to_micros(now),
        )

    def add_audit_items(self, audit: int, items: Sequence[tuple[TaskId, ResultId]]) -> None:
        """Say which results are in an audit, in the order in which they are marked."""
        rows = [(audit, no, task, result) for no, (task, result) in enumerate(items)]
        self._connection.insert_many("add_audit_items", rows)

    def get_audit(self, audit: int) -> AuditRow | None:
        """An audit by its number."""
        return self._one(AuditRow._make, "get_audit", id=audit)

    def audits_of_run(self, run: RunId) -> list[int]:
        """The audits of a run, the oldest first."""
        return self._column("audits_of_run", run=run)

    def audit_item(self, audit: int, no: int) -> tuple[TaskId, ResultId, str | None] | None:
        """Task, result and data of one item."""
        rows = self._run("audit_item", id=audit, no=no)
        return rows[0] if rows else None

    def next_audit_item(self, audit: int) -> int | None:
        """The first item that is not marked."""
        return self._one(lambda row: row[0], "next_audit_item", id=audit)

    def note_audit_item(self, audit: int, no: int, now: datetime) -> None:
        """An item is marked."""
        self._connection.change("note_audit_item", id=audit, no=no, now=to_micros(now))

    def forget_marks(self, audit: int, no: int) -> None:
        """Take back what was said of an item."""
        self._connection.change("forget_marks", id=audit, no=no)

    def add_marks(
        self, item: tuple[int, int], marks: Mapping[str, AuditMark], who: str, now: datetime
    ) -> None:
        """Keep what a person says of the fields of an item."""
        name, at = storable_text(who), to_micros(now)
        rows = [(*item, field, str(mark), name, at) for field, mark in marks.items()]
        self._connection.insert_many("add_marks", rows)

    def marks_of_item(self, audit: int, no: int) -> dict[str, AuditMark]:
        """What was said of the fields of an item."""
        return {row[0]: AuditMark(row[1]) for row in self._run("marks_of_item", id=audit, no=no)}

    def count_marks(self, audit: int) -> dict[tuple[str, AuditMark], int]:
        """How often fields were marked in which way."""
        rows = self._run("count_marks", id=audit)
        return {(row[0], AuditMark(row[1])): row[2] for row in rows}

    def audit_strikes(self, audit: int) -> list[tuple[str, AuditMark, int]]:
        """What was not marked right: field, mark, and its place among the field's marks, from 1."""
        rows = self._run("audit_strikes", id=audit)
        return [(field, AuditMark(mark), place) for field, mark, place in rows]
