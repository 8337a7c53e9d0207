"""Reuse: a changed recipe's run begins with an earlier run's results for what did not change."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from quire.domain.errors import Conflict, UsageError
from quire.domain.ids import DocumentId, RunId
from quire.domain.reasons import EventKind
from quire.domain.recipes import Recipe
from quire.domain.runs import RunStage
from quire.domain.states import TASK_OWED, StageMove, StageState, TaskState
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.failure_holds import begin_windows
from quire.pipeline.commands.start import Order, Reuse
from quire.recipes.recipe_snapshots import recipe_from_json
from quire.recipes.stage_graph import unchanged_stages

_MISSING = (*TASK_OWED, TaskState.CANCELLED)  # tasks whose answers cannot be kept


def reusable_stages(tx: Transaction, reuse: Reuse, recipe: Recipe, model: str) -> tuple[str, ...]:
    """The stages whose results a changed recipe may keep; raises where they are not all there."""
    before = tx.runs.must_get_run(reuse.run)
    earlier = recipe_from_json(before.recipe)
    kept = unchanged_stages(earlier, recipe, reuse.from_stage)
    if earlier.stages == recipe.stages and earlier.parameters == recipe.parameters:
        raise UsageError(
            f"nothing changed since run {reuse.run}",
            f"`quire rerun {reuse.run} --from {reuse.from_stage}` asks again as it was",
        )
    if before.model["name"] != model:
        raise UsageError(
            f"run {reuse.run} asked {before.model['name']}, and this would ask {model}"
        )
    tallies = tx.tallies.tallies_by_stage(reuse.run)
    for stage in tx.runs.stages_of_run(reuse.run):
        missing = sum(
            tallies[stage.id].get(state, 0) for state in (*TASK_OWED, TaskState.CANCELLED)
        )
        if stage.name in kept and (missing or stage.state != StageState.CLOSED):
            raise Conflict(
                f"{stage.name} of run {reuse.run} is not over: what it owes cannot be kept",
                f"`quire attach {reuse.run}` or `quire retry {reuse.run}` first",
            )
    return kept


def check_same_inputs(
    tx: Transaction,
    reuse: Reuse,
    inputs: Sequence[tuple[DocumentId, str]],
    names: Mapping[DocumentId, str],
) -> None:
    """Refuse other documents, or the same for other inputs: what is kept says nothing of them."""
    given = [(document, names.get(document, "")) for document, _ in inputs]
    if tx.runs.inputs_of_run(reuse.run) != given:
        raise UsageError(
            f"run {reuse.run} is about other documents: its results cannot be kept for these"
        )


def carry_over(tx: Transaction, reuse: Reuse, run: RunId, order: Order, now: datetime) -> None:
    """Copy the results that stay to a run that has just begun.

    The copies say which results they come from. Nothing of them is paid for again, and the earlier
    run stays as it is. Where a critic changes, what it judges is proposed to it again.
    """
    check_same_inputs(tx, reuse, order.inputs, order.input_names)
    recipe, models = order.recipe, (order.facts, *order.models)
    kept = reusable_stages(tx, reuse, recipe, order.facts.name)
    mine = {model.name: number for number, model in enumerate(models)}
    asked = tx.runs.models_of_run(tx.runs.must_get_run(reuse.run))
    numbers = {number: mine[model.name] for number, model in enumerate(asked) if model.name in mine}
    before = {stage.name: stage.id for stage in tx.runs.stages_of_run(reuse.run)}
    tasks = 0
    for stage in tx.runs.stages_of_run(run):
        if stage.name in kept:
            anew = any(critic.name not in kept for critic in recipe.critics_of(stage.name))
            stages = (before[stage.name], stage.id)
            tasks += tx.lineage.copy_stage(run, stages, numbers, anew)
            _close(tx, stage, keep_open=anew)
    begin_windows(tx, run)  # what was copied is no success of this run's, nor a failure
    tx.events.add_event(run, EventKind.REUSED, now, run=reuse.run, tasks=tasks)


def _close(tx: Transaction, stage: RunStage, *, keep_open: bool) -> None:
    """All its tasks are made; with nothing owed it is over as well."""
    if stage.state == StageState.WAITING:
        tx.runs.move_stage(StageMove.EXPAND, stage.id)
    tx.runs.move_stage(StageMove.SEAL, stage.id)
    if not keep_open:
        tx.runs.move_stage(StageMove.CLOSE, stage.id)
