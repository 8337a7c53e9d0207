"""Settle: stored answers are judged by the gates of their stage, and every task moved on.

Settle turns what was paid for into results, and is the only place that does. Answers are judged in
groups, one transaction each: everything that a group changes is gathered first, so that each
statement runs once for hundreds of answers. What could go wrong: two answers to one task in a group
(`taken` lets the first count), an answer to an older version of the question (stored and spent, and
no more), an answer that came after its request was queued again (the queued one is dropped), or one
whose later sending is still out (its members that failed wait for that one: `last`). Attempts move
from answered to settled in the same transaction, so that settling again finds nothing to do: a
worker may die at any point, and several may settle at once. A verdict other than accept is no
error: what it means is decided by `planning/retrying.py`, here it is only carried out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import assert_never

from quire.domain.continuation import AnswerPiece
from quire.domain.gates import NO_STRAYS, Judgement, ResponseJudgement, StrayIds
from quire.domain.ids import AttemptId, LaneId, RequestId, StageId, TaskId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.recipes import GATE
from quire.domain.requests import AnsweredAttempt, Stop
from quire.domain.runs import BATCH
from quire.domain.states import (
    TASK,
    AttemptMove,
    AttemptState,
    RequestMove,
    RequestState,
    TaskMove,
    TaskState,
)
from quire.domain.task_wording import note_text
from quire.domain.tasks import Member, MemberVerdict
from quire.ledger.ledger import Transaction
from quire.ledger.tables.results import AcceptedAnswer
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.answers.answer_rows import answer_rows, late_answer_rows
from quire.pipeline.answers.chains import next_move
from quire.pipeline.answers.judging import (
    AnyMember,
    Contents,
    GivenAnswer,
    Parts,
    contents_of,
    judge_answer,
    judge_as_it_stands,
    judge_pieces,
    parts_of,
    reading_notes,
)
from quire.pipeline.calls.compress import with_compression_notes
from quire.pipeline.calls.embed import settle_embeddings
from quire.pipeline.calls.failure_holds import check_failures
from quire.pipeline.calls.plugin_holds import check_plugins
from quire.pipeline.calls.record import return_tasks
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.stages.critics import acceptance_move, by_stage, follow_up, record_inputs_used
from quire.pipeline.stages.followers import wake_followers
from quire.pipeline.stages.review_reasons import flag_disagreements
from quire.planning.failure_limits import FAILED_CALLS, REFUSED, WINDOW
from quire.planning.retrying import Accept, AnswerStep, AskAgain, GiveUp, TaskTries, after_answer

GROUP = 512  # answers judged in one transaction
GROUP_SIZE = 8 * 2**20  # or so many characters of them, as far as one can tell beforehand
OPEN_TO_ANSWERS = frozenset(map(str, TASK.sources[TaskMove.ACCEPT]))  # plain text, as in rows
QUEUED, OUT = RequestState.QUEUED, RequestState.OUT  # read for every answer: an enum looks them up


_Groups = dict[tuple[StageId, TaskState], list[TaskId]]  # by stage and the state they were in


class _Outcome:
    """What one group of answers changes, gathered so that each statement runs once."""

    def __init__(self) -> None:
        self.results: list[AcceptedAnswer] = []
        self.late: list[AcceptedAnswer] = []  # paid for, and taken back
        self.accepted: _Groups = defaultdict(list)
        self.notes: list[TaskNote] = []
        self.going_again: list[Member] = []
        self.given_up: _Groups = defaultdict(list)
        self.called: list[TaskId] = []  # answered, and not moved by that
        self.all_accepted: list[RequestId] = []
        self.verdicts: list[MemberVerdict] = []
        self.strays: list[tuple[RequestId, StrayIds]] = []
        self.closing: list[RequestId] = []
        self.dropping: list[RequestId] = []
        self.splits: dict[StageId, int] = defaultdict(int)
        self.refused: dict[StageId, int] = defaultdict(int)  # answers about tasks that did not do
        self.failed_calls: dict[StageId, int] = defaultdict(
            int
        )  # calls of which nothing was accepted
        self.taken: set[TaskId] = set()  # accepted in this very group, or waiting for a critic
        self.contexts: dict[StageId, LaneContext] = {}  # of any model
        self.lanes: dict[LaneId, LaneContext] = {}
        self.parts: Parts = {}  # what groupings said of tasks
        self.contents: Contents = {}  # of blocks that are quoted
        self.reading: list[tuple[RequestId, TaskId]] = []  # accepted, and made from other results
        self.repairing: list[TaskId] = []  # to be asked with the reasons why the last did not do
        self.chains: Mapping[AttemptId, Sequence[AnswerPiece]] = {}  # by the last piece of each
        self.pieces: list[tuple[AnswerPiece, Member]] = []  # to be gone on with
        self.ended_chains: list[TaskId] = []  # refused as a whole, and asked for anew
        self.failed_chains: list[TaskId] = []  # the same, and given up


def settle(tx: Transaction, contexts: Contexts, now: datetime, limit: int = GROUP) -> int:
    """Judge answered attempts and move their tasks on; returns how many were settled."""
    stored = _next_answers(tx, contexts, now, min(limit, contexts.settle_group_size))
    lanes = {item.lane_id: item.run_id for item in stored}
    embedding = {lane for lane, run in lanes.items() if contexts.of_lane_id(tx, run, lane).embeds}
    answered = [item for item in stored if item.lane_id not in embedding] if embedding else stored
    if embedding:
        embedded = [item for item in stored if item.lane_id in embedding]
        settle_embeddings(tx, contexts, embedded, now)
    if not answered:
        return len(stored)
    mean = sum([len(attempt.text) for attempt in answered]) // len(answered) + 1
    contexts.settle_group_size = max(
        1, min(GROUP, 2 * contexts.settle_group_size, GROUP_SIZE // mean)
    )
    members = members_by_request(
        tx.requests.take_members(sorted({attempt.request_id for attempt in answered}))
    )
    outcome = _Outcome()
    _load_judging_inputs(tx, contexts, answered, members, outcome)
    for attempt in answered:
        _judge_and_gather(attempt, members.get(attempt.request_id, []), outcome)
    _write(tx, outcome, now)
    _note_failures(tx, contexts, members, outcome)
    for context in outcome.contexts.values():
        if context.route != BATCH:  # what is in a batch is as good as paid
            check_failures(tx, contexts, context, now)
    tx.attempts.move_attempt_group(
        AttemptMove.SETTLE, [attempt.attempt_id for attempt in answered], AttemptState.ANSWERED
    )
    return len(stored)


def _note_failures(
    tx: Transaction,
    contexts: Contexts,
    members: Mapping[RequestId, Sequence[Member]],
    outcome: _Outcome,
) -> None:
    """Count what did not do, and have its stage looked at; now and then those without, too."""
    for asked in members.values():
        contexts.answered_tasks[asked[0].stage_id] += len(asked)
    for stage, context in outcome.contexts.items():
        if context.stage.critic == GATE:  # its vetoes are failures of the stage that it judges
            contexts.stages_with_failures.add(context.spec.stage_ids[context.stage.of])
        refused, failed = outcome.refused[stage], outcome.failed_calls[stage]
        if refused:
            tx.tallies.add_tallies(stage, {REFUSED: refused, FAILED_CALLS: failed})
        if refused or contexts.answered_tasks[stage] >= WINDOW:
            contexts.stages_with_failures.add(stage)
            contexts.answered_tasks[stage] = 0


def _next_answers(
    tx: Transaction, contexts: Contexts, now: datetime, limit: int
) -> list[AnsweredAttempt]:
    """The oldest answers of runs that can be judged here; those of others stay as they are."""
    while answered := tx.attempts.take_answered(limit, contexts.runs_without_plugins):
        runs = {attempt.run_id for attempt in answered}
        if all([check_plugins(tx, contexts, contexts.spec_of(tx, run), now) for run in runs]):
            break
    return answered


def _load_judging_inputs(
    tx: Transaction,
    contexts: Contexts,
    answered: Sequence[AnsweredAttempt],
    members: dict[RequestId, list[Member]],
    outcome: _Outcome,
) -> None:
    """Read what judging needs besides: of plain questions about blocks that is nothing."""
    asked: dict[StageId, list[RequestId]] = defaultdict(list)
    for attempt in answered:
        asked[attempt.stage_id].append(attempt.request_id)
        if attempt.lane_id not in outcome.lanes:
            context = contexts.of_lane_id(tx, attempt.run_id, attempt.lane_id)
            outcome.lanes[attempt.lane_id] = outcome.contexts[attempt.stage_id] = context
    for stage, context in outcome.contexts.items():
        criticised = context.spec.critics_of(context.stage)
        if context.by_block and not criticised and not context.quotes:
            continue
        tasks = [member.task_id for request in asked[stage] for member in members.get(request, ())]
        outcome.contents = {**outcome.contents, **contents_of(tx, context, tasks)}
        outcome.parts = {**outcome.parts, **parts_of(tx, context, tasks)}
        if criticised:
            outcome.taken |= tx.results.tasks_with_results(tasks)
    parents = [attempt.parent for attempt in answered if attempt.parent is not None]
    outcome.chains = tx.pieces.pieces_before(parents) if parents else {}


def members_by_request(members: Iterable[AnyMember]) -> dict[RequestId, list[AnyMember]]:
    """The members of each request, in order."""
    found: dict[RequestId, list[AnyMember]] = defaultdict(list)
    for member in members:
        found[member.request_id].append(member)
    return found


def _judge_and_gather(
    answered: AnsweredAttempt, members: Sequence[Member], outcome: _Outcome
) -> None:
    context = outcome.lanes[answered.lane_id]
    chain = outcome.chains.get(answered.parent, ()) if answered.parent is not None else ()
    given = GivenAnswer(context, answered, outcome.parts, chain, outcome.contents)
    if chain:
        judged = judge_pieces(given, members)
    else:
        judged = judge_answer(context, answered, members, outcome.parts, outcome.contents)
    last = _end_request(answered, outcome)
    outcome.late += late_answer_rows(context, answered, members, judged)
    waiting = [
        member
        for member in members  # those who still wait for an answer of this version
        if member.sent_version == member.version
        and member.state in OPEN_TO_ANSWERS
        and member.task_id not in outcome.taken
    ]
    if answered.tasks == 1 and waiting:
        move = next_move(given, waiting[0], judged, last=last)
        judged = move.judged
        if move.piece is not None:
            outcome.pieces.append((move.piece, waiting[0]))
            _gather_verdicts(given, members, judged, outcome)
            return
    if judged.clean:
        if answered.sent > 1:  # else no verdict was written before, and none means accepted
            outcome.all_accepted.append(answered.request_id)
        _accept(context, answered, waiting, judged, outcome)  # the usual case: nothing to decide
        return
    _gather_verdicts(given, members, judged, outcome)
    if judged.strays != NO_STRAYS:
        outcome.strays.append((answered.request_id, judged.strays))
    _decide(given, judged, waiting, outcome, last=last)


def _accept(
    context: LaneContext,
    answered: AnsweredAttempt,
    members: Sequence[Member],
    judged: ResponseJudgement,
    outcome: _Outcome,
) -> None:
    outcome.results += answer_rows(context, answered, members, judged)
    for state in {member.state for member in members}:  # nearly always one
        tasks = [member.task_id for member in members if member.state == state]
        outcome.accepted[answered.stage_id, state] += tasks
        outcome.taken.update(tasks)
    if context.reads_results:
        outcome.reading += [(answered.request_id, member.task_id) for member in members]


def _decide(
    given: GivenAnswer,
    judged: ResponseJudgement,
    waiting: Sequence[Member],
    outcome: _Outcome,
    *,
    last: bool,
) -> None:
    context, answered, chain = given.context, given.answered, given.chain
    owed = {
        member.wire_id: TaskTries(
            tries=member.tries, calls=member.calls + 1, pack_cap=member.pack_cap
        )
        for member in waiting
    }
    steps = after_answer(
        judged, owed, max_output=answered.max_output, facts=context.facts, policy=context.policy
    )
    if chain and last and waiting:
        answered, judged, steps = _end_chain(given, judged, waiting[0], outcome, steps)
    accepted = [member for member in waiting if isinstance(steps[member.wire_id], Accept)]
    outcome.refused[answered.stage_id] += len(waiting) - len(accepted)
    outcome.failed_calls[answered.stage_id] += bool(waiting) and not accepted
    _accept(context, answered, accepted, judged, outcome)
    for member in waiting:
        _gather_step(member, steps[member.wire_id], outcome, last=last)
        goes_on = chain and answered.stop is Stop.REFUSAL
        if last and not goes_on and _is_to_be_repaired(context, steps[member.wire_id]):
            outcome.repairing.append(member.task_id)
    if last and any(_shrinks(step, len(judged.verdicts)) for step in steps.values()):
        outcome.splits[answered.stage_id] += 1


def _end_chain(
    given: GivenAnswer,
    judged: ResponseJudgement,
    member: Member,
    outcome: _Outcome,
    steps: dict[str, AnswerStep],
) -> tuple[AnsweredAttempt, ResponseJudgement, dict[str, AnswerStep]]:
    """What a refused answer means for the pieces before it; a refused call may go on once more."""
    answered, uid = given.answered, member.wire_id
    step = steps[uid]
    if isinstance(step, Accept) or member.state != TaskState.PACKED:
        return answered, judged, steps
    refused = answered.stop is Stop.REFUSAL
    if isinstance(step, AskAgain):
        if not refused:
            outcome.ended_chains.append(member.task_id)
        return answered, judged, steps
    if refused:
        ended = judge_as_it_stands(given, [member])
        if ended.verdicts[uid].judgement is Judgement.ACCEPT:
            own = answered._replace(attempt_id=given.chain[-1].attempt_id)
            return own, ended, {uid: Accept(data=ended.verdicts[uid].data)}
    outcome.failed_chains.append(member.task_id)
    return answered, judged, steps


def _is_to_be_repaired(context: LaneContext, step: AnswerStep) -> bool:
    """Whether its own answer was wrong so often that it is told why."""
    after = context.policy.repair_after_failures
    return bool(after) and isinstance(step, AskAgain) and step.tries >= after


def _shrinks(step: AnswerStep, pack: int) -> bool:
    return isinstance(step, AskAgain) and 0 < step.pack_cap < pack


def _end_request(answered: AnsweredAttempt, outcome: _Outcome) -> bool:
    """Say whether its tasks have nobody else to wait for.

    A later attempt of it may still be out; and tasks of a call past its deadline are owed again.
    """
    if answered.request_state == QUEUED:  # a late answer: what was queued need not be sent
        outcome.dropping.append(answered.request_id)
        return not answered.late
    if answered.request_state == OUT and answered.no == answered.sent:
        outcome.closing.append(answered.request_id)
        return not answered.late
    return False


def _gather_verdicts(
    given: GivenAnswer,
    members: Sequence[Member],
    judged: ResponseJudgement,
    outcome: _Outcome,
) -> None:
    verdicts = [judged.verdicts[member.wire_id] for member in members]
    request, version = given.answered.request_id, given.context.installed_gate_version
    outcome.verdicts.extend(
        MemberVerdict(
            request,
            member.ordinal,
            verdict.judgement.value,
            "; ".join((*verdict.reasons, *map(note_text, reading_notes(verdict)))) or None,
            None if verdict.judgement is Judgement.ACCEPT else version,
        )
        for member, verdict in zip(members, verdicts, strict=True)
    )


def _gather_step(member: Member, step: AnswerStep, outcome: _Outcome, *, last: bool) -> None:
    task = member.task_id
    match step:
        case Accept():
            pass  # gathered already, all together
        case AskAgain(tries=tries, pack_cap=cap, output_floor=floor, error=error):
            outcome.called.append(task)
            if last and member.state == TaskState.PACKED:
                outcome.notes.append(
                    TaskNote(task, tries, cap, floor, TaskError(TaskErrorKind.GATES, error))
                )
                outcome.going_again.append(member)
        case GiveUp(tries=tries, error=error):
            outcome.called.append(task)
            if last and TASK.allows(member.state, TaskMove.GIVE_UP):
                outcome.notes.append(
                    TaskNote(
                        task, tries, member.pack_cap, error=TaskError(TaskErrorKind.GATES, error)
                    )
                )
                outcome.given_up[member.stage_id, member.state].append(task)
        case never:
            assert_never(never)


def _write(tx: Transaction, outcome: _Outcome, now: datetime) -> None:
    tx.requests.move_request_group(RequestMove.CLOSE, outcome.closing, OUT)
    tx.requests.move_requests(RequestMove.DROP, outcome.dropping, [QUEUED])
    tx.requests.accept_members(outcome.all_accepted)
    tx.requests.note_verdicts(outcome.verdicts)
    tx.requests.note_stray_ids(outcome.strays)
    if outcome.results and not all(context.by_block for context in outcome.contexts.values()):
        outcome.results = with_compression_notes(tx, outcome.results)
    tx.results.add_results(outcome.results, now)
    for answer in outcome.late:
        tx.inbox.add_late_result(answer, now)
    tx.inbox.flag_asked_again([answer[0] for answer in outcome.results if answer[1] > 1])
    tx.tasks.count_calls(outcome.called)
    for (stage, state), tasks in outcome.accepted.items():
        move = acceptance_move(outcome.contexts[stage].spec, stage)
        tx.tasks.move_task_group(move, stage, tasks, state, calls=1)
    tx.tasks.note_tasks([note for note in outcome.notes if note.id not in outcome.taken])
    going_on = [member for piece, member in outcome.pieces if tx.pieces.add_piece(piece)]
    tx.pieces.ask_for_continuation(
        [member.task_id for member in going_on if member.task_id not in outcome.taken]
    )
    tx.pieces.end_chains([task for task in outcome.ended_chains if task not in outcome.taken])
    tx.pieces.forget_continuations(outcome.failed_chains)
    tx.critiques.ask_for_repair([task for task in outcome.repairing if task not in outcome.taken])
    for (stage, state), tasks in outcome.given_up.items():
        tx.tasks.move_task_group(TaskMove.GIVE_UP, stage, tasks, state)
    ready = [*outcome.going_again, *going_on]
    return_tasks(tx, ready, [*outcome.closing, *outcome.dropping])
    for stage, splits in outcome.splits.items():
        tx.tallies.add_tallies(stage, {"splits": splits})
    if outcome.reading:
        record_inputs_used(tx, outcome.reading, now)
    _follow_up(tx, outcome, now)


def _follow_up(tx: Transaction, outcome: _Outcome, now: datetime) -> None:
    """See to all who waited for these answers."""
    for stage, tasks in by_stage(outcome.given_up).items():
        wake_followers(tx, stage, tasks)
    for stage, tasks in by_stage(outcome.accepted).items():
        spec = outcome.contexts[stage].spec
        flag_disagreements(tx, spec, stage, tasks)
        if acceptance_move(spec, stage) == TaskMove.ACCEPT:
            wake_followers(tx, stage, tasks)
        if len(spec.stages) > 1:
            follow_up(tx, spec, stage, tasks, now)
