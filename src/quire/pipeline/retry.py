"""Retry: what failed is owed again, and on request what has gone stale; the rest stays."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.errors import IllegalMove
from quire.domain.ids import RunId
from quire.domain.recipes import Stage
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Transaction
from quire.pipeline.control import begin_command, going_run
from quire.pipeline.drop import drop
from quire.pipeline.renew import downstream, named, renew, settle_down, take_back
from quire.pipeline.told import Told


def retry(
    tx: Transaction,
    told: Told,
    now: datetime,
    command: str | None = None,
    *,
    stage: str | None = None,
) -> int:
    """Owe failed tasks again (cancelled ones too, in a cancelled run), with fresh tries.

    Where only the critic came to nothing, the critic is asked again and not the answer.
    """
    run = told.run_id
    if not begin_command(tx, run, "retry", now, command):
        return 0
    cancelled = going_run(tx, run).state == "cancelled"
    names = set(told.stage_ids) if stage is None else {named(told, stage).name}
    sources = ["failed", "cancelled"] if cancelled else ["failed"]
    granted = _give_up_unreadable(tx, run)
    granted += _grant_critics(tx, told, names, sources)
    for spec in told.recipe.stages:
        if spec.name in names and not spec.critic:
            granted += _grant(tx, told, spec, sources, now)
    if cancelled:
        tx.runs.ask_cancel(run, None)
        tx.runs.move("reopen", run, now)
    if granted or cancelled:
        settle_down(tx, told, told.recipe.stages, now)
        tx.events.add(run, "retried", f"{granted} tasks go again", now)
    return granted


def _grant_critics(tx: Transaction, told: Told, names: set[str], sources: Sequence[str]) -> int:
    """Answers that lack only their critic's word wait for it again."""
    granted = 0
    for spec in told.recipe.stages:
        if spec.critic and {spec.name, spec.of} & names:
            tx.controls.repropose(told.stage_ids[spec.of], sources)
            granted += tx.controls.grant_critics(told.stage_ids[spec.name], sources)
    return granted


def _grant(tx: Transaction, told: Told, spec: Stage, sources: Sequence[str], now: datetime) -> int:
    stage = told.stage_ids[spec.name]
    if told.critics_of(spec):  # an answer that was objected to makes way for another
        for source in sources:
            tx.controls.renew_objected(stage, source, now)
    return tx.tasks.move_stage("retry", stage, sources)


def retry_stale(
    tx: Transaction,
    told: Told,
    now: datetime,
    command: str | None = None,
    *,
    stage: str | None = None,
) -> int:
    """Ask stale tasks again, and what follows from them; what a person confirmed stays."""
    run = told.run_id
    if not begin_command(tx, run, "retry", now, command):
        return 0
    if going_run(tx, run).state == "cancelled":
        raise IllegalMove(f"run {run} is cancelled; `quire retry {run}` opens it again")
    stages = told.recipe.stages if stage is None else (named(told, stage),)
    take_back(tx, told, [more for each in stages for more in downstream(told, each)], now)
    owed = 0
    for spec in stages:
        if not spec.critic:
            owed += renew(tx, told, spec, now, stale=True)
        for below in told.dependants_of(spec) if owed else ():
            tx.controls.mark_stage_stale(told.stage_ids[below.name], now)
    if owed:
        settle_down(tx, told, told.recipe.stages, now)
        tx.events.add(run, "retried", f"{owed} stale tasks are asked again", now)
    return owed


def _give_up_unreadable(tx: Transaction, run: RunId) -> int:
    """Ask again, and pay again, where an answer is here that nobody can read."""
    unreadable = tx.requests.unreadable(run)
    tasks = len(tx.requests.members(unreadable)) if unreadable else 0
    drop(tx, unreadable, ["out"])
    tx.holds.lift(run, [HoldKind.UNDECODABLE])
    return tasks
