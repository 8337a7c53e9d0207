"""Undo: a person's last decision about a result is taken back, and what stood before stands again.

Nothing is lost by it. A result that made way is current again, under its old version; what took its
place stays as a version that is superseded. If a rejected answer was to be asked again, that is
withdrawn as long as it was not sent. What was sent is paid for: its answer is kept, when it comes,
as a version that never became current. A task never goes back to an earlier version number, so that
no late answer is taken for another. Only the last decision can be taken back; older ones were
overtaken, and taking them back would bring back what somebody has since decided against.
"""

from quire.domain.errors import IllegalMove, NotFound
from quire.domain.ids import ResultId, TaskId
from quire.domain.reasons import EventKind
from quire.domain.states import REVIEW, ReviewMove, ReviewState, TaskMove, TaskState
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import from_micros
from quire.ledger.tables.controls import TaskForDecision
from quire.ledger.tables.reviews import StandingBefore, TaskStanding, UndoableDecision
from quire.pipeline.calls.record import drop_requests
from quire.pipeline.commands.control import register_command
from quire.pipeline.commands.decide import DecisionOutcome, report_decision, withdraw_critics
from quire.pipeline.commands.retry import reset_dependants
from quire.pipeline.commands.review_trail import (
    DecisionRequest,
    check_not_held,
    keep_decision,
    read_standing,
    standing_from_json,
)
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.advance import finish_if_settled
from quire.pipeline.stages.critics import record_inputs_used
from quire.pipeline.stages.release import release

_AGAIN = {ReviewState.APPROVED: ReviewMove.APPROVE, ReviewState.EDITED: ReviewMove.EDIT}


def undo(
    tx: Transaction,
    spec: RunSpec,
    task: TaskId,
    request: DecisionRequest,
    decision: int | None = None,
) -> DecisionOutcome:
    """Take back the last decision about a task's result, or say why it cannot be."""
    tx.runs.lock_run(spec.run_id)
    found = tx.controls.get_task_for_decision(task)
    assert found is not None  # its run was found by it
    repeated = DecisionOutcome(spec.run_id, spec.stages[found.stage_id].name, changed=False)
    if request.command is not None and tx.controls.has_command(request.command):
        return repeated
    check_not_held(tx, task, request)
    taken_back = _decision_to_undo(tx, task, decision)
    before = read_standing(tx, task)
    _check_restorable(tx, taken_back, before)
    if not register_command(tx, spec.run_id, ReviewMove.UNDO, request.now, request.command):
        return repeated  # only now: what is refused leaves its command to be given again
    if before.result_id is not None:
        withdraw_critics(tx, before.result_id)
    if taken_back.move == ReviewMove.APPROVE:
        _restore_review(tx, taken_back, request)
    else:
        _restore_result(tx, taken_back, before, request)
    stale = _restore_task(tx, spec, found, taken_back, request)
    keep_decision(tx, task, ReviewMove.UNDO, request, before, taken_back.id)
    if taken_back.move == ReviewMove.REJECT:  # what it asked for again is owed no more
        finish_if_settled(tx, spec, request.now)
    return report_decision(tx, spec, found, request, EventKind.UNDONE, stale)


def _decision_to_undo(tx: Transaction, task: TaskId, decision: int | None) -> UndoableDecision:
    """The decision that is meant, if it is the last one that stands."""
    last = tx.reviews.last_decision(task)
    number = last if decision is None else decision
    found = None if number is None else tx.reviews.decision_to_undo(number)
    if found is None or found.task_id != task:
        if decision is None:
            raise IllegalMove(f"nobody has decided about task {task}; there is nothing to undo")
        raise NotFound(
            f"there is no decision {decision} about task {task};"
            f" `quire undo {task}` takes back the last one"
        )
    if found.move == ReviewMove.UNDO:
        raise IllegalMove(f"decision {found.id} is an undo itself; decide about task {task} anew")
    if found.undone_by is not None:
        raise IllegalMove(f"decision {found.id} about task {task} was undone before")
    if found.id != last and last is not None:
        newer = tx.reviews.decision_to_undo(last)
        by = f" by {newer.who}" if newer else ""
        raise IllegalMove(
            f"decision {found.id} about task {task} was overtaken by decision {last}{by};"
            " undo that one first"
        )
    return found


def _check_restorable(tx: Transaction, decision: UndoableDecision, before: StandingBefore) -> None:
    """Refuse where what stands is not what the decision left, or what stood before is gone."""
    data = tx.subjects.data_of_results([decision.before_result or ResultId(0)])
    if decision.before_result is None or data.get(decision.before_result) is None:
        raise IllegalMove(
            f"what stood before decision {decision.id} is not there any more: it was purged"
        )
    if decision.move != ReviewMove.REJECT and before.result_id != decision.after_result:
        raise IllegalMove(
            f"decision {decision.id} about task {decision.task_id} was overtaken:"
            " its answer has changed since; look at it again"
        )


def _restore_review(tx: Transaction, decision: UndoableDecision, request: DecisionRequest) -> None:
    """The same result, as if nobody had said anything of it, or as somebody had before."""
    result = decision.before_result
    assert result is not None
    if not tx.controls.review_result(ReviewMove.UNDO, result, request.reviewer, request.now):
        raise IllegalMove(f"the answer of task {decision.task_id} changed just now; look again")
    state = decision.before_review
    if state in _AGAIN and REVIEW.allows(ReviewState.UNREVIEWED, _AGAIN[state]):
        at = decision.before_reviewed_at
        moment = request.now if at is None else from_micros(at)
        tx.controls.review_result(_AGAIN[state], result, decision.before_reviewer or "", moment)
    else:
        tx.reviews.forget_reviewer(result)


def _restore_result(
    tx: Transaction,
    decision: UndoableDecision,
    before: StandingBefore,
    request: DecisionRequest,
) -> None:
    """The result that made way stands again; what took its place stays as a version."""
    if before.result_id is not None:
        tx.reviews.supersede_result(before.result_id, request.now)
    assert decision.before_result is not None
    if not tx.reviews.reinstate_result(decision.before_result):
        raise IllegalMove(f"the answer of task {decision.task_id} changed just now; look again")
    if decision.move == ReviewMove.REJECT:
        drop_requests(tx, tx.controls.unsent_requests_of_tasks([decision.task_id]))
        _restore_review(tx, decision, request)


def _restore_task(
    tx: Transaction,
    spec: RunSpec,
    found: TaskForDecision,
    decision: UndoableDecision,
    request: DecisionRequest,
) -> int:
    """The task as it stood; returns how many dependants are newly stale."""
    task, stood = decision.task_id, standing_from_json(decision.before_task)
    tx.reviews.restore_task(task, stood)
    _move_back(tx, task, stood, decision.before_result)
    assert decision.before_result is not None  # it stands again
    request_id = tx.reviews.request_of_result(decision.before_result)
    if request_id is not None and decision.move == ReviewMove.REJECT:
        record_inputs_used(tx, [(request_id, task)], request.now)
    recipe_stage = spec.stages[found.stage_id]
    dependants = spec.dependants_of(recipe_stage)
    if dependants and stood.state == TaskState.DONE:
        release(tx, spec, [task], request.now)
    stale = tx.lineage.mark_stale([task], request.now) if dependants else 0
    if dependants:
        tx.lineage.check_stale(tx.lineage.stale_without_cause([task]), request.now)
    if dependants or stood.state == TaskState.PROPOSED:
        reset_dependants(tx, spec, [recipe_stage, *dependants], request.now)
    return stale


def _move_back(tx: Transaction, task: TaskId, stood: TaskStanding, result: ResultId | None) -> None:
    """Move a task to the state it was in; critics that were let go are asked again."""
    tx.tasks.move_tasks(TaskMove.ACCEPT, [task])
    if stood.state == TaskState.PROPOSED:
        tx.tasks.move_tasks(TaskMove.PROPOSE, [task], [TaskState.DONE])
        critics = tx.reviews.withdrawn_critics(result) if result is not None else []
        tx.tasks.move_tasks(TaskMove.RETRY, critics, [TaskState.CANCELLED])
    elif stood.state == TaskState.FAILED:
        tx.tasks.move_tasks(TaskMove.GIVE_UP, [task], [TaskState.DONE])
