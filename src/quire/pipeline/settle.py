"""Settle: stored answers are judged, results accepted, and every task moved on."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import assert_never

import orjson

from quire.domain.data import Json
from quire.domain.ids import LaneId, RequestId, StageId, TaskId
from quire.domain.requests import Answered
from quire.domain.results import Judged
from quire.domain.states import TASK
from quire.domain.tasks import Member
from quire.ledger.ledger import Transaction
from quire.ledger.tables.results import Accepted
from quire.ledger.tables.tasks import Note
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.drop import give_back
from quire.pipeline.follow import by_stage, follow, move_of, note_used
from quire.pipeline.plugins import is_fit
from quire.pipeline.weigh import Parts, weigh
from quire.plan.retrying import Accept, Again, GiveUp, Owed, Step, after_answer

GROUP = 512  # answers judged in one transaction
GROUP_SIZE = 8 * 2**20  # or so many characters of them, as far as one can tell beforehand
OPEN_TO_ANSWERS = frozenset(TASK.sources["accept"])


_Groups = dict[tuple[StageId, str], list[TaskId]]  # by stage and the state they were in


class _Outcome:
    """What one group of answers changes, gathered so that each statement runs once."""

    def __init__(self) -> None:
        self.results: list[Accepted] = []
        self.accepted: _Groups = defaultdict(list)
        self.notes: list[Note] = []
        self.going_again: list[Member] = []
        self.given_up: _Groups = defaultdict(list)
        self.called: list[TaskId] = []  # answered, and not moved by that
        self.all_accepted: list[RequestId] = []
        self.verdicts: list[tuple[RequestId, int, str, str | None]] = []
        self.closing: list[RequestId] = []
        self.dropping: list[RequestId] = []
        self.splits: dict[StageId, int] = defaultdict(int)
        self.taken: set[TaskId] = set()  # accepted in this very group, or waiting for a critic
        self.contexts: dict[StageId, LaneContext] = {}  # of any model
        self.lanes: dict[LaneId, LaneContext] = {}
        self.parts: Parts = {}  # what groupings said of tasks
        self.reading: list[tuple[RequestId, TaskId]] = []  # accepted, and made from other results
        self.mending: list[TaskId] = []  # to be asked with the reasons why the last did not do


def settle(tx: Transaction, contexts: Contexts, now: datetime, limit: int = GROUP) -> int:
    """Judge answered attempts and move their tasks on; returns how many were settled."""
    answered = _next(tx, contexts, now, min(limit, contexts.judged_together))
    if not answered:
        return 0
    mean = sum([len(each.text) for each in answered]) // len(answered) + 1
    contexts.judged_together = max(1, min(GROUP, 2 * contexts.judged_together, GROUP_SIZE // mean))
    members = _by_request(tx.requests.members(sorted({each.request_id for each in answered})))
    outcome = _Outcome()
    _look_up(tx, contexts, answered, members, outcome)
    for each in answered:
        _judge(each, members.get(each.request_id, []), outcome)
    _write(tx, outcome, now)
    tx.attempts.move_group("settle", [each.attempt_id for each in answered], "answered")
    return len(answered)


def _next(tx: Transaction, contexts: Contexts, now: datetime, limit: int) -> list[Answered]:
    """The oldest answers of runs that can be judged here; those of others stay as they are."""
    while answered := tx.attempts.answered(limit, contexts.unfit):
        runs = {each.run_id for each in answered}
        if all([is_fit(tx, contexts, contexts.told(tx, run), now) for run in runs]):
            break
    return answered


def _look_up(
    tx: Transaction,
    contexts: Contexts,
    answered: Sequence[Answered],
    members: dict[RequestId, list[Member]],
    outcome: _Outcome,
) -> None:
    """Read what judging needs besides: of plain questions about blocks that is nothing."""
    asked: dict[StageId, list[RequestId]] = defaultdict(list)
    for each in answered:
        asked[each.stage_id].append(each.request_id)
        if each.lane_id not in outcome.lanes:
            context = contexts.of_lane_id(tx, each.run_id, each.lane_id)
            outcome.lanes[each.lane_id] = outcome.contexts[each.stage_id] = context
    for stage, context in outcome.contexts.items():
        criticised = context.told.critics_of(context.stage)
        if context.by_block and not criticised:
            continue
        tasks = [each.task_id for request in asked[stage] for each in members.get(request, ())]
        if not context.by_block:
            parts = tx.subjects.parts(tasks)
            said = {task: context.told.part(text) for task, text in parts.items()}
            outcome.parts = {**outcome.parts, **said}
        if criticised:
            outcome.taken |= tx.results.current(tasks)


def _by_request(members: Iterable[Member]) -> dict[RequestId, list[Member]]:
    found: dict[RequestId, list[Member]] = defaultdict(list)
    for each in members:
        found[each.request_id].append(each)
    return found


def _judge(answered: Answered, members: Sequence[Member], outcome: _Outcome) -> None:
    context = outcome.lanes[answered.lane_id]
    judged = weigh(context, answered, members, outcome.parts)
    last = _end_request(answered, outcome)
    waiting = [
        each
        for each in members  # those who still wait for an answer of this version
        if each.sent_version == each.version
        and each.state in OPEN_TO_ANSWERS
        and each.task_id not in outcome.taken
    ]
    if judged.clean:
        if answered.sent > 1:  # else no verdict was written before, and none means accepted
            outcome.all_accepted.append(answered.request_id)
        _accept(context, answered, waiting, judged, outcome)  # the usual case: nothing to decide
        return
    _gather_verdicts(answered, members, judged, outcome)
    _decide(context, answered, judged, waiting, outcome, last=last)


def _accept(
    context: LaneContext,
    answered: Answered,
    members: Sequence[Member],
    judged: Judged,
    outcome: _Outcome,
) -> None:
    attempt, verdicts, version = answered.attempt_id, judged.verdicts, context.gate_version
    outcome.results += [
        (each.task_id, each.version, attempt, version, _text(verdicts[each.wire_id].data))
        for each in members
    ]
    for state in {each.state for each in members}:  # nearly always one
        tasks = [each.task_id for each in members if each.state == state]
        outcome.accepted[answered.stage_id, state] += tasks
        outcome.taken.update(tasks)
    if context.reads:
        outcome.reading += [(answered.request_id, each.task_id) for each in members]


def _decide(
    context: LaneContext,
    answered: Answered,
    judged: Judged,
    waiting: Sequence[Member],
    outcome: _Outcome,
    *,
    last: bool,
) -> None:
    owed = {
        each.wire_id: Owed(tries=each.tries, calls=each.calls + 1, pack_cap=each.pack_cap)
        for each in waiting
    }
    steps = after_answer(
        judged, owed, max_output=answered.max_output, facts=context.facts, policy=context.policy
    )
    accepted = [each for each in waiting if isinstance(steps[each.wire_id], Accept)]
    _accept(context, answered, accepted, judged, outcome)
    for each in waiting:
        _gather(each, steps[each.wire_id], outcome, last=last)
        if last and _is_to_be_mended(context, steps[each.wire_id]):
            outcome.mending.append(each.task_id)
    if last and any(_shrinks(step, len(judged.verdicts)) for step in steps.values()):
        outcome.splits[answered.stage_id] += 1


def _is_to_be_mended(context: LaneContext, step: Step) -> bool:
    """Whether its own answer was wrong so often that it is told why."""
    after = context.policy.repair_after_failures
    return bool(after) and isinstance(step, Again) and step.tries >= after


def _shrinks(step: Step, pack: int) -> bool:
    return isinstance(step, Again) and 0 < step.pack_cap < pack


def _end_request(answered: Answered, outcome: _Outcome) -> bool:
    """Say whether its tasks have nobody else to wait for.

    A later attempt of it may still be out; and tasks of a call past its deadline are owed again.
    """
    if answered.request_state == "queued":  # a late answer: what was queued need not be sent
        outcome.dropping.append(answered.request_id)
        return not answered.late
    if answered.request_state == "out" and answered.no == answered.sent:
        outcome.closing.append(answered.request_id)
        return not answered.late
    return False


def _gather_verdicts(
    answered: Answered, members: Sequence[Member], judged: Judged, outcome: _Outcome
) -> None:
    verdicts = [judged.verdicts[each.wire_id] for each in members]
    outcome.verdicts.extend(
        (
            answered.request_id,
            each.ordinal,
            verdict.judgement.value,
            "; ".join(verdict.reasons) or None,
        )
        for each, verdict in zip(members, verdicts, strict=True)
    )


def _gather(member: Member, step: Step, outcome: _Outcome, *, last: bool) -> None:
    task = member.task_id
    match step:
        case Accept():
            pass  # gathered already, all together
        case Again(tries=tries, pack_cap=cap, output_floor=floor, error=error):
            outcome.called.append(task)
            if last and member.state == "packed":
                outcome.notes.append(Note(task, tries, cap, floor, error))
                outcome.going_again.append(member)
        case GiveUp(tries=tries, error=error):
            outcome.called.append(task)
            if last and TASK.allows(member.state, "give_up"):
                outcome.notes.append(Note(task, tries, member.pack_cap, error=error))
                outcome.given_up[member.stage_id, member.state].append(task)
        case never:
            assert_never(never)


def _write(tx: Transaction, outcome: _Outcome, now: datetime) -> None:
    tx.requests.move_group("close", outcome.closing, "out")
    tx.requests.move("drop", outcome.dropping, ["queued"])
    tx.requests.accept_all(outcome.all_accepted)
    tx.requests.judge(outcome.verdicts)
    tx.results.add(outcome.results, now)
    tx.tasks.count_calls(outcome.called)
    for (stage, state), tasks in outcome.accepted.items():
        move = move_of(outcome.contexts[stage].told, stage)
        tx.tasks.move_group(move, stage, tasks, state, calls=1)
    tx.tasks.note([note for note in outcome.notes if note.id not in outcome.taken])
    tx.critiques.mend([task for task in outcome.mending if task not in outcome.taken])
    for (stage, state), tasks in outcome.given_up.items():
        tx.tasks.move_group("give_up", stage, tasks, state)
    give_back(tx, outcome.going_again, [*outcome.closing, *outcome.dropping])
    for stage, splits in outcome.splits.items():
        tx.tallies.add(stage, {"splits": splits})
    if outcome.reading:
        note_used(tx, outcome.reading, now)
    for stage, tasks in by_stage(outcome.accepted).items():
        told = outcome.contexts[stage].told
        if len(told.stages) > 1:
            follow(tx, told, stage, tasks, now)


def _text(data: Json) -> str:
    try:
        return orjson.dumps(data).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
