"""Paid answers: what a rejection got before it was taken back is taken when it comes again.

The question is the same if the same result is rejected with the same note, and nothing that it was
made from has changed since. A stage with critics is asked anew: they have judged other answers.
"""

from datetime import datetime

from quire.domain.ids import ResultId, TaskId
from quire.domain.states import TaskState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.controls import TaskForDecision
from quire.pipeline.commands.review_trail import standing_from_json
from quire.pipeline.run_spec import RunSpec
from quire.pipeline.stages.critics import record_inputs_used


def find_paid_answer(
    tx: Transaction, spec: RunSpec, found: TaskForDecision, note: str
) -> ResultId | None:
    """An answer to the same rejection of the same result, if one came."""
    row = tx.inbox.review_row(found.id)
    judged = spec.critics_of(spec.stages[found.stage_id])
    stale = row is None or row.stale_since is not None
    if judged or stale or found.state != TaskState.DONE or found.result_id is None:
        return None
    before = tx.reviews.rejections_taken_back(found.id, found.result_id, note)
    versions = [standing_from_json(text).version + 1 for text in before]
    return tx.reviews.paid_answer(found.id, [version for version in versions if version > 1])


def take_paid_answer(tx: Transaction, task: TaskId, answer: ResultId, now: datetime) -> None:
    """Let an answer stand that was put away, as if it had come now."""
    tx.reviews.reinstate_result(answer)
    tx.inbox.flag_asked_again([task])
    request = tx.reviews.request_of_result(answer)
    if request is not None:
        record_inputs_used(tx, [(request, task)], now)
