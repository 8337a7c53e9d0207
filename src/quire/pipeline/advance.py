"""Advance: stages expand into tasks and close when nothing is owed; runs end with the last."""

from datetime import datetime
from typing import NamedTuple

from quire.domain.data import named
from quire.domain.ids import BlockId, RunId, StageId
from quire.domain.runs import RunStage
from quire.domain.states import TASK_OPEN
from quire.domain.tasks import NewTask
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts
from quire.pipeline.drop import drop
from quire.pipeline.route import dissolve, fall_back
from quire.plan.rendering import task_questions

CHUNK = 5000  # tasks made in one transaction
DROP_CHUNK = 1000
CROWDED = 200  # tallies of one stage worth folding


class Advanced(NamedTuple):
    """What one sweep did."""

    expanded: int
    ended: tuple[RunId, ...]


def advance(tx: Transaction, contexts: Contexts, now: datetime) -> Advanced:
    """Move every running run on by one short step; twice at once is harmless."""
    expanded, ended = 0, []
    for wishes in tx.runs.wishes():
        stages = tx.runs.stages(wishes.run_id)
        if wishes.cancelling:
            finished = let_go(tx, wishes.run_id, now)
        else:
            if wishes.deadline is not None and wishes.deadline <= now:
                fall_back(tx, wishes.run_id, now)
            expanded += sum(
                _expand(tx, contexts, each) for each in stages if each.state == "expanding"
            )
            finished = _finish(tx, wishes.run_id, stages, now)
        if finished:
            ended.append(wishes.run_id)
    for stage in tx.tallies.crowded(CROWDED):
        tx.tallies.fold(stage)
    return Advanced(expanded, tuple(ended))


def _expand(tx: Transaction, contexts: Contexts, listed: RunStage) -> int:
    """Owe answers for the next blocks; the cursor moves in the same transaction."""
    stage = tx.runs.take_stage(listed.id)
    if stage is None:  # another worker is expanding it
        return 0
    wanted = tx.runs.wishes_of(stage.run_id)  # read after the lock: a cancel may have come first
    if stage.state != "expanding" or wanted is None or wanted.cancelling:
        return 0
    limit = CHUNK
    if wanted.task_limit is not None:
        limit = min(limit, max(0, wanted.task_limit - stage.expanded))
    context = contexts.of_stage(tx, stage.run_id, stage.id)
    place = (stage.run_id, stage.cursor_document, stage.cursor_block)
    subjects = tx.documents.subjects(*place, limit + 1)  # one more, to know whether that is all
    more, subjects = len(subjects) > limit, subjects[:limit]
    if subjects:
        blocks = [each.block_id for each in subjects]
        questions = task_questions(context.question, [each.content_hash for each in subjects])
        tasks = named(NewTask, zip(blocks, map(_subject, blocks), questions, strict=True))
        tx.tasks.add(stage.run_id, stage.id, "ready", tasks)
        last = subjects[-1]
        tx.runs.set_cursor(stage.id, last.document_ordinal, last.block_index, len(tasks))
    if not more:
        tx.runs.move_stage("seal", stage.id)
    return len(subjects)


def _subject(block: BlockId) -> bytes:
    """Name the subject inside its stage; ascending, so that the index grows at its end."""
    return block.to_bytes(8, "big")


def _finish(tx: Transaction, run: RunId, stages: list[RunStage], now: datetime) -> bool:
    """Close sealed stages that owe nothing; end the run with its last stage."""
    for stage in stages:
        if stage.state == "open" and not _owes(tx, stage):
            tx.runs.lock(run)  # a retry may be under way: look again when nobody else can reopen it
            if not _owes(tx, stage):
                tx.runs.move_stage("close", stage.id)
    if any(stage.state != "closed" for stage in tx.runs.stages(run)):
        return False
    return _end(tx, run, "finish", now)


def let_go(tx: Transaction, run: RunId, now: datetime) -> bool:
    """Drop all that need not be waited for; the run is cancelled when nothing is out any more."""
    drop(tx, tx.requests.unreadable(run), ["out"])  # answered, but nobody knows what
    tx.batches.ask_cancel_of_run(run, now)
    for draft in tx.batches.drafts_of_run(run):
        dissolve(tx, draft, "the run was cancelled", now)
    while dropped := tx.requests.queued_of_run(run, DROP_CHUNK):
        drop(tx, dropped)
    stages = [tx.runs.lock_stage(stage.id) for stage in tx.runs.stages(run)]  # nobody expands now
    for stage in stages:
        tx.tasks.move_stage("cancel", stage.id)
    if any(_owes(tx, stage) for stage in stages):
        return False
    return _end(tx, run, "cancel", now)


def _end(tx: Transaction, run: RunId, move: str, now: datetime) -> bool:
    if not tx.runs.move(move, run, now):
        return False
    tx.batches.ask_cancel_of_run(run, now)  # what is still out, nobody waits for
    for draft in tx.batches.drafts_of_run(run):
        dissolve(tx, draft, "the run ended before it was sent", now)
        drop(tx, tx.requests.queued_of_run(run, DROP_CHUNK))
    for stage in tx.runs.stages(run):
        tx.tallies.fold(stage.id)
    counts = tx.tallies.of_run(run)
    detail = f"{counts.get('done', 0)} done, {counts.get('failed', 0)} failed"
    tx.events.add(run, f"run_{move}", detail, now)
    tx.notify()
    return True


def _owes(tx: Transaction, stage: RunStage) -> bool:
    counts = tx.tallies.of_stage(stage.id)
    return any(counts.get(state, 0) for state in TASK_OPEN)


def reopen(tx: Transaction, run: RunId, stage: StageId, now: datetime) -> None:
    """Something is owed again: a closed stage and an ended run open in the same transaction."""
    tx.runs.move_stage("reopen", stage)
    tx.runs.move("reopen", run, now)
