"""Answer rows: accepted answers as they go into the ledger, with why each wants a person."""

import json
from collections.abc import Sequence

import orjson

from quire.domain.data import Json
from quire.domain.gates import NO_STRAYS, Judgement, ResponseJudgement
from quire.domain.requests import AnsweredAttempt
from quire.domain.states import TaskState
from quire.domain.tasks import Member
from quire.ledger.tables.results import AcceptedAnswer
from quire.pipeline.contexts import LaneContext
from quire.pipeline.stages.review_reasons import acceptance_bits, inbox_rank

DONE = str(TaskState.DONE)  # plain text, as in rows


def answer_rows(
    context: LaneContext,
    answered: AnsweredAttempt,
    members: Sequence[Member],
    judged: ResponseJudgement,
) -> list[AcceptedAnswer]:
    """The answers about some members of a call, all of them accepted."""
    attempt, verdicts, version = answered.attempt_id, judged.verdicts, context.gate_version
    spec, stage, strayed = context.spec, context.stage_id, judged.strays != NO_STRAYS
    plain_rank = inbox_rank(spec, stage, 0)
    rows: list[AcceptedAnswer] = []
    for member in members:
        verdict = verdicts[member.wire_id]
        bits, rank = 0, plain_rank
        if strayed or member.tries or verdict.notes:  # of most there is nothing to say
            bits = acceptance_bits(member.tries, verdict.notes, strayed=strayed)
            rank = inbox_rank(spec, stage, bits)
        head = (member.task_id, member.sent_version, attempt, version)
        rows.append((*head, _json_text(verdict.data), verdict.notes, stage, bits, rank))
    return rows


def late_answer_rows(
    context: LaneContext,
    answered: AnsweredAttempt,
    members: Sequence[Member],
    judged: ResponseJudgement,
) -> list[AcceptedAnswer]:
    """Answers to what is no longer asked: a result stands again, or a later version is owed."""
    late = [
        member
        for member in members
        if member.sent_version > 1
        and (member.sent_version < member.version or (member.current and member.state == DONE))
        and judged.verdicts[member.wire_id].judgement is Judgement.ACCEPT
    ]
    return answer_rows(context, answered, late, judged) if late else []


def _json_text(data: Json) -> str:
    try:
        return orjson.dumps(data).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
