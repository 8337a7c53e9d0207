"""Judging: one answer, or all pieces of one, becomes a verdict for each of its tasks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from quire.domain.continuation import AnswerPiece, Gap
from quire.domain.data import JsonObject, stored_json
from quire.domain.gates import Judgement, NoteKind, ReadingNote, ResponseJudgement, Verdict
from quire.domain.ids import AttemptId, RequestId, TaskId
from quire.domain.requests import AnsweredAttempt, Stop
from quire.domain.task_wording import gap_text
from quire.domain.tasks import InputRow, Member, MemberRow
from quire.gates.assembly import assemble_chain, find_gap
from quire.gates.chain import judge_answer_text, judge_data, reads_a_form, reads_inputs
from quire.gates.packed_json import judge_pack
from quire.gates.quotes import judge_quotes
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.render import render
from quire.pipeline.contexts import LaneContext

Parts = Mapping[TaskId, JsonObject]  # what gates may know of tasks: part, inputs
Contents = Mapping[TaskId, str]  # what tasks are about, where quotes are looked for
NO_CONTENTS: Contents = {}
AnyMember = TypeVar("AnyMember", Member, MemberRow)


def parts_of(tx: Transaction, context: LaneContext, tasks: Sequence[TaskId]) -> Parts:
    """What groupings said of tasks; of plain questions about blocks nothing is, or is read.

    What their inputs say is read only for gates that look at it.
    """
    if context.by_block or not tasks:
        return {}
    parts = tx.subjects.parts_of_tasks(tasks)
    known: Parts = {task: {"part": context.spec.parse_part(text)} for task, text in parts.items()}
    if not reads_inputs(context.gates):
        return known
    read = tx.subjects.inputs_of_tasks(tasks)
    return {
        task: {**known.get(task, {}), "inputs": _data_of(read.get(task, ()))}
        for task in {**known, **read}
    }


def _data_of(rows: Sequence[InputRow]) -> JsonObject:
    """The data of each stage of which a task reads one result."""
    of_stage: dict[str, list[JsonObject]] = defaultdict(list)
    for row in rows:
        of_stage[row.stage].append({"data": stored_json(row.data)})
    return {stage: found[0] for stage, found in of_stage.items() if len(found) == 1}


def contents_of(tx: Transaction, context: LaneContext, tasks: Sequence[TaskId]) -> Contents:
    """What tasks are about, where their answers quote it; else nothing is read."""
    if not context.quotes or not tasks:
        return NO_CONTENTS
    found = tx.subjects.contents_of_tasks(tasks)
    larger = [task for task in tasks if task not in found]  # documents, sections and pages
    if larger:
        found |= render(tx, context.spec, context.stage_prompt, larger, critiques={}).contents
    return found


class WholeAnswer(NamedTuple):
    """An answer with all pieces that came before it, and what they leave open."""

    text: str
    added: int  # characters that the last of them brought
    gap: Gap | None


class GivenAnswer(NamedTuple):
    """An answer with what judging it needs, and the pieces that came before it."""

    context: LaneContext
    answered: AnsweredAttempt
    parts: Parts
    chain: Sequence[AnswerPiece] = ()
    contents: Contents = NO_CONTENTS


def whole_answer(given: GivenAnswer) -> WholeAnswer:
    """What was said in all; what the model thought before each piece is no part of it."""
    context, answered, chain = given.context, given.answered, given.chain
    own = _answer_text(context, answered)
    text, added = assemble_chain(chain, own, json=context.answers_json)
    schema = context.stage.schema.asked_schema if context.stage.schema else None
    gap = find_gap(text, answered.stop, schema, json=context.answers_json)
    if gap is None and chain and not added:  # nothing came to what was open before
        gap = chain[-1].gap
    return WholeAnswer(text, added, gap)


def judge_stored_answers(
    tx: Transaction, context: LaneContext, answers: Sequence[AnsweredAttempt], parts: Parts
) -> dict[tuple[TaskId, AttemptId], Verdict]:
    """What today's gates say of answers that were judged before, each with its pieces."""
    requests = sorted({answer.request_id for answer in answers})
    members: dict[RequestId, list[MemberRow]] = defaultdict(list)
    for row in tx.subjects.members_of_requests(requests) if requests else ():
        members[row.request_id].append(row)
    chains = tx.pieces.pieces_before([item.parent for item in answers if item.parent])
    carried_tasks = [row.task_id for rows in members.values() for row in rows]
    contents = contents_of(tx, context, carried_tasks)
    judged: dict[tuple[TaskId, AttemptId], Verdict] = {}
    for answer in answers:
        carried = members[answer.request_id]
        if chain := chains.get(answer.parent or AttemptId(0), ()):
            given = GivenAnswer(context, answer, parts, chain, contents)
            verdicts = judge_pieces(given, carried).verdicts
        else:
            verdicts = judge_answer(context, answer, carried, parts, contents).verdicts
        for row in carried:
            judged[row.task_id, answer.attempt_id] = verdicts[row.wire_id]
    return judged


def judge_pieces(given: GivenAnswer, members: Sequence[AnyMember]) -> ResponseJudgement:
    """Judge an answer that came in pieces as one; if it is not whole, what was accepted says so."""
    if given.answered.stop is Stop.REFUSAL:
        return judge_answer(given.context, given.answered, members, given.parts, given.contents)
    return _judge_whole(given, members, whole_answer(given))


def judge_as_it_stands(given: GivenAnswer, members: Sequence[AnyMember]) -> ResponseJudgement:
    """Judge what is there of an answer with which nobody goes on any more."""
    nothing = given.answered._replace(text="", stop=Stop.END, reasoning="")
    return _judge_whole(given, members, whole_answer(given._replace(answered=nothing)))


def _judge_whole(
    given: GivenAnswer, members: Sequence[AnyMember], whole: WholeAnswer
) -> ResponseJudgement:
    ended = given.answered._replace(text=whole.text, stop=Stop.END, reasoning="")
    judged = judge_answer(given.context, ended, members, given.parts, given.contents)
    return judged if whole.gap is None else _note_incomplete(judged, whole.gap)


def _note_incomplete(judged: ResponseJudgement, gap: Gap) -> ResponseJudgement:
    note = ReadingNote(NoteKind.INCOMPLETE, "/", gap.trigger.value, ", ".join(gap.keys))
    verdicts = {
        uid: verdict._replace(notes=(note, *verdict.notes))
        if verdict.judgement is Judgement.ACCEPT
        else verdict._replace(reasons=(gap_text(gap), *verdict.reasons))
        for uid, verdict in judged.verdicts.items()
    }
    return judged._replace(verdicts=verdicts)


def judge_answer(
    context: LaneContext,
    answered: AnsweredAttempt,
    members: Sequence[AnyMember],
    parts: Parts,
    contents: Contents = NO_CONTENTS,
) -> ResponseJudgement:
    """Judge one answer: a text as a whole, records one by one."""
    text = _answer_text(context, answered)
    if context.stage.schema is None:
        return _judge_answer_text(context, answered._replace(text=text), members, parts)
    judged = judge_pack(
        text,
        answered.stop,
        [member.wire_id for member in members],
        context.shape,
        context.prefix.nested,
    )
    if len(context.gates) == 1 and not context.quotes:
        return judged
    tasks = {member.wire_id: member.task_id for member in members}
    verdicts = judged.verdicts
    if context.quotes:
        verdicts = {
            uid: judge_quotes(verdict, context.quotes, contents.get(tasks[uid], ""))
            for uid, verdict in verdicts.items()
        }
    verdicts = {
        uid: judge_further(context, verdict, parts.get(tasks[uid], {}))
        for uid, verdict in verdicts.items()
    }
    passed = all(verdict.judgement is Judgement.ACCEPT for verdict in verdicts.values())
    return judged._replace(verdicts=verdicts, clean=judged.clean and passed)


def reading_notes(verdict: Verdict) -> list[ReadingNote]:
    """What was done to read an answer; quotes are a part of what it says."""
    return [note for note in verdict.notes if note.kind is not NoteKind.QUOTED]


def _answer_text(context: LaneContext, answered: AnsweredAttempt) -> str:
    """What is judged: the answer, or the reasoning where servers put an answer in a form there."""
    if not answered.reasoning or answered.stop is not Stop.END or answered.text.strip():
        return answered.text
    in_a_form = context.stage.schema is not None or reads_a_form(context.gates)
    return answered.reasoning if in_a_form else answered.text


def _judge_answer_text(
    context: LaneContext, answered: AnsweredAttempt, members: Sequence[AnyMember], parts: Parts
) -> ResponseJudgement:
    verdicts: dict[str, Verdict] = {
        member.wire_id: judge_answer_text(
            answered.text,
            answered.stop,
            context.gates,
            _gate_facts(context, parts.get(member.task_id, {})),
        )
        for member in members
    }
    passed = all(verdict.judgement is Judgement.ACCEPT for verdict in verdicts.values())
    return ResponseJudgement(verdicts, truncated=answered.stop is Stop.LENGTH, clean=passed)


def judge_further(context: LaneContext, verdict: Verdict, known: JsonObject) -> Verdict:
    """What the further gates of a stage say of a record that its schema takes."""
    if verdict.judgement is not Judgement.ACCEPT:
        return verdict
    schema = context.stage.record.record_schema
    further = judge_data(verdict.data, context.gates[1:], schema, _gate_facts(context, known))
    return further._replace(notes=verdict.notes + further.notes)


def _gate_facts(context: LaneContext, known: JsonObject) -> JsonObject:
    return {"parameters": context.spec.recipe.parameters, "part": {}, **known}
