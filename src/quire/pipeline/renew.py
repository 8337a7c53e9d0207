"""Renew: answers make way for new ones, and whatever was built on them waits or is marked."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.errors import NotFound
from quire.domain.ids import StageId
from quire.domain.recipes import Stage
from quire.domain.runs import HoldKind
from quire.domain.states import TASK_OWED
from quire.ledger.ledger import Transaction
from quire.pipeline.advance import reopen
from quire.pipeline.drop import drop
from quire.pipeline.route import dissolve
from quire.pipeline.told import Told

CHUNK = 1000  # requests dropped at once


def named(told: Told, name: str) -> Stage:
    """A stage of a run by its name."""
    stage = told.stage_ids.get(name)
    if stage is None:
        names = ", ".join(told.stage_ids)
        raise NotFound(f"run {told.run_id} has no stage {name!r}; stages: {names}")
    return told.stages[stage]


def downstream(told: Told, stage: Stage) -> list[Stage]:
    """A stage and everything that comes after it, critics included, each after what it needs."""
    return [
        each
        for each in told.recipe.stages
        if each.name == stage.name or stage.name in told.above(each)
    ]


def take_back(tx: Transaction, told: Told, stages: Sequence[Stage], now: datetime) -> None:
    """Drop what is not sent of some stages; requests are always taken before tasks."""
    keys = [told.stage_ids[each.name] for each in stages]
    for draft in tx.batches.drafts_of_run(told.run_id):
        dissolve(tx, draft, "some of it is asked in another way", now)
    while unsent := tx.controls.unsent(keys, CHUNK):
        drop(tx, unsent)


def renew(tx: Transaction, told: Told, spec: Stage, now: datetime, *, stale: bool) -> int:
    """Owe a stage's answers anew, all or the stale ones; returns how many tasks that is."""
    renewed = tx.controls.renew(told.stage_ids[spec.name], now, stale=stale)
    for critic in told.critics_of(spec) if renewed else ():
        let_critics_go(tx, told.stage_ids[critic.name])
    return renewed


def let_critics_go(tx: Transaction, critic: StageId) -> None:
    """Nobody waits for critics of results that made way: those who have not answered never do."""
    tx.controls.move_orphans("return", critic)
    tx.controls.move_orphans("retry", critic, ["failed"])
    tx.controls.move_orphans("cancel", critic)


def judge_anew(tx: Transaction, told: Told, critic: Stage, now: datetime) -> int:
    """Owe the words of a critic anew about results that stay; returns how many."""
    stage, above = told.stage_ids[critic.name], told.stage_ids[critic.of]
    renewed = tx.controls.renew_critics(stage, now)
    if not renewed:
        return 0
    tx.controls.move_critics("reopen", stage)
    tx.controls.move_critics("return", stage)
    tx.controls.move_critics("retry", stage)
    tx.controls.propose_judged(above, stage, ["done", "failed"])
    return renewed


def settle_down(tx: Transaction, told: Told, stages: Sequence[Stage], now: datetime) -> None:
    """Let tasks wait whose inputs are owed again, and open what was closed."""
    for spec in stages:
        stage = told.stage_ids[spec.name]
        if spec.upstream and not spec.critic:
            tx.controls.reset_unfounded(stage, gathers=told.gathers(spec))
    for stage in told.stages:
        counts = tx.tallies.of_stage(stage)
        if any(counts.get(state, 0) for state in TASK_OWED):
            reopen(tx, told.run_id, stage, now)
    tx.holds.lift(told.run_id, [HoldKind.STOP_AFTER])  # if it is still so, it is held again
    if told.policy.policy.completion_mode == "exact":
        tx.holds.lift(told.run_id, [HoldKind.FAILURES])
    tx.notify()
