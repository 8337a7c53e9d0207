"""Expand: a stage owes answers for the next of its subjects, as its grouping says."""

from quire.domain.runs import RunStage
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.fan import Fanned, fan
from quire.pipeline.told import is_plain

CHUNK = 5000  # tasks made in one transaction


def expand(tx: Transaction, contexts: Contexts, listed: RunStage) -> int:
    """Owe the next answers of a stage; the cursor moves in the same transaction."""
    stage = tx.runs.take_stage(listed.id)
    if stage is None:  # another worker is expanding it
        return 0
    wanted = tx.runs.wishes_of(stage.run_id)  # read after the lock: a cancel may have come first
    if stage.state != "expanding" or wanted is None or wanted.cancelling:
        return 0
    told = contexts.told(tx, stage.run_id)
    spec = told.stages[stage.id]
    above = [each for each in tx.runs.stages(stage.run_id) if each.name in spec.upstream]
    sealed = all(each.state in ("open", "closed") for each in above)
    limit = CHUNK
    if wanted.task_limit is not None and not spec.upstream:
        limit = min(limit, max(0, wanted.task_limit - stage.expanded))
    if spec.critic:  # its tasks come one by one, each with the result it judges
        made = Fanned(0, exhausted=True)
    elif is_plain(spec):
        made = _each_block(tx, contexts.any_of_stage(tx, stage.run_id, stage.id), stage, limit)
    else:
        made = fan(tx, told, stage, limit)
    if made.exhausted and sealed:
        tx.runs.move_stage("seal", stage.id)
    return made.added


def _each_block(tx: Transaction, context: LaneContext, stage: RunStage, limit: int) -> Fanned:
    """Owe an answer about each of the next blocks; the ledger makes the tasks by itself."""
    place = (stage.cursor_document, stage.cursor_block)
    made = tx.tasks.expand_blocks(stage.run_id, stage.id, place, context.question, limit)
    if made:
        place = tx.tasks.last_block(stage.id)
        tx.runs.set_cursor(stage.id, *place, made)
    return Fanned(made, exhausted=not tx.documents.subjects(stage.run_id, *place, 1))
