"""Expand: a stage becomes the tasks that its grouping makes, each with the tasks it reads.

A stage of a million blocks is not expanded at once: tasks are made in chunks, and the cursor moves
in the same transaction as the tasks, so that a crash makes none twice and skips none. What could go
wrong: two workers expand one stage (the stage is locked, and who comes second leaves it), a cancel
comes between (wishes are read after the lock), a grouping makes more parts of one thing than fit a
chunk (the cursor counts parts within the thing), or a grouping of a package makes other parts than
last time (a task's subject, place and number, is unique in its stage). A stage is sealed when
nothing is left to expand over and the stages above are sealed too. The task's inputs are traced
here, once: later only their results change, never which tasks are read.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from quire.domain.data import plain_json
from quire.domain.groupings import Driver, DriverItem, Grouping, GroupingContext, Part
from quire.domain.ids import BlockId, DocumentId, StageId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.recipes import Stage
from quire.domain.runs import RunStage
from quire.domain.states import StageMove, StageState, TaskState
from quire.domain.tasks import NewPart, RelatedTask
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.run_spec import RunSpec, is_plain

MOST_WHOLE_STAGE = 1000  # tasks of a stage that is read as a whole


class ExpansionItem(NamedTuple):
    """One thing that a stage is expanded over, with its place in the order."""

    driven: DriverItem
    place: bytes
    block_id: BlockId | None = None
    document_id: DocumentId | None = None
    task: RelatedTask | None = None


class _NewTask(NamedTuple):
    item: ExpansionItem
    part: Part
    no: int  # its place among the parts of the thing

    @property
    def document_id(self) -> DocumentId | None:
        """The document it is about: its own, or the only one that is shown."""
        shown = self.part.documents
        return shown[0] if len(shown) == 1 else self.item.document_id


def _trace_inputs(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, tasks: Sequence[_NewTask]
) -> list[list[RelatedTask]]:
    """For each new task what it reads: the task it is about first, then what the stage needs."""
    reads: list[list[RelatedTask]] = [[new.item.task] if new.item.task else [] for new in tasks]
    for name in recipe_stage.upstream:
        if name == recipe_stage.of:
            continue
        found = _related_tasks(tx, spec, recipe_stage, name, tasks)
        for own, more in zip(reads, found, strict=True):
            known = {task.id for task in own}
            own += [task for task in more if task.id not in known]
    return reads


def _related_tasks(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, name: str, tasks: Sequence[_NewTask]
) -> list[list[RelatedTask]]:
    stage = spec.stage_ids[name]
    above = spec.stages[stage]
    if name in spec.ancestors_of(recipe_stage):
        return _by_ancestry(tx, stage, tasks)
    if spec.driver_of(above) is Driver.ONCE:
        all_of_it = tx.lineage.first_tasks_of_stage(stage, MOST_WHOLE_STAGE)
        return [all_of_it for _ in tasks]
    if spec.driver_of(recipe_stage) is Driver.BLOCK and spec.driver_of(above) is Driver.BLOCK:
        blocks = [new.item.block_id for new in tasks]
        by_block = tx.lineage.tasks_of_blocks(stage, sorted(set(filter(None, blocks))))
        return [by_block.get(block, []) if block else [] for block in blocks]
    return _by_document(tx, stage, tasks)


def _by_ancestry(
    tx: Transaction, stage: StageId, tasks: Sequence[_NewTask]
) -> list[list[RelatedTask]]:
    drivers = [new.item.task for new in tasks]
    above = tx.lineage.ancestors(sorted({task.id for task in drivers if task}), [stage])
    return [above[task.id][stage] if task else [] for task in drivers]


def _by_document(
    tx: Transaction, stage: StageId, tasks: Sequence[_NewTask]
) -> list[list[RelatedTask]]:
    wanted = [new.part.documents or tuple(filter(None, [new.document_id])) for new in tasks]
    documents = sorted({document for item in wanted for document in item})
    found = tx.lineage.tasks_of_documents(stage, documents) if documents else {}
    return [[task for document in item for task in found.get(document, [])] for item in wanted]


MOST_DOCUMENTS = 100_000  # that a grouping may look at


class Expansion(NamedTuple):
    """What one chunk came to."""

    added: int
    exhausted: bool  # there is nothing more to expand over, as things stand


def expand_grouping(tx: Transaction, spec: RunSpec, stage: RunStage, limit: int) -> Expansion:
    """Owe the next answers of a stage; the cursor moves in the same transaction."""
    recipe_stage = spec.stages[stage.id]
    grouping = spec.grouping_of(recipe_stage)
    around = grouping_context(tx, spec, recipe_stage, grouping)
    place = tx.lineage.stage_subject(stage.id)
    made_before = stage.cursor_block + 1 if place else 0
    wanted = 2 + limit // max(1, grouping.count(1, around))  # the one at the cursor, and the next
    items = _next_items(tx, spec, recipe_stage, place, wanted)
    made: list[_NewTask] = []
    exhausted = len(items) < wanted
    for item in items:
        first = made_before if item.place == place else 0
        room = limit - len(made)
        parts = list(islice(grouping.fan(item.driven, around), first, first + room + 1))
        made += [_NewTask(item, part, first + no) for no, part in enumerate(parts[:room])]
        place, made_before = item.place, first + len(parts[:room])
        if len(parts) > room:
            exhausted = False
            break
    if made:
        _add_tasks(tx, spec, stage, made)
    tx.lineage.set_stage_subject(stage.id, place, made_before, len(made))
    return Expansion(len(made), exhausted)


def grouping_context(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, grouping: Grouping
) -> GroupingContext:
    """What a grouping may look at besides the thing itself."""
    documents: Sequence[DocumentId] = ()
    if grouping.wants_documents:
        listed = tx.lineage.input_documents(spec.run_id, recipe_stage.over, 0, MOST_DOCUMENTS)
        documents = tuple(document for _, document in listed)
    return GroupingContext(
        parameters=spec.recipe.parameters,
        settings=recipe_stage.settings,
        samples=recipe_stage.samples,
        models=spec.models_of(recipe_stage),
        documents=documents,
    )


def _next_items(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, place: bytes, limit: int
) -> list[ExpansionItem]:
    """What comes next, the one at `place` first: some of its tasks may still be owed."""
    run, key = spec.run_id, int.from_bytes(place, "big")
    match spec.driver_of(recipe_stage):
        case Driver.ONCE:
            return [ExpansionItem(DriverItem(0), _place_key(0))]
        case Driver.DOCUMENT:
            listed = tx.lineage.input_documents(run, recipe_stage.over, key, limit)
            return [
                ExpansionItem(DriverItem(document), _place_key(ordinal), document_id=document)
                for ordinal, document in listed
            ]
        case Driver.BLOCK:
            blocks = tx.lineage.input_blocks(run, recipe_stage.over, key, limit)
            return [
                ExpansionItem(DriverItem(block), _place_key(block), block, doc)
                for block, doc in blocks
            ]
        case Driver.RESULT:
            return list(_result_items(tx, spec, recipe_stage, place, limit))


def _result_items(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, place: bytes, limit: int
) -> Iterator[ExpansionItem]:
    for driver in tx.lineage.drivers_of_stage(spec.stage_ids[recipe_stage.of], place, limit):
        yield ExpansionItem(
            DriverItem(
                driver.id,
                spec.models[driver.model_no].name,
                driver.sample,
                spec.parse_part(driver.part),
            ),
            bytes(driver.subject_hash),
            driver.block_id,
            driver.document_id,
            RelatedTask(driver.id, driver.state),
        )


def _place_key(key: int) -> bytes:
    """Ascending, so that the index grows at its end."""
    return key.to_bytes(8, "big")


def _add_tasks(tx: Transaction, spec: RunSpec, stage: RunStage, made: Sequence[_NewTask]) -> None:
    recipe_stage = spec.stages[stage.id]
    gathers = spec.is_gathering(recipe_stage)
    read = [[] for _ in made] if gathers else _trace_inputs(tx, spec, recipe_stage, made)
    pairs = list(zip(made, read, strict=True))
    rows = [_task_row(spec, new, reads, gathers=gathers) for new, reads in pairs]
    ids = tx.lineage.add_parts(stage.run_id, stage.id, rows)
    inputs = [[task.id for task in reads] for reads in read]
    tx.lineage.add_task_inputs(list(zip(ids, inputs, strict=True)))
    shown = [new.part.documents for new in made]
    tx.lineage.add_task_documents(list(zip(ids, shown, strict=True)))
    for task in ids if gathers else ():
        tx.lineage.add_all_inputs(task, [spec.stage_ids[name] for name in recipe_stage.upstream])


def _task_row(
    spec: RunSpec, made: _NewTask, reads: Sequence[RelatedTask], *, gathers: bool
) -> NewPart:
    part, item = made.part, made.item
    number = spec.model_numbers.get(part.model or spec.models[0].name)
    state, error = (TaskState.WAITING, None) if gathers else readiness(reads)
    if number is None:
        state = TaskState.FAILED
        error = TaskError(TaskErrorKind.UNKNOWN_MODEL, part.model or "")
    return NewPart(
        item.block_id,
        made.document_id,
        number or 0,
        part.sample,
        plain_json(part.part) if part.part else None,
        None,
        item.place + made.no.to_bytes(4, "big"),
        b"",  # what is asked is known when it is put into words
        state,
        error,
    )


def readiness(reads: Sequence[RelatedTask]) -> tuple[TaskState, TaskError | None]:
    """The state of a task by what it reads: it may go, must wait, or cannot go and why."""
    for read in reads:
        if read.state in (TaskState.FAILED, TaskState.BLOCKED, TaskState.CANCELLED):
            error = TaskError(TaskErrorKind.BLOCKED, read.state, task=read.id)
            return TaskState.BLOCKED, error
    done = all(read.state == TaskState.DONE for read in reads)
    return (TaskState.READY if done else TaskState.WAITING), None


CHUNK = 5000  # tasks made in one transaction


def expand(tx: Transaction, contexts: Contexts, listed: RunStage) -> int:
    """Owe the next answers of a stage; the cursor moves in the same transaction."""
    stage = tx.runs.take_stage(listed.id)
    if stage is None:  # another worker is expanding it
        return 0
    # read after the lock: a cancel may have come first
    wanted = tx.runs.wishes_of_run(stage.run_id)
    if stage.state != StageState.EXPANDING or wanted is None or wanted.cancelling:
        return 0
    spec = contexts.spec_of(tx, stage.run_id)
    if stage.id in spec.stages_beyond(wanted.stop_after):
        return 0
    recipe_stage = spec.stages[stage.id]
    above = [
        run_stage
        for run_stage in tx.runs.stages_of_run(stage.run_id)
        if run_stage.name in recipe_stage.upstream
    ]
    sealed = all(run_stage.state in (StageState.OPEN, StageState.CLOSED) for run_stage in above)
    limit = CHUNK
    if wanted.task_limit is not None and not recipe_stage.upstream:
        limit = min(limit, max(0, wanted.task_limit - stage.expanded))
    if recipe_stage.critic:  # its tasks come one by one, each with the result it judges
        made = Expansion(0, exhausted=True)
    elif is_plain(recipe_stage):
        made = _expand_blocks(tx, contexts.any_of_stage(tx, stage.run_id, stage.id), stage, limit)
    else:
        made = expand_grouping(tx, spec, stage, limit)
    if made.exhausted and sealed:
        tx.runs.move_stage(StageMove.SEAL, stage.id)
    return made.added


def _expand_blocks(tx: Transaction, context: LaneContext, stage: RunStage, limit: int) -> Expansion:
    """Owe an answer about each of the next blocks; the ledger makes the tasks by itself."""
    place = (stage.cursor_document, stage.cursor_block)
    made = tx.tasks.expand_blocks(stage.run_id, stage.id, place, context.question, limit)
    if made:
        place = tx.tasks.last_ready_block(stage.id)
        tx.runs.set_stage_cursor(stage.id, *place, made)
    return Expansion(made, exhausted=not tx.documents.next_subjects(stage.run_id, *place, 1))
