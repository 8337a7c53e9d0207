"""Weigh: an answer passes the gates of its stage; every task it is about gets a verdict."""

from collections.abc import Mapping, Sequence

from quire.domain.data import JsonObject
from quire.domain.ids import TaskId
from quire.domain.requests import Answered, Stop
from quire.domain.results import Judged, Judgement, Verdict
from quire.domain.tasks import Member
from quire.gates.chain import judge_data, judge_text
from quire.gates.packed import judge_pack
from quire.pipeline.contexts import LaneContext

Parts = Mapping[TaskId, JsonObject]  # what groupings said of tasks


def weigh(
    context: LaneContext, answered: Answered, members: Sequence[Member], parts: Parts
) -> Judged:
    """Judge one answer: a text as a whole, records one by one."""
    if context.stage.schema is None:
        return _weigh_text(context, answered, members, parts)
    judged = judge_pack(
        answered.text,
        answered.stop,
        [each.wire_id for each in members],
        context.shape,
        context.prefix.nested,
    )
    if len(context.gates) == 1:
        return judged
    tasks = {each.wire_id: each.task_id for each in members}
    verdicts = {
        uid: _further(context, verdict, parts.get(tasks[uid], {}))
        for uid, verdict in judged.verdicts.items()
    }
    passed = all(each.judgement is Judgement.ACCEPT for each in verdicts.values())
    return judged._replace(verdicts=verdicts, clean=judged.clean and passed)


def _weigh_text(
    context: LaneContext, answered: Answered, members: Sequence[Member], parts: Parts
) -> Judged:
    verdicts: dict[str, Verdict] = {
        each.wire_id: judge_text(
            answered.text,
            answered.stop,
            context.gates,
            None,
            _facts(context, parts.get(each.task_id, {})),
        )
        for each in members
    }
    passed = all(each.judgement is Judgement.ACCEPT for each in verdicts.values())
    return Judged(verdicts, truncated=answered.stop is Stop.LENGTH, clean=passed)


def _further(context: LaneContext, verdict: Verdict, part: JsonObject) -> Verdict:
    if verdict.judgement is not Judgement.ACCEPT:
        return verdict
    schema = context.stage.record.record_schema
    return judge_data(verdict.data, context.gates[1:], schema, _facts(context, part))


def _facts(context: LaneContext, part: JsonObject) -> JsonObject:
    return {"parameters": context.told.recipe.parameters, "part": part}
