"""Lineage: which tasks a stage is expanded over, what each task reads, and what has gone stale."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import JsonObject, named, plain_json
from quire.domain.ids import BlockId, DocumentId, ResultId, RunId, StageId, TaskId, WorkspaceId
from quire.domain.lineage import Ancestor, DriverTask, NewPart, Related
from quire.ledger.connection import Connection, Row
from quire.ledger.moments import to_micros
from quire.ledger.tables.tallies import Tallies


class Doomed(NamedTuple):
    """A task that waits for what will not come."""

    task: TaskId
    culprit: TaskId  # the first of its inputs that ended so
    above: str  # the stage of that


class Lineage:
    """What the workspace's tasks come from."""

    def __init__(self, connection: Connection, workspace: WorkspaceId, tallies: Tallies) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace
        self._tallies = tallies

    def drivers(self, stage: StageId, subject: bytes, limit: int) -> list[DriverTask]:
        """Tasks that another stage is expanded over, from one on."""
        rows = self._run("drivers_of_stage", stage=stage, subject=subject, limit=limit)
        return named(DriverTask, rows)

    def documents(
        self, run: RunId, of_input: str, ordinal: int, limit: int
    ) -> list[tuple[int, DocumentId]]:
        """Documents of an input, each with its ordinal, from one on."""
        rows = self._run("input_documents", run=run, input=of_input, ordinal=ordinal, limit=limit)
        return [(row[0], row[1]) for row in rows]

    def blocks(
        self, run: RunId, of_input: str, key: int, limit: int
    ) -> list[tuple[BlockId, DocumentId]]:
        """Blocks of an input, each with its document, from one on."""
        rows = self._run("input_blocks", run=run, input=of_input, key=key, limit=limit)
        return [(row[0], row[1]) for row in rows]

    def add(self, run: RunId, stage: StageId, parts: Sequence[NewPart]) -> Sequence[TaskId]:
        """Owe new answers; returns their keys, in the order given."""
        ids = self._connection.take_ids("tasks", len(parts))
        rows = [
            (task, self._workspace, run, stage, *part)
            for task, part in zip(ids, parts, strict=True)
        ]
        self._connection.bulk("add_parts", rows)
        self._tallies.add(stage, Counter(part.state for part in parts))
        return [TaskId(each) for each in ids]

    def add_inputs(self, inputs: Sequence[tuple[TaskId, Sequence[TaskId]]]) -> None:
        """Say what new tasks read, in order."""
        rows = [(task, ordinal, each) for task, read in inputs for ordinal, each in enumerate(read)]
        self._connection.bulk("add_task_inputs", rows)

    def add_all_inputs(self, task: TaskId, stages: Sequence[StageId]) -> None:
        """Let one task read every task of some stages."""
        self._change("add_all_inputs", task=task, stages=list(stages))

    def add_documents(self, shown: Sequence[tuple[TaskId, Sequence[DocumentId]]]) -> None:
        """Say which documents new tasks show."""
        rows = [
            (task, ordinal, each)
            for task, documents in shown
            for ordinal, each in enumerate(documents)
        ]
        self._connection.bulk("add_task_documents", rows)

    def cursor(self, stage: StageId) -> bytes:
        """The driver that a stage's expansion has come to."""
        rows = self._connection.run("stage_subject", id=stage)
        return bytes(rows[0][0] or b"") if rows else b""

    def set_cursor(self, stage: StageId, subject: bytes, made: int, added: int) -> None:
        """Note that so many tasks have been made of this driver, and so many new ones in all."""
        self._connection.change(
            "set_stage_subject", id=stage, subject=subject, made=made - 1, added=added
        )

    def ancestors(
        self, tasks: Sequence[TaskId], stages: Sequence[StageId]
    ) -> dict[TaskId, dict[StageId, list[Related]]]:
        """What some tasks come from in some stages; each is its own first ancestor."""
        found: dict[TaskId, dict[StageId, list[Related]]] = defaultdict(lambda: defaultdict(list))
        for each in named(Ancestor, self._run("ancestors", ids=tasks, stages=list(stages))):
            found[each.task_id][each.stage_id].append(Related(each.id, each.state))
        return found

    def of_documents(
        self, stage: StageId, documents: Sequence[DocumentId]
    ) -> dict[DocumentId, list[Related]]:
        """The tasks of a stage about some documents or their blocks."""
        found: dict[DocumentId, list[Related]] = defaultdict(list)
        for name in ("tasks_of_documents", "block_tasks_of_documents"):
            for row in self._run(name, stage=stage, documents=list(documents)):
                each = Related(row[1], row[2])
                if each not in found[row[0]]:  # about a block, and about its document
                    found[row[0]].append(each)
        return found

    def of_blocks(self, stage: StageId, blocks: Sequence[BlockId]) -> dict[BlockId, list[Related]]:
        """The tasks of a stage about some blocks."""
        found: dict[BlockId, list[Related]] = defaultdict(list)
        for row in self._run("tasks_of_blocks", stage=stage, blocks=list(blocks)):
            found[row[0]].append(Related(row[1], row[2]))
        return found

    def few(self, stage: StageId, limit: int) -> list[Related]:
        """The tasks of a stage that has few."""
        return named(Related, self._run("first_tasks_of_stage", stage=stage, limit=limit))

    def released(self, tasks: Sequence[TaskId]) -> list[TaskId]:
        """Who waited for one of these, and waits for nothing now."""
        return [row[0] for row in self._run("dependants_released", ids=tasks)] if tasks else []

    def hopeful(self, tasks: Sequence[TaskId]) -> list[tuple[TaskId, StageId]]:
        """Who was blocked although one of these is there, and none of its inputs has failed now."""
        rows = self._run("dependants_hopeful", ids=tasks) if tasks else []
        return [(row[0], row[1]) for row in rows]

    def waiting_released(self, stage: StageId, limit: int) -> list[TaskId]:
        """Tasks of a stage that wait for nothing any more."""
        return [row[0] for row in self._run("waiting_released", stage=stage, limit=limit)]

    def waiting_gathered(self, stage: StageId, limit: int) -> list[TaskId]:
        """Tasks of a stage that take what there is, once nothing is still owed to them."""
        return [row[0] for row in self._run("waiting_gathered", stage=stage, limit=limit)]

    def waiting_doomed(self, stage: StageId, limit: int) -> list[Doomed]:
        """Tasks of a stage that wait for what will not come."""
        return named(Doomed, self._run("waiting_doomed", stage=stage, limit=limit))

    def blocked_hopeful(self, stage: StageId, limit: int) -> list[TaskId]:
        """Blocked tasks of a stage none of whose inputs has ended badly any more."""
        return [row[0] for row in self._run("blocked_hopeful", stage=stage, limit=limit)]

    def use(self, used: Sequence[tuple[TaskId, Sequence[ResultId | None]]]) -> None:
        """Note what the current results of some tasks were made from."""
        rows = [
            (task, ordinal, result)
            for task, results in used
            for ordinal, result in enumerate(results)
        ]
        self._connection.many("use_inputs", rows)

    def check_stale(self, tasks: Sequence[TaskId], now: datetime) -> None:
        """Mark tasks with new results that used what is not current; unmark the others."""
        if tasks:
            self._change("check_stale", ids=list(tasks), now=to_micros(now))

    def mark_stale(self, changed: Sequence[TaskId], now: datetime) -> int:
        """Mark whoever used another result of these than the current one; returns how many."""
        return self._change("mark_stale", ids=list(changed), now=to_micros(now)) if changed else 0

    def count_stale(self, run: RunId) -> dict[str, int]:
        """Stale tasks of a run by the names of their stages."""
        return {row[0]: row[1] for row in self._run("count_stale", run=run)}

    def add_models(self, run: RunId, models: Sequence[tuple[str, JsonObject]]) -> None:
        """Tell a run about further models, numbered from 1."""
        rows = [(run, no, name, plain_json(facts)) for no, (name, facts) in enumerate(models, 1)]
        self._connection.bulk("add_run_models", rows)

    def _run(self, name: str, /, **values: object) -> list[Row]:
        return self._connection.run(name, workspace=self._workspace, **values)

    def _change(self, name: str, /, **values: object) -> int:
        return self._connection.change(name, workspace=self._workspace, **values)
