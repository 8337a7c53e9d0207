"""Begin: a stage starts when what it needs is there; until then it can say what it waits for."""

from collections.abc import Mapping
from datetime import datetime

from quire.domain.groupings import OF_WHOLE_STAGE
from quire.domain.reasons import EventKind, HoldCause, StageWait, WaitKind
from quire.domain.recipes import Stage
from quire.domain.runs import RunStage, Wishes
from quire.domain.states import StageMove, StageState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import hold_run
from quire.pipeline.run_spec import THROUGHPUT, RunSpec
from quire.pipeline.stages.release import has_owed_tasks

SEALED = (StageState.OPEN, StageState.CLOSED)  # stages all of whose tasks are made

StagesByName = Mapping[str, RunStage]  # a run's stages by name, as they stand


def begin(
    tx: Transaction,
    spec: RunSpec,
    stage: RunStage,
    stages_by_name: StagesByName,
    wishes: Wishes,
    now: datetime,
) -> bool:
    """Let a waiting stage start, if it may; says whether it did."""
    if wait_reason(tx, spec, spec.stages[stage.id], stages_by_name, wishes):
        return False
    if not tx.runs.move_stage(StageMove.EXPAND, stage.id):
        return False
    tx.events.add_event(spec.run_id, EventKind.STAGE_STARTED, now, stage=stage.name)
    return True


def wait_reason(
    tx: Transaction,
    spec: RunSpec,
    recipe_stage: Stage,
    stages_by_name: StagesByName,
    wishes: Wishes,
) -> StageWait | None:
    """Why a stage does not start yet; None if it may."""
    if (stop := stop_wait(spec, recipe_stage, wishes)) is not None:
        return stop
    eager = spec.policy.policy.completion_mode == THROUGHPUT
    driver = spec.driver_of(recipe_stage)
    for name in recipe_stage.upstream:
        above = stages_by_name[name]
        if eager and _may_run_ahead(spec, recipe_stage, name):
            # what it is about comes one by one; all else that it reads must be there to be found
            follows = name == recipe_stage.of and driver not in OF_WHOLE_STAGE
            ready = above.state != StageState.WAITING if follows else above.state in SEALED
        else:
            ready = above.state == StageState.CLOSED or _is_at_task_limit(
                tx, spec, recipe_stage, stages_by_name, wishes
            )
        if not ready:
            return StageWait(WaitKind.UPSTREAM, name)
    return None


def stop_wait(spec: RunSpec, recipe_stage: Stage, wishes: Wishes) -> StageWait | None:
    """The stop that keeps a stage back, begun or not; None if it may go on."""
    last = wishes.stop_after
    if spec.stage_ids[recipe_stage.name] not in spec.stages_beyond(last):
        return None
    return StageWait(WaitKind.STOP_AFTER, last or "")


def _may_run_ahead(spec: RunSpec, recipe_stage: Stage, name: str) -> bool:
    """Whether it may follow that stage task by task; a whole needs all of it, and so do critics."""
    return not spec.is_gathering(recipe_stage) and not spec.stage_named(name).critic


def _is_at_task_limit(
    tx: Transaction,
    spec: RunSpec,
    recipe_stage: Stage,
    stages_by_name: StagesByName,
    wishes: Wishes,
) -> bool:
    """What it is about was told to go no further for now, and has done all it may.

    Only a stage that follows another task by task may go on then: any other would miss the rest.
    """
    limit = wishes.task_limit
    if limit is None or not recipe_stage.of or recipe_stage.upstream != (recipe_stage.of,):
        return False
    if spec.driver_of(recipe_stage) in OF_WHOLE_STAGE:
        return False
    above = stages_by_name[recipe_stage.of]
    if above.state != StageState.EXPANDING or has_owed_tasks(tx, above.id):
        return False
    beyond = spec.stages[above.id]
    if beyond.upstream:
        return _is_at_task_limit(tx, spec, beyond, stages_by_name, wishes)
    return above.expanded >= limit


def stop_if_asked(
    tx: Transaction, spec: RunSpec, stages_by_name: StagesByName, wishes: Wishes, now: datetime
) -> bool:
    """Hold the run once the stage it is to stop after is over; says whether it is."""
    last = wishes.stop_after
    if last is None or any(
        stages_by_name[name].state != StageState.CLOSED for name in spec.stages_through(last)
    ):
        return False
    if all(stage.state == StageState.CLOSED for stage in stages_by_name.values()):
        return False  # there is nothing after it: the run just ends
    hold_run(tx, spec.run_id, HoldCause.STOP_AFTER, now, stage=last)
    return True


def hold_if_failed(tx: Transaction, spec: RunSpec, stage: RunStage, now: datetime) -> bool:
    """Where every answer counts, a failure holds the run; says whether there is one."""
    if not spec.is_exact or stage.state != StageState.CLOSED:
        return False
    failed = tx.tasks.count_unwaived_failures(stage.id)
    if not failed:
        return False
    hold_run(tx, spec.run_id, HoldCause.EXACT_FAILURES, now, failed=failed, stage=stage.name)
    return True
