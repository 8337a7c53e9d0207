"""Settle: stored answers are judged, results accepted, and every task moved on."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import assert_never

import orjson

from quire.domain.data import Json, named
from quire.domain.ids import RequestId, StageId, TaskId
from quire.domain.requests import Answered
from quire.domain.results import Judged
from quire.domain.states import TASK
from quire.domain.tasks import Member
from quire.gates.judging import GATE_VERSION, judge
from quire.ledger.ledger import Transaction
from quire.ledger.tables.results import NewResult
from quire.ledger.tables.tasks import Note
from quire.pipeline.contexts import Contexts, StageContext
from quire.pipeline.drop import give_back
from quire.plan.retrying import Accept, Again, GiveUp, Owed, Step, after_answer

GROUP = 256  # attempts judged in one transaction
OPEN_TO_ANSWERS = frozenset(TASK.sources["accept"])


_Groups = dict[tuple[StageId, str], list[TaskId]]  # by stage and the state they were in


class _Outcome:
    """What one group of answers changes, gathered so that each statement runs once."""

    def __init__(self) -> None:
        self.results: list[NewResult] = []
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
        self.taken: set[TaskId] = set()  # accepted in this very group


def settle(tx: Transaction, contexts: Contexts, now: datetime, limit: int = GROUP) -> int:
    """Judge answered attempts and move their tasks on; returns how many were settled."""
    answered = tx.attempts.answered(limit)
    if not answered:
        return 0
    members = _by_request(tx.requests.members(sorted({each.request_id for each in answered})))
    outcome = _Outcome()
    for each in answered:
        _judge(tx, contexts, each, members.get(each.request_id, []), outcome)
    _write(tx, outcome, now)
    tx.attempts.move_group("settle", [each.attempt_id for each in answered], "answered")
    return len(answered)


def _by_request(members: Iterable[Member]) -> dict[RequestId, list[Member]]:
    found: dict[RequestId, list[Member]] = defaultdict(list)
    for each in members:
        found[each.request_id].append(each)
    return found


def _judge(
    tx: Transaction,
    contexts: Contexts,
    answered: Answered,
    members: Sequence[Member],
    outcome: _Outcome,
) -> None:
    context = contexts.of_stage(tx, answered.run_id, answered.stage_id)
    judged = judge(
        answered.text,
        answered.stop,
        [each.wire_id for each in members],
        context.shape,
        context.prefix.nested,
    )
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
        _accept(answered, waiting, judged, outcome)  # the usual case: there is nothing to decide
        return
    _gather_verdicts(answered, members, judged, outcome)
    _decide(context, answered, judged, waiting, outcome, last=last)


def _accept(
    answered: Answered, members: Sequence[Member], judged: Judged, outcome: _Outcome
) -> None:
    attempt, verdicts = answered.attempt_id, judged.verdicts
    for each in members:
        outcome.accepted[each.stage_id, each.state].append(each.task_id)
    outcome.taken.update([each.task_id for each in members])
    outcome.results += named(
        NewResult,
        [
            (each.task_id, each.version, attempt, GATE_VERSION, _text(verdicts[each.wire_id].data))
            for each in members
        ],
    )


def _decide(
    context: StageContext,
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
    _accept(answered, accepted, judged, outcome)
    for each in waiting:
        _gather(each, steps[each.wire_id], outcome, last=last)
    if last and any(_shrinks(step, len(judged.verdicts)) for step in steps.values()):
        outcome.splits[answered.stage_id] += 1


def _shrinks(step: Step, pack: int) -> bool:
    return isinstance(step, Again) and 0 < step.pack_cap < pack


def _end_request(answered: Answered, outcome: _Outcome) -> bool:
    """Say whether this was the request's last word; a later attempt of it may still be out."""
    if answered.request_state == "queued":  # a late answer: what was queued need not be sent
        outcome.dropping.append(answered.request_id)
        return True
    if answered.request_state == "out" and answered.no == answered.sent:
        outcome.closing.append(answered.request_id)
        return True
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
                outcome.notes.append(Note(task, tries, member.pack_cap, 0, error))
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
        tx.tasks.move_group("accept", stage, tasks, state, calls=1)
    tx.tasks.note([note for note in outcome.notes if note.id not in outcome.taken])
    for (stage, state), tasks in outcome.given_up.items():
        tx.tasks.move_group("give_up", stage, tasks, state)
    give_back(tx, outcome.going_again, [*outcome.closing, *outcome.dropping])
    for stage, splits in outcome.splits.items():
        tx.tallies.add(stage, {"splits": splits})


def _text(data: Json) -> str:
    try:
        return orjson.dumps(data).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
