"""Follow: what accepted answers set in motion: critics are called, dependants go, marks change."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from quire.domain.ids import RequestId, StageId, TaskId
from quire.domain.recipes import Stage
from quire.ledger.ledger import Transaction
from quire.pipeline.criticise import call_critics, carry_out, give_up_uncriticised
from quire.pipeline.looks import Looks
from quire.pipeline.release import release
from quire.pipeline.told import Told


def move_of(told: Told, stage: StageId) -> str:
    """How an accepted answer moves its task: a critic may still be owed."""
    return "propose" if told.critics_of(told.stages[stage]) else "accept"


def note_used(tx: Transaction, accepted: Sequence[tuple[RequestId, TaskId]], now: datetime) -> None:
    """Keep with the results what they were made from, and see whether that is still current."""
    written = tx.subjects.used(sorted({request for request, _ in accepted}))
    used = [
        (task, json.loads(written[request, task]))
        for request, task in accepted
        if (request, task) in written
    ]
    tx.lineage.use(used)
    tx.lineage.check_stale([task for task, _ in used], now)


def follow(
    tx: Transaction, told: Told, stage: StageId, tasks: Sequence[TaskId], now: datetime
) -> None:
    """See to what follows from new results of these tasks of one stage."""
    spec = told.stages[stage]
    if move_of(told, stage) == "propose":
        call_critics(tx, told, stage, tasks)
        return
    if spec.critic:
        done = carry_out(tx, told, spec, tasks, now)
        _pass_on(tx, told, _named(told, spec.of), done, now)
    _pass_on(tx, told, spec, tasks, now)


def look_after_critics(
    tx: Transaction, looks: Looks, told: Told, critic: Stage, now: datetime
) -> None:
    """See to what nobody else saw to: a critic that failed, was not called, or was not heard.

    Two critics of one answer may speak at the same moment, and neither sees the other.
    """
    stage, above = told.stage_ids[critic.name], told.stage_ids[critic.of]
    counts = tx.tallies.of_stage(stage)
    waiting = tx.tallies.of_stage(above).get("proposed", 0)
    state = (counts.get("failed", 0), waiting)
    if not looks.was_vain(("unheard", stage), state, now):
        if give_up_uncriticised(tx, told, critic):
            waiting = tx.tallies.of_stage(above).get("proposed", 0)
        else:
            looks.note(("unheard", stage), state, now)
    if not waiting or any(counts.get(state, 0) for state in ("ready", "packed")):
        return
    call_critics(tx, told, above, tx.critiques.forgotten(above, stage))
    unheeded = tx.critiques.unheeded(above, stage)
    if unheeded:
        done = carry_out(tx, told, critic, unheeded, now)
        _pass_on(tx, told, _named(told, critic.of), done, now)


def _pass_on(
    tx: Transaction, told: Told, spec: Stage, done: Sequence[TaskId], now: datetime
) -> None:
    """Dependants may go now; those that used another result than the new one are marked."""
    if done and told.dependants_of(spec):
        release(tx, told, done, now)
        tx.lineage.mark_stale(done, now)


def _named(told: Told, name: str) -> Stage:
    return told.stages[told.stage_ids[name]]


def by_stage(tasks: Mapping[tuple[StageId, str], Sequence[TaskId]]) -> dict[StageId, list[TaskId]]:
    """Tasks by stage, whatever state they were in."""
    found: dict[StageId, list[TaskId]] = {}
    for (stage, _), group in tasks.items():
        found.setdefault(stage, []).extend(group)
    return found
