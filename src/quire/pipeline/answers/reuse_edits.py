"""Reuse of edits: what a person wrote stands again where the same is asked of the same subject.

A model's answer fits every text that says the same. What a person wrote in its place may come from
knowing more than the text: it is taken only for the same row of the same source, by its key or
place, with the same content. Elsewhere the question is asked. Frames have no name that tells them
apart: their rows are the same by their keys, and by their places only in the very same frame.
"""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.data import JsonObject, as_object, plain_json, stored_json
from quire.domain.documents import FRAME_SOURCE
from quire.domain.gates import Judgement, ReadingNote
from quire.domain.ids import AttemptId, ResultId
from quire.domain.tasks import ReadyTask
from quire.ledger.ledger import Transaction
from quire.ledger.tables.questions import NOT_REVIEWED, AskedSubject, EditedResult, ReviewMark
from quire.pipeline.answers.judging import judge_further, parts_of
from quire.pipeline.contexts import LaneContext


class ReusedAnswer(NamedTuple):
    """An answer that a task takes from elsewhere."""

    task: ReadyTask
    root: ResultId  # the result that it comes from
    attempt: AttemptId | None  # None: a person wrote it
    data: str  # JSON
    notes: tuple[ReadingNote, ...] = ()
    review: ReviewMark = NOT_REVIEWED

    @property
    def origin(self) -> str:
        """Who made it."""
        return "person" if self.attempt is None else "model"


def find_edits(
    tx: Transaction, context: LaneContext, ready: Sequence[ReadyTask]
) -> list[ReusedAnswer]:
    """What persons wrote about the subjects of some tasks, as far as today's gates take it."""
    if not ready or context.stage.schema is None:
        return []
    known = {
        _subject(edit): edit
        for edit in tx.questions.edited_results()  # of one subject the newest, which comes last
        if bytes(edit.question_hash).startswith(context.question)
    }
    if not known:
        return []
    tasks = {task.id: task for task in ready}
    subjects = tx.questions.sources_of_tasks(sorted(tasks))
    found = [
        (tasks[asked.task_id], edit) for asked in subjects if (edit := known.get(_subject(asked)))
    ]
    return [answer for answer in _judge(tx, context, found) if answer is not None]


def _subject(asked: AskedSubject | EditedResult) -> tuple[bytes, str, str]:
    """What is asked, of which source, and where in it."""
    source = asked.source_locator
    if asked.source_type == FRAME_SOURCE and not _has_key(asked.locator):
        source = asked.source_uid
    return bytes(asked.question_hash), source, asked.locator


def _has_key(locator: str) -> bool:
    return bool(locator) and "key" in as_object(stored_json(locator))


def _judge(
    tx: Transaction, context: LaneContext, found: Sequence[tuple[ReadyTask, EditedResult]]
) -> list[ReusedAnswer | None]:
    parts = parts_of(tx, context, [task.id for task, _ in found])
    return [_judge_edit(context, task, edit, parts.get(task.id, {})) for task, edit in found]


def _judge_edit(
    context: LaneContext, task: ReadyTask, edit: EditedResult, part: JsonObject
) -> ReusedAnswer | None:
    verdict = judge_further(context, context.shape.judge(stored_json(edit.data)), part)
    if verdict.judgement is not Judgement.ACCEPT:
        return None
    return ReusedAnswer(task, edit.root_id, None, plain_json(verdict.data), review=edit.review)
