"""Decide: a person approves, edits or rejects a result, or waives failed tasks of an exact run."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import Json, as_object, plain_json, stored_json
from quire.domain.errors import EditInvalid, IllegalMove, NotFound, UsageError
from quire.domain.gates import Judgement, ReadingNote, Verdict
from quire.domain.ids import ResultId, RunId, TaskId
from quire.domain.quotes import split_notes, value_at
from quire.domain.reasons import EventKind, HoldKind, ResumeCause
from quire.domain.requests import Stop
from quire.domain.states import REVIEW, ReviewMove, ReviewState, RunState, TaskMove, TaskState
from quire.domain.tasks import TaskView
from quire.gates.chain import judge_data, judge_text
from quire.gates.null_fields import allows_null
from quire.gates.shape import Shape
from quire.ledger.ledger import Transaction
from quire.ledger.tables.controls import TaskForDecision
from quire.pipeline.answers.notifications import lift_holds
from quire.pipeline.answers.reuse_approvals import offer_approved_answer
from quire.pipeline.calls.record import drop_requests
from quire.pipeline.commands.control import register_command, uncancelled_run
from quire.pipeline.commands.paid_answers import find_paid_answer, take_paid_answer
from quire.pipeline.commands.retry import reset_dependants
from quire.pipeline.commands.review_trail import (
    LONGEST_NOTE,
    DecisionRequest,
    check_not_held,
    keep_decision,
    read_standing,
)
from quire.pipeline.run_spec import EXACT, RunSpec
from quire.pipeline.stages.release import release
from quire.recipes.policy_layers import policy_from_json

DECIDABLE = (TaskState.DONE, TaskState.PROPOSED, TaskState.FAILED)
TEXT = "text"


class DecisionOutcome(NamedTuple):
    """What became of a decision."""

    run_id: RunId
    stage: str
    changed: bool  # false: the same command was carried out before
    stale: int = 0  # dependants that are newly marked


def approve(
    tx: Transaction, spec: RunSpec, task: TaskId, request: DecisionRequest
) -> DecisionOutcome:
    """Confirm a result: no machine replaces it, and no critic is waited for any more."""
    found, result = _open_decision(tx, spec, task, ReviewMove.APPROVE, request)
    if result is None:
        return _repeated_decision(spec, found)
    before = read_standing(tx, task)
    if not tx.controls.review_result(ReviewMove.APPROVE, result, request.reviewer, request.now):
        raise _overtaken_error(found)
    offer_approved_answer(tx, found.stage_id, found.id)
    keep_decision(tx, task, ReviewMove.APPROVE, request, before)
    return _confirm_result(tx, spec, found, request, EventKind.APPROVED)


def edit(
    tx: Transaction, spec: RunSpec, task: TaskId, data: Json, request: DecisionRequest
) -> DecisionOutcome:
    """Put a person's own data in the place of a result; it must pass the gates of its stage.

    What a person confirmed before makes way too: only machines may not replace it.
    """
    found, result = _open_decision(tx, spec, task, ReviewMove.EDIT, request)
    if result is None:
        return _repeated_decision(spec, found)
    edited, before = _check_data(spec, found, data), read_standing(tx, task)
    if not tx.controls.supersede_edited_result(result, request.now):
        raise _overtaken_error(found)
    quotes = tuple(_standing_quotes(found, edited))
    tx.controls.add_edited_result(found, plain_json(edited), quotes, request.reviewer, request.now)
    keep_decision(tx, task, ReviewMove.EDIT, request, before)
    return _confirm_result(tx, spec, found, request, EventKind.EDITED)


def reject(
    tx: Transaction, spec: RunSpec, task: TaskId, note: str, request: DecisionRequest
) -> DecisionOutcome:
    """Refuse a result: it is asked again with the note, and with fresh tries.

    An answer that the same rejection got before, and that an undo put away, is taken instead.
    """
    complaint = note.strip()[:LONGEST_NOTE]
    if not complaint:
        raise UsageError("say what is wrong with it: the model is told so when it is asked again")
    found, result = _open_decision(tx, spec, task, ReviewMove.REJECT, request)
    if result is None:
        return _repeated_decision(spec, found)
    before = read_standing(tx, task)
    if not (
        tx.controls.review_result(ReviewMove.REJECT, result, request.reviewer, request.now)
        and tx.controls.supersede_results_by_key([result], request.now)
    ):
        raise _overtaken_error(found)
    recipe_stage = spec.stages[found.stage_id]
    paid = find_paid_answer(tx, spec, found, complaint)
    if paid is not None:
        take_paid_answer(tx, task, paid, request.now)
    else:
        tx.controls.ask_again_rejected(task, complaint)
    keep_decision(tx, task, ReviewMove.REJECT, request._replace(note=complaint), before)
    if paid is None:
        again = TaskMove.RETRY if found.state == TaskState.FAILED else TaskMove.REOPEN
        tx.tasks.move_tasks(again, [task], [found.state])
    elif spec.dependants_of(recipe_stage):
        release(tx, spec, [task], request.now)
    stale = tx.lineage.mark_stale([task], request.now)
    reset_dependants(tx, spec, [recipe_stage, *spec.dependants_of(recipe_stage)], request.now)
    return report_decision(tx, spec, found, request, EventKind.REJECTED, stale)


class EditableData(NamedTuple):
    """The data of a result that may be edited."""

    data: Json
    nullable: frozenset[str]  # the fields that may be null


def editable_data(tx: Transaction, spec: RunSpec, task: TaskId) -> EditableData:
    """The data of a result, if it may be edited, and which of its fields may be null."""
    found = _must_get_task(tx, task)
    _check_decidable(tx, spec, found, ReviewMove.EDIT)
    schema = spec.stages[found.stage_id].schema
    fields = schema.record_schema.get("properties") if schema else None
    nullable = [name for name, field in as_object(fields).items() if allows_null(field)]
    return EditableData(stored_json(found.data), frozenset(nullable))


def run_of(tx: Transaction, task: TaskId) -> RunId:
    """The run that a task belongs to."""
    return RunId(_must_get_task(tx, task).run_id)


def _open_decision(
    tx: Transaction, spec: RunSpec, task: TaskId, move: ReviewMove, request: DecisionRequest
) -> tuple[TaskForDecision, ResultId | None]:
    """The task, and its result that is decided about; None where the same was carried out before.

    Nobody waits for the critics of that result any more.
    """
    tx.runs.lock_run(spec.run_id)
    found = _must_get_task(tx, task)
    if request.command is not None and tx.controls.has_command(request.command):
        return found, None
    if uncancelled_run(tx, spec.run_id).state == RunState.CANCELLED and move == ReviewMove.REJECT:
        raise IllegalMove(
            f"run {spec.run_id} is cancelled, and nothing is asked again in it;"
            f" `quire retry {spec.run_id}` opens it again, then reject"
        )
    if found.result_id is not None and request.seen not in (None, found.result_id):
        raise _overtaken_error(found)
    result = _check_decidable(tx, spec, found, move)
    check_not_held(tx, task, request)
    if not register_command(tx, spec.run_id, move, request.now, request.command):
        return found, None  # only now: what is refused leaves its command to be given again
    withdraw_critics(tx, result)
    return found, result


def withdraw_critics(tx: Transaction, result: ResultId) -> None:
    """Wait no longer for the critics of a result; what is out is still collected."""
    if critics := tx.controls.critics_of_result(result):
        drop_requests(tx, tx.controls.unsent_requests_of_tasks(critics))
        tx.tasks.move_tasks(TaskMove.RETURN, critics)
        tx.tasks.move_tasks(TaskMove.RETRY, critics, [TaskState.FAILED])
        tx.tasks.move_tasks(TaskMove.CANCEL, critics)


def _must_get_task(tx: Transaction, task: TaskId) -> TaskForDecision:
    found = tx.controls.get_task_for_decision(task)
    if found is None:
        raise NotFound(f"there is no task {task}; `quire export RUN` shows their numbers")
    return found


def _repeated_decision(spec: RunSpec, found: TaskForDecision) -> DecisionOutcome:
    return DecisionOutcome(spec.run_id, spec.stages[found.stage_id].name, changed=False)


def _check_decidable(
    tx: Transaction, spec: RunSpec, found: TaskForDecision, move: ReviewMove
) -> ResultId:
    """The result that is decided about, if there is one and the decision would change anything."""
    recipe_stage = spec.stages[found.stage_id]
    if recipe_stage.critic:
        judged = tx.subjects.judged_answers([found.id])[0].task_id
        raise IllegalMove(
            f"task {found.id} is what {recipe_stage.name} says of task {judged};"
            " decide about that one"
        )
    if found.state not in DECIDABLE or found.result_id is None or found.review_state is None:
        raise IllegalMove(
            f"task {found.id} of {recipe_stage.name} is {found.state} and has no answer to {move}"
        )
    if found.data is None:
        raise IllegalMove(f"the answer of task {found.id} was purged; there is nothing to {move}")
    before = found.review_state
    edited_again = (before, move) == (ReviewState.EDITED, ReviewMove.EDIT)
    if not (edited_again or REVIEW.allows(before, move)):
        raise IllegalMove(f"task {found.id} was {before} by a person before, and stands so")
    return found.result_id


def _overtaken_error(found: TaskForDecision) -> IllegalMove:
    return IllegalMove(f"the answer of task {found.id} changed; look at it again")


def _confirm_result(
    tx: Transaction,
    spec: RunSpec,
    found: TaskForDecision,
    request: DecisionRequest,
    event: EventKind,
) -> DecisionOutcome:
    """What a person confirmed is done: whoever waited for it goes on, or is marked."""
    recipe_stage, stale = spec.stages[found.stage_id], 0
    tx.tasks.move_tasks(TaskMove.ACCEPT, [found.id], [TaskState.PROPOSED, TaskState.FAILED])
    tx.controls.clear_task_error(found.id)
    if spec.dependants_of(recipe_stage):
        release(tx, spec, [found.id], request.now)
        stale = tx.lineage.mark_stale([found.id], request.now)
    if found.state == TaskState.FAILED and spec.is_exact:
        _lift_failures_hold(tx, spec.run_id, request.now, ResumeCause.NONE_FAILED)
    return report_decision(tx, spec, found, request, event, stale)


def _lift_failures_hold(tx: Transaction, run: RunId, now: datetime, cause: ResumeCause) -> None:
    """Let an exact run go on that waited for nothing but this failure."""
    if any(tx.tasks.count_unwaived_failures(stage.id) for stage in tx.runs.stages_of_run(run)):
        return
    lift_holds(tx, run, [HoldKind.FAILURES], cause, now)
    tx.notify()


def report_decision(
    tx: Transaction,
    spec: RunSpec,
    found: TaskForDecision,
    request: DecisionRequest,
    event: EventKind,
    stale: int,
) -> DecisionOutcome:
    """Tell of a decision, and wake whoever waits for news."""
    stage = spec.stages[found.stage_id].name
    tx.events.add_event(
        spec.run_id, event, request.now, task=found.id, stage=stage, who=request.reviewer
    )
    tx.notify()
    return DecisionOutcome(spec.run_id, stage, changed=True, stale=stale)


def _check_data(spec: RunSpec, found: TaskForDecision, data: Json) -> Json:
    """The data as the gates of its stage take it; all that is wrong is told at once."""
    try:
        plain_json(data).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise EditInvalid(found.id, [f"/: this is not JSON: {error}"]) from None
    verdict = _judge_edit(spec, found, data)
    if verdict.judgement is not Judgement.ACCEPT:
        raise EditInvalid(found.id, verdict.reasons)
    return verdict.data


def _standing_quotes(found: TaskForDecision, edited: Json) -> Iterator[ReadingNote]:
    """The quotes of values that a person left as they were."""
    before = stored_json(found.data)
    for quote in split_notes(stored_json(found.notes)).quotes:
        if value_at(before, quote.path) == value_at(edited, quote.path):
            yield quote.as_note()


def _judge_edit(spec: RunSpec, found: TaskForDecision, data: Json) -> Verdict:
    """Judge as an answer is judged, but for what only the model's own words can tell."""
    recipe_stage = spec.stages[found.stage_id]
    facts = {"parameters": spec.recipe.parameters, "part": spec.parse_part(found.part)}
    gates = spec.gates_of(recipe_stage)
    if recipe_stage.schema is not None:
        record_schema = recipe_stage.schema.record_schema
        verdict = Shape(record_schema).judge(data)
        if verdict.judgement is not Judgement.ACCEPT:
            return verdict
        return judge_data(verdict.data, gates[1:], record_schema, facts)
    words = data[TEXT] if isinstance(data, Mapping) and list(data) == [TEXT] else None
    if isinstance(words, str):
        return judge_text(words, Stop.END, gates, None, facts)
    if problems := tuple(_form_problems(stored_json(found.data), data)):
        return Verdict(Judgement.RETRY, None, problems)
    return judge_data(data, gates[1:], None, facts)


def _form_problems(known: Json, data: Json) -> Iterator[str]:
    """How data differs in form from what the stage's first gate made of the model's words."""
    if not isinstance(data, Mapping):
        yield "/: must be an object"
        return
    fields = known if isinstance(known, Mapping) else {TEXT: ""}
    yield from (f"/{name}: there is no such field" for name in data if name not in fields)
    for name, value in fields.items():
        if name not in data:
            yield f"/{name}: is missing"
        elif not _is_alike(value, data[name]):
            yield f"/{name}: must be {_kind_name(value)}, as it was"


def _is_alike(known: Json, value: Json) -> bool:
    """Whether a value may stand where another stood; scores and the like may be withheld."""
    if known is None or (value is None and not isinstance(known, str)):
        return True
    return value is not None and _kind_name(known) == _kind_name(value)


def _kind_name(value: Json) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an object" if isinstance(value, Mapping) else "a list"


def waive(
    tx: Transaction, tasks: Sequence[TaskId], now: datetime, command: str | None = None
) -> int:
    """Go on without failed tasks of an exact run; returns how many were not waived before."""
    views = [_must_view_task(tx, task) for task in dict.fromkeys(tasks)]
    runs = sorted({view.run_id for view in views})
    if len(runs) != 1:
        raise UsageError(
            f"these tasks belong to runs {', '.join(map(str, runs))}; waive those of one run"
            if runs
            else "no task is named; `quire failures RUN` shows their numbers"
        )
    run = RunId(runs[0])
    if not register_command(tx, run, "waive", now, command):
        return 0
    _check_waivable(tx, run, views)
    waived = sum(tx.tasks.waive_task(view.id, now) for view in views)
    for view in views:
        tx.controls.waive_critics(view.id, now)
    if waived:
        listed = ", ".join(str(view.id) for view in views)
        tx.events.add_event(run, EventKind.WAIVED, now, tasks=listed)
    _lift_failures_hold(tx, run, now, ResumeCause.ALL_WAIVED)
    return waived


def _must_view_task(tx: Transaction, task: TaskId) -> TaskView:
    view = tx.tasks.get_task(task)
    if view is None:
        raise NotFound(f"there is no task {task}; `quire failures RUN` shows some numbers")
    return view


def _check_waivable(tx: Transaction, run: RunId, views: Sequence[TaskView]) -> None:
    mode = policy_from_json(uncancelled_run(tx, run).policy).policy.completion_mode
    if mode != EXACT:
        raise IllegalMove(
            f"run {run} is {mode}: it goes on without failed tasks as it is;"
            " only an exact run waits for a waiver"
        )
    for view in views:
        if view.state != TaskState.FAILED:
            raise IllegalMove(
                f"task {view.id} is {view.state}, and only a failed one can be waived;"
                f" `quire failures {run}` shows those"
            )
