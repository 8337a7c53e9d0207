"""Criticise: answers that a critic must see are shown to it, and its word is carried out."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.errors import TemplateFailed
from quire.domain.ids import ResultId, StageId, TaskId
from quire.domain.lineage import NewPart
from quire.domain.recipes import GATE, SAME, Stage
from quire.ledger.ledger import Transaction
from quire.ledger.tables.critiques import Critique
from quire.ledger.tables.tasks import Note
from quire.pipeline.told import Told
from quire.plan.prompting import text_of
from quire.plan.templating import compile_expression

LONGEST = 2000  # characters of a critique that a task remembers


class Word(NamedTuple):
    """What a critic's answer does to the task it judges."""

    target: TaskId
    holds: bool  # nothing stands against the result
    reason: str = ""
    final: bool = False  # another answer would fare no better


def call_critics(tx: Transaction, told: Told, stage: StageId, proposed: Sequence[TaskId]) -> int:
    """Owe a critic's answer about the current result of each of these; returns how many."""
    called = 0
    for critic in told.critics_of(told.stages[stage]):
        critic_id = told.stage_ids[critic.name]
        rows, reads = [], []
        for each in tx.critiques.uncalled(critic_id, proposed):
            numbers = [
                each.model_no if name == SAME else told.model_numbers[name]
                for name in told.models_of(critic)
            ]
            for no in dict.fromkeys(numbers):
                rows.append(_row(each.task_id, each.result_id, each, no))
                reads.append(each.task_id)
        if rows:
            ids = tx.lineage.add(told.run_id, critic_id, rows)
            tx.lineage.add_inputs([(task, [read]) for task, read in zip(ids, reads, strict=True)])
            tx.runs.move_stage("reopen", critic_id)
            called += len(rows)
    return called


def _row(target: TaskId, result: ResultId, each: Critique, model_no: int) -> NewPart:
    key = b"".join(number.to_bytes(8, "big") for number in (target, result, model_no))
    return NewPart(
        each.block_id,
        each.document_id,
        model_no,
        each.sample,
        each.part,
        result,
        key,
        b"",
        "ready",
    )


def carry_out(
    tx: Transaction, told: Told, critic: Stage, answered: Sequence[TaskId], now: datetime
) -> list[TaskId]:
    """Do what critics' accepted answers mean for the tasks they judge; returns who is done now."""
    judged = tx.critiques.spoken_of(answered)
    words = [  # of all its critics: another may have spoken in the same moment, or unheard
        _word(told.stages[stage], target, data)
        for stage, target, data in tx.critiques.about(judged)
    ]
    above = told.stage_ids[critic.of]
    objections = [each for each in words if not each.holds]
    _send_back(tx, told, above, objections, now)
    refused = {each.target for each in objections}
    cleared = tx.critiques.cleared([e.target for e in words if e.target not in refused])
    tx.tasks.move("accept", cleared, ["proposed"])
    return cleared


def _word(critic: Stage, target: TaskId, data: Json) -> Word:
    if critic.critic != GATE:
        return Word(target, holds=True)
    try:
        holds = compile_expression(critic.accepts).holds(data)
    except TemplateFailed:  # what it says may hold values, and these failures are one and the same
        reason = f"{critic.name}: its answer cannot be decided by accepts = {critic.accepts!r}"
        return Word(target, holds=False, reason=reason[:LONGEST], final=True)
    return Word(target, holds=holds, reason=f"{critic.name}: {text_of(data)}"[:LONGEST])


def _send_back(
    tx: Transaction, told: Told, above: StageId, objections: Sequence[Word], now: datetime
) -> None:
    """An objection sends the answer back with the critique, within the task's tries."""
    if not objections:
        return
    most = told.policy_of(told.stages[above]).max_tries
    tries = tx.critiques.tries([each.target for each in objections])
    again, enough = defaultdict(list), []
    for each in objections:
        tried = tries[each.target] + (not each.final)
        note = Note(each.target, tries=tried, error=each.reason)
        if each.final or tried >= most:
            enough.append(note)
        else:
            again[each.target].append(note)
    tx.tasks.note([*enough, *(note for notes in again.values() for note in notes)])
    tx.tasks.move("give_up", [note.id for note in enough], ["proposed"])
    tx.critiques.supersede(list(again), now)
    tx.lineage.mark_stale(list(again), now)  # it was done before, where its critic is asked again
    tx.critiques.ask_anew(list(again))
    tx.tasks.move("reopen", list(again), ["proposed"])


def give_up_uncriticised(tx: Transaction, told: Told, critic: Stage) -> list[TaskId]:
    """Tasks whose critic came to nothing fail with it; the answer stays, for a person to see."""
    stage, above = told.stage_ids[critic.name], told.stage_ids[critic.of]
    failed = tx.tallies.of_stage(stage).get("failed", 0)
    waiting = tx.tallies.of_stage(above).get("proposed", 0)
    if not failed or not waiting:
        return []
    doomed = tx.critiques.unheard(above, stage, few=waiting < failed)
    notes = [Note(task, tries=tries, error=f"critic_failed: {why}") for task, tries, why in doomed]
    tx.tasks.note(notes)
    tx.tasks.move("give_up", [note.id for note in notes], ["proposed"])
    return [note.id for note in notes]
