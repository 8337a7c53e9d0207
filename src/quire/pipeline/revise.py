"""Revise: what newer gates say of stored answers is carried out, and nothing is asked again."""

from collections.abc import Sequence
from datetime import datetime

from quire.domain.data import plain_json
from quire.domain.ids import TaskId
from quire.ledger.ledger import Transaction
from quire.ledger.tables.tasks import Note
from quire.pipeline.begin import EXACT
from quire.pipeline.contexts import LaneContext
from quire.pipeline.criticise import give_up_uncriticised
from quire.pipeline.follow import follow, move_of, note_used
from quire.pipeline.rejudge import Change, Said
from quire.pipeline.renew import let_critics_go, settle_down, take_back


def revise(tx: Transaction, context: LaneContext, changes: Sequence[Change], now: datetime) -> int:
    """Let results make way for what newer gates say; returns how many dependants are stale now."""
    told, spec = context.told, context.told.stages[context.stage_id]
    results = [each.task.result_id for each in changes if each.task.result_id is not None]
    superseded = tx.controls.supersede(results, now)
    meant = [  # but for what somebody else has changed in the meantime
        each for each in changes if each.task.result_id is None or each.task.id in superseded
    ]
    accepted = [(each, each.said) for each in meant if each.said is not None]
    _refuse(tx, context, [each for each in meant if each.said is None])
    stale = tx.lineage.mark_stale(sorted(superseded), now)
    _accept(tx, context, accepted, now)
    if len(told.stages) > 1 and meant:
        for critic in told.critics_of(spec):
            let_critics_go(tx, told.stage_ids[critic.name])
        below = [*told.dependants_of(spec)]
        if spec.critic:
            below += told.dependants_of(told.stages[told.stage_ids[spec.of]])
        take_back(tx, told, below, now)
        settle_down(tx, told, below, now)
    if (accepted and len(told.stages) > 1) or told.policy.policy.completion_mode == EXACT:
        tx.runs.move("reopen", told.run_id, now)  # what was blocked may go, or it is held
    return stale


def _accept(
    tx: Transaction,
    context: LaneContext,
    accepted: Sequence[tuple[Change, Said]],
    now: datetime,
) -> None:
    """Accept answers as if they had just come; who has a critic waits for its word about them."""
    if not accepted:
        return
    told, stage, version = context.told, context.stage_id, context.gate_version
    tx.results.add(
        [
            (
                change.task.id,
                change.task.version,
                said.attempt_id,
                version,
                plain_json(said.verdict.data),
            )
            for change, said in accepted
        ],
        now,
    )
    tasks = [change.task.id for change, _ in accepted]
    move = move_of(told, stage)
    tx.tasks.move(move, tasks, ["failed", "done"] if move == "propose" else ["failed"])
    if context.reads:
        note_used(tx, [(said.request_id, change.task.id) for change, said in accepted], now)
    if len(told.stages) > 1:
        follow(tx, told, stage, tasks, now)


def _refuse(tx: Transaction, context: LaneContext, refused: Sequence[Change]) -> None:
    """Fail tasks whose answers do not do any more, with the reasons."""
    tasks = [each.task.id for each in refused]
    if not tasks:
        return
    tries = tx.critiques.tries(tasks)
    reasons = {each.task.id: "; ".join(each.reasons) or "refused" for each in refused}
    tx.tasks.note(
        [Note(task, tries=tries[task], error=f"regate: {reasons[task]}") for task in tasks]
    )
    tx.tasks.move("give_up", tasks, ["done", "proposed"])
    _fail_judged(tx, context, tasks)


def _fail_judged(tx: Transaction, context: LaneContext, critics: Sequence[TaskId]) -> None:
    """Whoever a critic has judged that has no word any more fails with it."""
    spec = context.told.stages[context.stage_id]
    if spec.critic:
        tx.tasks.move("propose", tx.controls.judged_targets(critics), ["done"])
        give_up_uncriticised(tx, context.told, spec)
