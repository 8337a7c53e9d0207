"""Lineage: what a stage is expanded over, what tasks read and are rendered from, what is stale."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import JsonObject, plain_json
from quire.domain.ids import (
    BlockId,
    DocumentId,
    RequestId,
    ResultId,
    RunId,
    StageId,
    TaskId,
    WorkspaceId,
)
from quire.domain.tasks import (
    Ancestor,
    DriverTask,
    InputRow,
    JudgedRow,
    LeavingOut,
    MemberRow,
    NewPart,
    RelatedTask,
    SubjectRow,
    TaskGroup,
)
from quire.ledger.connection import Connection, Row
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.attempts import decompress
from quire.ledger.tables.table import Table
from quire.ledger.tables.tallies import Tallies
from quire.ledger.tables.tasks import PURGED, error_columns

CHUNK = 2000  # tasks copied at once


class TaskToBlock(NamedTuple):
    """A task that waits for what will not come."""

    task: TaskId
    cause: TaskId | None  # the first of its inputs that ended so; None: it has none
    above: str | None  # the stage of that


class Lineage(Table):
    """What the workspace's tasks come from."""

    def __init__(self, connection: Connection, workspace: WorkspaceId, tallies: Tallies) -> None:
        """Work in one transaction, for one workspace."""
        super().__init__(connection, workspace)
        self._tallies = tallies

    def drivers_of_stage(self, stage: StageId, subject: bytes, limit: int) -> list[DriverTask]:
        """Tasks that another stage is expanded over, from one on."""
        return self._list(
            DriverTask, "drivers_of_stage", stage=stage, subject=subject, limit=limit, purged=PURGED
        )

    def drivers_by_id(self, tasks: Sequence[TaskId]) -> dict[TaskId, DriverTask]:
        """Tasks that lineages began at, or that groups are about."""
        found = self._list(DriverTask, "drivers_by_id", ids=list(tasks)) if tasks else []
        return {driver.id: driver for driver in found}

    def lineages_of_stage(self, stage: StageId, key: int, limit: int) -> list[TaskGroup]:
        """The origins that a stage's tasks come from, from one on."""
        return self._list(TaskGroup, "lineages_of_stage", stage=stage, key=key, limit=limit)

    def groups_of_stage(self, stage: StageId, key: int, limit: int) -> list[TaskGroup]:
        """The tasks that a stage's tasks are about, from one on."""
        return self._list(TaskGroup, "groups_of_stage", stage=stage, key=key, limit=limit)

    def tasks_of_lineages(
        self, stage: StageId, origins: Sequence[TaskId]
    ) -> dict[TaskId, list[RelatedTask]]:
        """The tasks of a stage by the origin they come from; an origin comes from itself."""
        found: dict[TaskId, list[RelatedTask]] = defaultdict(list)
        for name in ("origins_in_stage", "tasks_of_lineages"):
            for row in self._run(name, stage=stage, origins=list(origins)) if origins else ():
                found[row[0]].append(RelatedTask(*row[1:]))
        return found

    def tasks_of_groups(
        self, stage: StageId, groups: Sequence[TaskId]
    ) -> dict[TaskId, list[RelatedTask]]:
        """The tasks of a stage by the task they are about."""
        found: dict[TaskId, list[RelatedTask]] = defaultdict(list)
        for row in self._run("tasks_of_groups", stage=stage, groups=list(groups)) if groups else ():
            found[row[0]].append(RelatedTask(*row[1:]))
        return found

    def input_documents(
        self, run: RunId, of_input: str, ordinal: int, limit: int
    ) -> list[tuple[int, DocumentId]]:
        """Documents of an input, each with its ordinal, from one on."""
        return self._run("input_documents", run=run, input=of_input, ordinal=ordinal, limit=limit)

    def input_blocks(
        self, run: RunId, of_input: str, key: int, limit: int
    ) -> list[tuple[BlockId, DocumentId]]:
        """Blocks of an input, each with its document, from one on."""
        return self._run("input_blocks", run=run, input=of_input, key=key, limit=limit)

    def add_parts(self, run: RunId, stage: StageId, parts: Sequence[NewPart]) -> Sequence[TaskId]:
        """Owe new answers; returns their keys, in the order given."""
        ids = self._connection.take_ids("tasks", len(parts))
        rows = [
            (task, self._workspace, run, stage, *part[:-1], *_part_error(part))
            for task, part in zip(ids, parts, strict=True)
        ]
        self._connection.insert_many("add_parts", rows)
        self._tallies.add_tallies(stage, Counter(part.state for part in parts))
        return [TaskId(number) for number in ids]

    def add_task_inputs(self, inputs: Sequence[tuple[TaskId, Sequence[TaskId]]]) -> None:
        """Say what new tasks read, in order."""
        self._connection.insert_many("add_task_inputs", _number_rows(inputs))

    def add_all_inputs(
        self, task: TaskId, stages: Sequence[StageId], model_no: int, own: Sequence[StageId]
    ) -> None:
        """Let one task read every task of some stages, of some only those of its own model."""
        values = {"stages": list(stages), "model": model_no, "own": list(own)}
        self._change("add_all_inputs", task=task, **values)

    def add_task_documents(self, shown: Sequence[tuple[TaskId, Sequence[DocumentId]]]) -> None:
        """Say which documents new tasks show."""
        self._connection.insert_many("add_task_documents", _number_rows(shown))

    def copy_stage(
        self, run: RunId, stages: tuple[StageId, StageId], models: Mapping[int, int], anew: bool
    ) -> int:
        """Copy the tasks and current results of another run's stage to one of this run's.

        `models` are this run's numbers of the other's; with `anew`, results are to be judged again.
        """
        original, stage = stages
        last, asked = 0, {"original": original, "anew": int(anew), "limit": CHUNK}
        while found := self._run("tasks_to_copy", after=last, **asked):
            last = found[-1][0]
            rows = [
                (copy, run, stage, models[number], *columns)
                for copy, (_, number, *columns) in zip(
                    self._connection.take_ids("tasks", len(found)), found, strict=True
                )
            ]
            self._connection.insert_many("add_copies", rows)
        for statement in ("copy_results", "copy_task_documents", "copy_task_inputs"):
            self._change(statement, original=original, stage=stage)
        self._change("point_critics_at_copies", stage=stage)
        self._change("point_lineage_at_copies", run=run, stage=stage)
        counts = self._tallies.recount_tasks(stage)
        self._tallies.add_tallies(stage, counts)
        self.set_stage_subject(stage, b"", 0, sum(counts.values()))
        return sum(counts.values())

    def stage_subject(self, stage: StageId) -> bytes:
        """The driver that a stage's expansion has come to."""
        rows = self._connection.run("stage_subject", id=stage)
        return bytes(rows[0][0] or b"") if rows else b""

    def set_stage_subject(self, stage: StageId, subject: bytes, made: int, added: int) -> None:
        """Note that so many tasks have been made of this driver, and so many new ones in all."""
        self._connection.change(
            "set_stage_subject", id=stage, subject=subject, made=made - 1, added=added
        )

    def ancestors(
        self, tasks: Sequence[TaskId], stages: Sequence[StageId]
    ) -> dict[TaskId, dict[StageId, list[RelatedTask]]]:
        """What some tasks come from in some stages; each is its own first ancestor."""
        found: dict[TaskId, dict[StageId, list[RelatedTask]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for ancestor in self._list(Ancestor, "ancestors", ids=tasks, stages=list(stages)):
            found[ancestor.task_id][ancestor.stage_id].append(
                RelatedTask(ancestor.id, ancestor.state, ancestor.model_no)
            )
        return found

    def tasks_of_documents(
        self, stage: StageId, documents: Sequence[DocumentId]
    ) -> dict[DocumentId, list[RelatedTask]]:
        """The tasks of a stage about some documents or their blocks."""
        found: dict[DocumentId, list[RelatedTask]] = defaultdict(list)
        for name in ("tasks_of_documents", "block_tasks_of_documents"):
            for row in self._run(name, stage=stage, documents=list(documents)):
                task = RelatedTask(*row[1:])
                if task not in found[row[0]]:  # about a block, and about its document
                    found[row[0]].append(task)
        return found

    def tasks_of_blocks(
        self, stage: StageId, blocks: Sequence[BlockId]
    ) -> dict[BlockId, list[RelatedTask]]:
        """The tasks of a stage about some blocks."""
        found: dict[BlockId, list[RelatedTask]] = defaultdict(list)
        for row in self._run("tasks_of_blocks", stage=stage, blocks=list(blocks)):
            found[row[0]].append(RelatedTask(*row[1:]))
        return found

    def first_tasks_of_stage(self, stage: StageId, limit: int) -> list[RelatedTask]:
        """The tasks of a stage that has few."""
        return self._list(RelatedTask, "first_tasks_of_stage", stage=stage, limit=limit)

    def dependants_to_release(self, tasks: Sequence[TaskId]) -> list[TaskId]:
        """Who waited for one of these, and waits for nothing now."""
        return self._column("dependants_to_release", ids=tasks) if tasks else []

    def dependants_to_reset(
        self, tasks: Sequence[TaskId], lenient: Sequence[StageId]
    ) -> list[tuple[TaskId, StageId]]:
        """Who was blocked although one of these is there, and none of its inputs has failed now.

        In `lenient` stages others may have failed.
        """
        asked = {"ids": tasks, "lenient": list(lenient)}
        return self._run("dependants_to_reset", **asked) if tasks else []

    def tasks_to_release(
        self, stage: StageId, limit: int, leaving_out: LeavingOut | None
    ) -> list[TaskId]:
        """Tasks of a stage that wait for nothing any more.

        Who leaves out what is missing goes when nothing is still owed to it.
        """
        name = "tasks_to_release" if leaving_out is None else "gathering_tasks_to_release"
        return self._column(name, stage=stage, limit=limit, **_about(leaving_out))

    def tasks_to_block(
        self, stage: StageId, limit: int, leaving_out: LeavingOut | None
    ) -> list[TaskToBlock]:
        """Tasks of a stage that wait for what will not come."""
        name = "tasks_to_block" if leaving_out is None else "gathering_tasks_to_block"
        return self._list(TaskToBlock, name, stage=stage, limit=limit, **_about(leaving_out))

    def tasks_to_reset(
        self, stage: StageId, limit: int, leaving_out: LeavingOut | None
    ) -> list[TaskId]:
        """Blocked tasks of a stage that nothing stands against any more."""
        name = "tasks_to_reset" if leaving_out is None else "gathering_tasks_to_reset"
        return self._column(name, stage=stage, limit=limit, **_about(leaving_out))

    def note_used_inputs(self, used: Sequence[tuple[TaskId, Sequence[ResultId | None]]]) -> None:
        """Note what the current results of some tasks were made from."""
        self._connection.run_many("note_used_inputs", _number_rows(used))

    def check_stale(self, tasks: Sequence[TaskId], now: datetime) -> None:
        """Mark tasks with new results that used what is not current; unmark the others."""
        if tasks:
            self._change("check_stale", ids=list(tasks), now=to_micros(now))
            self._change("flag_stale_tasks", ids=list(tasks))

    def mark_stale(self, changed: Sequence[TaskId], now: datetime) -> int:
        """Mark whoever used another result of these than the current one; returns how many."""
        if not changed:
            return 0
        marked = self._change("mark_stale", ids=list(changed), now=to_micros(now))
        if marked:
            self._change("flag_stale_readers", ids=list(changed))
        return marked

    def stale_without_cause(self, restored: Sequence[TaskId]) -> list[TaskId]:
        """Marked tasks that read these, whose earlier results stand again, and used what stands."""
        return sorted(set(self._column("stale_without_cause", ids=list(restored))))

    def count_stale(self, run: RunId) -> dict[str, int]:
        """Stale tasks of a run by the names of their stages."""
        return dict(self._run("count_stale", run=run))

    def add_run_models(self, run: RunId, models: Sequence[tuple[str, JsonObject]]) -> None:
        """Tell a run about further models, numbered from 1."""
        rows = [(run, no, name, plain_json(facts)) for no, (name, facts) in enumerate(models, 1)]
        self._connection.insert_many("add_run_models", rows)


def _about(leaving_out: LeavingOut | None) -> dict[str, int]:
    return {} if leaving_out is None else {"about": leaving_out.about or 0}


def _number_rows(things: Iterable[tuple[TaskId, Sequence[int | None]]]) -> list[Row]:
    """A row for each thing of each task, numbered from 0."""
    return [(task, ordinal, thing) for task, of_it in things for ordinal, thing in enumerate(of_it)]


class Subjects(Table):
    """What the workspace's tasks are rendered from."""

    def ready_parts(self, stage: StageId, model_no: int, limit: int) -> list[TaskId]:
        """What may be packed of one model's, in subject order."""
        return self._column("ready_parts", stage=stage, model=model_no, limit=limit)

    def document_characters_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, int]:
        """How much text of documents some tasks show."""
        return dict(self._run("document_characters_of_tasks", ids=list(tasks)))

    def subjects_of_tasks(self, tasks: Sequence[TaskId]) -> list[SubjectRow]:
        """Tasks with all that is said of them alone."""
        return self._list(SubjectRow, "subjects_of_tasks", ids=list(tasks))

    def contents_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, str]:
        """The texts of the blocks that some tasks are about."""
        return dict(self._run("contents_of_tasks", ids=list(tasks)))

    def parts_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, str]:
        """What groupings said of some tasks, where they said something, as JSON."""
        return dict(self._run("parts_of_tasks", ids=list(tasks)))

    def inputs_of_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[InputRow]]:
        """What each task reads, in order, with the current results."""
        found: dict[TaskId, list[InputRow]] = defaultdict(list)
        for row in self._list(InputRow, "inputs_of_tasks", ids=list(tasks)):
            found[row.task_id].append(row)
        return found

    def data_of_results(self, results: Sequence[ResultId]) -> dict[ResultId, str | None]:
        """The data of some results, current or not."""
        return dict(self._run("data_of_results", ids=list(results)))

    def documents_shown_by_tasks(self, tasks: Sequence[TaskId]) -> dict[TaskId, list[DocumentId]]:
        """Documents that some tasks show beside the one they are about."""
        found: dict[TaskId, list[DocumentId]] = defaultdict(list)
        for row in self._connection.run("documents_shown_by_tasks", ids=list(tasks)):
            found[row[0]].append(row[1])
        return found

    def document_titles(self, documents: Sequence[DocumentId]) -> dict[DocumentId, tuple[str, str]]:
        """Title and locator of some documents."""
        rows = self._run("document_titles", ids=list(documents))
        return {row[0]: (row[1], row[2]) for row in rows}

    def document_texts(self, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
        """The whole text of some documents, block after block."""
        found: dict[DocumentId, list[str]] = defaultdict(list)
        for row in self._run("document_texts", ids=list(documents)):
            found[row[0]].append(row[1])
        return {document_id: "\n\n".join(parts) for document_id, parts in found.items()}

    def texts_between(self, document: DocumentId, first: int, last: int) -> list[tuple[int, str]]:
        """Blocks of a document that follow each other, each with its index."""
        return self._run("texts_between", document=document, first=first, last=last)

    def judged_answers(self, critics: Sequence[TaskId]) -> list[JudgedRow]:
        """What some critics' tasks judge."""
        rows = self._run("judged_answers", ids=list(critics))
        return [
            JudgedRow._make(
                (*row[:6], (decompress(row[6], row[7]) or b"").decode() if row[6] else "")
            )
            for row in rows
        ]

    def members_of_requests(self, requests: Sequence[RequestId]) -> list[MemberRow]:
        """Who travels in some requests, in order."""
        return self._list(MemberRow, "members_of_requests", ids=list(requests))

    def note_used_results(self, used: Sequence[tuple[RequestId, TaskId, str]]) -> None:
        """Note what members of new requests were rendered from."""
        self._connection.run_many("note_used_results", used)

    def results_used_by_members(
        self, requests: Sequence[RequestId]
    ) -> dict[tuple[RequestId, TaskId], str]:
        """What members of some requests were rendered from."""
        rows = self._connection.run("results_used_by_members", ids=list(requests))
        return {(row[0], row[1]): row[2] for row in rows}


def _part_error(part: NewPart) -> tuple[object, ...]:
    return (None, None, None, None) if part.error is None else error_columns(part.error)
