"""Expand: a stage becomes the tasks that its grouping makes, each with the tasks it reads.

A stage of a million blocks is not expanded at once: tasks are made in chunks, and the cursor moves
in the same transaction as the tasks, so that a crash makes none twice and skips none. What could go
wrong: two workers expand one stage (the stage is locked, and who comes second leaves it), a cancel
comes between (wishes are read after the lock), a grouping makes more parts of one thing than fit a
chunk (the cursor counts parts within the thing), or a grouping of a package makes other parts than
last time (a task's subject, place and number, is unique in its stage). A stage is sealed when
nothing is left to expand over and the stages above are sealed too.
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from quire.domain.data import plain_json
from quire.domain.groupings import DriverItem, Grouping, GroupingContext
from quire.domain.ids import DocumentId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.recipes import Stage
from quire.domain.runs import RunStage
from quire.domain.states import StageMove, StageState, TaskState
from quire.domain.tasks import NewPart, RelatedTask
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.run_spec import RunSpec, is_plain
from quire.pipeline.stages.expansion_items import NewTask, next_items
from quire.pipeline.stages.task_inputs import trace_inputs
from quire.planning.builtin_groupings import shows_documents
from quire.planning.spans import SpanGrouping

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
    found = next_items(tx, spec, recipe_stage, place, wanted)
    made: list[NewTask] = []
    exhausted = found.exhausted
    if not found.items:
        place, made_before = found.last, 0 if found.last != place else made_before
    for item in found.items:
        first = made_before if item.place == place else 0
        room = limit - len(made)
        driven = _with_outline(tx, grouping, item.driven)
        parts = list(islice(grouping.fan(driven, around), first, first + room + 1))
        made += [NewTask(item, part, first + no) for no, part in enumerate(parts[:room])]
        place, made_before = item.place, first + len(parts[:room])
        if len(parts) > room:
            exhausted = False
            break
    if made:
        _add_tasks(tx, spec, stage, made)
    tx.lineage.set_stage_subject(stage.id, place, made_before, len(made))
    return Expansion(len(made), exhausted)


def _with_outline(tx: Transaction, grouping: Grouping, driven: DriverItem) -> DriverItem:
    """A document that is divided with its outline; anything else as it is."""
    if not isinstance(grouping, SpanGrouping):
        return driven
    return driven._replace(outline=[*tx.documents.outline_of_document(DocumentId(driven.key))])


def grouping_context(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, grouping: Grouping
) -> GroupingContext:
    """What a grouping may look at besides the thing itself."""
    documents: Sequence[DocumentId] = ()
    if shows_documents(grouping, recipe_stage.settings):
        listed = tx.lineage.input_documents(spec.run_id, recipe_stage.over, 0, MOST_DOCUMENTS)
        documents = tuple(document for _, document in listed)
    return GroupingContext(
        parameters=spec.recipe.parameters,
        settings=recipe_stage.settings,
        samples=recipe_stage.samples,
        models=spec.models_of(recipe_stage),
        documents=documents,
    )


def _add_tasks(tx: Transaction, spec: RunSpec, stage: RunStage, made: Sequence[NewTask]) -> None:
    recipe_stage = spec.stages[stage.id]
    gathers = spec.is_gathering(recipe_stage)
    read = [[] for _ in made] if gathers else trace_inputs(tx, spec, recipe_stage, made)
    states = [_first_state(spec, recipe_stage, reads) for reads in read]
    rows = [_task_row(spec, new, *state) for new, state in zip(made, states, strict=True)]
    ids = tx.lineage.add_parts(stage.run_id, stage.id, rows)
    inputs = [[task.id for task in reads] for reads in read]
    tx.lineage.add_task_inputs(list(zip(ids, inputs, strict=True)))
    shown = [new.part.documents for new in made]
    tx.lineage.add_task_documents(list(zip(ids, shown, strict=True)))
    if gathers:
        above = [spec.stage_ids[name] for name in recipe_stage.upstream]
        own = [spec.stage_ids[name] for name in spec.lineage.own_stages(recipe_stage)]
        for task, row in zip(ids, rows, strict=True):
            tx.lineage.add_all_inputs(task, above, row.model_no, own)


def _task_row(
    spec: RunSpec, made: NewTask, state: TaskState, error: TaskError | None = None
) -> NewPart:
    part, item = made.part, made.item
    number = spec.model_number(part.model)
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
        item.origin,
        item.group,
        error,
    )


def _first_state(
    spec: RunSpec, recipe_stage: Stage, reads: Sequence[RelatedTask]
) -> tuple[TaskState, TaskError | None]:
    """The state of a new task; what takes what there is waits until all of it has ended."""
    if spec.is_gathering(recipe_stage):
        return TaskState.WAITING, None
    if not spec.leaving_out(recipe_stage):
        return readiness(reads)
    done = reads and all(read.state == TaskState.DONE for read in reads)
    return (TaskState.READY if done else TaskState.WAITING), None


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
