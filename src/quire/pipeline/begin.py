"""Begin: a stage starts when what it needs is there; until then it can say what it waits for."""

from collections.abc import Mapping
from datetime import datetime

from quire.domain.recipes import Stage
from quire.domain.runs import HoldKind, RunStage, Wishes
from quire.domain.states import TASK_OWED
from quire.ledger.ledger import Transaction
from quire.pipeline.record import hold
from quire.pipeline.told import Told

EXACT, BEST_EFFORT, THROUGHPUT = "exact", "best_effort", "throughput"
SEALED = ("open", "closed")  # stages all of whose tasks are made

Standing = Mapping[str, RunStage]  # a run's stages by name, as they stand


def begin(
    tx: Transaction, told: Told, stage: RunStage, standing: Standing, wishes: Wishes, now: datetime
) -> bool:
    """Let a waiting stage start, if it may; says whether it did."""
    if waits_for(tx, told, told.stages[stage.id], standing, wishes):
        return False
    if not tx.runs.move_stage("expand", stage.id):
        return False
    tx.events.add(told.run_id, "stage_started", stage.name, now)
    return True


def waits_for(tx: Transaction, told: Told, spec: Stage, standing: Standing, wishes: Wishes) -> str:
    """Why a stage does not start yet, for a person; empty if it may."""
    last = wishes.stop_after
    if last and last != spec.name and last in told.above(spec):
        return f"it stops after {last}"
    eager = told.policy.policy.completion_mode == THROUGHPUT
    for name in spec.upstream:
        above = standing[name]
        if eager and _runs_ahead(told, spec, name):
            # what it is about comes one by one; all else that it reads must be there to be found
            ready = above.state != "waiting" if name == spec.of else above.state in SEALED
        else:
            ready = above.state == "closed" or _rests_at_limit(tx, told, spec, standing, wishes)
        if not ready:
            return f"it waits for {name}"
    return ""


def _runs_ahead(told: Told, spec: Stage, name: str) -> bool:
    """Whether it may follow that stage task by task; a whole needs all of it, and so do critics."""
    above = next(each for each in told.recipe.stages if each.name == name)
    return not told.gathers(spec) and not above.critic


def _rests_at_limit(
    tx: Transaction, told: Told, spec: Stage, standing: Standing, wishes: Wishes
) -> bool:
    """What it is about was told to go no further for now, and has done all it may.

    Only a stage that follows another task by task may go on then: any other would miss the rest.
    """
    limit = wishes.task_limit
    if limit is None or not spec.of or spec.upstream != (spec.of,):
        return False
    above = standing[spec.of]
    counts = tx.tallies.of_stage(above.id)
    if above.state != "expanding" or any(counts.get(state, 0) for state in TASK_OWED):
        return False
    beyond = told.stages[above.id]
    if beyond.upstream:
        return _rests_at_limit(tx, told, beyond, standing, wishes)
    return above.expanded >= limit


def stop_if_asked(
    tx: Transaction, told: Told, standing: Standing, wishes: Wishes, now: datetime
) -> bool:
    """Hold the run once the stage it is to stop after is closed; says whether it is."""
    last = wishes.stop_after
    if not last or last not in standing:
        return False
    done = [last, *(each.name for each in told.critics_of(told.stages[standing[last].id]))]
    if any(standing[name].state != "closed" for name in done):
        return False
    if all(each.state == "closed" for each in standing.values()):
        return False  # there is nothing after it: the run just ends
    detail = f"stopped after {last}, as asked; `quire resume {told.run_id}` goes on"
    hold(tx, told.run_id, HoldKind.STOP_AFTER, detail, now)
    return True


def hold_if_failed(tx: Transaction, told: Told, stage: RunStage, now: datetime) -> bool:
    """Where every answer counts, a failure holds the run; says whether there is one."""
    if told.policy.policy.completion_mode != EXACT or stage.state != "closed":
        return False
    failed = tx.tasks.unwaived(stage.id)
    if not failed:
        return False
    run = told.run_id
    detail = (
        f"{failed} failed in {stage.name}, and the run is to be exact:"
        f" `quire failures {run}`, then `quire retry {run}` or `quire waive TASK`"
    )
    hold(tx, run, HoldKind.FAILURES, detail, now)
    return True
