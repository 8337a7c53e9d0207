"""Trace: which tasks of other stages a new task reads."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.groupings import Driver
from quire.domain.ids import BlockId, DocumentId, StageId
from quire.domain.lineage import Related
from quire.domain.recipes import Stage
from quire.ledger.ledger import Transaction
from quire.pipeline.told import Told

FEW = 1000  # tasks of a stage that is read as a whole


class Traced(NamedTuple):
    """A new task, by all that may relate it to others."""

    block_id: BlockId | None
    document_id: DocumentId | None
    shown: tuple[DocumentId, ...]
    driver: Related | None  # the task whose result it is about


def trace(tx: Transaction, told: Told, spec: Stage, tasks: Sequence[Traced]) -> list[list[Related]]:
    """For each new task what it reads: the task it is about first, then what the stage needs."""
    reads: list[list[Related]] = [[each.driver] if each.driver else [] for each in tasks]
    for name in spec.upstream:
        if name == spec.of:
            continue
        found = _related(tx, told, spec, name, tasks)
        for own, more in zip(reads, found, strict=True):
            known = {each.id for each in own}
            own += [each for each in more if each.id not in known]
    return reads


def _related(
    tx: Transaction, told: Told, spec: Stage, name: str, tasks: Sequence[Traced]
) -> list[list[Related]]:
    stage = told.stage_ids[name]
    above = told.stages[stage]
    if name in told.ancestors_of(spec):
        return _by_ancestry(tx, stage, tasks)
    if told.driver_of(above) is Driver.ONCE:
        all_of_it = tx.lineage.few(stage, FEW)
        return [all_of_it for _ in tasks]
    if told.driver_of(spec) is Driver.BLOCK and told.driver_of(above) is Driver.BLOCK:
        blocks = sorted({each.block_id for each in tasks if each.block_id is not None})
        by_block = tx.lineage.of_blocks(stage, blocks)
        return [by_block.get(each.block_id, []) if each.block_id else [] for each in tasks]
    return _by_document(tx, stage, tasks)


def _by_ancestry(tx: Transaction, stage: StageId, tasks: Sequence[Traced]) -> list[list[Related]]:
    drivers = sorted({each.driver.id for each in tasks if each.driver})
    above = tx.lineage.ancestors(drivers, [stage])
    return [above[each.driver.id][stage] if each.driver else [] for each in tasks]


def _by_document(tx: Transaction, stage: StageId, tasks: Sequence[Traced]) -> list[list[Related]]:
    wanted = [
        each.shown or ((each.document_id,) if each.document_id is not None else ())
        for each in tasks
    ]
    documents = sorted({document for each in wanted for document in each})
    found = tx.lineage.of_documents(stage, documents) if documents else {}
    return [[task for document in each for task in found.get(document, [])] for each in wanted]
