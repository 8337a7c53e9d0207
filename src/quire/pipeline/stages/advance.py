"""Advance: stages expand into tasks and close when nothing is owed; runs end with the last."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.errors import PluginFailed
from quire.domain.ids import RunId, StageId
from quire.domain.reasons import EventKind
from quire.domain.runs import RunStage, Wishes
from quire.domain.states import (
    RequestState,
    RunMove,
    StageMove,
    StageState,
    TaskMove,
    TaskState,
)
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.funds import end_slices_of_run
from quire.pipeline.calls.plugin_holds import (
    check_plugins,
    hold_for_broken_plugin,
    is_held_for_broken_plugin,
)
from quire.pipeline.calls.record import drop_requests
from quire.pipeline.calls.route import dissolve_draft, fall_back_to_direct
from quire.pipeline.contexts import Contexts, SweepMemo
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.begin import begin, hold_if_failed, stop_if_asked
from quire.pipeline.stages.critics import sweep_critics
from quire.pipeline.stages.expand import expand
from quire.pipeline.stages.followers import wake_unled
from quire.pipeline.stages.release import has_owed_tasks, has_settled_inputs, sweep

DROP_CHUNK = 1000
FOLD_TALLIES_ABOVE = 200  # tallies of one stage worth folding


class SweepResult(NamedTuple):
    """What one sweep did."""

    expanded: int  # tasks made or woken
    moved: int  # these, tasks let go, stages begun or closed, runs ended
    closed: int  # stages of runs that go on: what they kept waiting may begin in the next sweep
    ended: tuple[RunId, ...]


class RunStep(NamedTuple):
    """What one sweep did with one run."""

    expanded: int = 0
    moved: int = 0  # besides: tasks let go, stages begun
    closed: int = 0
    finished: bool = False


def advance(tx: Transaction, contexts: Contexts, now: datetime) -> SweepResult:
    """Move every running run on by one short step; twice at once is harmless."""
    expanded, moved, closed, ended = 0, 0, 0, []
    for wishes in tx.runs.running_wishes():
        step = _step_run(tx, contexts, wishes, now)
        expanded += step.expanded
        moved += step.expanded + step.moved + step.closed + step.finished
        if step.finished:
            ended.append(wishes.run_id)
            if wishes.funded:
                end_slices_of_run(tx, wishes.run_id, now)
        else:
            closed += step.closed
    for stage in tx.tallies.crowded_stages(FOLD_TALLIES_ABOVE):
        tx.tallies.fold_tallies(stage)
    return SweepResult(expanded, moved, closed, tuple(ended))


def _step_run(tx: Transaction, contexts: Contexts, wishes: Wishes, now: datetime) -> RunStep:
    """Move one run on, or wind it down where that is wished."""
    if wishes.cancelling:
        unfit = bool(contexts.spec_of(tx, wishes.run_id).missing_plugins)
        return RunStep(finished=wind_down_run(tx, wishes.run_id, now, unfit=unfit))
    if wishes.deadline is not None and wishes.deadline <= now:
        fall_back_to_direct(tx, wishes.run_id, now)
    return _advance_run(tx, contexts, wishes, now)


def _advance_run(tx: Transaction, contexts: Contexts, wishes: Wishes, now: datetime) -> RunStep:
    """Move one run on, as far as its packages let it."""
    spec = contexts.spec_of(tx, wishes.run_id)
    if not check_plugins(tx, contexts, spec, now) or is_held_for_broken_plugin(
        tx, contexts, spec.run_id
    ):
        return RunStep()
    try:
        expanded, moved = _advance_stages(tx, contexts, wishes, now)
    except PluginFailed as error:  # before anything of that chunk was written
        hold_for_broken_plugin(tx, contexts, spec.run_id, error, now)
        return RunStep()
    return RunStep(expanded, moved, *_close_stages(tx, contexts.sweep_memo, spec, now))


def _advance_stages(
    tx: Transaction, contexts: Contexts, wishes: Wishes, now: datetime
) -> tuple[int, int]:
    """Begin, expand and look after every stage of a run: tasks that were made, what else moved."""
    spec = contexts.spec_of(tx, wishes.run_id)
    several = len(spec.stages) > 1
    moved = _begin_stages(tx, spec, wishes, now) if several else 0
    stages = tx.runs.stages_of_run(wishes.run_id)
    made = sum(
        expand(tx, contexts, stage) for stage in stages if stage.state == StageState.EXPANDING
    )
    if several:
        moved += _sweep_stages(tx, contexts.sweep_memo, spec, stages, now)
    begun = (StageState.EXPANDING, StageState.OPEN)
    woken = sum(wake_unled(tx, stage.id) for stage in stages if stage.state in begun)
    return made + woken, moved


def _begin_stages(tx: Transaction, spec: RunSpec, wishes: Wishes, now: datetime) -> int:
    """Begin stages whose time has come; returns how many."""
    stages = tx.runs.stages_of_run(spec.run_id)
    stages_by_name = {run_stage.name: run_stage for run_stage in stages}
    stopped = stop_if_asked(tx, spec, stages_by_name, wishes, now)
    if stopped or any([hold_if_failed(tx, spec, run_stage, now) for run_stage in stages]):
        return 0
    waiting = [stage for stage in stages if stage.state == StageState.WAITING]
    return sum([begin(tx, spec, stage, stages_by_name, wishes, now) for stage in waiting])


def _sweep_stages(
    tx: Transaction, memo: SweepMemo, spec: RunSpec, stages: Sequence[RunStage], now: datetime
) -> int:
    """Sweep up what nobody else saw to; returns how many tasks moved."""
    moved = 0
    for stage in stages:
        recipe_stage = spec.stages[stage.id]
        if recipe_stage.critic:
            moved += sweep_critics(tx, memo, spec, recipe_stage, now)
        if stage.state in (StageState.EXPANDING, StageState.OPEN) and has_settled_inputs(
            tx, spec, stage
        ):
            moved += sweep(tx, memo, spec, stage, now)
    return moved


def _close_stages(
    tx: Transaction, memo: SweepMemo, spec: RunSpec, now: datetime
) -> tuple[int, bool]:
    """Close sealed stages that owe nothing; end the run with its last: how many, and its end."""
    run = spec.run_id
    stages = tx.runs.stages_of_run(run)
    closed = sum([_close_if_over(tx, spec, stage, stages) for stage in stages])
    if closed:
        stages = tx.runs.stages_of_run(run)
    if any(stage.state != StageState.CLOSED for stage in stages) or _reopen_unblocked(
        tx, memo, spec, stages, now
    ):
        return closed, False
    if any([hold_if_failed(tx, spec, stage, now) for stage in stages]):
        return closed, False
    return closed, _end_run(tx, run, RunMove.FINISH, now)


def _close_if_over(
    tx: Transaction, spec: RunSpec, stage: RunStage, stages: Sequence[RunStage]
) -> bool:
    """Close a stage to which nothing more can come, and that owes nothing."""
    if stage.state != StageState.OPEN or _may_call_critic(spec, stage, stages):
        return False
    if has_owed_tasks(tx, stage.id):
        return False
    # a retry may be under way: look again when nobody else can reopen it
    tx.runs.lock_run(spec.run_id)
    return not has_owed_tasks(tx, stage.id) and bool(tx.runs.move_stage(StageMove.CLOSE, stage.id))


def finish_if_settled(tx: Transaction, spec: RunSpec, now: datetime) -> bool:
    """End a run of which nothing is owed any more, without waiting for a worker to notice."""
    _, finished = _close_stages(tx, SweepMemo(), spec, now)
    if not finished:
        return False
    end_slices_of_run(tx, spec.run_id, now)
    return True


def _may_call_critic(spec: RunSpec, stage: RunStage, stages: Sequence[RunStage]) -> bool:
    """Whether a critic may still be asked: there is more to come of what it judges."""
    recipe_stage = spec.stages[stage.id]
    return bool(recipe_stage.critic) and any(
        above.name == recipe_stage.of and above.state != StageState.CLOSED for above in stages
    )


def _reopen_unblocked(
    tx: Transaction, memo: SweepMemo, spec: RunSpec, stages: Sequence[RunStage], now: datetime
) -> bool:
    """Whether something that was blocked may go after all; its stage is opened again."""
    if len(stages) == 1 or not any([sweep(tx, memo, spec, run_stage, now) for run_stage in stages]):
        return False
    for stage in stages:
        if has_owed_tasks(tx, stage.id):
            reopen(tx, spec.run_id, stage.id, now)
    return True


def wind_down_run(tx: Transaction, run: RunId, now: datetime, *, unfit: bool = False) -> bool:
    """Drop all that need not be waited for; the run is cancelled when nothing is out any more.

    Of an unfit run nobody here can judge the answers: they stay, and are not waited for.
    """
    # answered, but nobody knows what
    drop_requests(tx, tx.requests.unreadable_requests_of_run(run, unfit=unfit), [RequestState.OUT])
    tx.batches.ask_cancel_batches_of_run(run, now)
    for draft in tx.batches.drafts_of_run(run):
        dissolve_draft(tx, draft, "the run was cancelled", now)
    while dropped := tx.requests.queued_requests_of_run(run, DROP_CHUNK):
        drop_requests(tx, dropped)
    # nobody expands now
    stages = [tx.runs.lock_stage(stage.id) for stage in tx.runs.stages_of_run(run)]
    for stage in stages:
        tx.tasks.move_tasks_of_stage(TaskMove.CANCEL, stage.id)
    if any(has_owed_tasks(tx, stage.id) for stage in stages):
        return False
    return _end_run(tx, run, RunMove.CANCEL, now)


def _end_run(tx: Transaction, run: RunId, move: RunMove, now: datetime) -> bool:
    if not tx.runs.move_run(move, run, now):
        return False
    if asked := tx.batches.ask_cancel_batches_of_run(run, now):
        tx.events.add_event(run, EventKind.BATCH_CANCEL_ASKED, now, batches=asked)
    for draft in tx.batches.drafts_of_run(run):
        dissolve_draft(tx, draft, "the run ended before it was sent", now)
        drop_requests(tx, tx.requests.queued_requests_of_run(run, DROP_CHUNK))
    for stage in tx.runs.stages_of_run(run):
        tx.tallies.fold_tallies(stage.id)
    counts = tx.tallies.tallies_of_run(run)
    done, failed = counts.get(TaskState.DONE, 0), counts.get(TaskState.FAILED, 0)
    kind = EventKind.RUN_FINISHED if move == RunMove.FINISH else EventKind.RUN_CANCELLED
    tx.events.add_event(run, kind, now, done=done, failed=failed)
    tx.notify()
    return True


def reopen(tx: Transaction, run: RunId, stage: StageId, now: datetime) -> None:
    """Something is owed again: a closed stage and an ended run open in the same transaction."""
    tx.runs.move_stage(StageMove.REOPEN, stage)
    tx.runs.move_run(RunMove.REOPEN, run, now)
