"""Critiques: results that critics are owed, and what critics said of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import Json, stored_json
from quire.domain.ids import BlockId, DocumentId, ResultId, StageId, TaskId
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table

CHUNK = 5000


class ProposedResult(NamedTuple):
    """A proposed result, with what its critic's task inherits."""

    task_id: TaskId
    result_id: ResultId
    model_no: int
    sample: int
    part: str | None  # JSON
    document_id: DocumentId | None
    block_id: BlockId | None
    lineage: TaskId


class Critiques(Table):
    """The words of critics in the workspace."""

    def results_to_criticise(
        self, critic: StageId, tasks: Sequence[TaskId]
    ) -> list[ProposedResult]:
        """Results of these proposed tasks that a critic was not asked about yet."""
        if not tasks:
            return []
        return self._list(ProposedResult, "results_to_criticise", critic=critic, ids=list(tasks))

    def tasks_to_criticise(self, stage: StageId, critic: StageId) -> list[TaskId]:
        """Proposed tasks of a stage that a critic was not asked about."""
        return self._column("tasks_to_criticise", stage=stage, critic=critic, limit=CHUNK)

    def unapplied_critiques(self, stage: StageId, critic: StageId) -> list[TaskId]:
        """Tasks of a critic that are done, and whose word was not carried out."""
        return self._column("unapplied_critiques", stage=stage, critic=critic, limit=CHUNK)

    def targets_of_critics(self, critics: Sequence[TaskId]) -> list[TaskId]:
        """Who still waits for what some critics' tasks have said."""
        return self._column("targets_of_critics", ids=list(critics)) if critics else []

    def critiques_of_proposed(
        self, targets: Sequence[TaskId]
    ) -> list[tuple[StageId, TaskId, Json]]:
        """What every critic has said of the current results of some proposed tasks."""
        rows = self._run("critiques_of_proposed", ids=list(targets)) if targets else []
        return [(row[0], row[1], stored_json(row[2])) for row in rows]

    def tasks_fully_criticised(self, targets: Sequence[TaskId]) -> list[TaskId]:
        """Which of these has been judged by all its critics."""
        return self._column("tasks_fully_criticised", ids=list(targets)) if targets else []

    def tries_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, int]:
        """How often the answers of some tasks were wrong."""
        return dict(self._run("tries_of_tasks", ids=list(tasks)))

    def supersede_results(self, tasks: Sequence[TaskId], now: datetime) -> int:
        """Let the current results of some tasks make way, but for what a person confirmed."""
        if not tasks:
            return 0
        return self._connection.change("supersede_results", ids=list(tasks), now=to_micros(now))

    def ask_anew(self, tasks: Sequence[TaskId]) -> None:
        """Owe a new version of some answers, asked with the reasons why the last did not do."""
        if tasks:
            self._change("ask_anew", ids=list(tasks))

    def ask_for_repair(self, tasks: Sequence[TaskId]) -> None:
        """Ask some tasks again alone, with the reasons why their last answers did not do."""
        if tasks:
            self._change("ask_for_repair", ids=list(tasks))

    def failed_critiques(
        self, stage: StageId, critic: StageId, *, few: bool = False
    ) -> list[tuple[TaskId, int, str]]:
        """Proposed tasks whose critic came to nothing, with their tries and why.

        `few`: less is proposed than has failed, so that it is quicker to begin there.
        """
        if few:
            return self._run("failed_critiques_by_target", above=stage, stage=critic, limit=CHUNK)
        return self._run("failed_critiques_by_critic", stage=critic, limit=CHUNK)
