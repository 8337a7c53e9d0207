"""Decide: a person approves, edits or rejects a result, and what was made from it goes stale."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, plain_json
from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.ids import ResultId, RunId, TaskId
from quire.domain.recipes import Stage
from quire.domain.requests import Stop
from quire.domain.results import Judgement, Verdict
from quire.domain.runs import HoldKind
from quire.domain.states import REVIEW
from quire.gates.chain import judge_data, judge_text
from quire.gates.shape import Shape
from quire.ledger.ledger import Transaction
from quire.ledger.tables.controls import DecidedTask
from quire.pipeline.begin import EXACT
from quire.pipeline.control import begin_command, going_run
from quire.pipeline.drop import drop
from quire.pipeline.release import release
from quire.pipeline.renew import settle_down
from quire.pipeline.told import Told

LONGEST_NOTE = 2000  # characters of a note that a task remembers
LONGEST_WHO = 100
DECIDABLE = ("done", "proposed", "failed")
TEXT = "text"


class Act(NamedTuple):
    """Who decides, when, and the caller's own name for it: the same twice acts once."""

    who: str
    now: datetime
    command: str | None = None


class Decision(NamedTuple):
    """What became of a decision."""

    run_id: RunId
    stage: str
    changed: bool  # false: the same command was carried out before
    stale: int = 0  # dependants that are newly marked


def approve(tx: Transaction, told: Told, task: TaskId, act: Act) -> Decision:
    """Confirm a result: no machine replaces it, and no critic is waited for any more."""
    found, result = _begun(tx, told, task, "approve", act)
    if result is None:
        return _known(told, found)
    if not tx.controls.review("approve", result):
        raise _overtaken(found)
    return _confirmed(tx, told, found, act, "approved")


def edit(tx: Transaction, told: Told, task: TaskId, data: Json, act: Act) -> Decision:
    """Put a person's own data in the place of a result; it must pass the gates of its stage."""
    found, result = _begun(tx, told, task, "edit", act)
    if result is None:
        return _known(told, found)
    text = plain_json(_checked(told, found, data))
    if not tx.controls.supersede([result], act.now):
        raise _overtaken(found)
    tx.controls.add_edited(found, text, act.now)
    return _confirmed(tx, told, found, act, "edited")


def reject(tx: Transaction, told: Told, task: TaskId, note: str, act: Act) -> Decision:
    """Refuse a result: it is asked again with the note, and with fresh tries."""
    complaint = note.strip()[:LONGEST_NOTE]
    if not complaint:
        raise UsageError("say what is wrong with it: the model is told so when it is asked again")
    found, result = _begun(tx, told, task, "reject", act)
    if result is None:
        return _known(told, found)
    if not (tx.controls.review("reject", result) and tx.controls.supersede([result], act.now)):
        raise _overtaken(found)
    tx.controls.ask_rejected(task, complaint)
    tx.tasks.move("retry" if found.state == "failed" else "reopen", [task], [found.state])
    stale = tx.lineage.mark_stale([task], act.now)
    spec = told.stages[found.stage_id]
    settle_down(tx, told, [spec, *told.dependants_of(spec)], act.now)
    _tell(tx, told, found, act, "rejected")
    return Decision(told.run_id, spec.name, changed=True, stale=stale)


def current_data(tx: Transaction, told: Told, task: TaskId) -> Json:
    """The data of a result that may be edited."""
    found = _found(tx, task)
    _decidable(tx, told, found, "edit")
    data: Json = json.loads(found.data or "null")
    return data


def run_of(tx: Transaction, task: TaskId) -> RunId:
    """The run that a task belongs to."""
    return RunId(_found(tx, task).run_id)


def _begun(
    tx: Transaction, told: Told, task: TaskId, move: str, act: Act
) -> tuple[DecidedTask, ResultId | None]:
    """The task, and its result that is decided about; None where the same was carried out before.

    Nobody waits for the critics of that result any more.
    """
    begun = begin_command(tx, told.run_id, move, act.now, act.command)
    found = _found(tx, task)
    if not begun:
        return found, None
    if going_run(tx, told.run_id).state == "cancelled" and move == "reject":
        raise IllegalMove(
            f"run {told.run_id} is cancelled, and nothing is asked again in it;"
            f" `quire retry {told.run_id}` opens it again, then reject"
        )
    result = _decidable(tx, told, found, move)
    _let_critics_go(tx, result)
    return found, result


def _found(tx: Transaction, task: TaskId) -> DecidedTask:
    found = tx.controls.decided(task)
    if found is None:
        raise NotFound(f"there is no task {task}; `quire export RUN` shows their numbers")
    return found


def _known(told: Told, found: DecidedTask) -> Decision:
    return Decision(told.run_id, told.stages[found.stage_id].name, changed=False)


def _decidable(tx: Transaction, told: Told, found: DecidedTask, move: str) -> ResultId:
    """The result that is decided about, if there is one and nobody has decided before."""
    spec = told.stages[found.stage_id]
    if spec.critic:
        judged = tx.subjects.judged([found.id])[0].task_id
        raise IllegalMove(
            f"task {found.id} is what {spec.name} says of task {judged}; decide about that one"
        )
    if found.state not in DECIDABLE or found.result_id is None or found.review_state is None:
        raise IllegalMove(
            f"task {found.id} of {spec.name} is {found.state} and has no answer to {move}"
        )
    if found.data is None:
        raise IllegalMove(f"the answer of task {found.id} was purged; there is nothing to {move}")
    if not REVIEW.allows(found.review_state, move):
        raise IllegalMove(
            f"task {found.id} was {found.review_state} by a person before; that stays"
        )
    return found.result_id


def _overtaken(found: DecidedTask) -> IllegalMove:
    return IllegalMove(f"the answer of task {found.id} changed just now; look at it again")


def _let_critics_go(tx: Transaction, result: ResultId) -> None:
    """Nobody waits for critics who have not spoken; what is out is still collected."""
    critics = tx.controls.critics_of(result)
    if critics:
        drop(tx, tx.controls.unsent_of(critics))
        tx.tasks.move("return", critics)
        tx.tasks.move("retry", critics, ["failed"])
        tx.tasks.move("cancel", critics)


def _confirmed(tx: Transaction, told: Told, found: DecidedTask, act: Act, event: str) -> Decision:
    """What a person confirmed is done: whoever waited for it goes on, or is marked."""
    spec, stale = told.stages[found.stage_id], 0
    tx.tasks.move("accept", [found.id], ["proposed", "failed"])
    tx.controls.clear(found.id)
    if told.dependants_of(spec):
        release(tx, told, [found.id], act.now)
        stale = tx.lineage.mark_stale([found.id], act.now)
    if found.state == "failed":
        _lift(tx, told, act.now)
    _tell(tx, told, found, act, event)
    return Decision(told.run_id, spec.name, changed=True, stale=stale)


def _lift(tx: Transaction, told: Told, now: datetime) -> None:
    """Let an exact run go on that waited for nothing but this failure."""
    exact = told.policy.policy.completion_mode == EXACT
    if not exact or any(tx.tasks.unwaived(stage) for stage in told.stages):
        return
    if tx.holds.lift(told.run_id, [HoldKind.FAILURES]):
        tx.events.add(told.run_id, "resumed", "no failed task is left", now)


def _tell(tx: Transaction, told: Told, found: DecidedTask, act: Act, event: str) -> None:
    stage = told.stages[found.stage_id].name
    who = " ".join(act.who.split())[:LONGEST_WHO] or "somebody"
    tx.events.add(told.run_id, event, f"task {found.id} of {stage}, by {who}", act.now)
    tx.notify()


def _checked(told: Told, found: DecidedTask, data: Json) -> Json:
    """The data as the gates of its stage take it; all that is wrong is told at once."""
    spec = told.stages[found.stage_id]
    try:
        plain_json(data).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(found, [f"/: this is not JSON: {error}"]) from None
    facts = {"parameters": told.recipe.parameters, "part": told.part(found.part)}
    verdict = _judged(told, spec, found, data, facts)
    if verdict.judgement is not Judgement.ACCEPT:
        raise _refused(found, verdict.reasons)
    return verdict.data


def _judged(told: Told, spec: Stage, found: DecidedTask, data: Json, facts: JsonObject) -> Verdict:
    """Judge as an answer is judged, but for what only the model's own words can tell."""
    gates = told.gates_of(spec)
    if spec.schema is not None:
        shape = Shape(spec.schema.record_schema)
        data = shape.pruned(data)
        if problems := shape.problems(data):
            return Verdict(Judgement.RETRY, None, problems)
        return judge_data(data, gates[1:], spec.schema.record_schema, facts)
    words = data[TEXT] if isinstance(data, Mapping) and list(data) == [TEXT] else None
    if isinstance(words, str):
        return judge_text(words, Stop.END, gates, None, facts)
    if problems := tuple(_strange(json.loads(found.data or "null"), data)):
        return Verdict(Judgement.RETRY, None, problems)
    return judge_data(data, gates[1:], None, facts)


def _strange(known: Json, data: Json) -> Iterator[str]:
    """How data differs in form from what the stage's first gate made of the model's words."""
    if not isinstance(data, Mapping):
        yield "/: must be an object"
        return
    fields = known if isinstance(known, Mapping) else {TEXT: ""}
    yield from (f"/{name}: there is no such field" for name in data if name not in fields)
    for name, value in fields.items():
        if name not in data:
            yield f"/{name}: is missing"
        elif not _alike(value, data[name]):
            yield f"/{name}: must be {_kind(value)}, as it was"


def _alike(known: Json, value: Json) -> bool:
    """Whether a value may stand where another stood; scores and the like may be withheld."""
    if known is None or (value is None and not isinstance(known, str)):
        return True
    return value is not None and _kind(known) == _kind(value)


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an object" if isinstance(value, Mapping) else "a list"


def _refused(found: DecidedTask, mistakes: Sequence[str]) -> UsageError:
    lines = "".join(f"\n  {each}" for each in mistakes)
    noun = "mistake" if len(mistakes) == 1 else "mistakes"
    return UsageError(f"task {found.id} cannot be edited so: {len(mistakes)} {noun}{lines}")
