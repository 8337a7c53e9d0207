"""Rejudge: what the gates say now of stored answers, beside what they said then."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import canonical_json
from quire.domain.ids import AttemptId, RequestId, TaskId
from quire.domain.requests import Answered
from quire.domain.results import Judgement, Verdict
from quire.domain.tasks import Member
from quire.ledger.ledger import Transaction
from quire.ledger.tables.controls import AnsweredTask
from quire.pipeline.contexts import LaneContext
from quire.pipeline.weigh import Parts, weigh

SAME, CHANGED, ACCEPTED, REFUSED = "same", "changed", "accepted", "refused"
CONFIRMED, UNANSWERED = "confirmed", "unanswered"
KINDS = (SAME, CHANGED, ACCEPTED, REFUSED, CONFIRMED, UNANSWERED)


class Said(NamedTuple):
    """What the gates say of one task in one answer."""

    attempt_id: AttemptId
    request_id: RequestId
    verdict: Verdict

    @property
    def accepts(self) -> bool:
        """Whether the answer does."""
        return self.verdict.judgement is Judgement.ACCEPT


class Change(NamedTuple):
    """A task that the gates see differently now."""

    task: AnsweredTask
    said: Said | None  # the answer that does now; None: none does
    reasons: tuple[str, ...] = ()  # why none does


def is_confirmed(task: AnsweredTask) -> bool:
    """Whether a person has said that its result is right."""
    return task.review_state in ("approved", "edited")


def rejudge(
    tx: Transaction, context: LaneContext, tasks: Sequence[AnsweredTask]
) -> Iterator[tuple[AnsweredTask, str, Change | None]]:
    """Judge the stored answers of some tasks again; what a person confirmed is left alone."""
    asked = [each for each in tasks if not is_confirmed(each)]
    said = _verdicts(tx, context, [each.id for each in asked])
    for task in asked:
        kind, change = _compare(task, said.get(task.id, []))
        yield task, kind, change


def _compare(task: AnsweredTask, answers: Sequence[Said]) -> tuple[str, Change | None]:
    """The answer that the result came from is looked at first: unchanged gates change nothing."""
    accepted = next((each for each in answers if each.accepts), None)  # the newest
    if task.result_id is None:
        if not answers:
            return UNANSWERED, None
        return (ACCEPTED, Change(task, accepted)) if accepted else (SAME, None)
    own = next((each for each in answers if each.attempt_id == task.attempt_id), None)
    if own is None or task.data is None:
        return UNANSWERED, None
    best = own if own.accepts else accepted
    if best is None:
        return REFUSED, Change(task, None, own.verdict.reasons)
    if canonical_json(best.verdict.data) == canonical_json(json.loads(task.data)):
        return SAME, None
    return CHANGED, Change(task, best)


def _verdicts(
    tx: Transaction, context: LaneContext, tasks: Sequence[TaskId]
) -> dict[TaskId, list[Said]]:
    """What the gates say of every answer to the current version of some tasks."""
    pairs = tx.controls.answers_of(tasks)
    answers = {each.attempt_id: each for each in tx.controls.stored(sorted({a for _, a in pairs}))}
    members = _members(tx, context, sorted({each.request_id for each in answers.values()}))
    parts = _parts(tx, context, members)
    judged: dict[AttemptId, dict[TaskId, Verdict]] = {
        each.attempt_id: _by_task(context, each, members[each.request_id], parts)
        for each in answers.values()
    }
    found: dict[TaskId, list[Said]] = defaultdict(list)
    for task, attempt in pairs:
        if attempt in answers:
            said = Said(attempt, answers[attempt].request_id, judged[attempt][task])
            found[task].append(said)
    return found


def _members(
    tx: Transaction, context: LaneContext, requests: Sequence[RequestId]
) -> dict[RequestId, list[Member]]:
    found: dict[RequestId, list[Member]] = defaultdict(list)
    for row in tx.subjects.members(requests) if requests else []:
        request = RequestId(row.request_id)
        standing = (context.stage_id, "", 0, 0, 0, 0)  # gates do not look at how tasks stand
        found[request].append(Member(request, 0, row.wire_id, 0, row.task_id, *standing))
    return found


def _parts(
    tx: Transaction, context: LaneContext, members: Mapping[RequestId, Sequence[Member]]
) -> Parts:
    if context.by_block or not members:
        return {}
    tasks = sorted({each.task_id for group in members.values() for each in group})
    return {task: context.told.part(text) for task, text in tx.subjects.parts(tasks).items()}


def _by_task(
    context: LaneContext, answered: Answered, members: Sequence[Member], parts: Parts
) -> dict[TaskId, Verdict]:
    judged = weigh(context, answered, members, parts)
    return {each.task_id: judged.verdicts[each.wire_id] for each in members}
