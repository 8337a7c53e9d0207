"""Regate: stored answers are judged again with the gates as they are now, for nothing."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import canonical_json, plain_json, stored_json
from quire.domain.gates import Judgement, Verdict
from quire.domain.ids import AttemptId, RequestId, RunId, StageId, TaskId
from quire.domain.reasons import EventKind, TaskError, TaskErrorKind
from quire.domain.regating import (
    ACCEPTED,
    CHANGED,
    CONFIRMED,
    DIFFERENT,
    REFUSED,
    SAME,
    UNANSWERED,
    RegateExample,
    RegateReport,
)
from quire.domain.states import ReviewState, RunMove, TaskMove, TaskState
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.controls import AnsweredTask
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.answers.judging import judge_stored_answers, parts_of
from quire.pipeline.calls.compress import with_compression_notes
from quire.pipeline.commands.control import (
    check_not_cancelled,
    register_command,
    transact_with_retry,
)
from quire.pipeline.commands.retry import cancel_orphan_critics, reset_dependants, withdraw_unsent
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.stages.critics import (
    acceptance_move,
    follow_up,
    give_up_uncriticised,
    record_inputs_used,
)
from quire.pipeline.stages.review_reasons import (
    acceptance_bits,
    flag_disagreements,
    inbox_rank,
)
from quire.planning.prompt_variables import result_text


class AnswerVerdict(NamedTuple):
    """What the gates say of one task in one answer."""

    attempt_id: AttemptId
    request_id: RequestId
    verdict: Verdict

    @property
    def accepts(self) -> bool:
        """Whether the answer does."""
        return self.verdict.judgement is Judgement.ACCEPT


class GateChange(NamedTuple):
    """A task that the gates see differently now."""

    task: AnsweredTask
    answer: AnswerVerdict | None  # the answer that does now; None: none does
    reasons: tuple[str, ...] = ()  # why none does


def is_confirmed(task: AnsweredTask) -> bool:
    """Whether a person has said that its result is right."""
    return task.review_state in (ReviewState.APPROVED, ReviewState.EDITED)


def rejudge(
    tx: Transaction, context: LaneContext, tasks: Sequence[AnsweredTask]
) -> Iterator[tuple[AnsweredTask, str, GateChange | None]]:
    """Judge the stored answers of some tasks again; what a person confirmed is left alone."""
    asked = [task for task in tasks if not is_confirmed(task)]
    verdicts = _verdicts(tx, context, [task.id for task in asked])
    for task in asked:
        yield task, *_compare(task, verdicts.get(task.id, []))


def _compare(task: AnsweredTask, answers: Sequence[AnswerVerdict]) -> tuple[str, GateChange | None]:
    """The answer that the result came from is looked at first: unchanged gates change nothing."""
    accepted = next((answer for answer in answers if answer.accepts), None)  # the newest
    if task.result_id is None:
        if not answers:
            return UNANSWERED, None
        return (ACCEPTED, GateChange(task, accepted)) if accepted else (SAME, None)
    own = next((answer for answer in answers if answer.attempt_id == task.attempt_id), None)
    if own is None or task.data is None:
        return UNANSWERED, None
    best = own if own.accepts else accepted
    if best is None:
        return REFUSED, GateChange(task, None, own.verdict.reasons)
    if canonical_json(best.verdict.data) == canonical_json(stored_json(task.data)):
        return SAME, None
    return CHANGED, GateChange(task, best)


def _verdicts(
    tx: Transaction, context: LaneContext, tasks: Sequence[TaskId]
) -> dict[TaskId, list[AnswerVerdict]]:
    """What the gates say of every answer to the current version of some tasks."""
    found: dict[TaskId, list[AnswerVerdict]] = defaultdict(list)
    given = tx.controls.answers_of_tasks(tasks)
    answers = tx.controls.stored_answers(sorted({attempt for _, attempt, _ in given}))
    requests = {answer.attempt_id: answer.request_id for answer in answers}
    parts = parts_of(tx, context, sorted({source for _, _, source in given}))
    verdicts = judge_stored_answers(tx, context, answers, parts)
    for task, attempt, source in given:
        if (source, attempt) in verdicts:
            verdict = verdicts[source, attempt]
            found[task].append(AnswerVerdict(attempt, requests[attempt], verdict))
    return found


def revise(
    tx: Transaction, context: LaneContext, changes: Sequence[GateChange], now: datetime
) -> int:
    """Let results make way for what newer gates say; returns how many dependants are stale now."""
    spec, recipe_stage = context.spec, context.spec.stages[context.stage_id]
    results = [change.task.result_id for change in changes if change.task.result_id is not None]
    superseded = tx.controls.supersede_results_by_key(results, now)
    current = [  # but for what somebody else has changed in the meantime
        change
        for change in changes
        if change.task.result_id is None or change.task.id in superseded
    ]
    accepted = [(change.task, change.answer) for change in current if change.answer is not None]
    _refuse_changes(tx, context, [change for change in current if change.answer is None])
    stale = tx.lineage.mark_stale(sorted(superseded), now)
    _accept_changes(tx, context, accepted, now)
    if len(spec.stages) > 1 and current:
        for critic in spec.critics_of(recipe_stage):
            cancel_orphan_critics(tx, spec.stage_ids[critic.name])
        below = [*spec.dependants_of(recipe_stage)]
        if recipe_stage.critic:
            below += spec.dependants_of(spec.stage_named(recipe_stage.of))
        withdraw_unsent(tx, spec, below, now)
        reset_dependants(tx, spec, below, now)
    if (accepted and len(spec.stages) > 1) or spec.is_exact:
        tx.runs.move_run(RunMove.REOPEN, spec.run_id, now)  # what was blocked may go, or it is held
    return stale


def _accept_changes(
    tx: Transaction,
    context: LaneContext,
    accepted: Sequence[tuple[AnsweredTask, AnswerVerdict]],
    now: datetime,
) -> None:
    """Accept answers as if they had just come; who has a critic waits for its word about them."""
    if not accepted:
        return
    spec, stage, version = context.spec, context.stage_id, context.gate_version
    results = [
        (
            task.id,
            task.version,
            answer.attempt_id,
            version,
            plain_json(answer.verdict.data),
            answer.verdict.notes,
            stage,
            (bits := acceptance_bits(0, answer.verdict.notes)),
            inbox_rank(spec, stage, bits),
        )
        for task, answer in accepted
    ]
    tx.results.add_results(with_compression_notes(tx, results), now)
    tasks = [task.id for task, _ in accepted]
    move = acceptance_move(spec, stage)
    done = [TaskState.DONE] if move == TaskMove.PROPOSE else []
    tx.tasks.move_tasks(move, tasks, [TaskState.FAILED, *done])
    if context.reads_results:
        record_inputs_used(tx, [(answer.request_id, task.id) for task, answer in accepted], now)
    flag_disagreements(tx, spec, stage, tasks)
    if len(spec.stages) > 1:
        follow_up(tx, spec, stage, tasks, now)


def _refuse_changes(tx: Transaction, context: LaneContext, refused: Sequence[GateChange]) -> None:
    """Fail tasks whose answers do not do any more, with the reasons."""
    tasks = [change.task.id for change in refused]
    if not tasks:
        return
    tries = tx.critiques.tries_of_tasks(tasks)
    reasons = ["; ".join(change.reasons) or "refused" for change in refused]
    notes = [
        TaskNote(task, tries[task], error=TaskError(TaskErrorKind.REGATED, reason))
        for task, reason in zip(tasks, reasons, strict=True)
    ]
    tx.tasks.note_tasks(notes)
    tx.tasks.move_tasks(TaskMove.GIVE_UP, tasks, [TaskState.DONE, TaskState.PROPOSED])
    recipe_stage = context.spec.stages[context.stage_id]
    if recipe_stage.critic:  # whoever it has judged has its word no more, and fails with it
        tx.tasks.move_tasks(TaskMove.PROPOSE, tx.controls.judged_targets(tasks), [TaskState.DONE])
        give_up_uncriticised(tx, context.spec, recipe_stage)


CHUNK = 500  # tasks judged in one transaction
SHOWN = 5  # examples of each kind
LONGEST = 200  # characters of an example's data


class RegateRequest(NamedTuple):
    """What is to be judged again."""

    run_id: RunId
    stage: str | None = None  # None: all of them
    apply: bool = False
    command: str | None = None


def regate(
    ledger: Ledger, contexts: Contexts, asked: RegateRequest, clock: Callable[[], datetime]
) -> list[RegateReport]:
    """Judge a run's stored answers again, a chunk at a time; the same twice changes nothing."""
    with ledger.snapshot() as tx:
        spec = contexts.spec_of(tx, asked.run_id)
        stages = spec.stages_named(asked.stage)
        if asked.apply:
            check_not_cancelled(tx, asked.run_id)
            if asked.command is not None and tx.controls.has_command(asked.command):
                return []
    keys = [spec.stage_ids[stage.name] for stage in stages]
    found = [_regate_stage(ledger, contexts, asked, key, clock) for key in keys]
    if asked.apply:
        transact_with_retry(ledger, lambda tx: _conclude(tx, asked, found, clock()))
    return found


def _conclude(
    tx: Transaction, asked: RegateRequest, found: Sequence[RegateReport], now: datetime
) -> None:
    """Note the command once all of it is carried out: what was cut short is carried out again."""
    if register_command(tx, asked.run_id, "regate", now, asked.command):
        for report in [report for report in found if report.difference_count]:
            counts = {kind: report.counts[kind] for kind in DIFFERENT}
            tx.events.add_event(asked.run_id, EventKind.REGATED, now, stage=report.stage, **counts)
        tx.notify()


def _regate_stage(
    ledger: Ledger,
    contexts: Contexts,
    asked: RegateRequest,
    stage: StageId,
    clock: Callable[[], datetime],
) -> RegateReport:
    with ledger.snapshot() as tx:
        context = contexts.any_of_stage(tx, asked.run_id, stage)
    done = RegateReport(context.stage.name, context.gate_version, asked.apply)
    after, more = 0, True
    while more:
        chunk = _regate_chunk(ledger, context, asked, after, clock)
        _count_chunk(done, chunk)
        more = len(chunk.tasks) == CHUNK
        after = chunk.tasks[-1].id if chunk.tasks else after
    return done


class _Chunk(NamedTuple):
    """Some tasks judged again."""

    tasks: list[AnsweredTask]
    comparisons: list[tuple[AnsweredTask, str, GateChange | None]]
    stale: int = 0  # dependants that were marked


def _regate_chunk(
    ledger: Ledger,
    context: LaneContext,
    asked: RegateRequest,
    after: int,
    clock: Callable[[], datetime],
) -> _Chunk:
    """Judge the next tasks, and if that is asked for carry out what it says, all together."""

    def judge(tx: Transaction) -> _Chunk:
        tasks = tx.controls.answered_tasks(context.stage_id, after, CHUNK)
        return _Chunk(tasks, list(rejudge(tx, context, tasks)))

    def apply(tx: Transaction) -> _Chunk:
        register_command(tx, asked.run_id, "regate", clock(), None)
        check_not_cancelled(tx, asked.run_id)
        judged = judge(tx)
        changes = [change for _, _, change in judged.comparisons if change is not None]
        return judged._replace(stale=revise(tx, context, changes, clock()) if changes else 0)

    if asked.apply:
        return transact_with_retry(ledger, apply)
    with ledger.snapshot() as tx:
        return judge(tx)


def _count_chunk(done: RegateReport, chunk: _Chunk) -> None:
    done.stale += chunk.stale
    done.counts[CONFIRMED] += sum(map(is_confirmed, chunk.tasks))
    for task, kind, change in chunk.comparisons:
        done.counts[kind] += 1
        if change is not None and sum(example.kind == kind for example in done.examples) < SHOWN:
            done.examples.append(_example(task, kind, change))


def _example(task: AnsweredTask, kind: str, change: GateChange) -> RegateExample:
    before = task.data if task.data is not None else task.error or "failed"
    answer = change.answer
    after = result_text(answer.verdict.data) if answer else "; ".join(change.reasons)
    return RegateExample(task.id, kind, before[:LONGEST], after[:LONGEST])
