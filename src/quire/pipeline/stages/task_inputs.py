"""Task inputs: which tasks a new task reads, found for many at once.

They are traced once, when tasks are made: later only their results change, never which are read.
"""

from collections.abc import Callable, Mapping, Sequence

from quire.domain.ids import StageId, TaskId
from quire.domain.recipes import Stage
from quire.domain.tasks import RelatedTask
from quire.ledger.ledger import Transaction
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.expansion_items import NewTask
from quire.planning.stage_lineage import Relation

MOST_WHOLE_STAGE = 1000  # tasks of a stage that is read as a whole

Reads = list[list[RelatedTask]]  # of each new task


def trace_inputs(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, tasks: Sequence[NewTask]
) -> Reads:
    """For each new task what it reads: the task it is about first, then what the stage needs."""
    reads: Reads = [[] for _ in tasks]
    own = spec.lineage.own_stages(recipe_stage)
    for name in recipe_stage.upstream:
        trace = _TRACES[spec.lineage.relation(recipe_stage, name)]
        found = trace(tx, spec.stage_ids[name], tasks)
        if name in own:
            found = _of_own_model(spec, tasks, found)
        for known, more in zip(reads, found, strict=True):
            ids = {task.id for task in known}
            known += [task for task in more if task.id not in ids]
    return reads


def _of_own_model(spec: RunSpec, tasks: Sequence[NewTask], found: Reads) -> Reads:
    numbers = [spec.model_number(new.part.model) for new in tasks]
    return [
        [task for task in many if task.model_no == number]
        for number, many in zip(numbers, found, strict=True)
    ]


def _driver(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    return [[new.item.task] if new.item.task else [] for new in tasks]


def _key(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    return [[new.item.key] if new.item.key else [] for new in tasks]


def _by_group(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    groups = [new.item.group for new in tasks]
    found = tx.lineage.tasks_of_groups(stage, _distinct(groups))
    return [found[group] if group else [] for group in groups]


def _by_lineage(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    origins = [new.item.origin for new in tasks]
    found = tx.lineage.tasks_of_lineages(stage, _distinct(origins))
    return [found[origin] if origin else [] for origin in origins]


def _distinct(tasks: Sequence[TaskId | None]) -> list[TaskId]:
    return sorted({task for task in tasks if task is not None})


def _by_ancestry(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    """What the result comes from that a task is about, or what its lineage or group does."""
    drivers = [new.item.task or new.item.key for new in tasks]
    above = tx.lineage.ancestors(sorted({task.id for task in drivers if task}), [stage])
    return [above[task.id][stage] if task else [] for task in drivers]


def _by_document(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    wanted = [new.part.documents or tuple(filter(None, [new.document_id])) for new in tasks]
    documents = sorted({document for item in wanted for document in item})
    found = tx.lineage.tasks_of_documents(stage, documents) if documents else {}
    return [[task for document in item for task in found.get(document, [])] for item in wanted]


def _by_block(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    blocks = [new.item.block_id for new in tasks]
    found = tx.lineage.tasks_of_blocks(stage, sorted(set(filter(None, blocks))))
    return [found.get(block, []) if block else [] for block in blocks]


def _whole_stage(tx: Transaction, stage: StageId, tasks: Sequence[NewTask]) -> Reads:
    all_of_it = tx.lineage.first_tasks_of_stage(stage, MOST_WHOLE_STAGE)
    return [all_of_it for _ in tasks]


_TRACES: Mapping[Relation, Callable[[Transaction, StageId, Sequence[NewTask]], Reads]] = {
    Relation.DRIVER: _driver,
    Relation.KEY: _key,
    Relation.GROUP: _by_group,
    Relation.ANCESTRY: _by_ancestry,
    Relation.LINEAGE: _by_lineage,
    Relation.WHOLE: _whole_stage,
    Relation.BLOCK: _by_block,
    Relation.DOCUMENT: _by_document,
}
