"""Reuse: a question that was answered before is not asked again, and the same is asked once.

Whoever packs tasks says here what they ask, just before they are packed. A question that nobody
asks yet is written down, with the task that asks it from now on. Otherwise the task takes the
answer that is there, judged by the gates of its own stage, for nothing; or waits for whoever asks
the same in this stage, and is looked at again when that has ended; or it asks for itself, because
what there is does not do.

What could go wrong: two workers pack the same question at one moment (the ledger lets one of them
write it down, and the other looks again), whoever others wait for fails, is cancelled, purged or
blocked (`followers.py` wakes them, and nobody waits twice), or an answer is no answer to the
question any more because what its task read has changed (then its task asks another question, and
fingerprints are compared, not only the numbers that they are found by). Only a task's first version
takes an answer: whoever is asked once more is meant to be asked. No task waits for another run,
which may be held, or have nobody who works on it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import JsonObject, plain_json, stored_json
from quire.domain.gates import Judgement, NoteKind, Verdict
from quire.domain.ids import AttemptId, TaskId, hash_number
from quire.domain.requests import RequestKind
from quire.domain.reviews import REST
from quire.domain.states import TASK, ReviewState, TaskMove, TaskState
from quire.domain.tasks import ReadyTask
from quire.ledger.ledger import Transaction
from quire.ledger.tables.questions import (
    NOT_REVIEWED,
    AskedQuestion,
    Asker,
    QuestionRow,
    ReusedRow,
    ReviewMark,
)
from quire.ledger.tables.results import AcceptedAnswer, notes_json
from quire.pipeline.answers.judging import judge_further, judge_stored_answers, parts_of
from quire.pipeline.answers.reuse_edits import ReusedAnswer, find_edits
from quire.pipeline.calls.compress import with_compression_notes
from quire.pipeline.calls.prepare import SharedTasks
from quire.pipeline.calls.render import GatheredTasks, RenderedTasks, render
from quire.pipeline.contexts import LaneContext
from quire.pipeline.stages.critics import acceptance_move, follow_up, release_dependants
from quire.pipeline.stages.review_reasons import (
    acceptance_bits,
    flag_disagreements,
    inbox_rank,
)
from quire.planning.failure_limits import REUSED, SAVED
from quire.planning.questions import rendered_content

_ANSWERING = (TaskState.READY, TaskState.PACKED, TaskState.PROPOSED)  # an answer is to be expected
_ASKING = (*_ANSWERING, TaskState.DONE)


class _Match(NamedTuple):
    """A task, and who else asks the same."""

    task: ReadyTask
    asked: AskedQuestion
    askers: list[Asker]


def share_questions(
    tx: Transaction,
    context: LaneContext,
    gathered: GatheredTasks,
    ready: list[ReadyTask],
    now: datetime,
) -> SharedTasks:
    """Which of these must be asked; the others have their answers, or wait for another's."""
    if gathered.rendered is not None:
        ready = _note_rendered(tx, context, gathered.rendered, ready)
    asking, moved = ready, 0
    while asking:
        division = _look(tx, context, gathered, asking, now)
        tx.questions.take_over_questions(division.taken_over)
        _follow(tx, division.follows)
        moved += len(asking) - len(division.asked)
        asking = division.asked
        if tx.questions.add_questions(division.new) == len(division.new):
            break
        # else another worker has begun to ask some of it, at this very moment: look again
    return SharedTasks(asking, moved)


class _Division(NamedTuple):
    """What becomes of tasks that are about to be asked."""

    asked: list[ReadyTask]
    new: list[QuestionRow]  # questions that nobody asks yet
    taken_over: Sequence[QuestionRow] = ()  # whose asker came to nothing
    follows: Sequence[tuple[TaskId, TaskId]] = ()  # who waits for whom


def _look(
    tx: Transaction,
    context: LaneContext,
    gathered: GatheredTasks,
    ready: list[ReadyTask],
    now: datetime,
) -> _Division:
    key, stage = context.question_key, context.stage_id
    contents = [task.content_key for task in ready]
    known = tx.questions.find_askers(key, contents)
    times = Counter(contents) if len(set(contents)) < len(contents) else {}
    common = {number for number in contents if number in known or times.get(number, 1) > 1}
    alone = [task for task in ready if task.content_key not in common] if common else ready
    new = [(key, task.content_key, stage, task.id) for task in alone]
    if not common:  # as a rule
        return _Division(ready, new)
    rest = [task for task in ready if task.content_key in common]
    division = _look_closer(tx, context, gathered, rest, known, now)
    kept = {task.id for task in (*alone, *division.asked)}
    asked = [task for task in ready if task.id in kept]
    return division._replace(asked=asked, new=new + division.new)


def _look_closer(
    tx: Transaction,
    context: LaneContext,
    gathered: GatheredTasks,
    ready: list[ReadyTask],
    known: "_Askers",
    now: datetime,
) -> _Division:
    """The same of tasks whose contents are asked about more than once, or were before."""
    matches = _matches(tx, known, ready)
    sharing = _sharing_tasks(tx, context, gathered, ready)
    found = _find_answers(tx, context, [matches[it] for it in matches if it in sharing])
    _write_answers(tx, context, gathered, found, now)
    taken = {answer.task.id for answer in found}
    asking = [task for task in ready if task.id not in taken]
    return _divide(context, asking, sharing, known, matches)


def _note_rendered(
    tx: Transaction, context: LaneContext, done: RenderedTasks, ready: Sequence[ReadyTask]
) -> list[ReadyTask]:
    """Tasks with the number of what they ask; what was said against earlier answers is no part."""
    again = [task.id for task in ready if done.rows[task.id].next_kind == RequestKind.REPAIR]
    plain = render(tx, context.spec, context.stage_prompt, again, critiques={}) if again else done
    drawn = context.name_experiment()
    found: list[ReadyTask] = []
    new: list[tuple[TaskId, bytes]] = []
    for task in ready:
        asked = plain if task.id in plain.contents else done
        row, content, turns = done.rows[task.id], asked.contents[task.id], asked.turns.get(task.id)
        kind = task.block_type if context.stage.schema is not None else ""
        half = rendered_content(kind, content, turns or (), drawn, row.sample)
        number = hash_number(half)
        if row.content_id and content == row.content and not turns and not drawn:
            number = row.content_id  # a block as it stands, wherever else it is asked about
        found.append(task._replace(content_key=number))
        if bytes(row.question_hash) != context.question + half:
            new.append((task.id, context.question + half))
    tx.questions.note_questions(new)
    return found


_Askers = Mapping[int, Sequence[tuple[int, TaskId]]]  # by content: the stage, and who asks there


def _matches(tx: Transaction, known: _Askers, ready: Sequence[ReadyTask]) -> dict[TaskId, _Match]:
    """Who else asks what some tasks ask; only those are here that somebody else asks."""
    found = [
        (task, others)
        for task in ready
        if (others := [it for _, it in known.get(task.content_key, ()) if it != task.id])
    ]
    if not found:
        return {}
    askers = tx.questions.askers_by_id(sorted({other for _, others in found for other in others}))
    asked = tx.questions.asked_questions([task.id for task, _ in found])
    return {
        task.id: _Match(
            task,
            asked[task.id],
            [
                askers[other]
                for other in others
                if other in askers
                and bytes(askers[other].question_hash) == bytes(asked[task.id].question_hash)
            ],
        )
        for task, others in found
    }


def _sharing_tasks(
    tx: Transaction, context: LaneContext, gathered: GatheredTasks, ready: Sequence[ReadyTask]
) -> set[TaskId]:
    """Which tasks are asked for the first time, and may do with another's answer.

    A critic of an answer that was asked for once more is itself meant to be asked.
    """
    if not context.policy.reuse:
        return set()
    repairs = gathered.repair_reasons
    first = [it.id for it in ready if it.version == 1 and not it.calls]
    fresh = {task for task in first if task not in repairs}
    if context.stage.critic and fresh:
        fresh -= tx.questions.critics_of_renewed_answers(sorted(fresh))
    return fresh


def _find_answers(
    tx: Transaction, context: LaneContext, matches: Sequence[_Match]
) -> list[ReusedAnswer]:
    """What persons wrote of the same subjects, and what others were answered, where that does."""
    edits = find_edits(tx, context, [match.task for match in matches])
    edited = {edit.task.id for edit in edits}
    wanted: list[tuple[ReadyTask, Asker]] = []
    for match in matches:
        usable = [asker for asker in match.askers if _is_usable(asker)]
        if usable and match.task.id not in edited:
            wanted.append((match.task, max(usable, key=_preference)))
    if not wanted:
        return edits
    return edits + [
        _reused_answer(task, asker, verdict)
        for task, asker, verdict in _judge(tx, context, wanted)
        if verdict.judgement is Judgement.ACCEPT
        and not any(note.kind is NoteKind.INCOMPLETE for note in verdict.notes)
    ]


def _preference(asker: Asker) -> tuple[bool, int, int]:
    """What a person approved first, the newest decision; then the newest answer."""
    return asker.is_approved, asker.reviewed_at or 0, asker.result_id or 0


def _reused_answer(task: ReadyTask, asker: Asker, verdict: Verdict) -> ReusedAnswer:
    """The answer as today's gates read it; an approval is of the data that was seen."""
    assert asker.root_id is not None
    data = plain_json(verdict.data)
    review = NOT_REVIEWED
    if asker.is_approved and asker.approved_data == data:
        review = ReviewMark(ReviewState.APPROVED.value, asker.reviewer, asker.reviewed_at)
    return ReusedAnswer(task, asker.root_id, asker.attempt_id, data, verdict.notes, review)


def _is_usable(asker: Asker) -> bool:
    """Whether an answer stands: it was accepted, by critics too, and is whole."""
    if asker.result_id is None or asker.state != TaskState.DONE:
        return False
    notes = stored_json(asker.notes) or []
    return not any(note["kind"] == NoteKind.INCOMPLETE for note in notes)


def _judge(
    tx: Transaction, context: LaneContext, wanted: Sequence[tuple[ReadyTask, Asker]]
) -> list[tuple[ReadyTask, Asker, Verdict]]:
    """What today's gates say of stored answers; gates may look at what a grouping said of a task.

    So those of whom something else was said are judged apart.
    """
    parts = parts_of(tx, context, [task.id for task, _ in wanted])
    alike: dict[str, list[tuple[ReadyTask, Asker]]] = defaultdict(list)
    for task, asker in wanted:
        alike[plain_json(parts.get(task.id, {}))].append((task, asker))
    found: list[tuple[ReadyTask, Asker, Verdict]] = []
    for group in alike.values():
        part = parts.get(group[0][0].id, {})
        attempts = sorted({asker.attempt_id for _, asker in group if asker.attempt_id is not None})
        answers = tx.controls.stored_answers(attempts)
        of_tasks = {asker.root_task_id: part for _, asker in group}
        verdicts = judge_stored_answers(tx, context, answers, of_tasks)
        erased: list[tuple[ReadyTask, Asker]] = []
        for task, asker in group:
            verdict = verdicts.get((asker.root_task_id, asker.attempt_id or AttemptId(0)))
            if verdict is None:
                erased.append((task, asker))
            else:
                found.append((task, asker, verdict))
        found += _judge_results(tx, context, erased, part)
    return found


def _judge_results(
    tx: Transaction,
    context: LaneContext,
    erased: Sequence[tuple[ReadyTask, Asker]],
    part: JsonObject,
) -> list[tuple[ReadyTask, Asker, Verdict]]:
    """The same of records whose answers were erased with a neighbour's document.

    Quotes were a part of the answer, so those who want some ask again.
    """
    if not erased or context.stage.schema is None or context.quotes:
        return []
    results = [asker.result_id for _, asker in erased if asker.result_id is not None]
    data = tx.subjects.data_of_results(results)
    return [
        (task, asker, judge_further(context, context.shape.judge(stored_json(text)), part))
        for task, asker in erased
        if asker.result_id is not None and (text := data.get(asker.result_id))
    ]


def _write_answers(
    tx: Transaction,
    context: LaneContext,
    gathered: GatheredTasks,
    taken: Sequence[ReusedAnswer],
    now: datetime,
) -> None:
    if not taken:
        return
    tx.questions.add_reused_results(_result_rows(tx, context, taken), now)
    confirmed = [answer.task.id for answer in taken if answer.review != NOT_REVIEWED]
    others = [answer.task.id for answer in taken if answer.review == NOT_REVIEWED]
    move = acceptance_move(context.spec, context.stage_id)
    tx.tasks.move_task_group(TaskMove.ACCEPT, context.stage_id, confirmed, TaskState.READY)
    tx.tasks.move_task_group(move, context.stage_id, others, TaskState.READY)
    moved = Counter({TaskMove.ACCEPT: len(confirmed)}) + Counter({move: len(others)})
    _tally(tx, context, taken, moved)
    if gathered.used:
        tasks = [answer.task.id for answer in taken if answer.task.id in gathered.used]
        used = [(task, stored_json(gathered.used[task])) for task in tasks]
        tx.lineage.note_used_inputs(used)
        tx.lineage.check_stale(tasks, now)
    flag_disagreements(tx, context.spec, context.stage_id, [answer.task.id for answer in taken])
    if len(context.spec.stages) > 1:
        follow_up(tx, context.spec, context.stage_id, others, now)
        release_dependants(tx, context.spec, context.stage, confirmed, now)


def _result_rows(
    tx: Transaction, context: LaneContext, taken: Sequence[ReusedAnswer]
) -> list[ReusedRow]:
    spec, stage, version = context.spec, context.stage_id, context.gate_version
    results: list[AcceptedAnswer] = [
        (
            *(it.task.id, it.task.version, it.attempt or AttemptId(0), version, it.data, it.notes),
            *(stage, (bits := acceptance_bits(0, it.notes))),
            inbox_rank(spec, stage, bits) if it.review == NOT_REVIEWED else REST,
        )
        for it in taken
    ]
    if not context.by_block:
        results = with_compression_notes(tx, results)
    return [
        (
            *result[:2],
            it.attempt,
            *result[3:5],
            notes_json(result[5]),
            it.root,
            it.origin,
            *it.review,
            *result[6:],
        )
        for it, result in zip(taken, results, strict=True)
    ]


def _tally(
    tx: Transaction,
    context: LaneContext,
    taken: Sequence[ReusedAnswer],
    moved: Mapping[TaskMove, int],
) -> None:
    """Count what was saved; what was taken is neither a success of this run's nor a failure."""
    attempts = [answer.attempt for answer in taken if answer.attempt is not None]
    costs = tx.questions.costs_of_attempts(sorted(set(attempts))) if attempts else {}
    counts = {REUSED: len(taken), SAVED: sum([costs.get(attempt, 0) for attempt in attempts])}
    windows = {f"window_{TASK.targets[move]}": count for move, count in moved.items() if count}
    tx.tallies.add_tallies(context.stage_id, counts | windows)


def _divide(
    context: LaneContext,
    asking: Sequence[ReadyTask],
    sharing: Set[TaskId],
    known: _Askers,
    matches: Mapping[TaskId, _Match],
) -> _Division:
    """Let tasks wait for whoever asks the same in this stage; the others ask for themselves."""
    leaders: dict[int, TaskId] = {}  # who asks from now on
    asked: list[ReadyTask] = []
    new: list[QuestionRow] = []
    taken_over: list[QuestionRow] = []
    follows: list[tuple[TaskId, TaskId]] = []
    for task in asking:
        key, match = task.content_key, matches.get(task.id)
        mine = next((other for at, other in known.get(key, ()) if at == context.stage_id), None)
        leader = leaders.get(key) or (mine if _has_state(match, mine, _ANSWERING) else None)
        waited = match is not None and match.asked.follows is not None
        if leader and leader != task.id and not waited and task.id in sharing:
            follows.append((task.id, leader))
            continue
        asked.append(task)
        if mine == task.id or key in leaders or _has_state(match, mine, _ASKING):
            continue
        leaders[key] = task.id
        rows = new if mine is None else taken_over
        rows.append((context.question_key, key, context.stage_id, task.id))
    return _Division(asked, new, taken_over, follows)


def _has_state(match: _Match | None, asker: TaskId | None, states: Sequence[TaskState]) -> bool:
    askers = match.askers if match is not None else ()
    return any(item.task_id == asker and item.state in states for item in askers)


def _follow(tx: Transaction, pairs: Sequence[tuple[TaskId, TaskId]]) -> None:
    if pairs:
        tx.questions.follow_tasks(pairs)
        tx.tasks.move_tasks(TaskMove.RESET, [task for task, _ in pairs], [TaskState.READY])
