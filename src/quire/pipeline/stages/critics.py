"""Critics: what accepted answers set in motion; critics are called, and may veto.

An answer of a stage that has critics is proposed, not done: nobody may read it before they have
spoken. Each result calls its critics as tasks of their own, named by the very result that they
judge, so that calling twice makes one. A critic that gates may veto: its objection goes back with
the question, at the cost of a try, until the tries are used up; a veto that no other answer could
escape fails the task at once. What could go wrong: two critics of one answer settle in the same
moment and neither sees the other, or a worker dies between an answer and what follows from it. So
every word about a task is read again whenever one is new, and the sweep calls, hears and gives up
what nobody else did. A newer result makes its critics orphans: their word counts for nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import Json, stored_json
from quire.domain.errors import TemplateFailed
from quire.domain.ids import RequestId, ResultId, StageId, TaskId
from quire.domain.reasons import TaskError, TaskErrorKind
from quire.domain.recipes import GATE, SAME, Stage
from quire.domain.states import StageMove, TaskMove, TaskState
from quire.domain.tasks import NewPart
from quire.ledger.ledger import Transaction
from quire.ledger.tables.critiques import ProposedResult
from quire.ledger.tables.tasks import TaskNote
from quire.pipeline.contexts import SweepMemo
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.followers import wake_followers
from quire.pipeline.stages.release import release
from quire.pipeline.stages.review_reasons import flag_unjudged, rank_criticised
from quire.planning.prompt_variables import result_text


class CriticVerdict(NamedTuple):
    """What a critic's answer does to the task it judges."""

    target: TaskId
    passes: bool  # nothing stands against the result
    error: TaskError | None = None
    final: bool = False  # another answer would fare no better


def call_critics(tx: Transaction, spec: RunSpec, stage: StageId, proposed: Sequence[TaskId]) -> int:
    """Owe a critic's answer about the current result of each of these; returns how many."""
    called = 0
    for critic in spec.critics_of(spec.stages[stage]):
        critic_id = spec.stage_ids[critic.name]
        rows, reads = [], []
        for result in tx.critiques.results_to_criticise(critic_id, proposed):
            numbers = [
                result.model_no if name == SAME else spec.model_numbers[name]
                for name in spec.models_of(critic)
            ]
            for no in dict.fromkeys(numbers):
                rows.append(_critic_task(result.task_id, result.result_id, result, no))
                reads.append(result.task_id)
        if rows:
            ids = tx.lineage.add_parts(spec.run_id, critic_id, rows)
            tx.lineage.add_task_inputs(
                [(task, [read]) for task, read in zip(ids, reads, strict=True)]
            )
            tx.runs.move_stage(StageMove.REOPEN, critic_id)
            called += len(rows)
    return called


def _critic_task(
    target: TaskId, result: ResultId, proposed_result: ProposedResult, model_no: int
) -> NewPart:
    key = b"".join(number.to_bytes(8, "big") for number in (target, result, model_no))
    return NewPart(
        proposed_result.block_id,
        proposed_result.document_id,
        model_no,
        proposed_result.sample,
        proposed_result.part,
        result,
        key,
        b"",
        TaskState.READY,
        proposed_result.lineage,
        target,
    )


def apply_critiques(
    tx: Transaction, spec: RunSpec, critic: Stage, answered: Sequence[TaskId], now: datetime
) -> list[TaskId]:
    """Do what critics' accepted answers mean for the tasks they judge; returns who is done now."""
    judged = tx.critiques.targets_of_critics(answered)
    words = tx.critiques.critiques_of_proposed(judged)
    verdicts = [  # of all its critics: another may have spoken in the same moment, or unheard
        _critic_verdict(spec.stages[stage], target, data) for stage, target, data in words
    ]
    above = spec.stage_ids[critic.of]
    objections = [word for word in verdicts if not word.passes]
    given_up = _carry_out_vetoes(tx, spec, above, objections, now)
    refused = {objection.target for objection in objections}
    cleared = tx.critiques.tasks_fully_criticised(
        [e.target for e in verdicts if e.target not in refused]
    )
    tx.tasks.move_tasks(TaskMove.ACCEPT, cleared, [TaskState.PROPOSED])
    rank_criticised(tx, spec, words, [*cleared, *given_up])
    return cleared


def _critic_verdict(critic: Stage, target: TaskId, data: Json) -> CriticVerdict:
    if critic.critic != GATE:
        return CriticVerdict(target, passes=True)
    from quire.planning.templates import compile_expression  # loads Jinja

    try:
        passes = compile_expression(critic.accepts).holds(data)
    except TemplateFailed:  # what it says may hold values, and these failures are one and the same
        error = TaskError(TaskErrorKind.CRITIC_UNDECIDABLE, critic.accepts, critic.name)
        return CriticVerdict(target, passes=False, error=error, final=True)
    error = TaskError(TaskErrorKind.CRITIC_OBJECTED, result_text(data), critic.name)
    return CriticVerdict(target, passes=passes, error=error)


def _carry_out_vetoes(
    tx: Transaction,
    spec: RunSpec,
    above: StageId,
    objections: Sequence[CriticVerdict],
    now: datetime,
) -> list[TaskId]:
    """A veto sends the answer back with the objection, within its tries; returns who has none."""
    if not objections:
        return []
    most = spec.policy_of(spec.stages[above]).max_tries
    tries = tx.critiques.tries_of_tasks([objection.target for objection in objections])
    again, enough = defaultdict(list), []
    for objection in objections:
        tried = tries[objection.target] + (not objection.final)
        note = TaskNote(objection.target, tries=tried, error=objection.error)
        if objection.final or tried >= most:
            enough.append(note)
        else:
            again[objection.target].append(note)
    tx.tasks.note_tasks([*enough, *(note for notes in again.values() for note in notes)])
    tx.tasks.move_tasks(TaskMove.GIVE_UP, [note.id for note in enough], [TaskState.PROPOSED])
    tx.critiques.supersede_results(list(again), now)
    tx.lineage.mark_stale(list(again), now)  # it was done before, where its critic is asked again
    tx.critiques.ask_anew(list(again))
    tx.tasks.move_tasks(TaskMove.REOPEN, list(again), [TaskState.PROPOSED])
    return list(dict.fromkeys(note.id for note in enough))


def give_up_uncriticised(tx: Transaction, spec: RunSpec, critic: Stage) -> list[TaskId]:
    """Tasks whose critic came to nothing fail with it; the answer stays, for a person to see."""
    stage, above = spec.stage_ids[critic.name], spec.stage_ids[critic.of]
    failed = tx.tallies.tallies_of_stage(stage).get(TaskState.FAILED, 0)
    waiting = tx.tallies.tallies_of_stage(above).get(TaskState.PROPOSED, 0)
    if not failed or not waiting:
        return []
    doomed = tx.critiques.failed_critiques(above, stage, few=waiting < failed)
    notes = [
        TaskNote(task, tries=tries, error=TaskError(TaskErrorKind.CRITIC_FAILED, why, critic.name))
        for task, tries, why in doomed
    ]
    tx.tasks.note_tasks(notes)
    tx.tasks.move_tasks(TaskMove.GIVE_UP, [note.id for note in notes], [TaskState.PROPOSED])
    flag_unjudged(tx, [note.id for note in notes])
    return [note.id for note in notes]


def acceptance_move(spec: RunSpec, stage: StageId) -> TaskMove:
    """How an accepted answer moves its task: a critic may still be owed."""
    return TaskMove.PROPOSE if spec.critics_of(spec.stages[stage]) else TaskMove.ACCEPT


def record_inputs_used(
    tx: Transaction, accepted: Sequence[tuple[RequestId, TaskId]], now: datetime
) -> None:
    """Keep with the results what they were made from, and see whether that is still current."""
    written = tx.subjects.results_used_by_members(sorted({request for request, _ in accepted}))
    used = [
        (task, stored_json(written[request, task]))
        for request, task in accepted
        if (request, task) in written
    ]
    tx.lineage.note_used_inputs(used)
    tx.lineage.check_stale([task for task, _ in used], now)


def follow_up(
    tx: Transaction, spec: RunSpec, stage: StageId, tasks: Sequence[TaskId], now: datetime
) -> None:
    """See to what follows from new results of these tasks of one stage."""
    recipe_stage = spec.stages[stage]
    if acceptance_move(spec, stage) == TaskMove.PROPOSE:
        call_critics(tx, spec, stage, tasks)
        return
    if recipe_stage.critic:
        done = apply_critiques(tx, spec, recipe_stage, tasks, now)
        wake_followers(tx, spec.stage_ids[recipe_stage.of], done)
        release_dependants(tx, spec, spec.stage_named(recipe_stage.of), done, now)
    release_dependants(tx, spec, recipe_stage, tasks, now)


def sweep_critics(
    tx: Transaction, memo: SweepMemo, spec: RunSpec, critic: Stage, now: datetime
) -> int:
    """See to what nobody else saw to: a critic that failed, was not called, or was not heard.

    Two critics of one answer may speak at the same moment, and neither sees the other. Returns how
    many tasks moved.
    """
    stage, above = spec.stage_ids[critic.name], spec.stage_ids[critic.of]
    counts = tx.tallies.tallies_of_stage(stage)
    waiting = tx.tallies.tallies_of_stage(above).get(TaskState.PROPOSED, 0)
    state = (counts.get(TaskState.FAILED, 0), waiting)
    given_up = 0
    if not memo.is_unchanged(("unheard", stage), state, now):
        if given_up := len(give_up_uncriticised(tx, spec, critic)):
            waiting = tx.tallies.tallies_of_stage(above).get(TaskState.PROPOSED, 0)
        else:
            memo.note(("unheard", stage), state, now)
    if not waiting or any(counts.get(state, 0) for state in (TaskState.READY, TaskState.PACKED)):
        return given_up
    called = call_critics(tx, spec, above, tx.critiques.tasks_to_criticise(above, stage))
    unheeded = tx.critiques.unapplied_critiques(above, stage)
    done = apply_critiques(tx, spec, critic, unheeded, now) if unheeded else []
    release_dependants(tx, spec, spec.stage_named(critic.of), done, now)
    return given_up + called + len(done)


def release_dependants(
    tx: Transaction, spec: RunSpec, recipe_stage: Stage, done: Sequence[TaskId], now: datetime
) -> None:
    """Dependants may go now; those that used another result than the new one are marked."""
    if done and spec.dependants_of(recipe_stage):
        release(tx, spec, done, now)
        tx.lineage.mark_stale(done, now)


def by_stage(
    tasks: Mapping[tuple[StageId, TaskState], Sequence[TaskId]],
) -> dict[StageId, list[TaskId]]:
    """Tasks by stage, whatever state they were in."""
    found: dict[StageId, list[TaskId]] = {}
    for (stage, _), group in tasks.items():
        found.setdefault(stage, []).extend(group)
    return found
