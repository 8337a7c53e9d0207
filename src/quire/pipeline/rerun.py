"""Rerun: a stage and all after it are asked again; what came before them stays."""

from datetime import datetime

from quire.domain.errors import IllegalMove
from quire.ledger.ledger import Transaction
from quire.pipeline.control import begin_command, going_run
from quire.pipeline.renew import downstream, judge_anew, named, renew, settle_down, take_back
from quire.pipeline.told import Told


def rerun(
    tx: Transaction, told: Told, from_stage: str, now: datetime, command: str | None = None
) -> int:
    """Ask a stage and all that follows from it again; what a person confirmed stays.

    Returns how many tasks are owed again. Old answers that come late are kept and do not count.
    """
    run = told.run_id
    if not begin_command(tx, run, "rerun", now, command):
        return 0
    first = named(told, from_stage)
    if going_run(tx, run).state == "cancelled":
        raise IllegalMove(f"run {run} is cancelled; `quire retry {run}` opens it again, then rerun")
    stages = downstream(told, first)
    names = {each.name for each in stages}
    take_back(tx, told, stages, now)
    owed = 0
    for spec in stages:
        if not spec.critic:
            owed += renew(tx, told, spec, now, stale=False)
        elif spec.of not in names:
            owed += judge_anew(tx, told, spec, now)
    if owed:
        settle_down(tx, told, told.recipe.stages, now)
        tx.events.add(run, "rerun", f"from {from_stage}: {owed} tasks are asked again", now)
    return owed
