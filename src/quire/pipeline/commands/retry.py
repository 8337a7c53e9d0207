"""Retry and rerun: failed, stale or all tasks of some stages are owed again."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.ids import RunId, StageId, TaskId
from quire.domain.reasons import EventKind, HoldKind, ResumeCause
from quire.domain.recipes import Stage
from quire.domain.states import RequestState, RunMove, RunState, TaskMove, TaskState
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.notifications import lift_holds
from quire.pipeline.calls.failure_holds import begin_windows
from quire.pipeline.calls.record import drop_requests
from quire.pipeline.calls.route import dissolve_draft
from quire.pipeline.commands.control import check_not_cancelled, register_command, uncancelled_run
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.advance import reopen
from quire.pipeline.stages.release import has_owed_tasks

CHUNK = 1000  # requests dropped at once


def withdraw_unsent(tx: Transaction, spec: RunSpec, stages: Sequence[Stage], now: datetime) -> None:
    """Drop what is not sent of some stages; requests are always taken before tasks."""
    keys = [spec.stage_ids[stage.name] for stage in stages]
    for draft in tx.batches.drafts_of_run(spec.run_id):
        dissolve_draft(tx, draft, "some of it is asked in another way", now)
    while unsent := tx.controls.unsent_requests_of_stages(keys, CHUNK):
        drop_requests(tx, unsent)


def renew_stage(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, now: datetime, *, stale: bool
) -> int:
    """Owe a stage's answers anew, all or the stale ones; returns how many tasks that is."""
    renewed = tx.controls.renew_tasks(spec.stage_ids[recipe_stage.name], now, stale=stale)
    for critic in spec.critics_of(recipe_stage) if renewed else ():
        cancel_orphan_critics(tx, spec.stage_ids[critic.name])
    return renewed


def cancel_orphan_critics(tx: Transaction, critic: StageId) -> None:
    """Nobody waits for critics of results that made way: those who have not answered never do."""
    tx.controls.move_orphaned_critics(TaskMove.RETURN, critic)
    tx.controls.move_orphaned_critics(TaskMove.RETRY, critic, [TaskState.FAILED])
    tx.controls.move_orphaned_critics(TaskMove.CANCEL, critic)


def renew_critics(tx: Transaction, spec: RunSpec, critic: Stage, now: datetime) -> int:
    """Owe the words of a critic anew about results that stay; returns how many."""
    stage, above = spec.stage_ids[critic.name], spec.stage_ids[critic.of]
    renewed = tx.controls.renew_critic_tasks(stage, now)
    if not renewed:
        return 0
    for move in (TaskMove.REOPEN, TaskMove.RETURN, TaskMove.RETRY):
        tx.controls.move_critics(move, stage)
    tx.controls.propose_judged_tasks(above, stage, [TaskState.DONE, TaskState.FAILED])
    return renewed


def reset_dependants(
    tx: Transaction, spec: RunSpec, stages: Sequence[Stage], now: datetime
) -> None:
    """Let tasks wait whose inputs are owed again, and open what was closed."""
    for recipe_stage in stages:
        stage = spec.stage_ids[recipe_stage.name]
        if recipe_stage.upstream and not recipe_stage.critic:
            tx.controls.reset_tasks_without_inputs(stage, spec.leaving_out(recipe_stage))
    for stage in spec.stages:
        if has_owed_tasks(tx, stage):
            reopen(tx, spec.run_id, stage, now)
    kinds = [HoldKind.STOP_AFTER]  # if it is still so, it is held again
    kinds += [HoldKind.FAILURES] if spec.is_exact else []
    lift_holds(tx, spec.run_id, kinds, ResumeCause.RETRIED, now)
    tx.notify()


def retry(
    tx: Transaction,
    spec: RunSpec,
    now: datetime,
    command: str | None = None,
    *,
    stage: str | None = None,
) -> int:
    """Owe failed tasks again (cancelled ones too, in a cancelled run), with fresh tries.

    Where only the critic came to nothing, the critic is asked again and not the answer.
    """
    run = spec.run_id
    if not register_command(tx, run, "retry", now, command):
        return 0
    cancelled = uncancelled_run(tx, run).state == RunState.CANCELLED
    names = {item.name for item in spec.stages_named(stage)}
    sources = [TaskState.FAILED, *([TaskState.CANCELLED] if cancelled else [])]
    granted = _drop_unreadable(tx, run, now)
    granted += _retry_critics(tx, spec, names, sources)
    for recipe_stage in spec.recipe.stages:
        if recipe_stage.name in names and not recipe_stage.critic:
            granted += _retry_stage(tx, spec, recipe_stage, sources, now)
    if cancelled:
        tx.runs.ask_cancel_run(run, None)
        tx.runs.move_run(RunMove.REOPEN, run, now)
    if granted or cancelled:
        reset_dependants(tx, spec, spec.recipe.stages, now)
        _lift_failures_hold(tx, run, now)
        tx.events.add_event(run, EventKind.RETRIED, now, tasks=granted, stale=0)
    return granted


def _retry_critics(
    tx: Transaction, spec: RunSpec, names: set[str], sources: Sequence[TaskState]
) -> int:
    """Answers that lack only their critic's word wait for it again."""
    granted = 0
    for recipe_stage in spec.recipe.stages:
        if recipe_stage.critic and {recipe_stage.name, recipe_stage.of} & names:
            tx.controls.repropose_tasks(spec.stage_ids[recipe_stage.of], sources)
            granted += tx.controls.grant_critics(spec.stage_ids[recipe_stage.name], sources)
    return granted


def _retry_stage(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, sources: Sequence[TaskState], now: datetime
) -> int:
    stage = spec.stage_ids[recipe_stage.name]
    if spec.critics_of(recipe_stage):  # an answer that was objected to makes way for another
        for source in sources:
            tx.controls.renew_objected_answers(stage, source, now)
    return tx.tasks.move_tasks_of_stage(TaskMove.RETRY, stage, sources)


def retry_chosen(
    tx: Transaction,
    spec: RunSpec,
    now: datetime,
    command: str | None = None,
    *,
    tasks: Sequence[TaskId],
) -> int:
    """Owe some failed tasks again, as `retry` does with all; of a critic, what it judges waits."""
    run = spec.run_id
    if not register_command(tx, run, "retry", now, command):
        return 0
    check_not_cancelled(tx, run)
    failed, granted = [TaskState.FAILED], 0
    chosen = [*tasks, *tx.controls.judged_by_critics(tasks)]
    for critic in (item for item in spec.recipe.stages if item.critic):
        tx.controls.repropose_chosen_tasks(spec.stage_ids[critic.of], chosen, failed)
        granted += tx.controls.grant_critics(spec.stage_ids[critic.name], failed)
    for recipe_stage in (item for item in spec.recipe.stages if not item.critic):
        stage = spec.stage_ids[recipe_stage.name]
        if spec.critics_of(recipe_stage):
            tx.controls.renew_chosen_answers(stage, chosen, TaskState.FAILED, now)
        granted += tx.controls.grant_chosen_tasks(stage, chosen, failed)
    if granted:
        reset_dependants(tx, spec, spec.recipe.stages, now)
        _lift_failures_hold(tx, run, now)
        tx.events.add_event(run, EventKind.RETRIED, now, tasks=granted, stale=0)
    return granted


def _lift_failures_hold(tx: Transaction, run: RunId, now: datetime) -> None:
    """Let a run go on whose failures are asked again; what comes now is judged by itself.

    Unlike a resume it allows no more than before: if it fails as it did, the run is held again.
    """
    if lift_holds(tx, run, [HoldKind.FAILURES], ResumeCause.RETRIED, now):
        begin_windows(tx, run)


def retry_stale(
    tx: Transaction,
    spec: RunSpec,
    now: datetime,
    command: str | None = None,
    *,
    stage: str | None = None,
) -> int:
    """Ask stale tasks again, and what follows from them; what a person confirmed stays."""
    run = spec.run_id
    if not register_command(tx, run, "retry", now, command):
        return 0
    check_not_cancelled(tx, run)
    stages = spec.stages_named(stage)
    withdraw_unsent(tx, spec, [more for item in stages for more in spec.and_below(item)], now)
    owed = 0
    for recipe_stage in stages:
        if not recipe_stage.critic:
            owed += renew_stage(tx, spec, recipe_stage, now, stale=True)
        for below in spec.dependants_of(recipe_stage) if owed else ():
            tx.controls.mark_stage_stale(spec.stage_ids[below.name], now)
    if owed:
        reset_dependants(tx, spec, spec.recipe.stages, now)
        tx.events.add_event(run, EventKind.RETRIED, now, tasks=owed, stale=1)
    return owed


def _drop_unreadable(tx: Transaction, run: RunId, now: datetime) -> int:
    """Ask again, and pay again, where an answer is here that nobody can read."""
    unreadable = tx.requests.unreadable_requests_of_run(run)
    tasks = len(tx.requests.take_members(unreadable)) if unreadable else 0
    drop_requests(tx, unreadable, [RequestState.OUT])
    lift_holds(tx, run, [HoldKind.UNDECODABLE], ResumeCause.RETRIED, now)
    return tasks


def rerun(
    tx: Transaction, spec: RunSpec, from_stage: str, now: datetime, command: str | None = None
) -> int:
    """Ask a stage and all that follows from it again; what a person confirmed stays.

    Returns how many tasks are owed again. Old answers that come late are kept and do not count.
    """
    run = spec.run_id
    if not register_command(tx, run, "rerun", now, command):
        return 0
    first = spec.stage_named(from_stage)
    check_not_cancelled(tx, run, ", then rerun")
    stages = spec.and_below(first)
    names = {stage.name for stage in stages}
    withdraw_unsent(tx, spec, spec.and_waiting(first), now)
    owed = 0
    for recipe_stage in stages:
        if not recipe_stage.critic:
            owed += renew_stage(tx, spec, recipe_stage, now, stale=False)
        elif recipe_stage.of not in names:
            owed += renew_critics(tx, spec, recipe_stage, now)
    if owed:
        reset_dependants(tx, spec, spec.recipe.stages, now)
        tx.events.add_event(run, EventKind.RERUN, now, stage=from_stage, tasks=owed)
    return owed
