"""Advance: stages expand into tasks and close when nothing is owed; runs end with the last."""

from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import PluginFailed
from quire.domain.ids import RunId, StageId
from quire.domain.runs import RunStage, Wishes
from quire.domain.states import TASK_OWED
from quire.ledger.ledger import Transaction
from quire.pipeline.begin import begin, hold_if_failed, stop_if_asked
from quire.pipeline.contexts import Contexts
from quire.pipeline.drop import drop
from quire.pipeline.expand import expand
from quire.pipeline.follow import look_after_critics
from quire.pipeline.looks import Looks
from quire.pipeline.plugins import hold_broken, is_fit, rests_broken
from quire.pipeline.release import rests, sweep
from quire.pipeline.route import dissolve, fall_back
from quire.pipeline.told import Told

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
        if wishes.cancelling:
            unfit = bool(contexts.told(tx, wishes.run_id).missing)
            finished = let_go(tx, wishes.run_id, now, unfit=unfit)
        else:
            if wishes.deadline is not None and wishes.deadline <= now:
                fall_back(tx, wishes.run_id, now)
            made, finished = _move_on(tx, contexts, wishes, now)
            expanded += made
        if finished:
            ended.append(wishes.run_id)
    for stage in tx.tallies.crowded(CROWDED):
        tx.tallies.fold(stage)
    return Advanced(expanded, tuple(ended))


def _move_on(
    tx: Transaction, contexts: Contexts, wishes: Wishes, now: datetime
) -> tuple[int, bool]:
    """Move one run on, as far as its packages let it: how many tasks were made, and its end."""
    told = contexts.told(tx, wishes.run_id)
    if not is_fit(tx, contexts, told, now) or rests_broken(tx, contexts, told.run_id):
        return 0, False
    try:
        made = _go_on(tx, contexts, wishes, now)
    except PluginFailed as error:  # before anything of that chunk was written
        hold_broken(tx, contexts, told.run_id, error, now)
        return 0, False
    return made, _finish(tx, contexts.looks, told, now)


def _go_on(tx: Transaction, contexts: Contexts, wishes: Wishes, now: datetime) -> int:
    """Begin, expand and look after every stage of a run; returns how many tasks were made."""
    told = contexts.told(tx, wishes.run_id)
    if len(told.stages) > 1:
        _look_after(tx, contexts.looks, told, wishes, now)
    stages = tx.runs.stages(wishes.run_id)
    return sum(expand(tx, contexts, each) for each in stages if each.state == "expanding")


def _look_after(tx: Transaction, looks: Looks, told: Told, wishes: Wishes, now: datetime) -> None:
    """Begin stages whose time has come, and sweep up what nobody else saw to."""
    stages = tx.runs.stages(told.run_id)
    standing = {each.name: each for each in stages}
    stopped = stop_if_asked(tx, told, standing, wishes, now)
    held = stopped or any([hold_if_failed(tx, told, each, now) for each in stages])
    for stage in stages:
        spec = told.stages[stage.id]
        if stage.state == "waiting" and not held:
            begin(tx, told, stage, standing, wishes, now)
        if spec.critic:
            look_after_critics(tx, looks, told, spec, now)
        if stage.state in ("expanding", "open") and rests(tx, told, stage):
            sweep(tx, looks, told, stage, now)


def _finish(tx: Transaction, looks: Looks, told: Told, now: datetime) -> bool:
    """Close sealed stages that owe nothing; end the run with its last stage."""
    run = told.run_id
    standing = {each.name: each.state for each in tx.runs.stages(run)}
    for stage in tx.runs.stages(run):
        if _may_be_called(told, stage, standing):
            continue
        if stage.state == "open" and not _owes(tx, stage):
            tx.runs.lock(run)  # a retry may be under way: look again when nobody else can reopen it
            if not _owes(tx, stage):
                tx.runs.move_stage("close", stage.id)
    stages = tx.runs.stages(run)
    if any(stage.state != "closed" for stage in stages) or _hopes(tx, looks, told, stages, now):
        return False
    if any([hold_if_failed(tx, told, stage, now) for stage in stages]):
        return False
    return _end(tx, run, "finish", now)


def _may_be_called(told: Told, stage: RunStage, standing: dict[str, str]) -> bool:
    """Whether a critic may still be asked: there is more to come of what it judges."""
    spec = told.stages[stage.id]
    return bool(spec.critic) and standing[spec.of] != "closed"


def _hopes(
    tx: Transaction, looks: Looks, told: Told, stages: list[RunStage], now: datetime
) -> bool:
    """Whether something that was blocked may go after all; its stage is opened again."""
    if len(stages) == 1 or not any([sweep(tx, looks, told, each, now) for each in stages]):
        return False
    for stage in stages:
        if _owes(tx, stage):
            reopen(tx, told.run_id, stage.id, now)
    return True


def let_go(tx: Transaction, run: RunId, now: datetime, *, unfit: bool = False) -> bool:
    """Drop all that need not be waited for; the run is cancelled when nothing is out any more.

    Of an unfit run nobody here can judge the answers: they stay, and are not waited for.
    """
    drop(tx, tx.requests.unreadable(run, unfit=unfit), ["out"])  # answered, but nobody knows what
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
    if asked := tx.batches.ask_cancel_of_run(run, now):
        told = "1 batch" if asked == 1 else f"{asked:,} batches"
        tx.events.add(run, "batch_cancel_asked", f"{told}, which nobody waits for", now)
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
    return any(counts.get(state, 0) for state in TASK_OWED)


def reopen(tx: Transaction, run: RunId, stage: StageId, now: datetime) -> None:
    """Something is owed again: a closed stage and an ended run open in the same transaction."""
    tx.runs.move_stage("reopen", stage)
    tx.runs.move("reopen", run, now)
